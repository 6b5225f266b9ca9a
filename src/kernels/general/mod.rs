//! General kernels for vectors and matrices.

mod ceilings;
mod convolve;
mod dot;
pub(crate) mod matmul;
mod multiply_add;
mod naive_matmul;
mod pool;
pub(crate) mod reduce;
pub(crate) mod scan;
mod scan_add;
mod segments;
mod softmax;
mod zip;

pub use ceilings::measure_ceilings;
pub use convolve::{Convolve, MOST_TAPS, Mode, convolve, convolve_separable};
pub use dot::{Dot, dot};
pub use matmul::{Epilogue, Matmul, Operand, batched_matmul, matmul};
pub use multiply_add::MultiplyAdd;
pub use naive_matmul::{NaiveMatmul, naive_matmul};
pub use pool::{Pool, Window, pool};
pub use reduce::{Reduce, Reduction, block_sums, reduce, reduce_axis};
pub use scan::{Scan, exclusive_scan, inclusive_scan, scan};
pub use scan_add::ScanAdd;
pub use segments::{Axis, Segments};
pub use softmax::{Softmax, log_softmax, softmax};
pub use zip::{Comparison, Zip, ZipKernel, compare, zip};
