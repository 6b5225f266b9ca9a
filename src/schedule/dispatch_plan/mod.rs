//! One step as a list of dispatches: plain data, computed only from shapes.

mod builder;

use std::collections::BTreeMap;
use std::fmt;

use crate::kernels::{Kernel, Shader, Tuning, grid};

/// Tensors of a step. Layers count from 1; H0 is the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// Features of the data set.
    Features,
    /// Targets of the data set.
    Targets,
    /// Row numbers in training order.
    Order,
    /// Rows of the batch before an input layer.
    TableRows,
    /// Targets of the batch.
    BatchTargets,
    /// All weights and biases, layer after layer, followed by the other data of a
    /// [`ParameterLayout`](crate::model::ParameterLayout).
    Parameters,
    /// Gradients of the parameters, in the same layout.
    Gradients,
    /// Outputs of all layers, followed by their deltas.
    Activations,
    /// Sums of squares of the gradients.
    SquareSums,
    /// Outputs of a hidden layer, followed by its pre-activations if the activation keeps them; 0 is the
    /// batch's input, followed by the unscaled inputs if an input layer has factors.
    Hidden(usize),
    /// Products of a hidden layer, before its activation.
    PreActivation(usize),
    /// Outputs of the last layer.
    Outputs,
    /// Gradient of the mean loss with respect to a layer's pre-activation; 0 is the gradient with respect to
    /// the outputs of an input layer.
    Delta(usize),
    /// Gradient of the mean loss with respect to a hidden layer's output.
    HiddenGradient(usize),
    /// (loss, correct) of each step.
    Metrics,
    /// Predicted class of each row.
    Predictions,
}

impl Buffer {
    /// Returns whether the buffer outlives a batch: then it belongs to the engine, not to the schedule.
    pub fn is_external(self) -> bool {
        use Buffer::{Features, Order, Parameters, Targets};
        matches!(self, Features | Targets | Order | Parameters)
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::TableRows => f.write_str("T"),
            Buffer::Hidden(0) => f.write_str("X"),
            Buffer::Hidden(layer) => write!(f, "H{layer}"),
            Buffer::PreActivation(layer) => write!(f, "Z{layer}"),
            Buffer::Delta(layer) => write!(f, "D{layer}"),
            Buffer::HiddenGradient(layer) => write!(f, "dH{layer}"),
            other => write!(f, "{}", format!("{other:?}").to_lowercase()),
        }
    }
}

/// A kernel and the buffers at its bindings 1, 2, ...
pub struct Dispatch {
    /// The kernel with its shapes.
    pub kernel: Box<dyn Kernel>,
    /// The kernel's shader, which every profiled submission needs.
    pub shader: &'static Shader,
    /// One buffer per binding.
    pub buffers: Vec<Buffer>,
}

impl Dispatch {
    pub(super) fn new(kernel: impl Kernel + 'static, buffers: &[Buffer]) -> Self {
        Self { shader: kernel.shader(), kernel: Box::new(kernel), buffers: buffers.to_vec() }
    }

    /// Describes the dispatch: kernel with fused operations, shape, workgroups, buffers.
    pub fn describe(&self, tuning: &Tuning) -> String {
        let [x, y, _] = grid(&*self.kernel, tuning);
        let buffers: Vec<String> = self.buffers.iter().map(Buffer::to_string).collect();
        let name = self.kernel.label();
        format!(
            "{name:<31} {:<18} {:>9} workgroups  {}",
            self.kernel.description().shape,
            x * y,
            buffers.join(" ")
        )
    }
}

/// Dispatches of a step, in order, and their buffers.
pub struct DispatchPlan {
    /// The dispatches.
    pub dispatches: Vec<Dispatch>,
    /// Bytes of every buffer that belongs to the batch; metrics and predictions count one step and one batch.
    pub buffers: BTreeMap<Buffer, u64>,
    /// Most rows of a batch.
    pub rows: usize,
    /// Pairs (loss, correct) that a step writes.
    pub metrics_groups: usize,
    /// Whether the last dispatch also runs once before the first step, with a batch of no rows: it prepares
    /// the next batch.
    pub prologue: bool,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::gpu::Access;
    use crate::kernels::{FeatureFormat, Samples};
    use crate::model::Network;
    use crate::schedule::{ScheduleKind, TrainingStep};
    use crate::step::UpdateRule;

    fn samples(stored: FeatureFormat) -> Samples {
        Samples { stored, count: 100 }
    }

    fn schedules() -> Vec<(&'static str, DispatchPlan)> {
        let network = Network::classifier(&[784, 300, 100, 10]).unwrap();
        let rule = UpdateRule::sgd(0.1);
        let step = TrainingStep::new(&network, &rule, 64);
        let train = |kind| DispatchPlan::train(kind, &step, samples(FeatureFormat::Bytes), &Tuning::GPU);
        vec![
            ("plain", train(ScheduleKind::Plain)),
            ("fused", train(ScheduleKind::Fused)),
            ("two-dispatch", train(ScheduleKind::TwoDispatch)),
            ("gradients", DispatchPlan::gradients(&step, samples(FeatureFormat::Floats), &Tuning::SOFTWARE)),
            ("evaluate", DispatchPlan::evaluate(&step, samples(FeatureFormat::Bytes), &Tuning::GPU)),
        ]
    }

    #[test]
    fn dispatches_a_step() {
        let counts: Vec<(&str, usize)> =
            schedules().iter().map(|(name, schedule)| (*name, schedule.dispatches.len())).collect();
        assert_eq!(
            counts,
            [("plain", 15), ("fused", 9), ("two-dispatch", 2), ("gradients", 14), ("evaluate", 5)]
        );
    }

    #[test]
    fn no_buffer_is_read_before_it_is_written_or_bound_twice_in_a_dispatch() {
        for (name, schedule) in schedules() {
            let mut written = BTreeSet::new();
            for dispatch in &schedule.dispatches {
                let kernel = dispatch.shader.name;
                let bound: BTreeSet<&Buffer> = dispatch.buffers.iter().collect();
                assert_eq!(bound.len(), dispatch.buffers.len(), "{name}: {kernel} binds a buffer twice");
                let bindings = dispatch.shader.bindings;
                assert_eq!(bindings.len(), dispatch.buffers.len(), "{name}: {kernel}");
                for (buffer, access) in dispatch.buffers.iter().zip(bindings) {
                    match access {
                        Access::Read => assert!(
                            buffer.is_external() || written.contains(buffer),
                            "{name}: {kernel} reads {buffer} before it is written"
                        ),
                        Access::Write => {
                            written.insert(*buffer);
                        }
                    }
                }
            }
            for buffer in schedule.buffers.keys() {
                assert!(written.contains(buffer), "{name}: nobody writes {buffer}");
            }
        }
    }

    #[test]
    fn the_gradient_below_is_taken_before_the_weights_change() {
        let (_, fused) = &schedules()[1];
        let position = |name: &str, shape: &str| {
            let at = |dispatch: &Dispatch| {
                dispatch.shader.name == name && dispatch.kernel.description().shape == shape
            };
            fused.dispatches.iter().position(at).unwrap()
        };
        assert!(position("input_gradient", "64 x 10 x 100") < position("weight_gradient", "101 x 64 x 10"));
        assert!(position("input_gradient", "64 x 100 x 300") < position("weight_gradient", "301 x 64 x 100"));
    }
}
