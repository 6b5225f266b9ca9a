//! The first layer, which is most of the work: its columns are divided between the parts, and zeros are
//! skipped.

use std::ops::{Deref, Range};

use super::aligned::Aligned;
use super::groups::{Groups, QUAD};
use super::inputs::{Inputs, ShareInputs};
use super::matrix::Matrix;
use super::product;
use super::sparse_products::{AddSparse, ForwardSparse};
use super::tensors::Tensors;
use super::tiles::Start;
use super::view::View;
use crate::model::Layer;
use crate::vectors::vectorized;

/// Some columns of the first layer's weights. One part computes a panel, so it stays in the cache of one
/// core. Its weights are [inputs, width] in the order of the groups of inputs, padded with rows of zeros to a
/// multiple of [`QUAD`]; its bias is `[width]`.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Columns of the layer.
    pub columns: Range<usize>,
    /// Number of columns, padded with zeros to whole vectors.
    pub width: usize,
    /// Number of inputs.
    pub inputs: usize,
}

impl Panel {
    /// Creates a panel of these columns.
    pub fn new(inputs: usize, columns: Range<usize>) -> Self {
        Self { width: Matrix::width_of(columns.len()), columns, inputs }
    }

    /// Cuts the panel's parameters out of a whole layer.
    pub fn cut(&self, layer: &Layer, groups: &Groups) -> Tensors {
        let own = |to: &mut [f32], row: &[f32]| {
            to[..self.columns.len()].copy_from_slice(&row[self.columns.clone()]);
        };
        let mut weights = Aligned::zeros(self.inputs.next_multiple_of(QUAD) * self.width);
        for (row, place) in layer.weights.chunks_exact(layer.outputs).zip(groups.positions()) {
            own(&mut weights[place * self.width..], row);
        }
        let mut bias = vec![0.0; self.width];
        own(&mut bias, &layer.bias);
        Tensors { weights, bias }
    }

