//! The steps of an epoch of MNIST: errors accumulate no faster than in a plain loop.

use ndarray::Axis;
use tinytrain::data::{Dataset, Features};
use tinytrain::engine::block;
use tinytrain::engine::{Device, Drive};
use tinytrain::model::{Network, Parameters};
use tinytrain::random::{Purpose, normal, words};
use tinytrain::reference::{ReferenceNetwork, ops};
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::Config;

use crate::bounds::inputs;
use crate::support::devices;

const SIZES: [usize; 4] = [17, 9, 5, 3];
const STEPS: usize = 938;
const BATCH: usize = 8;
const ROWS: usize = 60;
const RATE: f32 = 0.02;

/// Returns rows near a pattern of their class, one in ten with another label, so that training never
/// converges.
fn data(seed: u64) -> Dataset {
    let class = |row: usize| words(seed, Purpose::Order, [row as u32, 1])[0] % 3;
    let label = |row: usize| match words(seed, Purpose::Order, [row as u32, 2])[0] % 10 {
        0 => (class(row) + 1) % 3,
        _ => class(row),
    };
    let value = |row: usize, column: usize| {
        let pattern = normal(seed, Purpose::Weights, [class(row), 1000 + column as u32]);
        (pattern + 0.1 * normal(seed, Purpose::Weights, [row as u32, 2000 + column as u32])) as f32
    };
    let values = (0..ROWS).flat_map(|row| (0..SIZES[0]).map(move |column| value(row, column)));
    Dataset {
        inputs: SIZES[0],
        features: Features::Floats(values.collect()),
        targets: (0..ROWS).map(label).collect::<Vec<u32>>().into(),
        weights: Vec::new(),
    }
}

/// Returns the rows of all steps in sequence.
fn order() -> Vec<u32> {
    (0..(STEPS * BATCH) as u32).map(|position| position * 7 % ROWS as u32).collect()
}

/// Returns the reference after all steps, and the least distance of a hidden pre-activation from 0.
fn reference(parameters: &Parameters, data: &Dataset) -> (ReferenceNetwork, f64) {
    let (mut reference, (x, targets)) =
        (ReferenceNetwork::new(&Network::classifier(&SIZES).unwrap(), parameters), inputs(data));
    let mut nearest = f64::INFINITY;
    for order in order().chunks(BATCH) {
        let rows: Vec<usize> = order.iter().map(|row| *row as usize).collect();
        let (x, targets) =
            (x.select(Axis(0), &rows), rows.iter().map(|row| targets[*row]).collect::<Vec<_>>());
        let activations = reference.activations(x.view());
        let hidden = SIZES.len() - 2;
        for ((w, b), input) in reference.weights.iter().zip(&reference.biases).zip(&activations).take(hidden)
        {
            let z = ops::forward(input.view(), w.view(), b.view());
            nearest = z.iter().fold(nearest, |nearest, z| nearest.min(z.abs()));
        }
        reference.step(x.view(), &targets, f64::from(RATE));
    }
    (reference, nearest)
}

