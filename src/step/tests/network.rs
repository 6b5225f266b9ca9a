//! Steps of a small network of variants in f32, compared with the reference and its bounds.

use ndarray::{Array1, Array2};

use crate::random::{Purpose, normal};
use crate::reference::{Hidden, ReferenceNetwork, ReferenceRun, ReferenceTargets, bounds};
use crate::step::{
    Activation, Dropout, Loss, OptimizerKind, RateFactors, RateSchedule, Rates, StepRecord, Targets, Tile,
    UpdateRule,
};

const SIZES: [usize; 4] = [6, 9, 7, 4];
const ROWS: usize = 11;

/// Normally distributed numbers divided by `divisor`, rounded to f32.
fn numbers(rows: usize, columns: usize, place: u32, divisor: f64) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| {
        f64::from((normal(1, Purpose::Weights, [(i * columns + j) as u32, place]) / divisor) as f32)
    })
}

fn network(activation: Activation, dropout: f32, loss: Loss) -> ReferenceNetwork {
    let weights = (0..3).map(|layer| numbers(SIZES[layer], SIZES[layer + 1], layer as u32, 2.5)).collect();
    let biases =
        (0..3).map(|layer| numbers(1, SIZES[layer + 1], 10 + layer as u32, 4.0).row(0).to_owned()).collect();
    ReferenceNetwork {
        hidden: vec![Hidden { activation, dropout }; 2],
        loss,
        ..ReferenceNetwork::relu(weights, biases)
    }
}

/// Inputs, targets (classes and values) and weights of rows.
struct Batch {
    x: Array2<f64>,
    classes: Vec<usize>,
    values: Array2<f64>,
    weights: Vec<f64>,
}

impl Batch {
    fn new() -> Self {
        let classes = (0..ROWS).map(|row| (3 * row + 1) % SIZES[3]).collect();
        let weights = (0..ROWS).map(|row| [1.0, 0.5, 2.0][row % 3]).collect();
        Self {
            x: numbers(ROWS, SIZES[0], 20, 1.0),
            classes,
            values: numbers(ROWS, SIZES[3], 21, 1.0),
            weights,
        }
    }

    fn targets(&self, loss: Loss) -> ReferenceTargets<'_> {
        let targets = if loss.of_classes() {
            ReferenceTargets::classes(&self.classes)
        } else {
            ReferenceTargets::values(self.values.view())
        };
        targets.weighted(&self.weights)
    }
}

fn narrow<'a>(values: impl IntoIterator<Item = &'a f64>) -> Vec<f32> {
    values.into_iter().map(|value| *value as f32).collect()
}

/// Computes C = A B in f32, row-major.
fn product(a: &[f32], b: &[f32], (m, k, n): (usize, usize, usize)) -> Vec<f32> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for l in 0..k {
            (0..n).for_each(|j| c[i * n + j] += a[i * k + l] * b[l * n + j]);
        }
    }
    c
}

fn transposed(a: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns).map(|i| a[i % rows * columns + i / rows]).collect()
}

/// Returns the loss, and gradients of weights and biases of each layer: weights first.
fn gradients(
    network: &ReferenceNetwork,
    batch: &Batch,
    smoothing: f32,
    record: &StepRecord,
) -> (f64, Vec<Vec<f32>>) {
    let dropout = |layer: usize| Dropout::new(network.hidden[layer].dropout, layer);
    let mut inputs = vec![narrow(&batch.x)];
    let mut kept = Vec::new();
    for layer in 0..3 {
        let (rows, columns) = (SIZES[layer], SIZES[layer + 1]);
        let mut z = product(&inputs[layer], &narrow(&network.weights[layer]), (ROWS, rows, columns));
        z.iter_mut().zip(narrow(&network.biases[layer]).iter().cycle()).for_each(|(z, b)| *z += b);
        if let Some(hidden) = network.hidden.get(layer) {
            let mut y = z.clone();
            hidden.activation.value(&mut y);
            kept.push(if hidden.activation.keeps_z() { z } else { y.clone() });
            for (row, y) in y.chunks_mut(columns).enumerate() {
                dropout(layer).iter().for_each(|dropout| dropout.apply(record, row, 0, y));
            }
            inputs.push(y);
        } else {
            inputs.push(z);
        }
    }
    let (mut loss, mut delta) = (0.0, vec![0.0; ROWS * SIZES[3]]);
    for (row, (z, d)) in inputs[3].chunks(SIZES[3]).zip(delta.chunks_mut(SIZES[3])).enumerate() {
        let (values, classes) = (narrow(batch.values.row(row)), [batch.classes[row] as u32]);
        let target = if network.loss.of_classes() {
            Targets::Classes { classes: &classes, smoothing }
        } else {
            Targets::Values(&values)
        };
        let weight = batch.weights[row];
        loss += weight * network.loss.row(z, target, weight as f32 / ROWS as f32, d) / ROWS as f64;
    }
    let mut tensors = Vec::new();
    for layer in (0..3).rev() {
        let (rows, columns) = (SIZES[layer], SIZES[layer + 1]);
        tensors.push(product(&[1.0; ROWS], &delta, (1, ROWS, columns)));
        tensors.push(product(&transposed(&inputs[layer], ROWS, rows), &delta, (rows, ROWS, columns)));
        let Some(below) = layer.checked_sub(1) else { break };
        let w = transposed(&narrow(&network.weights[layer]), rows, columns);
        delta = product(&delta, &w, (ROWS, columns, rows));
        for (row, d) in delta.chunks_mut(rows).enumerate() {
            dropout(below).iter().for_each(|dropout| dropout.apply(record, row, 0, d));
        }
        network.hidden[below].activation.gradient(&mut delta, &kept[below]);
    }
    tensors.reverse();
    (loss, tensors)
}

