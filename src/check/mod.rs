//! Checks of this machine's driver: every kernel and every gradient on one device, compared with the f64
//! reference.

mod elementwise;
mod gradient_record;
mod input_layer;
mod losses;
mod network;
mod problem;
mod products;
mod reductions;
mod rows;
mod scans;
mod targets;
mod tensor_file;
mod training;
mod training_record;
mod whole_steps;
mod windows;

use ndarray::{Array, Array1, Array2, Dimension};

pub use gradient_record::GradientRecord;
pub use network::{cpu_engine, gpu_engine, gpu_engine_async};
pub use training_record::TrainingRecord;

use crate::error::Result;
use crate::kernels::{Compute, blocks, pad_rows, unpad_rows};
use crate::random::{Purpose, normal};

/// Distance from 1 to the next f32.
const EPS: f64 = f32::EPSILON as f64;

/// Result of checking one kernel, or one network.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The kernel and its variant, or the checked function of an engine.
    pub subject: String,
    /// Its shapes.
    pub shape: String,
    /// |got - want| relative to the magnitude of the element's terms, for the element that comes closest to
    /// its bound, or exceeds it most.
    pub error: f64,
    /// Largest error explained by rounding there; 0 if the element is exact.
    pub bound: f64,
    /// Reason for a missing result.
    pub fault: Option<String>,
}

impl Outcome {
    /// Returns whether the device is correct.
    pub fn passed(&self) -> bool {
        // NaN fails.
        self.fault.is_none() && self.error <= self.bound
    }
}

/// Computed and expected numbers.
#[derive(Debug, Default)]
struct Figures {
    got: Vec<f64>,
    want: Vec<f64>,
    magnitude: Vec<f64>,
    bound: Vec<f64>,
}

impl Figures {
    /// Numbers without rounding.
    fn exact<T: Into<f64>, U: Into<f64>>(
        got: impl IntoIterator<Item = T>,
        want: impl IntoIterator<Item = U>,
    ) -> Self {
        let want: Vec<f64> = want.into_iter().map(Into::into).collect();
        let magnitude = want.iter().map(|value: &f64| value.abs()).collect();
        let bound = vec![0.0; want.len()];
        Self { got: got.into_iter().map(Into::into).collect(), want, magnitude, bound }
    }

    /// Numbers that may be off by `bound`; errors are reported relative to `magnitude`.
    fn near<'a, D: Dimension>(
        got: impl IntoIterator<Item = &'a f32>,
        want: &Array<f64, D>,
        magnitude: &Array<f64, D>,
        bound: &Array<f64, D>,
    ) -> Self {
        let [want, magnitude, bound] = [want, magnitude, bound].map(|all| all.iter().copied().collect());
        Self { got: got.into_iter().copied().map(f64::from).collect(), want, magnitude, bound }
    }

    /// Numbers with a bound of `units` eps of the magnitude.
    fn relative<'a, D: Dimension>(
        got: impl IntoIterator<Item = &'a f32>,
        want: &Array<f64, D>,
        magnitude: &Array<f64, D>,
        units: f64,
    ) -> Self {
        Self::near(got, want, magnitude, &magnitude.mapv(|magnitude| magnitude * units * EPS))
    }

    /// A single number.
    fn one(got: f64, want: f64, magnitude: f64, bound: f64) -> Self {
        Self { got: vec![got], want: vec![want], magnitude: vec![magnitude], bound: vec![bound] }
    }

    /// Adds a number.
    fn push(&mut self, got: f32, want: f64, magnitude: f64, bound: f64) {
        self.extend(Self::one(f64::from(got), want, magnitude, bound));
    }

    /// Appends other numbers.
    fn and(mut self, other: Self) -> Self {
        self.extend(other);
        self
    }

    fn extend(&mut self, other: Self) {
        self.got.extend(other.got);
        self.want.extend(other.want);
        self.magnitude.extend(other.magnitude);
        self.bound.extend(other.bound);
    }

    /// Returns error and bound, both relative, for the number that comes closest to its bound.
    fn worst(&self) -> Result<(f64, f64), String> {
        if self.got.len() != self.want.len() {
            return Err(format!("{} numbers, expected {}", self.got.len(), self.want.len()));
        }
        let mut worst = (0.0, f64::INFINITY);
        let mut ratio = -1.0;
        for (i, (got, want)) in self.got.iter().zip(&self.want).enumerate() {
            let (error, bound) = ((got - want).abs(), self.bound[i]);
            if error.is_nan() {
                return Err(format!("{got} at number {i}, expected {want}"));
            }
            // Exact numbers have a bound of 0: any error exceeds it infinitely.
            let here = if error == 0.0 { 0.0 } else { error / bound };
            if here > ratio {
                let scale = self.magnitude[i].max(f64::MIN_POSITIVE);
                (ratio, worst) = (here, (error / scale, bound / scale));
            }
        }
        if ratio < 0.0 { Err("no numbers at all".to_owned()) } else { Ok(worst) }
    }
}

/// Extent of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Each kernel in one or two shapes: seconds.
    Quick,
    /// Also odd shapes: sizes around the sizes of tiles, workgroups and blocks. The tests of the kernels use
    /// this.
    Thorough,
}

/// Sizes that are not multiples of any tile.
const ODD: [usize; 6] = [1, 3, 17, 63, 65, 257];

/// Receives each outcome as it becomes available.
pub type Sink<'a> = dyn FnMut(Outcome) + 'a;

/// Cases of one device.
struct Cases<'a> {
    compute: &'a Compute,
    extent: Extent,
    sink: &'a mut dyn FnMut(Outcome),
    /// Number of finished cases.
    done: usize,
    /// Number of cases so far.
    number: usize,
}

