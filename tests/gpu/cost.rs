//! Cost models compared with counted accesses: every kernel, under every tuning.

use tinytrain::gpu::read_buffer;
use tinytrain::kernels::{
    Activate, ActivateBackward, Augment, Axis, Column, Convolve, Cost, CrossEntropy, Dot, Embed,
    EmbedGradient, FeatureFormat, Forward, Gather, Grid, InputGradient, Kernel, LayerInputs, LayerUpdate,
    LossGradient, LossTargets, Matmul, Mode, MultiplyAdd, NaiveMatmul, Nonlinearity, Pool, Reduce, Row,
    Samples, ScaleGradient, Scan, ScanAdd, Segments, Softmax, StepRecord, StepShape, SumSquares, Tuning,
    Update, WeightGradient, Window, Zip, ZipKernel, grid, program,
};
use tinytrain::model::{Dense, InputColumn, InputLayer, Network, ParameterLayout};
use tinytrain::step::{Activation, Distortion, Dropout, ImageSize, Loss, OptimizerKind, UpdateRule};

use crate::counting::{COUNTERS, counted};
use crate::lab::{Lab, apart, everywhere, labs, records};
use crate::rewriting::shallow;
use crate::variants::several;

/// More words than any of the kernels below reads or writes.
const WORDS: usize = 1 << 17;

/// Returns a data set as large as the buffers allow, which contains the rows of every order.
fn samples(stored: FeatureFormat) -> Samples {
    Samples { stored, count: 2 }
}

/// Returns kernels of the training step, with (rows, inputs, outputs).
fn step([rows, inputs, outputs]: [usize; 3]) -> Vec<Box<dyn Kernel>> {
    let (columns, classes, offset) = (inputs, outputs, 1);
    let mut all: Vec<Box<dyn Kernel>> = vec![
        Box::new(CrossEntropy { rows, classes }),
        Box::new(SumSquares { length: rows * inputs }),
        Box::new(InputGradient { rows, inputs, outputs, offset, below: None }),
    ];
    for log in [false, true] {
        all.push(Box::new(Softmax { rows, classes, log }));
    }
    for (stored, words) in [(FeatureFormat::Bytes, 1), (FeatureFormat::Floats, 3)] {
        all.push(Box::new(Gather { rows, inputs, words, samples: samples(stored) }));
        let size = ImageSize { height: inputs, width: outputs, channels: 1 };
        for augment in ["rotate=20", "elastic=36:6"] {
            let augment = augment.parse().expect("the settings are in range");
            let distortion = Distortion::new(&augment, size, 3).expect("the lattice is coarse");
            all.push(Box::new(Augment { distortion, rows, samples: samples(stored) }));
        }
    }
    let sources = [
        LayerInputs::Matrix,
        LayerInputs::DataSet(samples(FeatureFormat::Bytes)),
        LayerInputs::DataSet(samples(FeatureFormat::Floats)),
    ];
    // Without an activation, with one that keeps Z and one that does not; with no, one and two numbers of
    // state. Other computations cost no access.
    let activations = [Activation::Identity, Activation::Gelu, Activation::Tanh];
    let kinds = [OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam];
    let layout = ParameterLayout::of_sizes(&[inputs, outputs, outputs]);
    for (number, source) in sources.into_iter().enumerate() {
        let dropout = Dropout::new(0.5, 1).filter(|_| number > 0);
        let nonlinearity = Nonlinearity { activation: activations[number], dropout };
        all.push(Box::new(Activate { rows, columns, nonlinearity }));
        all.push(Box::new(ActivateBackward { rows, columns, nonlinearity }));
        all.push(Box::new(Forward { rows, inputs, outputs, offset, nonlinearity, source }));
        all.push(Box::new(InputGradient { rows, inputs, outputs, offset, below: Some(nonlinearity) }));
        let rule = UpdateRule { optimizer: kinds[number].defaults(), ..UpdateRule::sgd(0.5) };
        for update in [None, Some(LayerUpdate::for_layer(&rule, &layout, 0))] {
            all.push(Box::new(WeightGradient { rows, inputs, outputs, offset, update, source }));
        }
        let clip = [None, Some(1), Some(5)][number];
        all.extend(Update::all(&rule, &layout, clip).into_iter().map(|it| Box::new(it) as _));
    }
    for loss in [Loss::CrossEntropy, Loss::Mse] {
        for (weighted, samples) in [(false, None), (true, None), (true, Some(2))] {
            let targets = LossTargets { loss, smoothing: 0.1, weighted };
            all.push(Box::new(LossGradient { rows, outputs, targets, samples }));
        }
    }
    all
}

