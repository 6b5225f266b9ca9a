//! Training on the processor: products from the `gemm` crate, two parallel regions a step.
//!
//! The first region divides the rows of the batch between the threads: each gathers its rows and takes them forward
//! and back to the deltas. The second divides the rows of every weight matrix: each thread adds its part of
//! -rate X'D. So nothing is written by two threads, and a step has two meeting points whatever its depth.

use rayon::ThreadPool;
use rayon::prelude::*;

use super::config::Config;
use super::engine::{BatchMetrics, Engine, EngineKind, Evaluation, Sink};
use super::product::{View, multiply};
use crate::data::{Features, Rows, Scaling};
use crate::error::{Error, Result};
use crate::model::{Layer, Parameters, Spec};

/// Rows of the batch below which a thread more does not pay.
const ROWS_A_THREAD: usize = 16;

/// Multiply-adds of a step below which a second thread does not pay: waking one costs as much as this.
const WORK_A_THREAD: usize = 1 << 20;

/// Rows that an evaluation takes at a time, on each thread.
const EVALUATION_ROWS: usize = 64;

/// A network on the processor.
pub struct CpuEngine {
    spec: Spec,
    batch: usize,
    rate: f32,
    parameters: Parameters,
    shares: Vec<Share>,
    pool: ThreadPool,
}

/// What one thread needs for its rows of a batch.
struct Share {
    /// [rows, size] of the input and of each layer's output; the last holds the logits.
    activations: Vec<Vec<f32>>,
    /// [rows, outputs] of each layer.
    deltas: Vec<Vec<f32>>,
    rows: usize,
    loss: f64,
    correct: u64,
    predictions: Vec<u32>,
    targets: Vec<u32>,
}