    /// Joins the results of [`Panel::cut`] into the whole layer.
    pub fn join<'a>(parts: impl Iterator<Item = (&'a Panel, &'a Tensors)> + Clone, groups: &Groups) -> Layer {
        let inputs = parts.clone().map(|(panel, _)| panel.inputs).max().unwrap_or(0);
        let outputs = parts.clone().map(|(panel, _)| panel.columns.len()).sum();
        let mut bias = Vec::with_capacity(outputs);
        parts.clone().for_each(|(panel, own)| bias.extend_from_slice(&own.bias[..panel.columns.len()]));
        let mut weights = Vec::with_capacity(inputs * outputs);
        for place in groups.positions() {
            for (panel, own) in parts.clone() {
                weights.extend_from_slice(&own.weights[place * panel.width..][..panel.columns.len()]);
            }
        }
        Layer { inputs, outputs, weights, bias }
    }

    /// Returns the panel's parameters with the inputs in original order.
    pub fn ungrouped(&self, tensors: &Tensors, groups: &Groups) -> Tensors {
        let mut weights = Aligned::zeros(tensors.weights.len());
        for (row, place) in weights.chunks_exact_mut(self.width).zip(groups.positions()) {
            row.copy_from_slice(&tensors.weights[place * self.width..][..self.width]);
        }
        Tensors { weights, bias: tensors.bias.clone() }
    }

    /// Computes Z = X W + b for these columns, over all shares of the inputs, into the columns from `first`
    /// on of `z`. If the inputs are lists, `first` is 0 and `z` has no other columns.
    pub fn forward(
        &self,
        parameters: &Tensors,
        inputs: &[impl Deref<Target = Inputs>],
        z: &mut Matrix,
        first: usize,
    ) {
        let (width, stride, bias) = (self.width, z.width(), Start::Row(&parameters.bias));
        let mut is_begun = false;
        for share in inputs {
            match share.held() {
                ShareInputs::SparseRows(lists) => {
                    assert_eq!((first, width), (0, stride), "Z holds these columns alone");
                    // Lists of each share cover all rows.
                    if !is_begun {
                        bias.write(z.values_mut(), stride, usize::MAX, width);
                        is_begun = true;
                    }
                    let weights = &parameters.weights;
                    vectorized(ForwardSparse { weights, width, lists, z: z.values_mut() });
                }
                ShareInputs::Rows(held, dense) => {
                    if !held.is_empty() {
                        let weights = View::new(&parameters.weights[..self.inputs * width], width);
                        let weights = weights.columns(0..self.columns.len());
                        let x = View::new(dense, self.inputs);
                        product::begin(z.rows_mut(held), stride, first, bias, x, weights);
                    }
                }
            }
        }
    }

    /// Adds X'D to the weights and the column sums of D [rows, width] to the bias, over all shares of the inputs X.
    pub fn add_gradient(&self, to: &mut Tensors, inputs: &[impl Deref<Target = Inputs>], delta: View<'_>) {
        delta.add_column_sums(&mut to.bias);
        let width = self.width;
        for share in inputs {
            match share.held() {
                ShareInputs::SparseRows(lists) => {
                    let weights = &mut to.weights;
                    vectorized(AddSparse { weights, width, lists, delta });
                }
                ShareInputs::Rows(rows, dense) => {
                    let weights = &mut to.weights[..self.inputs * width];
                    let x = View::new(dense, self.inputs);
                    let delta = delta.rows(rows).columns(0..self.columns.len());
                    product::add(weights, width, 0, x.transposed(), delta);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pulp::Simd;

    use super::super::packed_rows::PackedRows;
    use super::super::partition::{pieces, range};
    use super::super::sparse_rows::SparseRows;
    use super::*;
    use crate::data::{Dataset, Features};

    fn number(i: usize) -> f32 {
        ((i * 37 + 11) % 23) as f32 / 8.0 - 1.25
    }

    #[test]
    fn panels_hold_every_column_once() {
        for (outputs, most) in [(300, 5), (300, 3), (16, 1), (5, 1), (100, 2), (17, 1), (1, 3)] {
            let weights: Vec<f32> = (0..2 * outputs).map(|i| i as f32).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| -(i as f32)).collect();
            let layer = Layer { inputs: 2, outputs, weights, bias };
            let (panels, groups) = (pieces(outputs, most, 2).into_iter(), Groups::neighbours(2));
            let panels: Vec<Panel> = panels.map(|columns| Panel::new(2, columns)).collect();
            let columns: Vec<usize> = panels.iter().flat_map(|panel| panel.columns.clone()).collect();
            assert_eq!(columns, (0..outputs).collect::<Vec<_>>());
            let parts: Vec<Tensors> = panels.iter().map(|panel| panel.cut(&layer, &groups)).collect();
            for (panel, part) in panels.iter().zip(&parts) {
                for (offset, column) in panel.columns.clone().enumerate() {
                    assert_eq!(part.weights[panel.width + offset], (outputs + column) as f32);
                    assert_eq!(part.bias[offset], -(column as f32));
                }
                assert!(part.bias[panel.columns.len()..].iter().all(|b| *b == 0.0));
            }
            assert_eq!(Panel::join(panels.iter().zip(&parts), &groups), layer);
        }
    }

    /// Vectors of every width, including other processors' vectors; any number of shares; deltas of one
    /// panel, and of one among several.
    #[test]
    fn any_vectors_and_shares_give_the_same_layer() {
        let (inputs, outputs) = (22, 100);
        let weights: Vec<f32> = (0..inputs * outputs).map(number).collect();
        let layer = Layer { inputs, outputs, weights, bias: (0..outputs).map(number).collect() };
        let values: Vec<f32> = (0..5 * inputs).map(|i| if i % 5 < 3 { 0.0 } else { number(i) }).collect();
        let (features, labels) = (Features::Floats(values), vec![0; 5]);
        let data = Dataset { inputs, features, targets: labels.into(), weights: Vec::new() };
        let groups = Arc::new(Groups::neighbours(inputs));
        let mut packed = PackedRows::new(Arc::clone(&groups));
        packed.extend(&data.view(), 5);
        let gathered = |parts: usize, packed: Option<&PackedRows>| -> Vec<Inputs> {
            let share = |part| {
                let (mut inputs, order) = (Inputs::default(), [4, 2, 0, 1]);
                match packed {
                    None => inputs.gather_rows(&data.view(), &order, range(4, part, parts)),
                    Some(packed) => {
                        let sections = range(3, part, parts).map(|pair| 2 * pair..2 * pair + 2);
                        inputs.gather_lists(&data.view(), &order, packed, sections);
                    }
                }
                inputs
            };
            (0..parts).map(share).collect()
        };
        fn with<S: Simd>(simd: S, panel: &Tensors, lists: &SparseRows, delta: View<'_>) -> [Vec<f32>; 2] {
            let (mut z, width) = (panel.bias.repeat(4), panel.bias.len());
            simd.vectorize(ForwardSparse { weights: &panel.weights, width, lists, z: &mut z });
            let mut weights = panel.weights.clone();
            simd.vectorize(AddSparse { weights: &mut weights, width, lists, delta });
            [z, weights.to_vec()]
        }
        // Runs of several vectors, and narrow runs, for which two groups are updated together.
        for columns in [16..98, 32..60, 5..9] {
            let panel = Panel::new(inputs, columns);
            let (tensors, width) = (panel.cut(&layer, &groups), panel.width);
            // Padding is 0.
            let padded = |i: usize| if i % width < panel.columns.len() { number(i) } else { 0.0 };
            let beside: Vec<f32> = (0..4 * 3 * width).map(padded).collect();
            let delta = View::new(&beside, 3 * width).columns(width..2 * width);
            let computed = |panel: &Panel, shares: &[Inputs]| {
                let shares: Vec<&Inputs> = shares.iter().collect();
                let (mut z, mut updated) = (Matrix::default(), tensors.clone());
                z.resize(4, panel.columns.len());
                panel.forward(&tensors, &shares, &mut z, 0);
                panel.add_gradient(&mut updated, &shares, delta);
                [z.values().to_vec(), updated.weights.to_vec(), updated.bias]
            };
            let want = computed(&panel, &gathered(1, None));
            let check = |name: &str, got: &[f32], want: &[f32]| {
                let close = |(got, want): (&f32, &f32)| (got - want).abs() <= 1e-5;
                assert!(got.len() == want.len() && got.iter().zip(want).all(close), "{name}");
            };
            for packed in [None, Some(&packed)] {
                let alone = computed(&panel, &gathered(1, packed));
                alone.iter().zip(&want).for_each(|(got, want)| check("this processor", got, want));
                // Sharing the inputs changes no bit.
                (2..8).for_each(|parts| {
                    assert_eq!(computed(&panel, &gathered(parts, packed)), alone, "{parts}")
                });
            }
            let sparse = gathered(1, Some(&packed));
            let ShareInputs::SparseRows(lists) = sparse[0].held() else { panic!("lists") };
            for (name, got) in [
                ("1 lane", with(pulp::Scalar, &tensors, lists, delta)),
                ("4 lanes", with(pulp::Scalar128b, &tensors, lists, delta)),
                ("8 lanes", with(pulp::Scalar256b, &tensors, lists, delta)),
                ("16 lanes", with(pulp::Scalar512b, &tensors, lists, delta)),
            ] {
                got.iter().zip(&want).for_each(|(got, want)| check(name, got, want));
            }
        }
    }
}
