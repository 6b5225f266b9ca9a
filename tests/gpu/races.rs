//! Invocations of a kernel do not race. Software adapters run them in an order that hides races; GPUs do not.

use std::collections::BTreeSet;

use tinytrain::gpu::{Program, read_buffer};
use tinytrain::kernels::{
    FeatureFormat, Grid, Kernel, Matmul, MatmulTile, Samples, StepRecord, Tuning, Zip, ZipKernel, grid,
    program,
};
use tinytrain::model::Network;
use tinytrain::schedule::{DispatchPlan, ScheduleKind, TrainingStep};
use tinytrain::step::UpdateRule;

use crate::cost::kernels;
use crate::extents::{different, one_of_each};
use crate::lab::{Lab, apart, records, tests_all};
use crate::race_log::logged;
use crate::rewriting::{resolved, shallow, text};
use crate::variants::variants;

/// More accesses than any of the kernels below makes.
const ENTRIES: usize = 1 << 22;

/// Several workgroups share the work: of many rows, or of many columns.
const SHAPES: [[usize; 3]; 2] = [[37, 9, 34], [9, 41, 34]];

/// Adapter and log for races.
struct Watch<'a> {
    lab: &'a Lab,
    log: wgpu::Buffer,
}

impl<'a> Watch<'a> {
    fn new(lab: &'a Lab) -> Self {
        let log = lab.context.storage("log", 16 * (1 + ENTRIES as u64)).unwrap();
        Self { lab, log }
    }

    /// Returns the races of a program of this kernel, whose buffers contain 0, 1, 2, ...
    fn races(
        &self,
        kernel: &dyn Kernel,
        tuning: &Tuning,
        program: &Program,
        rows: usize,
    ) -> BTreeSet<String> {
        let lab = self.lab;
        let record = StepRecord { next_rows: rows as u32, ..StepRecord::all(rows) };
        let extents = kernel.extents(tuning, &record).unwrap();
        let iota = |bytes: u64| lab.upload(&(0..(bytes / 4).max(4) as u32).collect::<Vec<u32>>());
        let buffers: Vec<_> = extents.into_iter().map(iota).collect();
        let bound: Vec<_> = buffers.iter().chain([&self.log]).collect();
        let records = records(kernel, record);
        let logged = logged(program);
        lab.context.queue.write_buffer(&self.log, 0, &[0; 16]);
        lab.run_rewritten(
            &logged.program,
            &kernel.description().params,
            &bound,
            grid(kernel, tuning),
            &records,
        );
        let read = |entries: usize| -> Vec<[u32; 4]> {
            let bytes = read_buffer(&lab.context, &self.log, 16 * (1 + entries) as u64).unwrap();
            bytemuck::pod_collect_to_vec(&bytes)
        };
        let length = read(0)[0][0] as usize;
        assert!(length <= ENTRIES, "{}: {length} accesses are too many to log", kernel.label());
        logged.races(&read(length)[1..])
    }

