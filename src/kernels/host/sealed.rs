//! The kernels of this crate: nobody else can make one.

use crate::kernels::*;

/// What only they are.
pub trait Sealed {}

macro_rules! sealed {
    ($($kernel:ty),+ $(,)?) => {
        $(impl Sealed for $kernel {})+
    };
}

sealed!(
    Activate,
    ActivateBackward,
    Argmax,
    Column,
    Compact,
    Convolve,
    CrossEntropy,
    CrossEntropyProbabilities,
    Dot,
    Embed,
    EmbedGradient,
    Forward,
    Gather,
    InputGradient,
    LogSumExp,
    LossGradient,
    MapKernel,
    Matmul,
    Members,
    MultiplyAdd,
    NaiveMatmul,
    OrderKeys,
    Pool,
    RadixSort,
    Reduce,
    Resident,
    Row,
    ScaleGradient,
    Scan,
    ScanAdd,
    Softmax,
    SumSquares,
    Update,
    WeightGradient,
    ZipKernel,
);
