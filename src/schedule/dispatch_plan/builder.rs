//! Conversion of a training step to dispatches.

use super::{Buffer, Dispatch, DispatchPlan};
use crate::kernels::{
    Activate, ActivateBackward, Column, CrossEntropy, Embed, EmbedGradient, Forward, Gather, InputGradient,
    Kernel, LayerInputs, LayerUpdate, LossGradient, LossTargets, Nonlinearity, Row, Samples, ScaleGradient,
    StepShape, SumSquares, Tuning, Update, WeightGradient, blocks,
};
use crate::model::{InputLayer, InputLayout, LayerLayout, ParameterLayout};
use crate::schedule::{ScheduleKind, TrainingStep};

/// State of the functions below.
struct Builder<'a> {
    step: &'a TrainingStep<'a>,
    samples: Samples,
    tuning: &'a Tuning,
    layout: ParameterLayout,
    /// Whether dropout is applied.
    training: bool,
    dispatches: Vec<Dispatch>,
    groups: usize,
    prologue: bool,
}

impl DispatchPlan {
    /// Returns the dispatches of one training step.
    pub fn train(kind: ScheduleKind, step: &TrainingStep<'_>, samples: Samples, tuning: &Tuning) -> Self {
        let mut builder = Builder::new(step, samples, tuning, true);
        let clips = step.rule.clip_norm.is_some();
        let whole = match kind {
            ScheduleKind::TwoDispatch if !clips => step.shape(tuning),
            _ => None,
        };
        match (kind, whole) {
            (ScheduleKind::Plain, _) => {
                builder.plain_gradients();
                builder.update();
            }
            (ScheduleKind::TwoDispatch, Some(shape)) => builder.two_dispatch_step(&shape),
            (ScheduleKind::Fused | ScheduleKind::TwoDispatch, _) => builder.fused_step(),
        }
        builder.schedule()
    }

    /// Returns the dispatches for the gradients of one batch, without an update.
    pub fn gradients(step: &TrainingStep<'_>, samples: Samples, tuning: &Tuning) -> Self {
        let mut builder = Builder::new(step, samples, tuning, true);
        builder.plain_gradients();
        builder.schedule()
    }

    /// Returns the dispatches for the outputs of one batch and, for classes, the loss and the predictions.
    pub fn evaluate(step: &TrainingStep<'_>, samples: Samples, tuning: &Tuning) -> Self {
        let mut builder = Builder::new(step, samples, tuning, false);
        builder.gather(1);
        builder.forward(LayerInputs::Matrix);
        if step.network.loss().of_classes() {
            builder.cross_entropy();
        }
        builder.schedule()
    }
}

impl<'a> Builder<'a> {
    fn new(step: &'a TrainingStep<'a>, samples: Samples, tuning: &'a Tuning, training: bool) -> Self {
        let states = step.rule.optimizer.kind.states();
        let layout = ParameterLayout::new(step.network).with_states(states);
        Self { step, samples, tuning, layout, training, dispatches: Vec::new(), groups: 0, prologue: false }
    }

    fn push(&mut self, kernel: impl Kernel + 'static, buffers: &[Buffer]) {
        self.dispatches.push(Dispatch::new(kernel, buffers));
    }

    /// Returns number, from 1, and location of each layer, first to last.
    fn layers(&self) -> Vec<(usize, LayerLayout)> {
        (1..).zip(self.layout.layers().iter().copied()).collect()
    }

    /// Returns the number of the last layer.
    fn last(&self) -> usize {
        self.layout.layers().len()
    }

    /// Returns the operations after the products of layer `layer`, from 1.
    fn nonlinearity(&self, layer: usize) -> Nonlinearity {
        Nonlinearity::for_layer(self.step.network, layer - 1, self.training)
    }

    fn targets(&self) -> LossTargets {
        let TrainingStep { network, rule, weighted, .. } = *self.step;
        LossTargets { loss: network.loss(), smoothing: rule.label_smoothing, weighted }
    }

    /// Adds the gathering of the batch's inputs and targets, with `words` words of targets per row.
    fn gather(&mut self, words: usize) {
        use Buffer::{BatchTargets, Features, Hidden, Order, Parameters, TableRows, Targets};
        let (rows, inputs, samples) = (self.step.rows, self.step.network.columns(), self.samples);
        let kernel = Gather { rows, inputs, words, samples };
        let Some((layer, layout)) = self.input() else {
            return self.push(kernel, &[Features, Targets, Order, Hidden(0), BatchTargets]);
        };
        self.push(kernel, &[Features, Targets, Order, TableRows, BatchTargets]);
        for kernel in Embed::all(rows, layer, layout) {
            self.push(kernel, &[TableRows, Parameters, Hidden(0)]);
        }
    }

    /// Returns the input layer, if there is one.
    fn input(&self) -> Option<(&'a InputLayer, InputLayout)> {
        self.step.network.input_layer().zip(self.layout.input())
    }

