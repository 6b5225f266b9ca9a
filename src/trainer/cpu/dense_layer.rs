//! The layers behind the first: products of the `gemm` crate. Their weights are divided by rows between the threads.

use std::ops::Range;
use std::sync::RwLock;

use super::product::{View, multiply, multiply_columns};
use super::{read, write};
use crate::model::Layer;

/// A layer whose weights stand in pieces, each of which has one owner.
pub struct DenseLayer {
    /// Numbers of a row that comes out.
    pub outputs: usize,
    /// Rows of the weights, divided: [rows of the piece, outputs].
    pieces: Vec<RwLock<Vec<f32>>>,
    bias: RwLock<Vec<f32>>,
    inputs: usize,
}

impl DenseLayer {
    /// A layer in so many pieces.
    pub fn new(layer: &Layer, pieces: usize) -> Self {
        let mut made = Self {
            outputs: layer.outputs,
            pieces: Vec::new(),
            bias: RwLock::new(layer.bias.clone()),
            inputs: layer.inputs,
        };
        let cut = |number| {
            let rows = range(layer.inputs, number, pieces);
            RwLock::new(layer.weights[rows.start * layer.outputs..rows.end * layer.outputs].to_vec())
        };
        made.pieces = (0..pieces).map(cut).collect();
        made
    }

    /// The layer in one piece.
    pub fn layer(&self) -> Layer {
        let weights = self.pieces.iter().flat_map(|piece| read(piece).clone()).collect();
        Layer { inputs: self.inputs, outputs: self.outputs, weights, bias: read(&self.bias).clone() }
    }

    /// Z = X W + b.
    pub fn forward(&self, x: &[f32], z: &mut [f32]) {
        let bias = read(&self.bias);
        for row in z.chunks_exact_mut(self.outputs) {
            row.copy_from_slice(&bias);
        }
        for (number, piece) in self.pieces.iter().enumerate() {
            let x = View::new(x, self.inputs).columns(self.rows(number));
            multiply(z, x, View::new(&read(piece), self.outputs), true);
        }
    }

    /// dX = D W'.
    pub fn backward(&self, delta: &[f32], dx: &mut [f32]) {
        for (number, piece) in self.pieces.iter().enumerate() {
            let weights = read(piece);
            let (delta, weights) = (View::new(delta, self.outputs), View::new(&weights, self.outputs).t());
            multiply_columns(dx, self.inputs, self.rows(number).start, delta, weights, false);
        }
    }

    /// W += X'D for the rows of one piece, over the parts (X, D) of the batch in their order; whoever owns the
    /// first piece also does b += (column sums of D).
    pub fn add_gradient(&self, number: usize, parts: &[(&[f32], &[f32])]) {
        let mut weights = write(&self.pieces[number]);
        for (x, delta) in parts.iter().filter(|(x, _)| !x.is_empty()) {
            let x = View::new(x, self.inputs).columns(self.rows(number)).t();
            multiply(&mut weights, x, View::new(delta, self.outputs), true);
        }
        if number == 0 {
            let mut bias = write(&self.bias);
            for row in parts.iter().flat_map(|(_, delta)| delta.chunks_exact(self.outputs)) {
                for (b, d) in bias.iter_mut().zip(row) {
                    *b += d;
                }
            }
        }
    }

    fn rows(&self, number: usize) -> Range<usize> {
        range(self.inputs, number, self.pieces.len())
    }
}

/// Part `number` of `0..length` divided into `count` nearly equal parts.
pub fn range(length: usize, number: usize, count: usize) -> Range<usize> {
    number * length / count..(number + 1) * length / count
}