impl Share {
    fn new() -> Self {
        Self {
            activations: Vec::new(),
            deltas: Vec::new(),
            rows: 0,
            loss: 0.0,
            correct: 0,
            predictions: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Takes the rows that `order` names; memory is only taken when there are more of them than ever before.
    fn gather(&mut self, spec: &Spec, rows: &Rows<'_>, order: &[u32]) {
        let inputs = spec.inputs();
        self.rows = order.len();
        self.activations.resize_with(spec.sizes().len(), Vec::new);
        self.deltas.resize_with(spec.layers().len(), Vec::new);
        for (values, size) in self.activations.iter_mut().zip(spec.sizes()) {
            values.resize(order.len() * size, 0.0);
        }
        for (values, (_, outputs)) in self.deltas.iter_mut().zip(spec.layers()) {
            values.resize(order.len() * outputs, 0.0);
        }
        for (to, row) in self.activations[0].chunks_exact_mut(inputs).zip(order) {
            let from = *row as usize * inputs..(*row as usize + 1) * inputs;
            match (rows.features, rows.scaling) {
                (Features::Bytes(bytes), Scaling::Bytes) => {
                    convert(to, &bytes[from], |v| f32::from(v) / 255.0)
                }
                (Features::Bytes(bytes), Scaling::AsIs) => convert(to, &bytes[from], f32::from),
                (Features::Floats(floats), Scaling::Bytes) => convert(to, &floats[from], |v| v / 255.0),
                (Features::Floats(floats), Scaling::AsIs) => to.copy_from_slice(&floats[from]),
            }
        }
        self.targets.clear();
        self.targets.extend(order.iter().map(|row| rows.labels[*row as usize]));
    }

    /// Forward through all layers.
    fn forward(&mut self, parameters: &Parameters) {
        let last = parameters.layers.len();
        for (index, layer) in parameters.layers.iter().enumerate() {
            let (below, above) = self.activations.split_at_mut(index + 1);
            let (input, output) = (&below[index], &mut above[0]);
            for row in output.chunks_exact_mut(layer.outputs) {
                row.copy_from_slice(&layer.bias);
            }
            multiply(
                output,
                View::new(input, layer.inputs),
                View::new(&layer.weights, layer.outputs),
                1.0,
                true,
            );
            if index + 1 < last {
                // Not max(0, z): NaN must stay NaN, so that the loss shows it.
                output.iter_mut().for_each(|z| *z = if *z < 0.0 { 0.0 } else { *z });
            }
        }
    }

    /// Loss, predictions, and with `delta_scale` the last layer's delta (softmax - onehot) * delta_scale.
    fn loss(&mut self, classes: usize, delta_scale: f32) {
        (self.loss, self.correct) = (0.0, 0);
        self.predictions.clear();
        let (Some(logits), Some(delta)) = (self.activations.last(), self.deltas.last_mut()) else { return };
        let rows = logits.chunks_exact(classes).zip(delta.chunks_exact_mut(classes));
        for ((logits, delta), target) in rows.zip(&self.targets) {
            let target = *target as usize;
            let best = (0..classes).fold(0, |best, c| if logits[c] > logits[best] { c } else { best });
            let maximum = logits[best];
            let mut sum = 0.0;
            for (d, z) in delta.iter_mut().zip(logits) {
                *d = (z - maximum).exp();
                sum += *d;
            }
            self.loss += f64::from(maximum) + f64::from(sum).ln() - f64::from(logits[target]);
            self.correct += u64::from(best == target);
            self.predictions.push(best as u32);
            for d in delta.iter_mut() {
                *d = *d / sum * delta_scale;
            }
            delta[target] -= delta_scale;
        }
    }

    /// From the last layer's delta to the first's.
    fn backward(&mut self, parameters: &Parameters) {
        for (index, layer) in parameters.layers.iter().enumerate().skip(1).rev() {
            let (below, above) = self.deltas.split_at_mut(index);
            let (delta, below) = (&above[0], &mut below[index - 1]);
            let weights = View::new(&layer.weights, layer.outputs);
            multiply(below, View::new(delta, layer.outputs), weights.t(), 1.0, false);
            for (d, h) in below.iter_mut().zip(&self.activations[index]) {
                *d = if *h > 0.0 { *d } else { 0.0 };
            }
        }
    }
}

fn convert<T: Copy>(to: &mut [f32], from: &[T], value: impl Fn(T) -> f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = value(*from);
    }
}

/// result += scale X'D for the rows of `layer` from `first` on, over all shares of the batch in their order.
fn add_weight_gradient(result: &mut [f32], layer: usize, first: usize, shares: &[Share], scale: f32) {
    for share in shares.iter().filter(|share| share.rows > 0) {
        let (x, d) = (&share.activations[layer], &share.deltas[layer]);
        let (inputs, outputs) = (x.len() / share.rows, d.len() / share.rows);
        let rows = result.len() / outputs;
        let x = View::new(x, inputs).t().rows(first..first + rows);
        multiply(result, x, View::new(d, outputs), scale, true);
    }
}

/// result += scale * column sums of D.
fn add_bias_gradient(result: &mut [f32], layer: usize, shares: &[Share], scale: f32) {
    let outputs = result.len();
    for row in shares.iter().flat_map(|share| share.deltas[layer].chunks_exact(outputs)) {
        for (b, d) in result.iter_mut().zip(row) {
            *b += scale * d;
        }
    }
}

impl CpuEngine {
    /// Takes the parameters. Batches have at most `batch` rows. Uses all cores.
    ///
    /// # Errors
    /// [`Error::Config`] when the system gives no threads.
    pub fn new(parameters: Parameters, spec: &Spec, config: &Config, batch: usize) -> Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::with_threads(parameters, spec, config, batch, cores)
    }

    /// As [`CpuEngine::new`], with so many threads at most.
    ///
    /// # Errors
    /// As [`CpuEngine::new`].
    pub fn with_threads(
        parameters: Parameters,
        spec: &Spec,
        config: &Config,
        batch: usize,
        threads: usize,
    ) -> Result<Self> {
        let work = spec.parameter_count() * batch;
        let parts = threads.min(batch / ROWS_A_THREAD).min(work / WORK_A_THREAD).max(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| Error::Config(format!("cannot start {threads} threads: {error}")))?;
        Ok(Self {
            spec: spec.clone(),
            batch,
            rate: config.learning_rate,
            parameters,
            shares: (0..parts).map(|_| Share::new()).collect(),
            pool,
        })
    }

