use ndarray::{Array1, Array2, Axis, array, s};
use tinytrain::kernels::{LossGradient, LossTargets, StepRecord, Tuning, sum_metrics};
use tinytrain::reference::{ReferenceTargets, bounds, ops};
use tinytrain::step::Loss;

use crate::cross_entropy::metrics;
use crate::lab::{Lab, assert_close, batch, everywhere, labels, random, shuffled, wide};
use crate::softmax::SHAPES;

const EPS: f64 = f32::EPSILON as f64;

/// Outputs Z of a batch and its targets, with a weight for each row.
struct Problem {
    targets: LossTargets,
    z: Array2<f32>,
    classes: Vec<u32>,
    values: Array2<f32>,
    weights: Vec<f32>,
}

impl Problem {
    fn new(targets: LossTargets, z: Array2<f32>, classes: Vec<u32>) -> Self {
        let (rows, outputs) = z.dim();
        // Targets are labels of 0 or 1, or differ from outputs by the size of the outputs.
        let others = random(rows, outputs, 7);
        let values = match targets.loss.of_labels() {
            true => others.mapv(|value| f32::from(value > 0.0)),
            false => &z + &others,
        };
        let weights = (0..rows).map(|row| [1.0, 0.25, 3.0, 0.0][row % 4]).collect();
        Self { targets, z, classes, values, weights }
    }

    /// Returns the words of each row's targets in a device's format.
    fn words(&self) -> Vec<Vec<u32>> {
        let row = |row: usize| {
            let mut words = match self.targets.loss.of_classes() {
                true => vec![self.classes[row]],
                false => self.values.row(row).iter().map(|value| value.to_bits()).collect(),
            };
            words.extend(Some(self.weights[row].to_bits()).filter(|_| self.targets.weighted));
            words
        };
        (0..self.z.nrows()).map(row).collect()
    }

    /// Runs the kernel on the first `rows` rows, with the targets of the batch or through the order.
    fn run(&self, lab: &Lab, tuning: &Tuning, rows: usize, by_order: bool) -> (Array2<f32>, (f64, f64)) {
        let (capacity, outputs) = self.z.dim();
        let groups = tuning.row_groups(capacity);
        // Targets of a data set in another order, and the start of the batch in it.
        let (samples, first) = (capacity + 7, 4);
        let order = shuffled(samples);
        let mut stored = vec![vec![u32::MAX; self.targets.words(outputs)]; samples];
        for (row, words) in self.words().into_iter().enumerate().take(rows) {
            let place = if by_order { order[first + row] as usize } else { row };
            stored[place] = words;
        }
        let (delta, output) = (lab.output_matrix(rows, outputs), lab.output(2 * groups * 2));
        let (on_z, on_targets) = (lab.matrix(&self.z), lab.upload(&stored.concat()));
        let on_order = by_order.then(|| lab.upload(&order));
        let buffers =
            [&on_z, &on_targets].into_iter().chain(&on_order).chain([&delta.buffer, &output.buffer]);
        let samples = by_order.then_some(samples);
        let kernel = LossGradient { rows: capacity, outputs, targets: self.targets, samples };
        let record = StepRecord { first: first as u32, slot: 1, ..batch(rows) };
        lab.run(&kernel, tuning, &buffers.collect::<Vec<_>>(), record);
        (lab.read(&delta, rows, outputs), metrics(&lab.floats(&output), groups, 1))
    }

    fn check(&self, lab: &Lab, tuning: &Tuning, rows: usize, by_order: bool) {
        let LossTargets { loss, smoothing, weighted } = self.targets;
        let what = format!("{:?}, {rows} of {} x {}", self.targets, self.z.nrows(), self.z.ncols());
        let live = |matrix: &Array2<f32>| wide(matrix).slice(s![..rows, ..]).to_owned();
        let (z, values) = (live(&self.z), live(&self.values));
        let classes: Vec<usize> = self.classes[..rows].iter().map(|class| *class as usize).collect();
        let weight = |row: usize| if weighted { f64::from(self.weights[row]) } else { 1.0 };
        let weights: Vec<f64> = (0..rows).map(weight).collect();
        let targets = if loss.of_classes() {
            ReferenceTargets::classes(&classes).smoothed(f64::from(smoothing))
        } else {
            ReferenceTargets::values(values.view())
        };
        let targets = targets.weighted(&weights);

        let (delta, (total, correct)) = self.run(lab, tuning, rows, by_order);
        let (want, bound) = (ops::loss_gradient(loss, z.view(), &targets), delta_bound(loss, &z, &targets));
        assert_close(&what, lab, &delta, &want, &bound);
        let weights = Array1::from(weights.clone());
        let losses = &ops::row_losses(loss, z.view(), &targets.smoothed(0.0)) * &weights;
        let bound = (loss_bound(loss, &z, &targets) * &weights).sum() + 40.0 * EPS * losses.sum();
        let want = losses.sum();
        assert!((total - want).abs() <= bound, "{what}: loss {total}, want {want} within {bound}");
        let right = ops::predictions(z.view()).iter().zip(&classes).filter(|(a, b)| a == b).count();
        assert_eq!(correct, if loss.of_classes() { right as f64 } else { 0.0 }, "{what}");
    }
}