/// Returns the kernels of an input layer.
fn input_layers([rows, columns, categories]: [usize; 3]) -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    let kinds = [
        InputColumn::Periodic,
        InputColumn::Embedding { categories, size: 5 },
        InputColumn::Number,
        InputColumn::OneHot { categories: 3 },
    ];
    let kinds: Vec<InputColumn> = kinds.into_iter().cycle().take(columns.min(9)).collect();
    for (scaled, kind) in [(false, OptimizerKind::Sgd), (true, OptimizerKind::Adam)] {
        let layer = InputLayer::new(kinds.clone(), scaled).unwrap();
        let inputs = layer.inputs();
        let network = Network::classifier(&[inputs, 2]).unwrap().with_input_layer(layer.clone()).unwrap();
        let layout = ParameterLayout::new(&network).with_states(kind.states());
        let place = layout.input().unwrap();
        let rule = UpdateRule { optimizer: kind.defaults(), ..UpdateRule::sgd(0.5) };
        all.extend(Embed::all(rows, &layer, place).into_iter().map(|it| Box::new(it) as _));
        for update in [None, Some(LayerUpdate::for_input_layer(&rule, &layout))] {
            let gradients = EmbedGradient::all(rows, &layer, place, update);
            all.extend(gradients.into_iter().map(|it| Box::new(it) as Box<dyn Kernel>));
            if scaled {
                all.push(Box::new(ScaleGradient { rows, inputs, offset: place.scale(), update }));
            }
        }
    }
    all
}

/// Returns the general kernels.
fn collection([m, k, n]: [usize; 3]) -> Vec<Box<dyn Kernel>> {
    let (rows, columns) = (m, k);
    let mut all: Vec<Box<dyn Kernel>> =
        vec![Box::new(MultiplyAdd { threads: m * n, rounds: k, a: 0.5, b: 0.1 })];
    for grid in [Grid::Line, Grid::Plane] {
        all.push(Box::new(ZipKernel::new::<u32>(rows, columns, Zip::Maximum, grid)));
        all.push(Box::new(NaiveMatmul { m, n, k, grid }));
    }
    for [transpose_a, transpose_b] in [[false, false], [false, true], [true, false], [true, true]] {
        let (matrices, bias, relu) = (3, transpose_a, transpose_b);
        all.push(Box::new(Matmul { m, n, k, matrices, transpose_a, transpose_b, bias, relu }));
    }
    all
}

