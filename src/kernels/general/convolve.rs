//! Host half of `shaders/convolve.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Axis, Compute, Cost, Description, Kernel, Matrix, Seal, Shader, StepRecord, Tensor, ThreadLayout, Tuning,
    Vector, blocks, matrix, shape_error, word, words,
};

static SHADER: Shader = Shader::new("convolve", &[Read, Read, Write]);

/// Most taps of a convolution.
pub const MOST_TAPS: usize = 1024;

/// Elements of workgroup memory that every device has: 16 KiB, less the part that some drivers reserve.
const MOST_SHARED: usize = 16_352 / 4;

/// Outputs of a convolution of n elements with k taps, and the elements that they sum. Elements beyond both
/// ends count as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The n - k + 1 outputs for which all taps are multiplied by elements:
    /// `C[i] = sum over j of A[i + j] B[j]`.
    Valid,
    /// n outputs, with tap k / 2 at the output: `C[i] = sum over j of A[i + j - k / 2] B[j]`. Same as
    /// `scipy.ndimage.correlate1d` with zeros outside and, if n is not below k, `scipy.signal.correlate` and
    /// `numpy.correlate` with "same".
    Same,
    /// n outputs, with the first tap at the output: as Valid, with the last outputs cut off at the end of the
    /// line.
    Tail,
}

/// `C[line, i] = sum over j of A[line, i + j - origin] B[j]`. Buffers: A [lines, length] and C [lines, outputs], or
/// both transposed; `B [taps]`.
#[derive(Debug, Clone, Copy)]
pub struct Convolve {
    /// Whether the lines are rows or columns.
    pub axis: Axis,
    /// Number of lines.
    pub lines: usize,
    /// Elements of a line.
    pub length: usize,
    /// Number of taps: 1 to [`MOST_TAPS`], for [`Mode::Valid`] at most `length`.
    pub taps: usize,
    /// Which outputs are computed.
    pub mode: Mode,
    /// Adjacent lines per team; see [`Convolve::abreast`].
    pub abreast: usize,
}

impl Convolve {
    /// Returns the number of adjacent lines per team whose data fits every device's workgroup memory: one for
    /// rows, up to sixteen for columns, since adjacent columns are adjacent elements in memory.
    pub fn abreast(axis: Axis, taps: usize, tuning: &Tuning) -> usize {
        let fits =
            |abreast: &usize| (tuning.team + taps_held(taps)) * abreast + taps_held(taps) <= MOST_SHARED;
        match axis {
            Axis::Rows => 1,
            Axis::Columns => [16, 8, 4, 2].into_iter().find(fits).unwrap_or(1),
        }
    }

    /// Returns the number of outputs of a line.
    pub fn outputs(&self) -> usize {
        match self.mode {
            Mode::Valid => (self.length + 1).saturating_sub(self.taps),
            Mode::Same | Mode::Tail => self.length,
        }
    }

    /// Returns the tap that is multiplied by element i in output i.
    fn origin(&self) -> usize {
        if self.mode == Mode::Same { self.taps / 2 } else { 0 }
    }

    /// Returns lines and positions of C, with padding, and the row strides of A and C.
    fn stored(&self) -> ([usize; 2], [usize; 2]) {
        let outputs = self.outputs();
        let padded = |columns: usize| blocks(columns).saturating_mul(4);
        match self.axis {
            Axis::Rows => ([self.lines, padded(outputs)], [padded(self.length), padded(outputs)]),
            Axis::Columns => ([padded(self.lines), outputs], [padded(self.lines); 2]),
        }
    }

    fn layout(&self) -> ThreadLayout {
        let ([lines, length], _) = self.stored();
        ThreadLayout::Teams { lines: lines.div_ceil(self.abreast), length, each: 1 }
    }

    /// Returns the number of products in the outputs of a line.
    fn products(&self) -> usize {
        let (outputs, origin) = (self.outputs(), self.origin());
        // first + (first - 1) + ..., `count` of them.
        let falling =
            |first: usize, count: usize| (count * (2 * first + 1)).saturating_sub(count * count) / 2;
        // Output i begins at tap origin - i, or at the first, and ends at the end of the line or the taps.
        let skipped = falling(origin, origin.min(outputs));
        let whole = (self.length + origin + 1).saturating_sub(self.taps).min(outputs);
        whole * self.taps + falling(self.length + origin - whole, outputs - whole) - skipped
    }
}

/// Returns the number of taps that a pipeline has room for: few sizes, for few pipelines.
fn taps_held(taps: usize) -> usize {
    taps.next_power_of_two().max(16)
}

