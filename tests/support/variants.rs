//! Every kernel in every variant that the host can request.

use tinytrain::kernels::{
    Activate, ActivateBackward, Augment, Axis, Column, Comparison, Convolve, CrossEntropy, Dot, Embed,
    EmbedGradient, FeatureFormat, Forward, Gather, Grid, InputGradient, Kernel, LayerInputs, LayerUpdate,
    LossGradient, LossTargets, Matmul, Members, Mode, MultiplyAdd, NaiveMatmul, Nonlinearity, Pool, Reduce,
    Row, Samples, ScaleGradient, Scan, ScanAdd, Segments, Share, Softmax, StepRecord, StepShape, SumSquares,
    Tuning, Update, WeightGradient, Window, Zip, ZipKernel,
};
use tinytrain::model::{Dense, InputColumn, InputLayer, Network, ParameterLayout};
use tinytrain::schedule::{Buffer, Dispatch, DispatchPlan, ScheduleKind, TrainingStep};
use tinytrain::step::{self, Activation, Distortion, Dropout, ImageSize, Loss, OptimizerKind, UpdateRule};

const ROWS: usize = 5;
const INPUTS: usize = 7;
const OUTPUTS: usize = 3;
const SAMPLES: usize = 11;

/// Returns every kernel in every variant; sizes that depend on a tuning are for this one.
pub fn variants(tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let samples = Samples { stored: FeatureFormat::Bytes, count: SAMPLES };
    let several = several([ROWS, INPUTS, OUTPUTS], samples, tuning);
    [general(tuning), activations(), losses(), updates(), input_layers(), whole_steps(tuning), several]
        .into_iter()
        .flatten()
        .collect()
}

fn segments(axis: Axis) -> Segments {
    Segments { axis, lines: 5, length: 70, block: 40, part: 20, pitch: 72, count: 0 }
}

/// Returns the general kernels, and kernels of the step that have one variant.
fn general(tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let (rows, classes, columns) = (ROWS, OUTPUTS, 6);
    let mut all: Vec<Box<dyn Kernel>> = vec![
        Box::new(CrossEntropy { rows, classes }),
        Box::new(Dot { segments: Segments { lines: 1, ..segments(Axis::Rows) } }),
        Box::new(MultiplyAdd { threads: 5, rounds: 3, a: 0.5, b: 1.0 }),
        Box::new(SumSquares { length: 9 }),
        Box::new(ZipKernel::comparing(columns, Comparison::Equal)),
    ];
    for window in [Window::Sum, Window::Mean, Window::Maximum] {
        all.push(Box::new(Pool { rows, columns, window, width: 3 }));
    }
    for (axis, mode) in [(Axis::Rows, Mode::Same), (Axis::Columns, Mode::Tail)] {
        let abreast = Convolve::abreast(axis, 3, tuning);
        all.push(Box::new(Convolve { axis, lines: rows, length: columns, taps: 3, mode, abreast }));
    }
    for grid in [Grid::Line, Grid::Plane] {
        all.push(Box::new(NaiveMatmul { m: 5, n: 3, k: 7, grid }));
        all.push(Box::new(ZipKernel::new::<f32>(rows, columns, Zip::Add, grid)));
        all.push(Box::new(ZipKernel::new::<u32>(rows, columns, Zip::Add, grid)));
    }
    let block = 2 * tuning.team;
    for flag in [false, true] {
        let segments = segments(if flag { Axis::Columns } else { Axis::Rows });
        for integers in [false, true] {
            all.push(Box::new(Reduce { segments, maximum: flag, integers }));
            let (inclusive, flags, padded) = (flag, !flag, flag);
            all.push(Box::new(Scan { length: 1500, block, inclusive, integers, flags, padded }));
            all.push(Box::new(ScanAdd { length: 1500, block, integers }));
        }
        all.push(Box::new(Softmax { rows, classes, log: flag }));
        for stored in [FeatureFormat::Bytes, FeatureFormat::Floats] {
            let (words, samples) = (1 + usize::from(flag), Samples { stored, count: SAMPLES });
            all.push(Box::new(Gather { rows, inputs: INPUTS, words, samples }));
            all.push(Box::new(Augment { distortion: distortion(flag), rows, samples }));
        }
        for transpose_b in [false, true] {
            let (transpose_a, matrices, bias, relu) = (flag, 2, transpose_b, flag);
            all.push(Box::new(Matmul { m: 5, n: 3, k: 7, matrices, transpose_a, transpose_b, bias, relu }));
        }
    }
    all
}

/// Returns distortions of images, with an elastic displacement or without.
fn distortion(elastic: bool) -> Distortion {
    let augment =
        if elastic { step::Augment::DIGITS } else { step::Augment { zoom: 0.5, ..Default::default() } };
    let size = ImageSize { height: 5, width: 7, channels: 1 };
    Distortion::new(&augment, size, 3).expect("the settings are in range")
}