    /// Adds the gradients with respect to the parameters of the input layer, or their immediate updates, from
    /// the gradient with respect to the inputs of the first dense layer.
    fn input_gradients(&mut self, are_updated: bool) {
        use Buffer::{Delta, Gradients, Hidden, Parameters, TableRows};
        let Some((layer, layout)) = self.input() else { return };
        let (rows, inputs) = (self.step.rows, layer.inputs());
        let update = are_updated.then(|| LayerUpdate::for_input_layer(self.step.rule, &self.layout));
        let result = if are_updated { Parameters } else { Gradients };
        for kernel in EmbedGradient::all(rows, layer, layout, update) {
            match are_updated {
                true => self.push(kernel, &[TableRows, Delta(0), Parameters]),
                false => self.push(kernel, &[TableRows, Delta(0), Parameters, Gradients]),
            }
        }
        // Factors are read above, so they are updated last.
        if layer.is_scaled() {
            let kernel = ScaleGradient { rows, inputs, offset: layout.scale(), update };
            self.push(kernel, &[Hidden(0), Delta(0), result]);
        }
    }

    /// Adds the forward pass, one kernel per layer.
    fn forward(&mut self, first: LayerInputs) {
        for (number, layer) in self.layers() {
            let output = if number == self.last() { Buffer::Outputs } else { Buffer::Hidden(number) };
            self.forward_layer(number, layer, first, self.nonlinearity(number), output);
        }
    }

    fn forward_layer(
        &mut self,
        number: usize,
        layer: LayerLayout,
        first: LayerInputs,
        nonlinearity: Nonlinearity,
        output: Buffer,
    ) {
        let LayerLayout { inputs, outputs, offset } = layer;
        let source = if number == 1 { first } else { LayerInputs::Matrix };
        let kernel = Forward { rows: self.step.rows, inputs, outputs, offset, nonlinearity, source };
        self.push_product(kernel, source, [Buffer::Hidden(number - 1), Buffer::Parameters, output]);
    }

    /// Adds a product with a layer's inputs, the first of the buffers. If they are not gathered, it reads
    /// them from the data set by the order instead.
    fn push_product(
        &mut self,
        kernel: impl Kernel + 'static,
        source: LayerInputs,
        [inputs, other, result]: [Buffer; 3],
    ) {
        match source {
            LayerInputs::DataSet(_) => self.push(kernel, &[Buffer::Features, other, Buffer::Order, result]),
            LayerInputs::Matrix => self.push(kernel, &[inputs, other, result]),
        }
    }

    fn cross_entropy(&mut self) {
        use Buffer::{BatchTargets, Metrics, Outputs, Predictions};
        let kernel = CrossEntropy { rows: self.step.rows, classes: self.step.network.outputs() };
        self.groups = self.tuning.row_groups(self.step.rows);
        self.push(kernel, &[Outputs, BatchTargets, Predictions, Metrics]);
    }

    /// Adds the loss and its gradient with respect to the outputs; with the targets of the batch, or of the
    /// data set.
    fn loss(&mut self, is_gathered: bool) {
        use Buffer::{BatchTargets, Delta, Metrics, Order, Outputs, Targets};
        let (rows, outputs, last) = (self.step.rows, self.step.network.outputs(), self.last());
        self.groups = self.tuning.row_groups(rows);
        let samples = Some(self.samples.count).filter(|_| !is_gathered);
        let kernel = LossGradient { rows, outputs, targets: self.targets(), samples };
        match is_gathered {
            true => self.push(kernel, &[Outputs, BatchTargets, Delta(last), Metrics]),
            false => self.push(kernel, &[Outputs, Targets, Order, Delta(last), Metrics]),
        }
    }

    /// Adds the gradients with one kernel per operation.
    fn plain_gradients(&mut self) {
        use Buffer::{Delta, Gradients, Hidden, HiddenGradient, Parameters, PreActivation};
        let rows = self.step.rows;
        self.gather(self.targets().words(self.step.network.outputs()));
        for (number, layer) in self.layers() {
            if number == self.last() {
                self.forward_layer(number, layer, LayerInputs::Matrix, Nonlinearity::LINEAR, Buffer::Outputs);
                continue;
            }
            let (columns, nonlinearity) = (layer.outputs, self.nonlinearity(number));
            self.forward_layer(
                number,
                layer,
                LayerInputs::Matrix,
                Nonlinearity::LINEAR,
                PreActivation(number),
            );
            self.push(Activate { rows, columns, nonlinearity }, &[PreActivation(number), Hidden(number)]);
        }
        self.loss(true);
        for (number, LayerLayout { inputs, outputs, offset }) in self.layers().into_iter().rev() {
            let source = LayerInputs::Matrix;
            let weights = WeightGradient { rows, inputs, outputs, offset, update: None, source };
            self.push(weights, &[Hidden(number - 1), Delta(number), Gradients]);
            if number > 1 {
                let (below, nonlinearity) = (number - 1, self.nonlinearity(number - 1));
                self.push(
                    InputGradient { rows, inputs, outputs, offset, below: None },
                    &[Delta(number), Parameters, Hidden(below), HiddenGradient(below)],
                );
                let kept = if nonlinearity.keeps_z() { PreActivation(below) } else { Hidden(below) };
                self.push(
                    ActivateBackward { rows, columns: inputs, nonlinearity },
                    &[kept, HiddenGradient(below), Delta(below)],
                );
            } else if self.input().is_some() {
                self.push(
                    InputGradient { rows, inputs, outputs, offset, below: None },
                    &[Delta(1), Parameters, Hidden(0), Delta(0)],
                );
            }
        }
        self.input_gradients(false);
    }