/// Trains the same in f32 with plain loops.
fn plain_loop(parameters: &Parameters, data: &Dataset) -> Parameters {
    let mut parameters = parameters.clone();
    for order in order().chunks(BATCH) {
        let mut gradients = Parameters::zeros(&Network::classifier(&SIZES).unwrap());
        for row in order {
            let mut outputs = vec![data.row(*row as usize)];
            for (number, layer) in parameters.layers.iter().enumerate() {
                let unit = |unit: usize| {
                    let mut sum = layer.bias[unit];
                    for (input, x) in outputs[number].iter().enumerate() {
                        sum += x * layer.weights[input * layer.outputs + unit];
                    }
                    if number + 1 < parameters.layers.len() { sum.max(0.0) } else { sum }
                };
                outputs.push((0..layer.outputs).map(unit).collect());
            }
            let logits = &outputs[parameters.layers.len()];
            let largest = logits.iter().copied().fold(f32::MIN, f32::max);
            let sum: f32 = logits.iter().map(|z| (z - largest).exp()).sum();
            let mut delta: Vec<f32> = logits.iter().map(|z| (z - largest).exp() / sum).collect();
            delta[data.labels()[*row as usize] as usize] -= 1.0;
            delta.iter_mut().for_each(|d| *d /= BATCH as f32);
            for (number, layer) in parameters.layers.iter().enumerate().rev() {
                let (gradient, input) = (&mut gradients.layers[number], &outputs[number]);
                let mut below = vec![0.0; layer.inputs];
                for (unit, d) in delta.iter().enumerate() {
                    gradient.bias[unit] += d;
                    for (place, x) in input.iter().enumerate() {
                        gradient.weights[place * layer.outputs + unit] += d * x;
                        if *x > 0.0 {
                            below[place] += d * layer.weights[place * layer.outputs + unit];
                        }
                    }
                }
                delta = below;
            }
        }
        for (layer, gradient) in parameters.layers.iter_mut().zip(&gradients.layers) {
            let pairs = layer.weights.iter_mut().zip(&gradient.weights);
            pairs.chain(layer.bias.iter_mut().zip(&gradient.bias)).for_each(|(w, g)| *w -= RATE * g);
        }
    }
    parameters
}

/// Returns the largest difference of a weight or bias.
fn distance(got: &Parameters, want: &ReferenceNetwork) -> f64 {
    let got = ReferenceNetwork::new(&Network::classifier(&SIZES).unwrap(), got);
    let weights = got.weights.iter().flatten().zip(want.weights.iter().flatten());
    let biases = got.biases.iter().flatten().zip(want.biases.iter().flatten());
    let differences = weights.chain(biases).map(|(got, want)| (got - want).abs());
    // NaN is not a small distance, and is kept.
    differences.fold(0.0, |most, off| if off <= most || most.is_nan() { most } else { off })
}

/// Determines data and initial weights. If a pre-activation is near 0, rounding decides whether a row counts
/// for a unit, and the weights then differ a thousand times more than by all other rounding. With most seeds
/// that happens in some step; with this one no pre-activation comes nearer to 0 than 2.7e-4, a hundred times
/// its error.
const SEED: u64 = 238;

#[test]
fn after_938_steps_no_engine_is_much_further_from_f64_than_a_plain_loop() {
    let (network, data) = (Network::classifier(&SIZES).unwrap(), data(SEED));
    let parameters = Parameters::he_normal(&network, SEED);
    let (reference, nearest) = reference(&parameters, &data);
    assert!(nearest > 1e-4, "{nearest}");
    let (x, targets) = inputs(&data);
    let losses = [&ReferenceNetwork::new(&network, &parameters), &reference]
        .map(|reference| reference.loss(x.view(), &targets));
    assert!(losses[1] < 0.3 * losses[0], "{losses:?}: hardly anything was learnt");
    let plain = distance(&plain_loop(&parameters, &data), &reference);
    assert!(1e-7 < plain && plain < 1e-5, "{plain}");
    for device in devices() {
        let schedules = match device {
            Device::Cpu => &[None][..],
            Device::Gpu(_) => &ScheduleKind::ALL.map(Some),
        };
        for schedule in schedules.iter().copied() {
            let config = Config { batch_size: BATCH, learning_rate: RATE, schedule, ..Config::default() };
            let mut engine = device.engine(&parameters, &network, &config.engine_options(BATCH)).unwrap();
            engine.train(&data.view(), &order(), &mut |_| Ok(())).unwrap();
            engine.finish(&mut |_| Ok(())).unwrap();
            let off = distance(&block(engine.parameters()).unwrap(), &reference);
            assert!(
                off <= 4.0 * plain,
                "{} {schedule:?}: {off:.1e}, a plain loop {plain:.1e}",
                engine.description().device
            );
        }
    }
}