/// Returns all activations, each with dropout and without.
fn nonlinearities() -> impl Iterator<Item = Nonlinearity> {
    let of = |activation| [None, Dropout::new(0.25, 1)].map(|dropout| Nonlinearity { activation, dropout });
    Activation::ALL.iter().copied().flat_map(of)
}

/// Possible sources of a layer's inputs.
const SOURCES: [LayerInputs; 3] = [
    LayerInputs::Matrix,
    LayerInputs::DataSet(Samples { stored: FeatureFormat::Bytes, count: SAMPLES }),
    LayerInputs::DataSet(Samples { stored: FeatureFormat::Floats, count: SAMPLES }),
];

/// Returns kernels with an activation.
fn activations() -> Vec<Box<dyn Kernel>> {
    let (rows, inputs, outputs, offset) = (ROWS, INPUTS, OUTPUTS, 2);
    let mut all: Vec<Box<dyn Kernel>> =
        vec![Box::new(InputGradient { rows, inputs, outputs, offset, below: None })];
    for (number, nonlinearity) in nonlinearities().enumerate() {
        let source = SOURCES[number % 3];
        all.push(Box::new(Activate { rows, columns: outputs, nonlinearity }));
        all.push(Box::new(ActivateBackward { rows, columns: outputs, nonlinearity }));
        all.push(Box::new(Forward { rows, inputs, outputs, offset, nonlinearity, source }));
        all.push(Box::new(InputGradient { rows, inputs, outputs, offset, below: Some(nonlinearity) }));
    }
    for source in SOURCES {
        all.push(Box::new(Forward {
            rows,
            inputs,
            outputs,
            offset,
            nonlinearity: Nonlinearity::LINEAR,
            source,
        }));
    }
    all
}

/// Returns kernels with a loss.
fn losses() -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    for loss in Loss::ALL.iter().copied() {
        for weighted in [false, true] {
            for samples in [None, Some(SAMPLES)] {
                let targets = LossTargets { loss, smoothing: 0.1, weighted };
                all.push(Box::new(LossGradient { rows: ROWS, outputs: OUTPUTS, targets, samples }));
            }
        }
    }
    all
}

/// Returns kernels with an optimizer.
fn updates() -> Vec<Box<dyn Kernel>> {
    let (rows, inputs, outputs) = (ROWS, INPUTS, OUTPUTS);
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    let layout = ParameterLayout::of_sizes(&[2, inputs, outputs]);
    let offset = layout.layers()[1].offset;
    for source in SOURCES {
        all.push(Box::new(WeightGradient { rows, inputs, outputs, offset, update: None, source }));
    }
    for (number, kind) in OptimizerKind::ALL.iter().enumerate() {
        let rule = UpdateRule { optimizer: kind.defaults(), ..UpdateRule::sgd(0.1) };
        let layout = layout.clone().with_states(kind.states());
        let (update, source) = (Some(LayerUpdate::for_layer(&rule, &layout, 1)), SOURCES[number % 3]);
        all.push(Box::new(WeightGradient { rows, inputs, outputs, offset, update, source }));
        for clip in [None, Some(3)] {
            all.extend(Update::all(&rule, &layout, clip).into_iter().map(|it| Box::new(it) as _));
        }
    }
    all
}

/// Returns the kernels of an input layer.
fn input_layers() -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    for scaled in [false, true] {
        let columns = vec![
            InputColumn::OneHot { categories: 3 },
            InputColumn::Number,
            InputColumn::Embedding { categories: 4, size: 5 },
            InputColumn::Periodic,
        ];
        let layer = InputLayer::new(columns, scaled).unwrap();
        let inputs = layer.inputs();
        let network =
            Network::classifier(&[inputs, OUTPUTS]).unwrap().with_input_layer(layer.clone()).unwrap();
        let layout = ParameterLayout::new(&network);
        let place = layout.input().unwrap();
        let mut add = |layout: &ParameterLayout, rule: Option<&UpdateRule>| {
            let update = rule.map(|rule| LayerUpdate::for_input_layer(rule, layout));
            let gradients = EmbedGradient::all(ROWS, &layer, place, update);
            all.extend(gradients.into_iter().map(|it| Box::new(it) as Box<dyn Kernel>));
            if scaled {
                all.push(Box::new(ScaleGradient { rows: ROWS, inputs, offset: place.scale(), update }));
            }
        };
        add(&layout, None);
        for kind in OptimizerKind::ALL {
            let rule = UpdateRule { optimizer: kind.defaults(), ..UpdateRule::sgd(0.1) };
            add(&layout.clone().with_states(kind.states()), Some(&rule));
        }
        all.extend(Embed::all(ROWS, &layer, place).into_iter().map(|it| Box::new(it) as _));
        all.extend(Update::all(&UpdateRule::sgd(0.1), &layout, None).into_iter().map(|it| Box::new(it) as _));
    }
    all
}

