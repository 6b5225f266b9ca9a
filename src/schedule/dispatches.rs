//! One step as a list of dispatches: plain data, made from shapes alone.

use std::collections::BTreeMap;
use std::fmt;

use crate::kernels::{
    Column, CrossEntropy, FeatureFormat, Forward, Gather, InputGradient, Kernel, Relu, ReluBackward, Row,
    Softmax, SoftmaxCrossEntropy, SoftmaxCrossEntropyBackward, StepShape, Tuning, Update, WeightGradient,
    blocks, grid,
};
use crate::model::{Network, ParameterLayout};
use crate::schedule::{ScheduleKind, TrainingStep};

/// The tensors of a step. Layers count from 1; H0 is the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// Features of the data set.
    Features,
    /// Labels of the data set.
    Labels,
    /// Row numbers in the order of training.
    Order,
    /// Labels of the batch.
    Targets,
    /// All weights and biases, layer after layer.
    Parameters,
    /// Their gradients, in the same layout.
    Gradients,
    /// Outputs of all layers, and behind them their deltas.
    Activations,
    /// Output of a layer behind its ReLU; 0 is the batch's input.
    Hidden(usize),
    /// Output of a layer before its ReLU.
    PreActivation(usize),
    /// Output of the last layer.
    Logits,
    /// Softmax of the logits.
    Probabilities,
    /// Gradient of the mean loss by a layer's pre-activation.
    Delta(usize),
    /// Gradient of the mean loss by a hidden layer's output.
    HiddenGradient(usize),
    /// (loss, correct) of each step.
    Metrics,
    /// Predicted class of each row.
    Predictions,
}

impl Buffer {
    /// Whether it outlives a batch: then it belongs to the engine, not to the schedule.
    pub fn is_external(self) -> bool {
        use Buffer::{Features, Labels, Order, Parameters};
        matches!(self, Features | Labels | Order | Parameters)
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
    /// One buffer a binding.
    pub buffers: Vec<Buffer>,
}

impl Dispatch {
    fn new(kernel: impl Kernel + 'static, buffers: &[Buffer]) -> Self {
        Self { kernel: Box::new(kernel), buffers: buffers.to_vec() }
    }

    /// The dispatch in words: kernel and what is fused into it, shape, workgroups, buffers.
    pub fn describe(&self, tuning: &Tuning) -> String {
        let [x, y, _] = grid(&*self.kernel, tuning);
        let buffers: Vec<String> = self.buffers.iter().map(Buffer::to_string).collect();
        let mut name = self.kernel.shader().name.to_owned();
        for (flag, _) in self.kernel.flags().into_iter().filter(|(_, set)| *set) {
            name += &format!(" +{}", flag.to_lowercase());
        }
        format!("{name:<31} {:<18} {:>9} workgroups  {}", self.kernel.shape(), x * y, buffers.join(" "))
    }
}

/// The dispatches of a step, in order, and what they need.
pub struct Schedule {
    /// The dispatches.
    pub dispatches: Vec<Dispatch>,
    /// Bytes of every buffer that belongs to the batch; metrics and predictions count one step and one batch.
    pub buffers: BTreeMap<Buffer, u64>,
    /// Pairs (loss, correct) that a step writes.
    pub metrics_groups: usize,
    /// The last dispatch comes once before the first step too, with a batch of no rows: it prepares the next.
    pub prologue: bool,
}

/// What the builders below know.
struct Builder<'a> {
    network: &'a Network,
    rows: usize,
    tuning: &'a Tuning,
    layout: ParameterLayout,
    dispatches: Vec<Dispatch>,
    groups: usize,
    prologue: bool,
}

impl Schedule {
    /// One step of training.
    pub fn train(
        kind: ScheduleKind,
        step: &TrainingStep<'_>,
        stored: FeatureFormat,
        tuning: &Tuning,
    ) -> Self {
        let TrainingStep { network, rows, rule, .. } = *step;
        let rate = rule.rates.peak;
        let mut builder = Builder::new(network, rows, tuning);
        let whole =
            (kind == ScheduleKind::TwoDispatch).then(|| StepShape::new(&network.sizes(), rows, tuning));
        match (kind, whole.flatten()) {
            (_, Some(shape)) => builder.two_dispatch_step(&shape, stored, rate),
            (ScheduleKind::Plain, None) => {
                builder.gather(stored);
                builder.plain_gradients();
                let length = builder.layout.weights();
                builder.push(Update { length, rate }, &[Buffer::Gradients, Buffer::Parameters]);
            }
            (ScheduleKind::Fused | ScheduleKind::TwoDispatch, None) => builder.fused_step(stored, rate),
        }
        builder.schedule()
    }

    /// The gradients of one batch, without an update.
    pub fn gradients(step: &TrainingStep<'_>, stored: FeatureFormat, tuning: &Tuning) -> Self {
        let mut builder = Builder::new(step.network, step.rows, tuning);
        builder.gather(stored);
        builder.plain_gradients();
        builder.schedule()
    }

