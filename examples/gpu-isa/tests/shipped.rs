//! The machine code of all that is shipped, on each GPU that the table knows. Skipped where RADV is not there.

use std::collections::HashSet;
use std::io::{self, Write};
use std::thread;

use tinytrain::gpu::{Program, RecordTransport};
use tinytrain::kernels::{
    Axis, FeatureFormat, Kernel, Machine, MatmulTile, Members, Reduce, Samples, Segments, Share, StepRecord,
    Tuning, program,
};
use tinytrain::model::{Dense, InputColumn, InputLayer, Network};
use tinytrain::schedule::{Dispatch, DispatchPlan, ScheduleKind, TrainingStep};
use tinytrain::step::{Activation, Loss, OptimizerKind, UpdateRule};

use crate::device::find_driver;
use crate::gpus::{GPUS, Gpu};
use crate::judgement::{Judge, Judgement};
use crate::model::Time;
use crate::shaders::Shaders;
use crate::work::{SEQUENCES, Workload, tilings};

/// Most round trips to memory, one after the other, of a step along the inner dimension: kernel, its buffers (a fourth
/// is the order, by way of which the first layer reads its inputs), round trips.
/// (`row` of a network of few narrow layers has none: its code is made for the network, and its products are in no loop.)
const ROUND_TRIPS: [(&str, usize, f64); 8] = [
    ("forward", 4, 1.0),
    ("forward", 3, 1.0),
    ("input_gradient", 4, 1.0),
    ("weight_gradient", 4, 1.0),
    ("weight_gradient", 3, 1.0),
    ("row", 5, 1.0),
    ("column", 4, 1.0),
    ("resident", 6, 1.0),
];

/// A network whose kernels are walked through.
struct Walked {
    network: &'static str,
    batch: Option<usize>,
    /// Under these schedules.
    sequences: &'static [&'static str],
    /// Whether all its waves are, which takes long where layers are wide.
    entirely: bool,
    /// Most round trips of `row` in all.
    of_row: Option<u64>,
}

/// Together every product in every tile shape that is shipped for it, and `row` with loops and without.
const WALKED: [Walked; 5] = [
    // The first sums, two turns forward and one, a target, one turn back and two of three.
    Walked {
        network: "W1",
        batch: None,
        sequences: &["fused", "two-dispatch", "plain", "evaluate", "order"],
        entirely: true,
        of_row: Some(7),
    },
    // A walk of W1 by one workgroup would take many seconds.
    Walked { network: "W3", batch: None, sequences: &["resident"], entirely: true, of_row: None },
    // Wide tiles, and 64 x 64 values in the weights' gradients; `row` for any network, two rows at a time.
    Walked {
        network: "W2",
        batch: None,
        sequences: &["fused", "two-dispatch", "plain", "evaluate"],
        entirely: false,
        of_row: None,
    },
    // So many rows that the other products have 64 x 64 values too, and the weights' gradients have the wide tiles; `row`
    // for a network that it knows, of layers so wide that it has loops.
    Walked {
        network: "784-1000-1000-10",
        batch: Some(1200),
        sequences: &["fused", "two-dispatch"],
        entirely: false,
        of_row: None,
    },
    // `row` for any network, one row at a time: the first sums, five layers forward, a target and its weight, five layers back
    // with what they kept.
    Walked {
        network: "784-64-48-32-24-16-10",
        batch: None,
        sequences: &["two-dispatch"],
        entirely: true,
        of_row: Some(15),
    },
];

/// Tells whoever runs the tests, also where they pass.
fn say(text: &str) {
    writeln!(io::stderr(), "{text}").unwrap();
}

/// The model that chooses a schedule knows the shapes alone. It takes a discrete GPU for this one, and what it says of a kernel
/// has its barriers, and of narrow layers is near what its machine code says; what the model leaves out is in no loop.
fn check_model(kernel: &dyn Kernel, judgement: &Judgement, narrow: bool, label: &str) {
    let latency = kernel.latency(&Tuning::GPU);
    if judgement.barriers > Some(0) {
        // A workgroup of one wave has none, and a workgroup whose slowest wave is another's may have fewer.
        assert_eq!(judgement.barriers, Some(latency.barriers as u64), "{label}");
    }
    if !narrow {
        return;
    }
    let launch = Machine::DISCRETE.launch() / judgement.steps as f64;
    let model = Machine::DISCRETE.microseconds(kernel, &Tuning::GPU) - launch;
    let Some([Time { microseconds, .. }, _]) = judgement.times else { return };
    let ratio = model / microseconds;
    assert!((0.55..=1.85).contains(&ratio), "{label}: modelled {model:.2} us, by its code {microseconds:.2}");
}

/// All waves together load and store what the kernel's cost says, which is counted elsewhere: so each walk takes the turns that
/// the kernel takes. (A driver may load once for the wave what its threads ask for.)
fn check_bytes(judge: &mut Judge<'_>, kernel: &dyn Kernel, record: &StepRecord, label: &str) {
    if let Some(bytes) = judge.bytes(kernel, &Tuning::GPU, record).unwrap() {
        let cost = kernel.cost(&Tuning::GPU).bytes() as f64;
        assert!((0.99 * cost..=cost).contains(&bytes), "{label}: {bytes} bytes, by its cost {cost}");
    }
}