/// Returns the kernels for whole steps: of one layer and of several, whose activations differ.
fn whole_steps(tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    let dense = |units, activation, dropout| Dense { units, activation, dropout };
    for (number, kind) in OptimizerKind::ALL.iter().enumerate() {
        let mut layers = vec![dense(OUTPUTS, Activation::Identity, 0.0)];
        if number > 0 {
            let activation = |place: usize| Activation::ALL[(2 * number + place) % Activation::ALL.len()];
            let dropout = if number % 2 == 0 { 0.5 } else { 0.0 };
            layers.splice(0..0, [dense(6, activation(0), dropout), dense(5, activation(1), 0.0)]);
        }
        // The bias' row shares a vec4 with the last inputs, or not.
        let network = Network::new(INPUTS + number % 2, layers, Loss::ALL[number % Loss::ALL.len()]).unwrap();
        let rule = UpdateRule { optimizer: kind.defaults(), ..UpdateRule::sgd(0.1) };
        let shape = StepShape::new(&network, &rule, number % 2 == 1, ROWS, tuning).unwrap();
        all.push(Box::new(Row::new(&shape, SAMPLES)));
        let formats = [FeatureFormat::Bytes, FeatureFormat::Floats];
        let samples = formats.map(|stored| Samples { stored, count: SAMPLES });
        all.extend(samples.map(|samples| Box::new(Column::new(&shape, samples, tuning)) as _));
    }
    all
}

/// Returns the kernels of `fused` for two networks each: with dropout and two numbers of state, after an
/// input layer, and with clipped gradients.
pub fn several(
    [rows, inputs, outputs]: [usize; 3],
    samples: Samples,
    tuning: &Tuning,
) -> Vec<Box<dyn Kernel>> {
    let hidden = |dropout| Dense { units: 6, activation: Activation::Gelu, dropout };
    let layers = |dropout| vec![hidden(dropout), Dense::new(outputs, Activation::Identity)];
    let columns = vec![
        InputColumn::Embedding { categories: 4, size: 5 },
        InputColumn::Periodic,
        InputColumn::OneHot { categories: 3 },
    ];
    let input = InputLayer::new(columns, true).unwrap();
    let bare = Network::new(inputs, layers(0.5), Loss::CrossEntropy).unwrap();
    let behind = Network::new(input.inputs(), layers(0.0), Loss::CrossEntropy)
        .unwrap()
        .with_input_layer(input)
        .unwrap();
    let cases = [
        (&bare, OptimizerKind::Adam, None),
        (&behind, OptimizerKind::Sgd, None),
        (&behind, OptimizerKind::Momentum, Some(1.0)),
    ];
    let mut all: Vec<Box<dyn Kernel>> = Vec::new();
    for (network, kind, clip_norm) in cases {
        let rule = UpdateRule { optimizer: kind.defaults(), clip_norm, ..UpdateRule::sgd(0.5) };
        let step = TrainingStep::new(network, &rule, rows);
        let train = DispatchPlan::train(ScheduleKind::Fused, &step, samples, tuning).dispatches;
        let evaluate = DispatchPlan::evaluate(&step, samples, tuning).dispatches;
        let losses = evaluate.into_iter().filter(|dispatch| dispatch.buffers.contains(&Buffer::Predictions));
        all.extend(train.into_iter().chain(losses).map(|it| Box::new(of_two(it, rows, tuning)) as _));
    }
    all
}

/// Returns a dispatch for two networks; for one if no data are separate for each network.
fn of_two(Dispatch { kernel, buffers, .. }: Dispatch, rows: usize, tuning: &Tuning) -> Members {
    use Buffer::{BatchTargets, Features, Metrics, Order, TableRows, Targets};
    // Predictions count from the place of the first.
    let record = StepRecord { output: 5, ..StepRecord::all(rows) };
    let bytes = kernel.extents(tuning, &record).unwrap();
    let share = |(buffer, bytes): (&Buffer, u64)| match buffer {
        Features | Targets | Order | TableRows | BatchTargets => Share::Common,
        Metrics => Share::Slots,
        _ => Share::Own(bytes.div_ceil(16) as usize),
    };
    let shares: Vec<Share> = buffers.iter().zip(bytes).map(share).collect();
    let count = if shares.iter().all(|share| *share == Share::Common) { 1 } else { 2 };
    let numbers = vec![kernel.description().numbers; count];
    Members::new(kernel, shares, numbers)
}