impl Cases<'_> {
    /// Runs one case, unless it is finished already, or an earlier one waits for data.
    fn case(&mut self, subject: &str, shape: &str, run: impl FnOnce(&Compute) -> Result<Figures>) {
        self.number += 1;
        if self.number <= self.done || self.compute.awaits() {
            return;
        }
        let outcome = outcome(subject, shape, run(self.compute));
        if !self.compute.awaits() {
            (self.sink)(outcome);
            self.compute.begin_other();
            self.done = self.number;
        }
    }

    /// Returns the shapes of a kernel: the quick ones, and also the odd ones for thorough checks.
    fn shapes<T>(&self, quick: impl IntoIterator<Item = T>, odd: impl IntoIterator<Item = T>) -> Vec<T> {
        let odd = odd.into_iter().filter(|_| self.extent == Extent::Thorough);
        quick.into_iter().chain(odd).collect()
    }

    /// Runs all cases.
    fn run(&mut self) {
        elementwise::run(self);
        reductions::run(self);
        windows::run(self);
        scans::run(self);
        products::run(self);
        rows::run(self);
        training::run(self);
        training::run_activations(self);
        losses::run(self);
        training::run_optimizers(self);
        input_layer::run(self);
        whole_steps::run(self);
    }
}

fn outcome(subject: &str, shape: &str, figures: Result<Figures>) -> Outcome {
    let worst = figures.map_err(|error| error.to_string()).and_then(|figures| figures.worst());
    let (subject, shape) = (subject.to_owned(), shape.to_owned());
    match worst {
        Ok((error, bound)) => Outcome { subject, shape, error, bound, fault: None },
        Err(fault) => Outcome { subject, shape, error: f64::NAN, bound: f64::NAN, fault: Some(fault) },
    }
}

/// Runs every kernel on the device, with outputs that are filled with NaN before and followed by traps.
/// `sink` receives each outcome when the case ends.
pub fn kernels(compute: &Compute, extent: Extent, sink: &mut Sink<'_>) {
    Cases { compute, extent, sink, done: 0, number: 0 }.run();
}

/// Runs the quick checks of [`kernels`], for threads that must not block.
///
/// # Errors
/// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
pub async fn kernels_async(compute: &Compute, sink: &mut Sink<'_>) -> Result<()> {
    let (compute, mut done) = (compute.replaying(), 0);
    loop {
        let mut cases = Cases { compute: &compute, extent: Extent::Quick, sink: &mut *sink, done, number: 0 };
        cases.run();
        done = cases.done;
        if !compute.arrived().await? {
            return Ok(());
        }
    }
}

/// Returns normally distributed numbers; `stream` distinguishes matrices of one case.
fn random(rows: usize, columns: usize, stream: u32) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| {
        normal(u64::from(stream), Purpose::Weights, [i as u32, j as u32]) as f32
    })
}

/// Converts numbers to f64.
fn wide<D: Dimension>(values: &Array<f32, D>) -> Array<f64, D> {
    values.mapv(f64::from)
}

/// Returns a vector of normally distributed numbers.
fn vector(length: usize, stream: u32) -> Array1<f32> {
    random(1, length, stream).into_iter().collect()
}

/// Returns a matrix with padded rows.
fn flat(matrix: &Array2<f32>) -> Vec<f32> {
    pad_rows(&matrix.iter().copied().collect::<Vec<_>>(), matrix.ncols())
}

/// Returns `rows` rows of a padded matrix that begins at vec4 `place`.
fn matrix(values: &[f32], place: usize, rows: usize, columns: usize) -> Array2<f32> {
    let padded = &values[4 * place..4 * (place + rows * blocks(columns))];
    Array2::from_shape_vec((rows, columns), unpad_rows(padded, columns)).unwrap_or_default()
}

/// Returns labels below `classes`.
fn labels(rows: usize, classes: usize) -> Vec<u32> {
    (0..rows).map(|row| ((row * 7 + row / 3) % classes) as u32).collect()
}

/// Converts labels to indices for the reference.
fn indices(labels: &[u32]) -> Vec<usize> {
    labels.iter().map(|label| *label as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn judged(got: Array2<f32>) -> Outcome {
        let want = array![[1.0, -2.0, 4.0]];
        let figures = Figures::near(&got, &want, &want.mapv(f64::abs), &want.mapv(|x| x.abs() * 1e-6));
        outcome("a kernel", "1 x 3", Ok(figures))
    }

    #[test]
    fn an_error_beyond_its_bound_does_not_pass() {
        assert!(judged(array![[1.0, -2.0, 4.0]]).passed());
        let off = judged(array![[1.0, -2.0001, 4.0]]);
        assert!(!off.passed());
        assert!((off.error - 5e-5).abs() < 1e-7 && (off.bound - 1e-6).abs() < 1e-12, "{off:?}");
    }

    #[test]
    fn nan_missing_numbers_and_none_at_all_do_not_pass() {
        assert!(!judged(array![[1.0, f32::NAN, 4.0]]).passed());
        assert!(!judged(array![[1.0, f32::INFINITY, 4.0]]).passed());
        assert!(!judged(array![[1.0, -2.0]]).passed());
        assert!(!outcome("a kernel", "", Ok(Figures::default())).passed());
        assert!(!outcome("a kernel", "", Err(crate::error::Error::Gpu("lost".to_owned()))).passed());
    }

    #[test]
    fn exact_numbers_have_no_room() {
        assert!(outcome("a kernel", "", Ok(Figures::exact([1u32, 2], [1u32, 2]))).passed());
        assert!(!outcome("a kernel", "", Ok(Figures::exact([1u32, 2], [1u32, 3]))).passed());
        assert!(!outcome("a kernel", "", Ok(Figures::exact([0.0f32, 1e-30], [0.0f32, 0.0]))).passed());
    }
}