    /// Returns each barrier of a kernel with its name, its number, and, if requested, whether the kernel
    /// races without it.
    fn try_barriers(
        &self,
        kernel: &dyn Kernel,
        tuning: &Tuning,
        rows: usize,
        mut told: impl FnMut(&'static str, usize, &dyn Fn() -> bool),
    ) {
        let original = program(kernel, tuning, self.lab.context.transport);
        let source = text(&original, &resolved(&original));
        for barrier in ["workgroupBarrier();", "storageBarrier();"] {
            for (number, (place, _)) in source.match_indices(barrier).enumerate() {
                let races = || {
                    let without = source[..place].to_owned() + &source[place + barrier.len()..];
                    let without = original.rewritten(without, original.bindings().to_vec());
                    !self.races(kernel, tuning, &without, rows).is_empty()
                };
                told(barrier, number, &races);
            }
        }
    }

    /// Returns the first race of each kernel that has one.
    fn first_races(&self, kernels: &[Box<dyn Kernel>], tuning: &Tuning, rows: usize) -> Vec<String> {
        let first = |kernel: &dyn Kernel| {
            let program = program(kernel, tuning, self.lab.context.transport);
            let race = self.races(kernel, tuning, &program, rows).pop_first()?;
            Some(format!("{} {}: {race}", kernel.label(), kernel.description().shape))
        };
        kernels.iter().filter_map(|kernel| first(&**kernel)).collect()
    }
}

/// Tests every kernel.
#[test]
fn no_kernel_races_on_real_gpus() {
    if !tests_all() {
        return;
    }
    let lab = apart();
    let (watch, _turn) = (Watch::new(lab), lab.turn());
    let tuning = shallow(&Tuning::GPU);
    for shape in SHAPES {
        let found = watch.first_races(&kernels(shape, &tuning), &tuning, shape[0]);
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// Returns the tile shapes of products in `Tuning::GPU`, and the larger one of wide layers.
fn shipped_tiles() -> [MatmulTile; 3] {
    let widest = MatmulTile::TiledTall { across: 16, down: 16, inner: 4 };
    [Tuning::GPU.product, Tuning::GPU.wide, widest]
}

/// Returns the products of a training step: several tiles of any shape across, down and along the inner
/// dimension, the last of them partial.
fn products(kind: ScheduleKind, tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let network = Network::classifier(&[75, 70, 69]).unwrap();
    let rule = UpdateRule::sgd(0.5);
    let step = TrainingStep::new(&network, &rule, ROWS_OF_PRODUCTS);
    let samples = Samples { stored: FeatureFormat::Bytes, count: ROWS_OF_PRODUCTS };
    let dispatches = DispatchPlan::train(kind, &step, samples, tuning).dispatches;
    let mut all: Vec<_> = dispatches.into_iter().map(|dispatch| dispatch.kernel).collect();
    all.retain(|kernel| tuning.tile_of(kernel.description().layout).is_some());
    all
}

const ROWS_OF_PRODUCTS: usize = 67;

/// Tests every product in every tile shape, with its shipped depth, and a product of two transposed matrices.
#[test]
fn no_shipped_tile_races() {
    if !tests_all() {
        return;
    }
    let lab = apart();
    let (watch, _turn) = (Watch::new(lab), lab.turn());
    for tile in shipped_tiles() {
        let tuning = Tuning { product: tile, wide: tile, ..Tuning::GPU };
        let mut kernels = products(ScheduleKind::Fused, &tuning);
        assert_eq!(kernels.len(), 5, "two forward, two of weights, one of inputs");
        kernels.push(Box::new(Matmul {
            m: ROWS_OF_PRODUCTS,
            n: 70,
            k: 75,
            matrices: 1,
            transpose_a: true,
            transpose_b: true,
            bias: false,
            relu: false,
        }));
        let found = watch.first_races(&kernels, &tuning, ROWS_OF_PRODUCTS);
        assert!(found.is_empty(), "{tile:?}: {found:#?}");
    }
    let kernels = products(ScheduleKind::TwoDispatch, &Tuning::GPU);
    assert_eq!(kernels.len(), 1, "column");
    let found = watch.first_races(&kernels, &Tuning::GPU, ROWS_OF_PRODUCTS);
    assert!(found.is_empty(), "{found:#?}");
}

/// Without variants that differ only in their computation.
#[test]
fn no_kernel_races_under_other_tunings() {
    if !tests_all() {
        return;
    }
    let lab = apart();
    let (watch, _turn) = (Watch::new(lab), lab.turn());
    let others = Tuning::ALL.iter().filter(|tuning| **tuning != Tuning::GPU).map(shallow);
    for tuning in others.filter(|tuning| tuning.runs_on(&lab.context)) {
        let kernels = one_of_each(kernels(SHAPES[1], &tuning));
        let found = watch.first_races(&kernels, &tuning, SHAPES[1][0]);
        assert!(found.is_empty(), "{tuning:?}: {found:#?}");
    }
}

/// Under the tuning with the most sharing: the sharing of the others is tested above.
#[test]
fn no_variant_races() {
    if !tests_all() {
        return;
    }
    let lab = apart();
    let (watch, _turn) = (Watch::new(lab), lab.turn());
    let tuning = shallow(&Tuning::GPU);
    let kernels = different(variants(&tuning), &tuning);
    let found = watch.first_races(&kernels, &tuning, 5);
    assert!(found.is_empty(), "{found:#?}");
}

/// Without any one of their barriers these kernels race, in some shape.
#[test]
fn no_barrier_can_be_spared() {
    if !tests_all() {
        return;
    }
    let lab = apart();
    let (watch, _turn) = (Watch::new(lab), lab.turn());
    // With a small number of threads, layers do not fit workgroup memory.
    let tuning = Tuning { row: 8, ..shallow(&Tuning::GPU) };
    let names = ["column", "convolve", "pool", "row", "scan", "softmax", "weight_gradient"];
    let (mut all, mut needed) = (BTreeSet::new(), BTreeSet::new());
    let shapes = SHAPES
        .into_iter()
        .flat_map(|shape| kernels(shape, &tuning).into_iter().map(move |it| (shape[0], it)));
    for (rows, kernel) in shapes {
        let name = kernel.shader().name;
        if !names.contains(&name) {
            continue;
        }
        watch.try_barriers(&*kernel, &tuning, rows, |barrier, number, races| {
            all.insert((name, barrier, number));
            if !needed.contains(&(name, barrier, number)) && races() {
                needed.insert((name, barrier, number));
            }
        });
    }
    let spared: Vec<_> = all.difference(&needed).collect();
    assert!(
        spared.is_empty() && names.iter().all(|name| all.iter().any(|(of, ..)| of == name)),
        "{spared:?}"
    );
}

/// Without one of the two barriers of its loop the body races in each tile shape, with its shipped depth; and
/// if threads share the inner dimension, without one of the two barriers around their sums.
#[test]
fn no_barrier_of_shipped_tiles_can_be_spared() {
    if !tests_all() {
        return;
    }
    let lab = apart();
    let (watch, _turn) = (Watch::new(lab), lab.turn());
    for (tile, sums) in shipped_tiles().into_iter().zip([true, true, false]) {
        let tuning = Tuning { product: tile, wide: tile, ..Tuning::GPU };
        let kernels = products(ScheduleKind::Fused, &tuning);
        let mut needed = Vec::new();
        watch.try_barriers(&*kernels[0], &tuning, ROWS_OF_PRODUCTS, |_, _, races| needed.push(races()));
        // The sums come first in the text.
        assert_eq!(needed, [sums, sums, true, true], "{tile:?}");
    }
}

/// Workgroups that write the same word race too, and barriers do not prevent it.
#[test]
fn workgroups_race_despite_barriers() {
    let lab = apart();
    let (watch, _turn) = (Watch::new(lab), lab.turn());
    let tuning = Tuning::GPU;
    let kernel = ZipKernel::new::<f32>(2, 300, Zip::Add, Grid::Line);
    let original = program(&kernel, &tuning, lab.context.transport);
    let source = text(&original, &resolved(&original));
    let place = source.rfind("c[").expect("the result is written");
    let end = place + source[place..].find(']').expect("an index ends");
    let racy = format!("{}c[0u{}", &source[..place], &source[end..]);
    let racy = original.rewritten(racy, original.bindings().to_vec());
    assert!(watch.races(&kernel, &tuning, &original, 2).is_empty());
    let found = watch.races(&kernel, &tuning, &racy, 2);
    let first = found.first().expect("all invocations write one vec4");
    assert!(first.starts_with("word 0 of c: `c[0] = "), "{first}");
    assert!(found.iter().any(|race| race.ends_with("of workgroup 1") || race.contains("of workgroup 1 and")));
}