/// No product waits more often than the table says. Gives its row of the table, if the kernel makes products.
fn check_products(
    kernel: &dyn Kernel,
    judgement: &Judgement,
    of_row: Option<u64>,
    label: &str,
) -> Option<usize> {
    let (name, buffers) = (kernel.shader().name, kernel.shader().bindings.len());
    let row = ROUND_TRIPS.iter().position(|bound| (bound.0, bound.1) == (name, buffers));
    if name == "row"
        && let Some(most) = of_row
    {
        assert!(judgement.trips <= Some(most), "{label}: {:?} round trips", judgement.trips);
    }
    assert!(judgement.products.is_empty() || row.is_some(), "{label}: products, and not in the table");
    assert!(row.is_none() || name == "row" || !judgement.products.is_empty(), "{label}: no product is found");
    for product in &judgement.products {
        let [found, most] = [product.trips, row.map_or(0.0, |row| ROUND_TRIPS[row].2)];
        assert!(found <= most, "{label}: {found} round trips a step, {most} at most");
    }
    row.filter(|_| !judgement.products.is_empty())
}

/// The kernels of all sequences, walked through.
fn check_walks(gpu: &Gpu, judge: &mut Judge<'_>) -> HashSet<Program> {
    let tuning = &Tuning::GPU;
    let (mut checked, mut seen) = (HashSet::new(), HashSet::new());
    for Walked { network, batch, sequences, entirely, of_row } in WALKED {
        let workload = Workload::parse(network, batch).unwrap();
        for name in sequences {
            let sequence = workload.sequence(name, tuning).unwrap();
            for kernel in sequence.kernels.iter().map(|kernel| &**kernel) {
                let judgement = judge.judge(kernel, tuning, &sequence.record).unwrap();
                let label = format!("{}: {} {}", gpu.name, judgement.kernel, judgement.shape);
                if gpu.hardware.name == "RX 6800 XT" {
                    check_model(kernel, &judgement, entirely, &label);
                }
                assert_eq!([judgement.spills, judgement.scratch], [0, 0], "{label}");
                if !judgement.starts && seen.is_empty() {
                    say(&format!(
                        "{}: this version of Mesa starts its waves in another way, no walks",
                        gpu.name
                    ));
                    return seen;
                }
                assert!(judgement.trips.is_some(), "{label}: a loop without a known end");
                let row = check_products(kernel, &judgement, of_row, &label);
                checked.extend(row.map(|row| (row, judgement.tile)));
                if seen.insert(program(kernel, tuning, RecordTransport::Immediates)) && entirely {
                    check_bytes(judge, kernel, &sequence.record, &label);
                }
            }
        }
    }
    // Those of products that `Tuning::product_for` may choose.
    let shapes = [tuning.product, tuning.wide, MatmulTile::TiledTall { across: 16, down: 16, inner: 4 }];
    let expected = ROUND_TRIPS.iter().enumerate().flat_map(|(row, (name, ..))| match *name {
        "row" | "resident" => vec![(row, String::new())],
        "column" => vec![(row, tuning.column.to_string())],
        _ => shapes.iter().map(|shape| (row, shape.to_string())).collect(),
    });
    assert_eq!(checked, expected.collect(), "{}: what is walked, and what is shipped", gpu.name);
    seen
}

/// One that makes 784 inputs.
fn input_layer(scaled: bool) -> InputLayer {
    let kinds = [InputColumn::Periodic, InputColumn::Embedding { categories: 20, size: 8 }];
    let columns = kinds.into_iter().cycle().take(130);
    InputLayer::new(columns.chain([InputColumn::OneHot { categories: 4 }]).collect(), scaled).unwrap()
}

/// The kernels of a step for several networks. Their lengths are numbers in a uniform.
fn several(schedule: DispatchPlan) -> impl Iterator<Item = Box<dyn Kernel>> {
    schedule.dispatches.into_iter().map(|Dispatch { kernel, buffers, .. }| {
        Box::new(Members::new(kernel, vec![Share::Common; buffers.len()], vec![[0; 2]; 2])) as _
    })
}

