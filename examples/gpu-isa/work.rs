//! Which kernels are looked at: those of the schedules of a network, and those that make the order of an epoch.

use anyhow::{Context, Result, bail};
use tinytrain::kernels::{
    FeatureFormat, Kernel, MatmulTile, OrderKeys, RadixSort, Samples, Scan, ScanAdd, StepRecord, Tuning,
};
use tinytrain::model::Network;
use tinytrain::schedule::{DispatchPlan, ScheduleKind, TrainingStep};
use tinytrain::step::UpdateRule;

/// Rows of the data set, as MNIST has them.
const SAMPLES: usize = 60_000;

/// The names of all sequences: the schedules, and what makes the order of an epoch.
pub const SEQUENCES: [&str; 6] = ["fused", "two-dispatch", "resident", "plain", "evaluate", "order"];

/// A network and its batches.
pub struct Workload {
    /// As it was asked for.
    pub name: String,
    network: Network,
    batch: usize,
}

/// Kernels that run one after the other.
pub struct Sequence {
    /// Its kernels, in order.
    pub kernels: Vec<Box<dyn Kernel>>,
    /// The record of the step that is looked at.
    pub record: StepRecord,
}

impl Workload {
    /// `W1`, `W2`, `W3` of docs/BENCHMARKS.md, or sizes such as 784-300-100-10.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse(name: &str, batch: Option<usize>) -> Result<Self> {
        let (sizes, usual) = match name {
            "W1" => ("784-300-100-10", 64),
            "W2" => ("784-2500-2000-1500-1000-500-10", 256),
            "W3" => ("784-32-10", 16),
            sizes => (sizes, 64),
        };
        let parsed: Result<Vec<usize>, _> = sizes.split('-').map(str::parse).collect();
        let parsed =
            parsed.with_context(|| format!("--network: W1, W2, W3 or such as 784-300-10, not {name:?}"))?;
        let batch = batch.unwrap_or(usual);
        if batch == 0 {
            bail!("--batch: at least one row");
        }
        Ok(Self { name: name.to_owned(), network: Network::classifier(&parsed)?, batch })
    }

    /// The sequence of this name.
    ///
    /// # Errors
    /// For a name that none has.
    pub fn sequence(&self, name: &str, tuning: &Tuning) -> Result<Sequence> {
        let rule = UpdateRule::sgd(0.1);
        let step = TrainingStep::new(&self.network, &rule, self.batch);
        let samples = Samples { stored: FeatureFormat::Bytes, count: SAMPLES };
        let kernels = match name {
            "order" => order(tuning),
            "evaluate" => kernels(DispatchPlan::evaluate(&step, samples, tuning)),
            kind => kernels(DispatchPlan::train(kind.parse::<ScheduleKind>()?, &step, samples, tuning)),
        };
        let record = StepRecord { rate: 0.1, ..StepRecord::all(self.batch) };
        Ok(Sequence { kernels, record })
    }
}

fn kernels(schedule: DispatchPlan) -> Vec<Box<dyn Kernel>> {
    schedule.dispatches.into_iter().map(|dispatch| dispatch.kernel).collect()
}

/// The dispatches that make the order of an epoch: random keys, then a sort of them, four bits a pass.
fn order(tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> =
        vec![Box::new(OrderKeys { length: SAMPLES, first: 0, seed: 1, epoch: 2 })];
    let count = RadixSort::new(SAMPLES, tuning);
    for pass in 0..8 {
        all.push(Box::new(RadixSort { pass, ..count }));
        let scan = Scan::new::<u32>(count.counts(), false, tuning);
        all.push(Box::new(scan));
        all.push(Box::new(Scan { length: scan.length.div_ceil(scan.block), ..scan }));
        all.push(Box::new(ScanAdd { length: scan.length, block: scan.block, integers: true }));
        all.push(Box::new(RadixSort { pass, scatter: true, ..count }));
    }
    all
}

/// Tile shapes by name: the built-in ones, those and all that `tinytrain tune` may try on a GPU, or what a text says.
///
/// # Errors
/// For a text that says none.
pub fn tilings(asked: Option<&str>) -> Result<Vec<(String, Tuning)>> {
    let built_in = Tuning::GPU;
    let mut all = vec![("built-in".to_owned(), built_in)];
    match asked {
        None => {}
        Some("candidates") => {
            // Those with broadcasts are for subgroups of 8, and fewer than 32 threads for processors.
            let able = |tile: &&MatmulTile| match tile {
                MatmulTile::Direct { across, down } => across * down >= 32,
                MatmulTile::Broadcast | MatmulTile::BroadcastTall => false,
                _ => true,
            };
            for tile in MatmulTile::CANDIDATES.iter().filter(able) {
                all.push((format!("product {tile}"), Tuning { product: *tile, ..built_in }));
                all.push((format!("column {tile}"), Tuning { column: *tile, ..built_in }));
            }
            for tile in MatmulTile::WIDE_CANDIDATES.iter().filter(able) {
                all.push((format!("wide {tile}"), Tuning { wide: *tile, ..built_in }));
            }
            for row in Tuning::ROW_THREADS {
                all.push((format!("row {row}"), Tuning { row, ..built_in }));
            }
            for owners in Tuning::OWNERS {
                all.push((format!("owners {owners}"), Tuning { owners, ..built_in }));
            }
        }
        Some(text) => all = vec![("given".to_owned(), text.parse()?)],
    }
    Ok(all)
}