/// Returns the kernels for whole steps, for networks of one, two and three layers, with activations that keep
/// Z and that do not, and optimizers with different numbers of state.
fn whole_steps([rows, inputs, outputs]: [usize; 3], tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    let kinds = [OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam];
    let cases: [(&[usize], &[Activation], Loss); 3] = [
        (&[inputs, outputs], &[], Loss::CrossEntropy),
        (&[inputs, outputs, 5], &[Activation::Gelu], Loss::Mse),
        (&[9, inputs, outputs, 3], &[Activation::Tanh, Activation::Mish], Loss::CrossEntropy),
    ];
    for (number, (sizes, activations, loss)) in cases.into_iter().enumerate() {
        let activations = activations.iter().chain([&Activation::Identity]);
        let layers = sizes[1..].iter().zip(activations).enumerate().map(|(layer, (units, activation))| {
            let dropout = if layer == 0 && number == 2 { 0.5 } else { 0.0 };
            Dense { units: *units, activation: *activation, dropout }
        });
        let network = Network::new(sizes[0], layers.collect(), loss).unwrap();
        let rule = UpdateRule { optimizer: kinds[number].defaults(), ..UpdateRule::sgd(0.5) };
        let shape = StepShape::new(&network, &rule, number == 1, rows, tuning).unwrap();
        all.push(Box::new(Row::new(&shape, 2)));
        for stored in [FeatureFormat::Bytes, FeatureFormat::Floats] {
            all.push(Box::new(Column::new(&shape, samples(stored), tuning)));
        }
    }
    // The first layer has enough parts that threads share them.
    let shared = Network::new(1100, vec![Dense::new(3, Activation::Identity)], Loss::Mae).unwrap();
    // The number of layers requires the code for any network.
    let deep = Network::classifier(&[70, inputs, outputs, 6, 9, 5]).unwrap();
    for network in [shared, deep] {
        let shape = StepShape::new(&network, &UpdateRule::sgd(0.5), false, rows, tuning).unwrap();
        all.push(Box::new(Row::new(&shape, 2)));
    }
    all
}

/// Returns windows and convolutions of every kind.
fn windows([rows, columns, _]: [usize; 3], tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    for (columns, width) in [(columns, 1), (columns, 3.min(columns)), (40 * columns, 30 * columns)] {
        for window in [Window::Sum, Window::Mean, Window::Maximum] {
            all.push(Box::new(Pool { rows, columns, window, width }));
        }
    }
    for (axis, lines, length) in [(Axis::Rows, rows, columns), (Axis::Columns, columns, rows)] {
        for (mode, taps) in [(Mode::Valid, 1), (Mode::Same, 5), (Mode::Tail, 40)] {
            let abreast = Convolve::abreast(axis, taps, tuning);
            all.push(Box::new(Convolve { axis, lines, length, taps, mode, abreast }));
        }
    }
    all
}

/// Returns scans, and kernels based on them.
fn scans([m, k, n]: [usize; 3], tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    let block = 2 * tuning.team;
    for length in [n, m * k, 7 * m * k] {
        for inclusive in [false, true] {
            let plain = Scan::new::<f32>(length, inclusive, tuning);
            all.push(Box::new(Scan { padded: inclusive, ..plain }));
            all.push(Box::new(Scan { flags: inclusive, ..Scan::new::<u32>(length, inclusive, tuning) }));
        }
        // Its grid has no workgroup if there is only one block.
        if length > block {
            all.push(Box::new(ScanAdd { length, block, integers: false }));
        }
    }
    all
}

/// Returns the passes of reductions of a matrix, and of a vector as long as the matrix.
fn reductions([rows, columns, _]: [usize; 3], tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    let shapes = [
        (Axis::Rows, rows, columns, columns),
        (Axis::Columns, rows, columns, rows),
        (Axis::Rows, 1, 40 * rows * columns, 40 * rows * columns),
        (Axis::Rows, 1, rows * columns, 7),
    ];
    for (axis, rows, columns, block) in shapes {
        for (pass, segments) in Segments::passes(axis, rows, columns, block, tuning).into_iter().enumerate() {
            all.push(Box::new(Reduce { segments, maximum: pass > 0, integers: false }));
            if axis == Axis::Rows && rows == 1 {
                all.push(Box::new(Dot { segments }));
            }
        }
    }
    all
}

/// Returns every kernel, with sizes from these three.
pub fn kernels(shape: [usize; 3], tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let general =
        [collection(shape), reductions(shape, tuning), windows(shape, tuning), scans(shape, tuning)];
    let several = several(shape, samples(FeatureFormat::Bytes), tuning);
    [step(shape), input_layers(shape), whole_steps(shape, tuning), several]
        .into_iter()
        .chain(general)
        .flatten()
        .collect()
}

