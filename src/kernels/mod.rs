//! The kernels: each is a shader in `shaders/NAME.wgsl`, its host half `NAME.rs` here, a function of that name in
//! [`crate::reference::ops`] and a test in `tests/gpu/NAME.rs`.
//!
//! Matrices on the device are row-major f32 with rows padded to whole vec4s ([`blocks`]); the padding is 0.
//! The parameters of a layer stand as one matrix of `inputs + 1` rows: the weights, and below them the bias.

mod cross_entropy;
mod forward;
mod gather;
mod input_gradient;
mod matmul;
mod relu;
mod relu_backward;
mod softmax;
mod softmax_cross_entropy;
mod softmax_cross_entropy_backward;
mod source;
mod tuning;
mod update;
mod weight_gradient;

use bytemuck::{Pod, Zeroable};

pub use cross_entropy::CrossEntropy;
pub use forward::Forward;
pub use gather::{Gather, Stored};
pub use input_gradient::InputGradient;
pub use matmul::Matmul;
pub use relu::Relu;
pub use relu_backward::ReluBackward;
pub use softmax::Softmax;
pub use softmax_cross_entropy::SoftmaxCrossEntropy;
pub use softmax_cross_entropy_backward::SoftmaxCrossEntropyBackward;
pub use source::compose;
pub use tuning::{Product, Tuning};
pub use update::Update;
pub use weight_gradient::WeightGradient;

use crate::error::Result;
use crate::gpu::{Access, Context, Pipelines, Prepared, Program};

/// The most storage buffers that a kernel binds. GL ES guarantees only four; other interfaces have eight and more.
pub const MOST_BUFFERS: usize = 5;

/// A shader file and what its bindings are.
#[derive(Debug)]
pub struct Shader {
    /// File stem in `shaders/`, and entry point.
    pub name: &'static str,
    /// The file's text, with its `//#include` lines.
    pub source: &'static str,
    /// Storage buffers at bindings 1, 2, ... of group 0.
    pub bindings: &'static [Access],
    /// Whether it reads [`Batch`] at binding 0 of group 1.
    pub per_batch: bool,
}

/// Where the batch of a step stands: the uniform at binding 0 of group 1 (`shaders/common/batch.wgsl`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Batch {
    /// Position of its first row in the epoch's order.
    pub first: u32,
    /// Rows that are live.
    pub rows: u32,
    /// Which slot of the metrics belongs to it.
    pub slot: u32,
    /// Where its first prediction goes.
    pub output: u32,
}

/// The three ways in which the threads of a kernel are laid out; [`Tuning`] says how many of them share what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// C [rows, columns] of a matrix product, by the matmul body (`shaders/common/matmul_*.wgsl`).
    Product {
        /// Rows of C.
        rows: usize,
        /// Columns of C.
        columns: usize,
    },
    /// One thread an element, so many of them (`shaders/common/elementwise.wgsl`).
    Elements(usize),
    /// Some threads a row, so many rows (`shaders/common/reduce.wgsl`).
    Rows(usize),
}

/// One kernel with its shapes: what the host must know to dispatch it.
pub trait Kernel {
    /// The shader.
    fn shader(&self) -> &'static Shader;

    /// The uniform at binding 0 of group 0, a multiple of 16 bytes.
    fn params(&self) -> Vec<u8>;

    /// How its threads are laid out.
    fn layout(&self) -> Layout;

    /// Override constants of its own: which variant of the shader this is.
    fn flags(&self) -> Vec<(&'static str, bool)> {
        Vec::new()
    }

    /// Which file stands for a name that the shader includes, where the kernel chooses.
    fn pieces(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// The shapes in words, for people.
    fn shape(&self) -> String;
}

/// Number of vec4s that hold `n` values: ceil(n / 4).
pub const fn blocks(n: usize) -> usize {
    n.div_ceil(4)
}

/// `values` [rows, columns] with rows padded to whole vec4s by zeros.
pub fn pad_rows<T: Copy + Default>(values: &[T], columns: usize) -> Vec<T> {
    let stride = 4 * blocks(columns);
    if stride == columns {
        return values.to_vec();
    }
    let mut padded = vec![T::default(); values.len().checked_div(columns).unwrap_or(0) * stride];
    for (to, from) in padded.chunks_exact_mut(stride.max(1)).zip(values.chunks_exact(columns.max(1))) {
        to[..columns].copy_from_slice(from);
    }
    padded
}

/// The inverse of [`pad_rows`].
pub fn unpad_rows<T: Copy>(padded: &[T], columns: usize) -> Vec<T> {
    padded.chunks_exact((4 * blocks(columns)).max(1)).flat_map(|row| &row[..columns]).copied().collect()
}

/// Everything that shapes the machine code of `kernel`.
pub fn program(kernel: &dyn Kernel, tuning: &Tuning) -> Program {
    let (shader, layout) = (kernel.shader(), kernel.layout());
    let pieces = [kernel.pieces(), tuning.pieces(layout)].concat();
    let flags = kernel.flags().into_iter().map(|(name, flag)| (name, f64::from(u8::from(flag))));
    let sizes = tuning.constants(layout).into_iter().map(|(name, size)| (name, size as f64));
    Program {
        entry: shader.name,
        source: compose(shader.source, &pieces),
        constants: flags.chain(sizes).map(|(name, value)| (name, value.to_bits())).collect(),
        bindings: shader.bindings.to_vec(),
        params_bytes: kernel.params().len() as u64,
        step_bytes: if shader.per_batch { size_of::<Batch>() as u64 } else { 0 },
    }
}

/// Compiles `kernel` if need be and binds `buffers` to it, in the order of its bindings.
///
/// # Errors
/// As [`Pipelines::prepare`].
pub fn prepare(
    context: &Context,
    pipelines: &Pipelines,
    kernel: &dyn Kernel,
    tuning: &Tuning,
    buffers: &[&wgpu::Buffer],
) -> Result<Prepared> {
    let grid = grid(kernel, tuning);
    pipelines.prepare(context, &program(kernel, tuning), &kernel.params(), buffers, grid)
}

/// The grid of workgroups as dispatched.
pub fn grid(kernel: &dyn Kernel, tuning: &Tuning) -> [u32; 3] {
    // What does not fit u32 exceeds every device's limit; `Pipelines::prepare` then says so.
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let [x, y] = tuning.grid(kernel.layout());
    [count(x), count(y), 1]
}

/// A count or size as the shaders hold it.
fn word(n: usize) -> u32 {
    // Buffers hold at most u32::MAX words: `Context::storage` refuses larger ones before a kernel is made.
    u32::try_from(n).expect("sizes are checked when buffers are made")
}