/// Returns the bound of the gradient: of softmax, or otherwise a rounding of the difference (doubled by a
/// slope of 2) and two of products.
fn delta_bound(loss: Loss, z: &Array2<f64>, targets: &ReferenceTargets<'_>) -> Array2<f64> {
    let (t, (rows, outputs)) = (targets.matrix(z.ncols()), (z.nrows() as f64, z.ncols() as f64));
    let local = match loss {
        Loss::CrossEntropy => bounds::softmax(z.view()) + 8.0 * EPS,
        _ => (z.mapv(f64::abs) + t.mapv(f64::abs) + 1.0) * (8.0 * EPS / outputs),
    };
    let weights = Array1::from_shape_fn(z.nrows(), |row| targets.weight(row) / rows);
    local * weights.insert_axis(Axis(1))
}

/// Returns the bound of each row's loss: of log-sum-exp, or otherwise differences rounded at the size of
/// their parts.
fn loss_bound(loss: Loss, z: &Array2<f64>, targets: &ReferenceTargets<'_>) -> Array1<f64> {
    if loss == Loss::CrossEntropy {
        return bounds::log_sum_exp(z.view());
    }
    let t = targets.matrix(z.ncols());
    let terms = Array2::from_shape_fn(z.dim(), |at| {
        let size = z[at].abs() + t[at].abs();
        let slope = if loss == Loss::Mse { 2.0 * (z[at] - t[at]).abs() } else { 1.0 };
        // The logarithm of a number from 1 to 2 is within 2^-21.
        let own = if loss.of_labels() { 8.0 * EPS + 2f64.powi(-21) } else { 0.0 };
        2.0 * EPS * size * (slope + EPS * size) + own
    });
    // The number of roundings of a sum is its number of terms.
    let outputs = z.ncols() as f64;
    let losses = ops::row_losses(loss, z.view(), targets);
    terms.sum_axis(Axis(1)) / outputs + losses * ((outputs + 4.0) * EPS)
}

/// Returns all losses, with and without weights; smoothing if targets are classes.
fn all() -> impl Iterator<Item = LossTargets> {
    let of = |loss: Loss| {
        [(false, 0.0), (true, 0.1)].map(|(weighted, smoothing)| LossTargets { loss, smoothing, weighted })
    };
    Loss::ALL.iter().copied().flat_map(of)
}

#[test]
fn odd_shapes_of_every_loss() {
    everywhere(|lab, tuning| {
        for (number, (capacity, rows, outputs)) in SHAPES.into_iter().enumerate() {
            for (place, targets) in all().enumerate() {
                let z = random(capacity, outputs, 1) * 3.0;
                let problem = Problem::new(targets, z, labels(capacity, outputs));
                problem.check(lab, tuning, rows, (number + place) % 2 == 0);
            }
        }
    });
}

#[test]
fn huge_outputs() {
    everywhere(|lab, tuning| {
        for targets in all() {
            let z = array![[1e4f32, -1e4, 0.0], [0.0, 500.0, -500.0], [-1e4, -1e4, -1e4]];
            Problem::new(targets, z, vec![1, 2, 0]).check(lab, tuning, 3, true);
            if targets.loss.of_labels() || targets.loss.levels().is_some() {
                let z = array![[1e30f32, -1e30, 0.0], [-1e30, 1e30, 100.0], [-100.0, 1e30, -1e30]];
                Problem::new(targets, z, vec![1, 2, 0]).check(lab, tuning, 3, false);
            }
        }
    });
}

/// Shader reads are not clamped: a target that is not a class must not cause an access out of bounds.
#[test]
fn a_target_that_is_no_class_has_an_infinite_loss() {
    everywhere(|lab, tuning| {
        for class in [3, 4, 1 << 20, u32::MAX] {
            for (smoothing, by_order) in [(0.0, false), (0.1, true)] {
                let targets = LossTargets { smoothing, ..LossTargets::CLASSES };
                let problem = Problem::new(targets, random(3, 3, 1), vec![1, class, 0]);
                let (delta, (loss, correct)) = problem.run(lab, tuning, 3, by_order);
                assert!(loss == f64::INFINITY && correct <= 2.0, "{class}: {loss} {correct}");
                assert!(delta.iter().all(|value| value.is_finite()), "{delta}");
            }
        }
    });
}

#[test]
fn nan_gives_a_nan_loss() {
    everywhere(|lab, tuning| {
        for targets in all() {
            let mut problem = Problem::new(targets, random(3, 10, 1), vec![0; 3]);
            problem.z[[1, 4]] = f32::NAN;
            let (_, (loss, _)) = problem.run(lab, tuning, 3, false);
            assert!(!loss.is_finite(), "{targets:?}: {loss}");
        }
        // The sum on the host.
        assert!(sum_metrics(&[f32::NAN, 0.0]).0.is_nan());
    });
}