    /// Loss and predictions of one batch.
    pub fn evaluate(network: &Network, rows: usize, stored: FeatureFormat, tuning: &Tuning) -> Self {
        let mut builder = Builder::new(network, rows, tuning);
        builder.gather(stored);
        builder.forward(true, None);
        builder.cross_entropy();
        builder.schedule()
    }
}

impl<'a> Builder<'a> {
    fn new(network: &'a Network, rows: usize, tuning: &'a Tuning) -> Self {
        let layout = ParameterLayout::new(network);
        Self { network, rows, tuning, layout, dispatches: Vec::new(), groups: 0, prologue: false }
    }

    fn push(&mut self, kernel: impl Kernel + 'static, buffers: &[Buffer]) {
        self.dispatches.push(Dispatch::new(kernel, buffers));
    }

    /// (layer from 1, inputs, outputs, offset), first to last.
    fn layers(&self) -> Vec<(usize, usize, usize, usize)> {
        (1..).zip(self.layout.layers()).map(|(layer, at)| (layer, at.inputs, at.outputs, at.offset)).collect()
    }

    fn gather(&mut self, stored: FeatureFormat) {
        use Buffer::{Features, Hidden, Labels, Order, Targets};
        let kernel = Gather { rows: self.rows, inputs: self.network.inputs(), stored };
        self.push(kernel, &[Features, Labels, Order, Hidden(0), Targets]);
    }

    /// Of the data set's rows as they are stored, or else of those that were gathered.
    fn forward(&mut self, fuse_relu: bool, stored: Option<FeatureFormat>) {
        let last = self.network.layers().len();
        for (layer, inputs, outputs, offset) in self.layers() {
            let (rows, hidden) = (self.rows, layer < last);
            let output = match (hidden, fuse_relu) {
                (false, _) => Buffer::Logits,
                (true, true) => Buffer::Hidden(layer),
                (true, false) => Buffer::PreActivation(layer),
            };
            let stored = stored.filter(|_| layer == 1);
            let kernel = Forward { rows, inputs, outputs, offset, relu: hidden && fuse_relu, stored };
            self.push_product(kernel, stored, [Buffer::Hidden(layer - 1), Buffer::Parameters, output]);
            if hidden && !fuse_relu {
                self.push(Relu { rows, columns: outputs }, &[output, Buffer::Hidden(layer)]);
            }
        }
    }

    /// A product with a layer's inputs, the first of the buffers; instead of which it takes the data set's, by way of the
    /// order, where they are not gathered.
    fn push_product(
        &mut self,
        kernel: impl Kernel + 'static,
        stored: Option<FeatureFormat>,
        [inputs, other, result]: [Buffer; 3],
    ) {
        match stored {
            Some(_) => self.push(kernel, &[Buffer::Features, other, Buffer::Order, result]),
            None => self.push(kernel, &[inputs, other, result]),
        }
    }

    fn cross_entropy(&mut self) {
        use Buffer::{Logits, Metrics, Predictions, Targets};
        let kernel = CrossEntropy { rows: self.rows, classes: self.network.outputs() };
        self.groups = self.tuning.row_groups(self.rows);
        self.push(kernel, &[Logits, Targets, Predictions, Metrics]);
    }

    fn plain_gradients(&mut self) {
        use Buffer::{Delta, Gradients, Hidden, HiddenGradient, Logits, Parameters, Probabilities, Targets};
        let (rows, classes, last) = (self.rows, self.network.outputs(), self.network.layers().len());
        self.forward(false, None);
        self.push(Softmax { rows, classes, log: false }, &[Logits, Probabilities]);
        self.cross_entropy();
        self.push(SoftmaxCrossEntropyBackward { rows, classes }, &[Probabilities, Targets, Delta(last)]);
        for (layer, inputs, outputs, offset) in self.layers().into_iter().rev() {
            let weights = WeightGradient { rows, inputs, outputs, offset, update: None, stored: None };
            self.push(weights, &[Hidden(layer - 1), Delta(layer), Gradients]);
            if layer > 1 {
                let below = layer - 1;
                self.push(
                    InputGradient { rows, inputs, outputs, offset, mask: false },
                    &[Delta(layer), Parameters, Hidden(below), HiddenGradient(below)],
                );
                self.push(
                    ReluBackward { rows, columns: inputs },
                    &[Hidden(below), HiddenGradient(below), Delta(below)],
                );
            }
        }
    }

