//! Layers above the first that are large. `gemm` packs the weights that it multiplies; if every thread took its rows of
//! the batch through all layers, each would pack all of them. So a thread makes some columns of each layer, for all rows.

use std::ops::Range;
use std::sync::{RwLock, RwLockReadGuard};

use super::dense_layer::{Columns, DenseLayer};
use super::divide::{LANES, columns};
use super::first_layer::Panel;
use super::product::View;
use super::share::{Share, join, mask, relu};
use super::sparse::Inputs;
use super::{read, write};

/// [rows, width], where the first columns of a row count and those behind them are padding, which is zero.
#[derive(Default)]
struct Matrix {
    values: Vec<f32>,
    columns: usize,
    width: usize,
}

impl Matrix {
    fn resize(&mut self, rows: usize, columns: usize) {
        self.columns = columns;
        self.width = columns.next_multiple_of(LANES).max(LANES);
        self.values.resize(rows * self.width, 0.0);
    }

    fn view(&self) -> View<'_> {
        View::new(&self.values, self.width).columns(0..self.columns)
    }

    fn row_count(&self) -> usize {
        self.values.len() / self.width
    }

    fn rows(&self, rows: Range<usize>) -> &[f32] {
        &self.values[rows.start * self.width..rows.end * self.width]
    }
}

/// What a thread makes of a layer's outputs, for all rows of the batch.
#[derive(Default)]
struct Piece {
    /// Its columns, behind their ReLU.
    activations: Matrix,
    /// Gradients of the summed loss by its columns' pre-activations, times the scale that the loss was given; of the
    /// logits, those of all columns.
    deltas: Matrix,
}

/// The outputs of all layers and their deltas, a piece for each thread.
pub struct Wide {
    layers: Vec<Vec<RwLock<Piece>>>,
}

impl Wide {
    /// For so many layers above the first and so many threads.
    pub fn new(above: usize, threads: usize) -> Self {
        let pieces = || (0..threads).map(|_| RwLock::default()).collect();
        Self { layers: (0..above + 1).map(|_| pieces()).collect() }
    }

    /// Takes what panel `number` has made of the first layer: [rows, width] of each share of the batch.
    pub fn take(&self, number: usize, panel: &Panel, hidden: &[Vec<f32>]) {
        let piece = &mut *write(&self.layers[0][number]);
        let rows = hidden.iter().map(Vec::len).sum::<usize>() / panel.width;
        piece.activations.resize(rows, panel.columns.len());
        let mut rest = piece.activations.values.as_mut_slice();
        for from in hidden {
            let (to, behind) = rest.split_at_mut(from.len());
            to.copy_from_slice(from);
            rest = behind;
        }
        relu(&mut piece.activations.values);
    }

    /// Part `number` of layer `index` above the first, forward.
    pub fn forward(&self, index: usize, number: usize, layers: &[DenseLayer]) {
        let below: Vec<_> = self.layers[index].iter().map(read).collect();
        let (layer, piece) = (&layers[index], &mut *write(&self.layers[index + 1][number]));
        let (columns, z) = (columns(layer.outputs, number, below.len()), &mut piece.activations);
        z.resize(below[0].activations.row_count(), columns.len());
        let x = below.iter().map(|piece| piece.activations.view());
        layer.forward(x, columns, &mut z.values, z.width);
        if index + 1 < layers.len() {
            relu(&mut z.values);
        }
    }

    /// The logits of the rows `rows`, for the share that they are.
    pub fn logits(&self, rows: Range<usize>, classes: usize, share: &mut Share) {
        let pieces: Vec<_> = self.layers[self.layers.len() - 1].iter().map(read).collect();
        let parts = pieces.iter().enumerate().map(|(number, piece)| {
            let of = columns(classes, number, pieces.len());
            (of, piece.activations.rows(rows.clone()), piece.activations.width)
        });
        share.activations.resize_with(1, Vec::new);
        join(&mut share.activations[0], rows.len(), classes, parts);
    }

    /// Part `number` of the deltas below layer `index` above the first. `shares` hold those of the logits.
    pub fn backward(&self, index: usize, number: usize, layers: &[DenseLayer], shares: &[RwLock<Share>]) {
        let layer = &layers[index];
        if index + 1 == layers.len() {
            let shares: Vec<_> = shares.iter().map(read).collect();
            let rows = shares.iter().flat_map(|share| share.deltas[0].chunks_exact(layer.outputs));
            let deltas = &mut write(&self.layers[index + 1][number]).deltas;
            deltas.resize(rows.clone().count(), layer.outputs);
            for (to, from) in deltas.values.chunks_exact_mut(deltas.width).zip(rows) {
                to[..layer.outputs].copy_from_slice(from);
            }
        }
        let above = self.above(index, number);
        let Piece { activations, deltas } = &mut *write(&self.layers[index][number]);
        deltas.resize(activations.row_count(), activations.columns);
        layer.backward(number, &cut(layer, &above), &mut deltas.values, deltas.width, 0);
        mask(&mut deltas.values, &activations.values);
    }

