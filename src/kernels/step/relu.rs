//! Host half of `shaders/relu.wgsl`.

use bytemuck::{Pod, Zeroable};

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{Compute, Cost, Kernel, Shader, StepRecord, Tensor, ThreadLayout, Tuning, blocks, word};

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    columns: u32,
    unused: [u32; 3],
}

static SHADER: Shader = Shader {
    name: "relu",
    source: include_str!("../../../shaders/relu.wgsl"),
    bindings: &[Access::Read, Access::Write],
    reads_record: true,
};

/// Y = max(0, Z). Buffers: Z, Y [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct Relu {
    /// Most rows of a batch.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
}

impl Kernel for Relu {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { columns: word(self.columns), unused: [0; 3] }).to_vec()
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows * blocks(self.columns))
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.columns)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.columns);
        Cost::dispatch(elements, elements, elements)
    }
}

/// max(0, z), element by element, of a vector or a matrix. NaN stays NaN.
///
/// ```
/// use tinytrain::kernels::{Compute, relu};
/// let compute = Compute::best()?;
/// let z = compute.vector(&[-1.0f32, 0.0, 2.0])?;
/// assert_eq!(relu(&compute, &z)?.read(&compute)?, [0.0, 0.0, 2.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// As [`Compute::run`].
pub fn relu<T: Tensor<Element = f32>>(compute: &Compute, z: &T) -> Result<T> {
    let y = z.output_like(compute)?;
    let kernel = Relu { rows: z.rows(), columns: z.columns() };
    compute.run(&kernel, &[z.buffer(), y.buffer()], StepRecord::all(z.rows()))?;
    Ok(y)
}