impl Kernel for Convolve {
    fn describe(&self, _: Seal) -> Description {
        let (([lines_stored, outputs_stored], [pitch_in, pitch_out]), outputs) =
            (self.stored(), self.outputs());
        let lines = [self.lines, lines_stored, self.length, outputs, outputs_stored];
        let rest = [self.taps, self.origin(), pitch_in, pitch_out, 0, 0, 0];
        let words = [&lines.map(word)[..], &rest.map(word)].concat();
        let Self { lines, length, taps, .. } = self;
        let shape = format!("{lines} x {length} by {taps} taps -> {lines} x {outputs}");
        Description {
            flags: vec![("DOWN", self.axis == Axis::Columns)],
            choices: vec![("ABREAST", word(self.abreast)), ("TAPS", word(taps_held(self.taps)))],
            ..Description::new(&SHADER, &words, self.layout(), shape)
        }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        if !(1..=MOST_TAPS).contains(&self.taps) || self.abreast == 0 {
            let expected = format!("1 to {MOST_TAPS} taps, and lines abreast");
            return Err(shape_error(&SHADER, expected, format!("{} and {}", self.taps, self.abreast)));
        }
        let stored = |length: usize| {
            let [rows, columns] = self.axis.lines(self.lines, length);
            matrix(rows, columns)
        };
        Ok(vec![stored(self.length), words(&[&[self.taps]]), stored(self.outputs())])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let ([lines_stored, outputs_stored], _) = self.stored();
        // A team loads the inputs of its outputs that exist in the line.
        let load = |start: usize| {
            let end = (start + tuning.team).min(self.outputs());
            if start >= end {
                return 0;
            }
            let behind = (end + self.taps - 1).saturating_sub(self.origin()).min(self.length);
            behind.saturating_sub(start.saturating_sub(self.origin()))
        };
        let loads: usize = self.lines * (0..outputs_stored).step_by(tuning.team).map(load).sum::<usize>();
        let (teams, products) = (tuning.groups(self.layout()), self.lines * self.products());
        let loads = loads + teams * self.taps;
        Cost::dispatch(loads, lines_stored * outputs_stored, 2 * products).sharing(2 * products, loads, teams)
    }
}

fn run<T: Tensor<Element = f32>>(
    compute: &Compute,
    axis: Axis,
    a: &T,
    taps: &Vector,
    mode: Mode,
) -> Result<T> {
    let [lines, length] = axis.lines(a.rows(), a.columns());
    let most = if mode == Mode::Valid { length.min(MOST_TAPS) } else { MOST_TAPS };
    if taps.is_empty() || taps.len() > most {
        let expected = format!("1 to {most} taps for lines of {length}");
        return Err(shape_error(&SHADER, expected, taps.len().to_string()));
    }
    let abreast = Convolve::abreast(axis, taps.len(), &compute.tuning);
    let kernel = Convolve { axis, lines, length, taps: taps.len(), mode, abreast };
    let [rows, columns] = axis.lines(lines, kernel.outputs());
    let c = T::output(compute, rows, columns)?;
    compute.run_into(c, &kernel, &[a.buffer(), taps.buffer()], StepRecord::default())
}

/// Convolves a vector, or every row of a matrix, with `taps`: `C[i] = sum over j of A[i + j - origin] B[j]`,
/// with the origin of the mode. This is the order of correlation, which neural networks and the GPU puzzles
/// call convolution; reverse the taps for the convolution of signal processing.
///
/// ```
/// use tinytrain::kernels::{Compute, Mode, convolve};
/// let compute = Compute::best()?;
/// let a = compute.vector(&[0.0f32, 1.0, 2.0, 3.0])?;
/// let taps = compute.vector(&[1.0f32, 10.0])?;
/// assert_eq!(convolve(&compute, &a, &taps, Mode::Valid)?.read(&compute)?, [10.0, 21.0, 32.0]);
/// assert_eq!(convolve(&compute, &a, &taps, Mode::Tail)?.read(&compute)?, [10.0, 21.0, 32.0, 3.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for no taps, for more than [`MOST_TAPS`], and in [`Mode::Valid`] for
/// more taps than elements in a row; see also [`Compute::run`].
pub fn convolve<T: Tensor<Element = f32>>(compute: &Compute, a: &T, taps: &Vector, mode: Mode) -> Result<T> {
    run(compute, Axis::Rows, a, taps, mode)
}

/// Convolves a matrix in two dimensions with the product of two kernels, in two passes instead of k x k
/// products per element:
/// `C[r, c] = sum over i, j of A[r + i - origin, c + j - origin] column_taps[i] row_taps[j]`. `row_taps` are
/// applied along the rows, `column_taps` down the columns.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, Mode, convolve_separable};
/// let compute = Compute::best()?;
/// let a = compute.matrix(&array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
/// let ones = compute.vector(&[1.0f32, 1.0])?;
/// let c = convolve_separable(&compute, &a, &ones, &ones, Mode::Valid)?;
/// assert_eq!(c.read(&compute)?, array![[12.0, 16.0]]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// See [`convolve`], for rows and for columns.
pub fn convolve_separable(
    compute: &Compute,
    a: &Matrix,
    row_taps: &Vector,
    column_taps: &Vector,
    mode: Mode,
) -> Result<Matrix> {
    let along_rows = run(compute, Axis::Rows, a, row_taps, mode)?;
    run(compute, Axis::Columns, &along_rows, column_taps, mode)
}