    /// The deltas above layer `index`, as thread `number` knows them.
    fn above(&self, index: usize, number: usize) -> Vec<RwLockReadGuard<'_, Piece>> {
        let pieces = &self.layers[index + 1];
        let is_last = index + 2 == self.layers.len();
        if is_last { vec![read(&pieces[number])] } else { pieces.iter().map(read).collect() }
    }

    /// Adds the gradient to panel `number` of the first layer and to pieces `number` of the others. `inputs` are those of
    /// the shares.
    pub fn add_gradient(&self, number: usize, inputs: &[&Inputs], panel: &mut Panel, layers: &[DenseLayer]) {
        let first = read(&self.layers[0][number]);
        let mut end = 0;
        let share = |inputs: &&'_ Inputs| {
            let start = end;
            end += inputs.rows();
            first.deltas.rows(start..end)
        };
        let deltas: Vec<_> = inputs.iter().map(share).collect();
        panel.add_gradient(&inputs.iter().copied().zip(deltas).collect::<Vec<_>>());
        drop(first);
        for (index, layer) in layers.iter().enumerate() {
            let (x, above) = (read(&self.layers[index][number]), self.above(index, number));
            let parts = cut(layer, &above).into_iter().map(|delta| (x.activations.view(), delta));
            layer.add_gradient(number, parts);
        }
    }
}

/// The deltas of a layer's outputs, and which columns they are.
fn cut<'a>(layer: &DenseLayer, pieces: &'a [RwLockReadGuard<'_, Piece>]) -> Vec<Columns<'a>> {
    let pieces = pieces.iter().map(|piece| piece.deltas.view());
    let count = pieces.len();
    pieces.enumerate().map(|(number, view)| (columns(layer.outputs, number, count), view)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::CpuEngine;
    use super::super::plan::Plan;
    use crate::data::{Dataset, Features};
    use crate::engine::{Drive, Engine, EngineOptions};
    use crate::model::{Network, Parameters};
    use crate::reference::{ReferenceNetwork, bounds};

    /// However many threads there are, also more than a layer has vectors, gradients are those of the reference, and a
    /// run of several batches gives what one thread gives that takes rows through all layers.
    #[test]
    fn layers_divided_by_columns_are_the_same_layers() {
        for (sizes, zeros) in [(vec![9, 50, 17, 1], 0), (vec![9, 65, 3, 40, 19], 5), (vec![9, 60, 24], 0)] {
            let network = Network::classifier(&sizes).unwrap();
            let byte = |i: usize| if i % 7 < zeros { 0.0 } else { (i * i * 31 % 251) as f64 };
            let features = Features::Bytes((0..37 * 9).map(|i| byte(i) as u8).collect());
            let labels = (0..37).map(|row| row * 5 % network.outputs() as u32).collect::<Vec<u32>>();
            let data = Dataset { inputs: 9, features, targets: labels.into(), weights: Vec::new() };
            let (rows, order) = (data.view(), (0..37).rev().collect::<Vec<u32>>());
            let parameters = Parameters::he_normal(&network, 4);
            let engine = |batch, plan| {
                CpuEngine::planned(&parameters, &network, &EngineOptions::sgd(batch, 0.1), 4, plan)
            };
            let x = ndarray::Array2::from_shape_fn((37, 9), |(row, column)| byte(9 * row + column) / 255.0);
            let targets: Vec<usize> = data.labels().iter().map(|label| *label as usize).collect();
            let reference = parameters.to_reference();
            let (want, bounds) =
                (reference.gradients(x.view(), &targets), bounds::gradients(&reference, &x, &targets));
            let mut alone = engine(16, Plan::Rows(1));
            alone.train(&rows, &order, &mut |_| Ok(())).unwrap();
            let trained = alone.parameters().unwrap();
            for parts in 1..=4 {
                let got = engine(64, Plan::Columns(parts)).gradients(&rows).unwrap().to_reference();
                let numbers = |of: &ReferenceNetwork| -> Vec<f64> {
                    let weights = of.weights.iter().flat_map(|weights| weights.iter().copied());
                    weights.chain(of.biases.iter().flat_map(|bias| bias.iter().copied())).collect()
                };
                for ((got, want), bound) in numbers(&got).iter().zip(numbers(&want)).zip(numbers(&bounds)) {
                    assert!((got - want).abs() <= bound, "{sizes:?}, {parts} parts: {got}, want {want}");
                }
                let mut engine = engine(16, Plan::Columns(parts));
                engine.train(&rows, &order, &mut |_| Ok(())).unwrap();
                for (got, want) in engine.parameters().unwrap().layers.iter().zip(&trained.layers) {
                    let values =
                        got.weights.iter().chain(&got.bias).zip(want.weights.iter().chain(&want.bias));
                    for (got, want) in values {
                        assert!((got - want).abs() <= 1e-6, "{sizes:?}, {parts} parts: {got}, alone {want}");
                    }
                }
            }
        }
    }
}