/// Runs a kernel with counters. All words that it reads are 1.
fn count(lab: &Lab, tuning: &Tuning, kernel: &dyn Kernel, rows: usize) -> Cost {
    let context = &lab.context;
    let program = counted(&program(kernel, tuning, context.transport));
    let mut buffers: Vec<_> =
        kernel.shader().bindings.iter().map(|_| lab.upload(&vec![1u32; WORDS])).collect();
    buffers.push(lab.upload(&[0u32; COUNTERS]));
    let bound: Vec<_> = buffers.iter().collect();
    let groups = grid(kernel, tuning);
    let records = records(kernel, StepRecord::all(rows));
    lab.run_rewritten(&program, &kernel.description().params, &bound, groups, &records);
    let counts = read_buffer(context, &buffers[buffers.len() - 1], 4 * COUNTERS as u64).unwrap();
    let counts: Vec<u64> =
        bytemuck::pod_collect_to_vec::<u8, u32>(&counts).into_iter().map(u64::from).collect();
    let threads = u64::from(threads(program.source()));
    assert_eq!(counts[4] % threads, 0, "some thread of a workgroup passed a barrier alone");
    Cost {
        global_reads: counts[0],
        global_writes: counts[1],
        workgroup_reads: counts[2],
        workgroup_writes: counts[3],
        barriers: counts[4] / threads,
        flop: kernel.cost(tuning).flop,
        dispatches: 1,
    }
}

/// Returns the threads of a workgroup from the shader.
fn threads(source: &str) -> u32 {
    let module = naga::front::wgsl::parse_str(source).unwrap();
    module.entry_points[0].workgroup_size.iter().product()
}

/// The number of loads and stores of a shader does not depend on the driver, so one adapter suffices.
#[test]
fn the_cost_models_match_the_counters() {
    let lab = apart();
    let _turn = lab.turn();
    for tuning in lab.watched_tunings() {
        for shape in [[1, 1, 1], [5, 70, 3], [67, 33, 42]] {
            kernels(shape, &tuning).iter().for_each(|kernel| compare(lab, &tuning, &**kernel, shape[0]));
        }
    }
}

/// With a small number of threads, layers are computed in chunks and read back in pieces.
#[test]
fn the_cost_of_rows_in_pieces_matches_the_counters() {
    let tuning = Tuning { row: 8, ..shallow(&Tuning::GPU) };
    let rows = |kernel: &dyn Kernel| kernel.shader().name == "row";
    for kernel in whole_steps([5, 70, 33], &tuning).iter().filter(|kernel| rows(&***kernel)) {
        compare(&labs()[0], &tuning, &**kernel, 5);
    }
}

/// Surplus workgroups of a folded grid load nothing.
#[test]
fn surplus_workgroups_cost_nothing() {
    let lab = &labs()[0];
    let tuning = Tuning { team: 1, ..Tuning::GPU };
    compare(lab, &tuning, &Pool { rows: 2, columns: 33_000, window: Window::Sum, width: 3 }, 2);
    let (axis, mode) = (Axis::Rows, Mode::Same);
    compare(lab, &tuning, &Convolve { axis, lines: 2, length: 33_000, taps: 3, mode, abreast: 1 }, 2);
}

fn compare(lab: &Lab, tuning: &Tuning, kernel: &dyn Kernel, rows: usize) {
    assert_eq!(
        kernel.cost(tuning),
        count(lab, tuning, kernel, rows),
        "{} {} {:?} under {tuning:?}: the model left, the count right",
        kernel.shader().name,
        kernel.description().shape,
        kernel.description().flags
    );
}

#[test]
fn counters_match_known_accesses() {
    // Known by hand: 10 vec4s read, 5 written.
    everywhere(|lab, tuning| {
        let kernel = ZipKernel::new::<f32>(1, 17, Zip::Add, Grid::Line);
        let counted = count(lab, tuning, &kernel, 1);
        assert_eq!((counted.global_reads, counted.global_writes, counted.barriers), (40, 20, 0));
    });
}