    fn fused_step(&mut self) {
        use Buffer::{Delta, Gradients, Hidden, Parameters};
        let (rows, rule) = (self.step.rows, self.step.rule);
        let has_input = self.input().is_some();
        let first = if has_input {
            self.gather(self.targets().words(self.step.network.outputs()));
            LayerInputs::Matrix
        } else {
            LayerInputs::DataSet(self.samples)
        };
        self.forward(first);
        self.loss(has_input);
        // Clipping needs all gradients before the first update.
        let clips = rule.clip_norm.is_some();
        for (number, LayerLayout { inputs, outputs, offset }) in self.layers().into_iter().rev() {
            // The gradient below needs the weights before their update.
            if number > 1 || has_input {
                let below = (number > 1).then(|| self.nonlinearity(number - 1));
                self.push(
                    InputGradient { rows, inputs, outputs, offset, below },
                    &[Delta(number), Parameters, Hidden(number - 1), Delta(number - 1)],
                );
            }
            let update = (!clips).then(|| LayerUpdate::for_layer(rule, &self.layout, number - 1));
            let source = if number == 1 { first } else { LayerInputs::Matrix };
            let weights = WeightGradient { rows, inputs, outputs, offset, update, source };
            let result = if clips { Gradients } else { Parameters };
            self.push_product(weights, source, [Hidden(number - 1), Delta(number), result]);
        }
        self.input_gradients(!clips);
        if clips {
            self.update();
        }
    }

    /// Adds the update of all layers from their gradients, clipped if requested.
    fn update(&mut self) {
        use Buffer::{Gradients, Parameters, SquareSums};
        let length = self.layout.weights();
        let clip = self.step.rule.clip_norm.map(|_| self.tuning.row_groups(length));
        let mut buffers = vec![Gradients];
        if clip.is_some() {
            self.push(SumSquares { length }, &[Gradients, SquareSums]);
            buffers.push(SquareSums);
        }
        buffers.push(Parameters);
        for kernel in Update::all(self.step.rule, &self.layout, clip) {
            self.push(kernel, &buffers);
        }
    }

    fn two_dispatch_step(&mut self, shape: &StepShape) {
        use Buffer::{Activations, Features, Metrics, Order, Parameters, Targets};
        self.groups = self.tuning.batch_groups(self.step.rows);
        let row = Row::new(shape, self.samples.count);
        self.push(row, &[Parameters, Targets, Order, Activations, Metrics]);
        let column = Column::new(shape, self.samples, self.tuning);
        self.push(column, &[Features, Order, Activations, Parameters]);
        self.prologue = true;
    }

    fn schedule(self) -> DispatchPlan {
        let used = self.dispatches.iter().flat_map(|dispatch| &dispatch.buffers);
        let buffers = used
            .filter(|buffer| !buffer.is_external())
            .map(|buffer| (*buffer, self.bytes(*buffer)))
            .collect();
        let rows = self.step.rows;
        let Self { dispatches, groups, prologue, .. } = self;
        DispatchPlan { dispatches, buffers, rows, metrics_groups: groups, prologue }
    }

    fn bytes(&self, buffer: Buffer) -> u64 {
        let (network, rows) = (self.step.network, self.step.rows as u64);
        let matrix = |columns: usize| 16 * rows * blocks(columns) as u64;
        let sizes = network.sizes();
        match buffer {
            Buffer::Features | Buffer::Targets | Buffer::Order | Buffer::Parameters => 0,
            Buffer::BatchTargets => 4 * rows * self.targets().words(network.outputs()) as u64,
            Buffer::Predictions => 4 * rows,
            Buffer::Gradients => self.layout.weight_bytes(),
            Buffer::SquareSums => 4 * self.tuning.row_groups(self.layout.weights()) as u64,
            Buffer::Activations => 2 * sizes[1..].iter().map(|size| matrix(*size)).sum::<u64>(),
            Buffer::Hidden(0) if network.input_layer().is_some_and(InputLayer::is_scaled) => {
                2 * matrix(sizes[0])
            }
            Buffer::Hidden(layer) if layer > 0 && network.keeps_z(layer - 1) => 2 * matrix(sizes[layer]),
            Buffer::Hidden(layer)
            | Buffer::PreActivation(layer)
            | Buffer::Delta(layer)
            | Buffer::HiddenGradient(layer) => matrix(sizes[layer]),
            Buffer::TableRows => matrix(network.columns()),
            Buffer::Outputs => matrix(network.outputs()),
            Buffer::Metrics => 8 * self.groups as u64,
        }
    }
}
