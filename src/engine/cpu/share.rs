//! The rows of a batch that one thread takes through the network.

use std::ops::Range;

use super::dense_layer::DenseLayer;
use super::first_layer::Panel;
use super::product::View;

/// Some rows of a batch, and all that is computed of them.
#[derive(Default)]
pub struct Share {
    /// [rows, outputs] of each layer, behind its ReLU; the last holds the logits.
    pub activations: Vec<Vec<f32>>,
    /// [rows, outputs] of each layer: gradient of the summed loss by its pre-activation, times the scale that
    /// [`Share::loss`] was given.
    pub deltas: Vec<Vec<f32>>,
    /// The first layer's delta again, cut as its weights are: [rows, width] of each panel.
    pub delta_panels: Vec<Vec<f32>>,
    /// Sum of the rows' losses.
    pub loss: f64,
    /// Rows classified correctly.
    pub correct: u64,
    /// The predicted class of each row.
    pub predictions: Vec<u32>,
    rows: usize,
}

impl Share {
    /// Puts the output of the first layer for so many rows together from its panels, each with the [rows, width] it
    /// computed.
    pub fn assemble<'a>(
        &mut self,
        rows: usize,
        panels: impl Iterator<Item = (&'a Panel, &'a [f32])>,
        layers: &[DenseLayer],
        outputs: usize,
    ) {
        self.rows = rows;
        self.activations.resize_with(layers.len() + 1, Vec::new);
        let parts = panels.map(|(panel, hidden)| (panel.columns.clone(), hidden, panel.width));
        join(&mut self.activations[0], rows, outputs, parts);
        if !layers.is_empty() {
            relu(&mut self.activations[0]);
        }
    }

    /// From the first layer's output to the logits.
    pub fn forward(&mut self, layers: &[DenseLayer]) {
        for (index, layer) in layers.iter().enumerate() {
            let (below, above) = self.activations.split_at_mut(index + 1);
            let (x, z) = (&below[index], &mut above[0]);
            z.resize(self.rows * layer.outputs, 0.0);
            layer.forward(layer.cut(x), 0..layer.outputs, z, layer.outputs);
            if index + 1 < layers.len() {
                relu(z);
            }
        }
    }

    /// Losses and predictions, and the last layer's delta (softmax - onehot) * scale.
    pub fn loss(&mut self, targets: &[u32], classes: usize, scale: f32) {
        (self.loss, self.correct) = (0.0, 0);
        self.predictions.clear();
        self.deltas.resize_with(self.activations.len(), Vec::new);
        let (Some(logits), Some(delta)) = (self.activations.last(), self.deltas.last_mut()) else { return };
        delta.resize(logits.len(), 0.0);
        let rows = logits.chunks_exact(classes).zip(delta.chunks_exact_mut(classes));
        for ((logits, delta), target) in rows.zip(targets) {
            let target = *target as usize;
            let best = (0..classes).fold(0, |best, c| if logits[c] > logits[best] { c } else { best });
            let maximum = logits[best];
            let mut sum = 0.0;
            for (d, z) in delta.iter_mut().zip(logits) {
                *d = (z - maximum).exp();
                sum += *d;
            }
            let loss = f64::from(maximum) + f64::from(sum).ln() - f64::from(logits[target]);
            // What f32 cannot hold is infinite, as it is on a GPU.
            self.loss += if (loss as f32).is_infinite() { f64::INFINITY } else { loss };
            self.correct += u64::from(best == target);
            self.predictions.push(best as u32);
            for d in delta.iter_mut() {
                *d = *d / sum * scale;
            }
            delta[target] -= scale;
        }
    }

    /// From the last layer's delta to the first's, which is then cut into panels of these columns and widths.
    pub fn backward<'a>(
        &mut self,
        layers: &[DenseLayer],
        outputs: usize,
        panels: impl ExactSizeIterator<Item = &'a Panel>,
    ) {
        for (index, layer) in layers.iter().enumerate().rev() {
            let (below, above) = self.deltas.split_at_mut(index + 1);
            let (delta, dx) = (&above[0], &mut below[index]);
            dx.resize(self.activations[index].len(), 0.0);
            let delta = [(0..layer.outputs, View::new(delta, layer.outputs))];
            for number in 0..layer.count() {
                layer.backward(number, &delta, dx, layer.inputs, layer.rows(number).start);
            }
            mask(dx, &self.activations[index]);
        }
        self.delta_panels.resize_with(panels.len(), Vec::new);
        for (panel, cut) in panels.zip(&mut self.delta_panels) {
            cut.resize(self.rows * panel.width, 0.0);
            let rows = self.deltas[0].chunks_exact(outputs);
            for (to, from) in cut.chunks_exact_mut(panel.width).zip(rows) {
                to[..panel.columns.len()].copy_from_slice(&from[panel.columns.clone()]);
            }
        }
    }
}

/// Puts so many rows of a matrix together from some columns each: which they are, [rows, width], and the width.
pub fn join<'a>(
    to: &mut Vec<f32>,
    rows: usize,
    outputs: usize,
    parts: impl Iterator<Item = (Range<usize>, &'a [f32], usize)>,
) {
    to.resize(rows * outputs, 0.0);
    for (columns, values, width) in parts {
        for (to, from) in to.chunks_exact_mut(outputs).zip(values.chunks_exact(width)) {
            to[columns.clone()].copy_from_slice(&from[..columns.len()]);
        }
    }
}

/// The gradient behind a ReLU: that before it where its output is above 0.
pub fn mask(deltas: &mut [f32], outputs: &[f32]) {
    for (d, h) in deltas.iter_mut().zip(outputs) {
        *d = if *h > 0.0 { *d } else { 0.0 };
    }
}

/// Not max(0, z): NaN must stay NaN, so that the loss shows it.
pub fn relu(values: &mut [f32]) {
    values.iter_mut().for_each(|z| *z = if *z < 0.0 { 0.0 } else { *z });
}
