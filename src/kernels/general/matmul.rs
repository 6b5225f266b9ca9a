//! Host half of `shaders/matmul.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Kernel, Matrix, Seal, Shader, StepRecord, Tensor, ThreadLayout, Tuning,
    Vector, blocks, dimensions, matrix, shape_error, vec4s, word,
};

static SHADER: Shader = Shader::new("matmul", &[Read, Read, Read, Write]);

/// C = A B, one product or several; with optional bias and ReLU. Buffers: A [matrices, m, k], B [matrices, k,
/// n], `bias [n]` (any buffer if there is none), C [matrices, m, n].
#[derive(Debug, Clone, Copy)]
pub struct Matmul {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Inner dimension.
    pub k: usize,
    /// Number of products.
    pub matrices: usize,
    /// Whether A is stored transposed, [k, m].
    pub transpose_a: bool,
    /// Whether B is stored transposed, [n, k].
    pub transpose_b: bool,
    /// Whether to add a bias to every row.
    pub bias: bool,
    /// Whether to apply max(0, .) to C.
    pub relu: bool,
}

impl Kernel for Matmul {
    fn describe(&self, _: Seal) -> Description {
        let Self { m, n, k, matrices, .. } = *self;
        let one = format!("{m} x {k} x {n}");
        let shape = if matrices == 1 { one } else { format!("{matrices} of {one}") };
        let layout = ThreadLayout::Product { rows: m, columns: n, matrices };
        let flags = vec![
            ("TRANSPOSE_A", self.transpose_a),
            ("TRANSPOSE_B", self.transpose_b),
            ("BIAS", self.bias),
            ("RELU", self.relu),
        ];
        Description { flags, ..Description::new(&SHADER, &[m, n, k, 0].map(word), layout, shape) }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        let stored = |rows: usize, columns: usize, transposed: bool| {
            let (rows, columns) = if transposed { (columns, rows) } else { (rows, columns) };
            vec4s(&[&[self.matrices, rows, blocks(columns)]])
        };
        let bias = if self.bias { matrix(1, self.n) } else { 0 };
        let (a, b) = (stored(self.m, self.k, self.transpose_a), stored(self.k, self.n, self.transpose_b));
        Ok(vec![a, b, bias, stored(self.m, self.n, false)])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let width = 4 * blocks(self.n);
        let flop = self.m * self.n * (usize::from(self.bias) + usize::from(self.relu));
        let shape = tuning.product_for(self.m, self.n);
        let bias = if self.bias { shape.rows_before(self.m) * width } else { 0 };
        let one = shape.cost([self.m, self.n, self.k], 4).with(bias, self.m * width, flop);
        Cost { dispatches: 1, ..(0..self.matrices).map(|_| one).sum() }
    }
}

/// A factor of a product, plain or transposed.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// The matrix.
    Plain(&'a Matrix),
    /// Its transpose: the matrix is stored [columns, rows] of the factor.
    Transposed(&'a Matrix),
}

impl<'a> From<&'a Matrix> for Operand<'a> {
    fn from(matrix: &'a Matrix) -> Self {
        Operand::Plain(matrix)
    }
}

impl<'a> Operand<'a> {
    /// Returns the matrix as stored, and whether the factor is its transpose.
    fn stored(self) -> (&'a Matrix, bool) {
        match self {
            Operand::Plain(matrix) => (matrix, false),
            Operand::Transposed(matrix) => (matrix, true),
        }
    }

    /// Returns rows and columns of the factor.
    fn shape(self) -> [usize; 2] {
        match self {
            Operand::Plain(matrix) => [matrix.rows(), matrix.columns()],
            Operand::Transposed(matrix) => [matrix.columns(), matrix.rows()],
        }
    }
}

/// Operations on a product before it is stored.
#[derive(Debug, Clone, Copy, Default)]
pub struct Epilogue<'a> {
    /// Bias added to every row.
    pub bias: Option<&'a Vector>,
    /// Whether max(0, .) is applied after the bias.
    pub relu: bool,
}

/// Computes C = A B, of any shapes; A', B' with [`Operand::Transposed`]; with a bias and ReLU in the
/// epilogue.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, Epilogue, Operand, matmul};
/// let compute = Compute::best()?;
/// let a = compute.matrix(&array![[0.0, 1.0], [2.0, 3.0]])?;
/// let c = matmul(&compute, (&a).into(), Operand::Transposed(&a), Epilogue::default())?;
/// assert_eq!(c.read(&compute)?, array![[1.0, 3.0], [3.0, 13.0]]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the shapes do not match; see also [`Compute::run`].
pub fn matmul(compute: &Compute, a: Operand<'_>, b: Operand<'_>, epilogue: Epilogue<'_>) -> Result<Matrix> {
    let ([m, k], [b_rows, n]) = (a.shape(), b.shape());
    if b_rows != k {
        let expected = format!("B of {k} rows for A of {m} x {k}");
        return Err(shape_error(&SHADER, expected, format!("{b_rows} x {n}")));
    }
    product(compute, a, b, 1, [m, k, n], epilogue)
}

/// Computes `matrices` products at once: `C[i] = A[i] B[i]`. The operands are stacked: A [matrices m, k], B
/// [matrices k, n], and so is C [matrices m, n]. The epilogue applies to each product.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, Epilogue, batched_matmul};
/// let compute = Compute::best()?;
/// let a = compute.matrix(&array![[1.0, 2.0], [3.0, 4.0]])?; // two rows vectors
/// let b = compute.matrix(&array![[1.0], [1.0], [10.0], [0.0]])?; // two column vectors
/// let c = batched_matmul(&compute, 2, &a, &b, Epilogue::default())?;
/// assert_eq!(c.read(&compute)?, array![[3.0], [30.0]]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// See [`matmul`]; also when the rows are not divisible by `matrices`.
pub fn batched_matmul(
    compute: &Compute,
    matrices: usize,
    a: &Matrix,
    b: &Matrix,
    epilogue: Epilogue<'_>,
) -> Result<Matrix> {
    let (k, n) = (a.columns(), b.columns());
    if matrices == 0 || !a.rows().is_multiple_of(matrices) || b.rows() != matrices * k {
        let expected = format!("{matrices} matrices in A, and B of {} rows", matrices * k);
        return Err(shape_error(&SHADER, expected, format!("{} and {}", dimensions(a), dimensions(b))));
    }
    product(compute, a.into(), b.into(), matrices, [a.rows() / matrices, k, n], epilogue)
}

fn product(
    compute: &Compute,
    a: Operand<'_>,
    b: Operand<'_>,
    matrices: usize,
    [m, k, n]: [usize; 3],
    epilogue: Epilogue<'_>,
) -> Result<Matrix> {
    if let Some(bias) = epilogue.bias.filter(|bias| bias.len() != n) {
        return Err(shape_error(&SHADER, format!("a bias of {n}"), format!("one of {}", bias.len())));
    }
    let ((a, transpose_a), (b, transpose_b)) = (a.stored(), b.stored());
    let c = Matrix::output(compute, matrices * m, n)?;
    let (bias, relu) = (epilogue.bias.is_some(), epilogue.relu);
    let kernel = Matmul { m, n, k, matrices, transpose_a, transpose_b, bias, relu };
    // Without a bias nothing reads that binding.
    let bias = epilogue.bias.map_or(a.buffer(), Vector::buffer);
    compute.run_into(c, &kernel, &[a.buffer(), b.buffer(), bias], StepRecord::default())
}
