//! Host half of `shaders/activate.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Compute, Cost, Kernel, Nonlinearity, Piece, Shader, StepRecord, Tensor, ThreadLayout, Tuning, blocks,
    matrix, uniform, word,
};
use crate::step::Activation;

static SHADER: Shader = Shader {
    name: "activate",
    source: include_str!("../../../shaders/activate.wgsl"),
    bindings: &[Access::Read, Access::Write],
    records: 1,
};

/// Y = f(Z), and what dropout leaves of it. Buffers: Z, Y [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct Activate {
    /// Most rows of a batch.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
    /// f, and dropout.
    pub nonlinearity: Nonlinearity,
}

impl Kernel for Activate {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        let [layer, threshold, scale] = self.nonlinearity.params();
        uniform(&[word(self.columns), layer, threshold, scale])
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows * blocks(self.columns))
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("DROPOUT", self.nonlinearity.dropout.is_some())]
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        vec![self.nonlinearity.piece()]
    }

    fn fused(&self) -> Vec<String> {
        self.nonlinearity.fused()
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(record.live(), self.columns); 2])
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.columns)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.columns);
        Cost::dispatch(elements, elements, elements * self.nonlinearity.activation.flop()[0])
    }
}

/// f(z), element by element, of a vector or a matrix. NaN stays NaN.
///
/// ```
/// use tinytrain::kernels::{Compute, activate};
/// use tinytrain::step::Activation;
/// let compute = Compute::best()?;
/// let z = compute.vector(&[-1.0f32, 0.0, 2.0])?;
/// assert_eq!(activate(&compute, Activation::Relu, &z)?.read(&compute)?, [0.0, 0.0, 2.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// As [`Compute::run`].
pub fn activate<T: Tensor<Element = f32>>(compute: &Compute, activation: Activation, z: &T) -> Result<T> {
    let y = z.output_like(compute)?;
    let nonlinearity = Nonlinearity { activation, dropout: None };
    let kernel = Activate { rows: z.rows(), columns: z.columns(), nonlinearity };
    compute.run(&kernel, &[z.buffer(), y.buffer()], StepRecord::all(z.rows()))?;
    Ok(y)
}
