//! The kernels of a training step.

mod column;
mod cross_entropy;
mod forward;
mod gather;
mod input_gradient;
mod metrics;
mod order_keys;
mod relu;
mod relu_backward;
mod row;
mod softmax_cross_entropy;
mod softmax_cross_entropy_backward;
mod step_shape;
mod update;
mod weight_gradient;

pub use column::Column;
pub use cross_entropy::{CrossEntropy, Losses, cross_entropy};
pub use forward::Forward;
pub use gather::{FeatureFormat, Gather};
pub use input_gradient::InputGradient;
pub use metrics::sum_metrics;
pub(crate) use order_keys::EpochOrders;
pub use order_keys::{OrderKeys, epoch_order};
pub use relu::{Relu, relu};
pub use relu_backward::ReluBackward;
pub use row::Row;
pub use softmax_cross_entropy::SoftmaxCrossEntropy;
pub use softmax_cross_entropy_backward::SoftmaxCrossEntropyBackward;
pub use step_shape::{MOST_LAYERS, StepShape};
pub use update::Update;
pub use weight_gradient::WeightGradient;