/// The kernels of W2; every optimizer, activation and loss, also for several networks; reductions.
fn others() -> Vec<Box<dyn Kernel>> {
    let tuning = &Tuning::GPU;
    let w2 = Workload::parse("W2", None).unwrap();
    let sequences = SEQUENCES.iter().map(|name| w2.sequence(name, tuning).unwrap());
    let mut all: Vec<Box<dyn Kernel>> = sequences.flat_map(|sequence| sequence.kernels).collect();
    for (number, kind) in OptimizerKind::ALL.iter().enumerate() {
        let activation = |at: usize| Activation::ALL[(2 * number + at) % Activation::ALL.len()];
        let dense = |units, activation| Dense { units, activation, dropout: 0.2 };
        let layers =
            vec![dense(300, activation(0)), dense(100, activation(1)), Dense::new(10, Activation::Identity)];
        let network = Network::new(784, layers, Loss::ALL[number % Loss::ALL.len()]).unwrap();
        let behind = network.clone().with_input_layer(input_layer(number > 0)).unwrap();
        // Two dispatches take the longest to compile.
        let schedules: &[ScheduleKind] = match number {
            0 => &[ScheduleKind::Fused, ScheduleKind::Plain],
            _ if number % 2 == 0 => &[ScheduleKind::Fused],
            _ => &[ScheduleKind::Fused, ScheduleKind::TwoDispatch, ScheduleKind::Resident],
        };
        for schedule in schedules {
            let clip_norm = (*schedule == ScheduleKind::Plain).then_some(1.0);
            let rule = UpdateRule { optimizer: kind.defaults(), clip_norm, ..UpdateRule::sgd(0.1) };
            let step = TrainingStep { weighted: number % 2 == 1, ..TrainingStep::new(&network, &rule, 64) };
            let samples = Samples { stored: FeatureFormat::Floats, count: 1000 };
            let dispatches = DispatchPlan::train(*schedule, &step, samples, tuning).dispatches;
            all.extend(dispatches.into_iter().map(|dispatch| dispatch.kernel));
            let step = TrainingStep { network: &behind, ..step };
            if number % 2 == 0 {
                // Behind an input layer has all of them; of the first optimizer with clipping, of the others without.
                all.extend(several(DispatchPlan::train(ScheduleKind::Fused, &step, samples, tuning)));
            }
            let dispatches = DispatchPlan::train(ScheduleKind::Fused, &step, samples, tuning).dispatches;
            let of_input = ["embed", "embed_gradient", "scale_gradient"];
            let kernels = dispatches.into_iter().map(|dispatch| dispatch.kernel);
            all.extend(kernels.filter(|kernel| of_input.contains(&kernel.shader().name)));
        }
    }
    for axis in [Axis::Rows, Axis::Columns] {
        for segments in Segments::passes(axis, 1000, 1000, 1000, tuning) {
            for maximum in [false, true] {
                all.push(Box::new(Reduce { segments, maximum, integers: false }));
            }
        }
    }
    all
}

/// The kernels of W1, and of layers that are wide enough for any tile, under each choice that `tinytrain tune` may take.
fn candidates() -> Vec<(Tuning, Box<dyn Kernel>)> {
    let workloads =
        [("W1", None, &["fused", "two-dispatch"][..]), ("784-1000-1000-10", Some(1200), &["fused"])];
    let mut all = Vec::new();
    for (_, tuning) in tilings(Some("candidates")).unwrap() {
        for (network, batch, names) in workloads {
            let workload = Workload::parse(network, batch).unwrap();
            for name in names {
                let kernels = workload.sequence(name, &tuning).unwrap().kernels;
                all.extend(kernels.into_iter().map(|kernel| (tuning, kernel)));
            }
        }
    }
    all
}

/// What the one candidate without workgroup memory, `direct 8x4`, spills on RDNA3 (vector and scalar registers,
/// bytes): 20 registers in a product of its own, 65 in `column`. `tune` measures it, and nothing has it without.
const OF_DIRECT: [u64; 3] = [65, 0, 6144];

/// Of all others the statistics, each program once.
fn check_memory(gpu: &Gpu, judge: &Judge<'_>, mut seen: HashSet<Program>) {
    let others = others().into_iter().map(|kernel| (Tuning::GPU, kernel));
    for (tuning, kernel) in others.chain(candidates()) {
        let program = program(&*kernel, &tuning, RecordTransport::Immediates);
        if seen.insert(program.clone()) {
            let (compiled, _) = judge.compile(&*kernel, &tuning, &program, false).unwrap();
            let used =
                ["Spilled VGPRs", "Spilled SGPRs", "Scratch size"].map(|name| compiled.statistics[name]);
            let direct =
                matches!(tuning.tile_of(kernel.description().layout), Some(MatmulTile::Direct { .. }));
            let most = if direct && gpu.name == "gfx1100" { OF_DIRECT } else { [0; 3] };
            let fits = used.iter().zip(most).all(|(used, most)| *used <= most);
            assert!(fits, "{}: {} {tuning:?}: {used:?}, {most:?} at most", gpu.name, kernel.label());
        }
    }
}

#[test]
fn nothing_spills_and_no_step_of_a_product_waits_more_often_than_it_must() {
    if let Err(reason) = find_driver() {
        return say(&format!("no machine code is judged: {reason}"));
    }
    let judges: Vec<_> =
        GPUS.iter().map(|gpu| (gpu, Judge::new(gpu, &Shaders::BuiltIn, None).unwrap())).collect();
    thread::scope(|scope| {
        for (gpu, mut judge) in judges {
            scope.spawn(move || {
                let seen = check_walks(gpu, &mut judge);
                check_memory(gpu, &judge, seen);
            });
        }
    });
}