/// Returns weights and bias of each layer, in the order of [`gradients`].
fn tensors(network: &ReferenceNetwork) -> Vec<Vec<f64>> {
    let both = network.weights.iter().zip(&network.biases);
    both.flat_map(|(w, b)| [w.iter().copied().collect(), b.to_vec()]).collect()
}

#[test]
fn gradients_are_within_the_bounds_and_the_bounds_are_small() {
    let batch = Batch::new();
    let record = UpdateRule { seed: 3, ..UpdateRule::sgd(0.1) }.record(5);
    for activation in Activation::ALL.iter().copied() {
        for loss in Loss::ALL.iter().copied() {
            for dropout in [0.0, 0.3] {
                let network = network(activation, dropout, loss);
                let pass = network.pass(batch.x.view(), Some(&record));
                let targets = batch.targets(loss).smoothed(f64::from(0.1f32));
                let (got_loss, got) = gradients(&network, &batch, 0.1, &record);
                let want = tensors(&network.gradients_of(&pass, &targets));
                let bounds = tensors(&bounds::gradients_of(&network, &pass, &targets));
                let want_loss = crate::reference::ops::batch_loss(
                    loss,
                    pass.activations[3].view(),
                    &targets.smoothed(0.0),
                );
                assert!((got_loss - want_loss).abs() < 1e-5 * want_loss, "{activation} {loss} {dropout}");
                let largest = want.iter().flatten().fold(0.0f64, |most, g| most.max(g.abs()));
                for ((got, want), bounds) in got.iter().zip(&want).zip(&bounds) {
                    for ((got, want), bound) in got.iter().zip(want).zip(bounds) {
                        let error = (f64::from(*got) - want).abs();
                        assert!(error <= *bound, "{activation} {loss} {dropout}: {got}, not {want}; {bound}");
                        // A wrong gradient would be far outside.
                        assert!(
                            *bound < 3e-4 * largest,
                            "{activation} {loss} {dropout}: {bound} of {largest}"
                        );
                    }
                }
            }
        }
    }
}

/// Ten steps with all features. Errors of single gradients are about 1e-6 of the largest; optimizers that
/// divide by the root of a mean of squares propagate the relative error of a gradient, of 1e-4 if it is a
/// hundredth of the largest.
#[test]
fn ten_steps_agree_with_a_run_of_the_reference() {
    let batch = Batch::new();
    for kind in OptimizerKind::ALL.iter().copied() {
        let mut optimizer = kind.defaults();
        optimizer.weight_decay = 0.02;
        let rule = UpdateRule {
            optimizer,
            rates: Rates { warmup: 3, ..Rates::new(RateSchedule::Cosine, kind.default_rate(), 5, 2) },
            factors: RateFactors { biases: 2.0, layers: vec![1.0, 0.5], ..RateFactors::default() },
            clip_norm: Some(0.3),
            label_smoothing: 0.1,
            seed: 9,
        };
        let mut run = ReferenceRun::new(network(Activation::Gelu, 0.2, Loss::CrossEntropy), rule.clone());
        let mut narrow_network = run.network.clone();
        let mut states: Vec<[Vec<f32>; 2]> = tensors(&run.network)
            .iter()
            .map(|tensor| [vec![0.0; tensor.len()], vec![0.0; tensor.len()]])
            .collect();
        for step in 0..10 {
            let want_loss = run.step(batch.x.view(), batch.targets(Loss::CrossEntropy), step);
            let record = rule.record(step);
            let (loss, gradients) = gradients(&narrow_network, &batch, rule.label_smoothing, &record);
            assert!((loss - want_loss).abs() < 1e-4 * want_loss, "{kind} {step}: {loss}, not {want_loss}");
            let norm = gradients.iter().flatten().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            assert!(norm > 0.3, "{kind} {step}: {norm} is not clipped");
            let clip = (record.clip / (norm as f32 + 1e-6)).min(1.0);
            let before = tensors(&narrow_network);
            for (index, gradient) in gradients.iter().enumerate() {
                let (layer, bias) = (index / 2, index % 2);
                let mut parameters = narrow(&before[index]);
                let clipped: Vec<f32> = gradient.iter().map(|g| g * clip).collect();
                let [first, second] = &mut states[index];
                optimizer.apply(
                    &record,
                    Tile {
                        parameters: &mut parameters,
                        gradients: &clipped,
                        states: [first, second],
                        rate: record.rate * rule.factors.for_layer(layer)[bias],
                        decay: record.decay * if bias == 1 { rule.bias_decay() } else { 1.0 },
                    },
                );
                let wide = Array1::from_iter(parameters.into_iter().map(f64::from));
                if bias == 1 {
                    narrow_network.biases[layer] = wide;
                } else {
                    let dim = narrow_network.weights[layer].dim();
                    narrow_network.weights[layer] = wide.into_shape_with_order(dim).unwrap();
                }
            }
        }
        let (got, want) = (tensors(&narrow_network), tensors(&run.network));
        for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
            assert!((got - want).abs() < 1e-5, "{kind}: {got}, not {want}");
        }
        let states = |place: usize| states.iter().flat_map(move |states| states[place].clone());
        for place in 0..kind.states() {
            for (got, want) in states(place).zip(tensors(&run.states[place]).iter().flatten()) {
                let error = (f64::from(got) - want).abs();
                assert!(error < 1e-4 * want.abs().max(0.1), "{kind} state {place}: {got}, not {want}");
            }
        }
    }
}