    fn fused_step(&mut self, stored: FeatureFormat, rate: f32) {
        use Buffer::{Delta, Hidden, Labels, Logits, Metrics, Order, Parameters};
        let (rows, last) = (self.rows, self.network.layers().len());
        self.forward(true, Some(stored));
        let loss = SoftmaxCrossEntropy { rows, classes: self.network.outputs() };
        self.groups = self.tuning.row_groups(self.rows);
        self.push(loss, &[Logits, Labels, Order, Delta(last), Metrics]);
        for (layer, inputs, outputs, offset) in self.layers().into_iter().rev() {
            // The gradient below needs the weights before their update.
            if layer > 1 {
                self.push(
                    InputGradient { rows, inputs, outputs, offset, mask: true },
                    &[Delta(layer), Parameters, Hidden(layer - 1), Delta(layer - 1)],
                );
            }
            let (update, stored) = (Some(rate), Some(stored).filter(|_| layer == 1));
            let weights = WeightGradient { rows, inputs, outputs, offset, update, stored };
            self.push_product(weights, stored, [Hidden(layer - 1), Delta(layer), Parameters]);
        }
    }

    fn two_dispatch_step(&mut self, shape: &StepShape, stored: FeatureFormat, rate: f32) {
        use Buffer::{Activations, Features, Labels, Metrics, Order, Parameters};
        self.groups = self.tuning.batch_groups(self.rows);
        self.push(Row::new(shape, self.tuning), &[Parameters, Labels, Order, Activations, Metrics]);
        let column = Column::new(shape, stored, rate, self.tuning);
        self.push(column, &[Features, Order, Activations, Parameters]);
        self.prologue = true;
    }

    fn schedule(self) -> Schedule {
        let used = self.dispatches.iter().flat_map(|dispatch| &dispatch.buffers);
        let buffers = used
            .filter(|buffer| !buffer.is_external())
            .map(|buffer| (*buffer, self.bytes(*buffer)))
            .collect();
        let Self { dispatches, groups, prologue, .. } = self;
        Schedule { dispatches, buffers, metrics_groups: groups, prologue }
    }

    fn bytes(&self, buffer: Buffer) -> u64 {
        let matrix = |columns: usize| 16 * self.rows as u64 * blocks(columns) as u64;
        let sizes = self.network.sizes();
        match buffer {
            Buffer::Features | Buffer::Labels | Buffer::Order => 0,
            Buffer::Targets | Buffer::Predictions => 4 * self.rows as u64,
            Buffer::Parameters | Buffer::Gradients => self.layout.weight_bytes(),
            Buffer::Activations => 2 * sizes[1..].iter().map(|size| matrix(*size)).sum::<u64>(),
            Buffer::Hidden(layer)
            | Buffer::PreActivation(layer)
            | Buffer::Delta(layer)
            | Buffer::HiddenGradient(layer) => matrix(sizes[layer]),
            Buffer::Logits | Buffer::Probabilities => matrix(self.network.outputs()),
            Buffer::Metrics => 8 * self.groups as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::gpu::Access;
    use crate::step::UpdateRule;

    fn schedules() -> Vec<(&'static str, Schedule)> {
        let network = Network::classifier(&[784, 300, 100, 10]).unwrap();
        let rule = UpdateRule::sgd(0.1);
        let step = TrainingStep::new(&network, &rule, 64);
        let train = |kind| Schedule::train(kind, &step, FeatureFormat::Bytes, &Tuning::GPU);
        vec![
            ("plain", train(ScheduleKind::Plain)),
            ("fused", train(ScheduleKind::Fused)),
            ("two-dispatch", train(ScheduleKind::TwoDispatch)),
            ("gradients", Schedule::gradients(&step, FeatureFormat::Floats, &Tuning::SOFTWARE)),
            ("evaluate", Schedule::evaluate(&network, 64, FeatureFormat::Bytes, &Tuning::GPU)),
        ]
    }

    #[test]
    fn dispatches_a_step() {
        let counts: Vec<(&str, usize)> =
            schedules().iter().map(|(name, schedule)| (*name, schedule.dispatches.len())).collect();
        assert_eq!(
            counts,
            [("plain", 17), ("fused", 9), ("two-dispatch", 2), ("gradients", 16), ("evaluate", 5)]
        );
    }

    #[test]
    fn no_buffer_is_read_before_it_is_written_or_bound_twice_in_a_dispatch() {
        for (name, schedule) in schedules() {
            let mut written = BTreeSet::new();
            for dispatch in &schedule.dispatches {
                let kernel = dispatch.kernel.shader().name;
                let bound: BTreeSet<&Buffer> = dispatch.buffers.iter().collect();
                assert_eq!(bound.len(), dispatch.buffers.len(), "{name}: {kernel} binds a buffer twice");
                let bindings = dispatch.kernel.shader().bindings;
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
                dispatch.kernel.shader().name == name && dispatch.kernel.shape() == shape
            };
            fused.dispatches.iter().position(at).unwrap()
        };
        assert!(position("input_gradient", "64 x 10 x 100") < position("weight_gradient", "101 x 64 x 10"));
        assert!(position("input_gradient", "64 x 100 x 300") < position("weight_gradient", "301 x 64 x 100"));
    }
}