    /// Gathers a batch and takes it forward and back to the deltas of the mean loss.
    fn deltas(&mut self, rows: &Rows<'_>, order: &[u32]) {
        let Self { spec, parameters, shares, pool, .. } = self;
        let scale = 1.0 / order.len() as f32;
        let part = order.len().div_ceil(shares.len());
        let work = |(index, share): (usize, &mut Share)| {
            let from = (index * part).min(order.len());
            let to = ((index + 1) * part).min(order.len());
            share.gather(spec, rows, &order[from..to]);
            share.forward(parameters);
            share.loss(spec.classes(), scale);
            share.backward(parameters);
        };
        match shares.as_mut_slice() {
            [share] => work((0, share)),
            shares => pool.install(|| shares.par_iter_mut().enumerate().for_each(work)),
        }
    }

    /// result += scale * gradient, for all parameters.
    fn add_gradients(shares: &[Share], pool: &ThreadPool, result: &mut Parameters, scale: f32) {
        let parts = shares.len();
        let mut pieces: Vec<(usize, usize, &mut [f32])> = Vec::new();
        for (index, layer) in result.layers.iter_mut().enumerate() {
            let rows = layer.inputs.div_ceil(parts);
            pieces.extend(
                (0..)
                    .step_by(rows)
                    .zip(layer.weights.chunks_mut(rows * layer.outputs))
                    .map(|(first, piece)| (index, first, piece)),
            );
            add_bias_gradient(&mut layer.bias, index, shares, scale);
        }
        let work = |(layer, first, piece): (usize, usize, &mut [f32])| {
            add_weight_gradient(piece, layer, first, shares, scale);
        };
        if parts == 1 {
            pieces.into_iter().for_each(work);
        } else {
            pool.install(|| pieces.into_par_iter().for_each(work));
        }
    }
}

impl Engine for CpuEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Cpu
    }

    fn device(&self) -> String {
        let threads = self.shares.len();
        format!("CPU engine ({threads} thread{})", if threads == 1 { "" } else { "s" })
    }

    fn train(&mut self, rows: &Rows<'_>, order: &[u32], sink: &mut Sink<'_>) -> Result<()> {
        for order in order.chunks(self.batch) {
            self.deltas(rows, order);
            Self::add_gradients(&self.shares, &self.pool, &mut self.parameters, -self.rate);
            sink(BatchMetrics {
                rows: order.len(),
                loss: self.shares.iter().map(|share| share.loss).sum(),
                correct: self.shares.iter().map(|share| share.correct).sum(),
            })?;
        }
        Ok(())
    }

    fn finish(&mut self, _sink: &mut Sink<'_>) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        let Self { spec, parameters, pool, .. } = self;
        let order: Vec<u32> = (0..rows.len() as u32).collect();
        let parts: Vec<(f64, Vec<u32>)> = pool.install(|| {
            order
                .par_chunks(EVALUATION_ROWS)
                .map_init(Share::new, |share, order| {
                    share.gather(spec, rows, order);
                    share.forward(parameters);
                    share.loss(spec.classes(), 0.0);
                    (share.loss, share.predictions.clone())
                })
                .collect()
        });
        // Summed in the order of the rows, whichever thread was first.
        let loss = parts.iter().map(|(loss, _)| loss).sum::<f64>() / rows.len() as f64;
        Ok(Evaluation { loss, predictions: parts.into_iter().flat_map(|(_, part)| part).collect() })
    }

    fn parameters(&mut self) -> Result<Parameters> {
        Ok(self.parameters.clone())
    }

    fn gradients(&mut self, rows: &Rows<'_>) -> Result<Parameters> {
        let order: Vec<u32> = (0..rows.len() as u32).collect();
        self.deltas(rows, &order);
        let mut gradients = Parameters { layers: self.parameters.layers.iter().map(zeros_like).collect() };
        Self::add_gradients(&self.shares, &self.pool, &mut gradients, 1.0);
        Ok(gradients)
    }

    fn describe(&self) -> Vec<String> {
        Vec::new()
    }
}

fn zeros_like(layer: &Layer) -> Layer {
    Layer { weights: vec![0.0; layer.weights.len()], bias: vec![0.0; layer.bias.len()], ..*layer }
}
