//! An input layer and its gradients in f64, column by column.

use std::f64::consts::TAU;

use ndarray::{Array2, ArrayView2, Axis};

use crate::model::{FREQUENCIES, InputColumn, InputLayer, InputParameters, MIXED, PlacedColumn, blocks};

/// An input layer. Gradients have the same form.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceInput {
    /// The conversion of each column.
    pub layer: InputLayer,
    /// The weights of all columns, in the layout of [`InputParameters`].
    pub weights: Vec<f64>,
    /// The factor of each input; empty if inputs have no factors.
    pub scale: Vec<f64>,
}

/// The index of frequency `k` among the weights of a periodic column.
fn frequency(k: usize) -> usize {
    k
}

fn phase(k: usize) -> usize {
    FREQUENCIES + k
}

/// The index of the weight from frequency `k` to input `o` of three.
fn mixing(k: usize, o: usize) -> usize {
    (2 + o) * FREQUENCIES + k
}

fn bias(o: usize) -> usize {
    (2 + MIXED) * FREQUENCIES + o
}

/// The category given by a number, if it is one of `categories`.
fn category(value: f64, categories: usize) -> Option<usize> {
    (0..categories).find(|category| *category as f64 == value)
}

impl ReferenceInput {
    /// A layer with these parameters, in f64.
    pub fn new(layer: &InputLayer, parameters: &InputParameters) -> Self {
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect();
        Self { layer: layer.clone(), weights: wide(&parameters.weights), scale: wide(&parameters.scale) }
    }

    /// A layer of the same form with other numbers.
    pub fn holding(&self, weights: Vec<f64>, scale: Vec<f64>) -> Self {
        Self { layer: self.layer.clone(), weights, scale }
    }

    /// A layer of the same form with zeros.
    pub fn zeros(&self) -> Self {
        self.holding(vec![0.0; self.weights.len()], vec![0.0; self.scale.len()])
    }

    /// E [rows, inputs] of rows [rows, columns]: the inputs before multiplication by their factors.
    pub fn embedded(&self, rows: ArrayView2<f64>) -> Array2<f64> {
        let mut e = Array2::zeros((rows.nrows(), self.layer.inputs()));
        for PlacedColumn { number, column, input, weights } in self.layer.placed() {
            let w = &self.weights[4 * weights..];
            for (x, mut e) in rows.column(number).iter().zip(e.axis_iter_mut(Axis(0))) {
                match column {
                    InputColumn::Number => e[input] = *x,
                    InputColumn::Periodic => {
                        e[input] = *x;
                        for o in 0..MIXED {
                            let wave =
                                |k| (TAU * (x * w[frequency(k)] + w[phase(k)])).cos() * w[mixing(k, o)];
                            e[input + 1 + o] = w[bias(o)] + (0..FREQUENCIES).map(wave).sum::<f64>();
                        }
                    }
                    InputColumn::OneHot { categories } => {
                        if let Some(category) = category(*x, categories) {
                            e[input + category] = 1.0;
                        }
                    }
                    InputColumn::Embedding { categories, size } => {
                        if let Some(category) = category(*x, categories) {
                            (0..size).for_each(|k| e[input + k] = w[4 * category * blocks(size) + k]);
                        }
                    }
                }
            }
        }
        e
    }

    /// X = E s.
    pub fn scaled(&self, embedded: &Array2<f64>) -> Array2<f64> {
        let mut x = embedded.clone();
        for (mut column, scale) in x.axis_iter_mut(Axis(1)).zip(&self.scale) {
            column *= *scale;
        }
        x
    }

    /// Gradients by weights and factors from the gradients by X [rows, inputs].
    pub fn gradients(&self, rows: ArrayView2<f64>, embedded: &Array2<f64>, dx: &Array2<f64>) -> Self {
        let mut to = self.zeros();
        for (ds, (e, dx)) in to.scale.iter_mut().zip(embedded.columns().into_iter().zip(dx.columns())) {
            *ds = e.dot(&dx);
        }
        let de = self.scaled(dx);
        for PlacedColumn { number, column, input, weights } in self.layer.placed() {
            let (w, dw) = (&self.weights[4 * weights..], &mut to.weights[4 * weights..]);
            for (x, de) in rows.column(number).iter().zip(de.axis_iter(Axis(0))) {
                match column {
                    InputColumn::Number | InputColumn::OneHot { .. } => {}
                    InputColumn::Periodic => {
                        for o in 0..MIXED {
                            let de = de[input + 1 + o];
                            dw[bias(o)] += de;
                            for k in 0..FREQUENCIES {
                                let angle = TAU * (x * w[frequency(k)] + w[phase(k)]);
                                let slope = -TAU * angle.sin() * w[mixing(k, o)] * de;
                                dw[mixing(k, o)] += angle.cos() * de;
                                dw[phase(k)] += slope;
                                dw[frequency(k)] += slope * x;
                            }
                        }
                    }
                    InputColumn::Embedding { categories, size } => {
                        if let Some(category) = category(*x, categories) {
                            (0..size).for_each(|k| dw[4 * category * blocks(size) + k] += de[input + k]);
                        }
                    }
                }
            }
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_agree_with_central_differences() {
        let columns = vec![
            InputColumn::Periodic,
            InputColumn::Number,
            InputColumn::Embedding { categories: 3, size: 2 },
            InputColumn::OneHot { categories: 2 },
        ];
        let layer = InputLayer::new(columns, true).unwrap();
        let number = |i: usize, j: usize| ((5 * i + 3 * j + 1) as f64).sin();
        let weights = (0..4 * layer.weights()).map(|i| number(i, 2)).collect();
        let scale = (0..layer.inputs()).map(|i| number(i, 7)).collect();
        let input = ReferenceInput { layer, weights, scale };
        // Category 3 is unknown.
        let rows = Array2::from_shape_fn((5, 4), |(i, j)| match j {
            2 => (i % 4) as f64,
            3 => (i % 3) as f64,
            _ => number(i, j),
        });
        let seen = |of: &ReferenceInput| {
            let x = of.scaled(&of.embedded(rows.view()));
            x.indexed_iter().map(|((i, j), x)| x * number(i, j + 9)).sum::<f64>()
        };
        let dx = Array2::from_shape_fn((5, input.layer.inputs()), |(i, j)| number(i, j + 9));
        let embedded = input.embedded(rows.view());
        assert_eq!(embedded.row(3).iter().skip(5).copied().collect::<Vec<_>>(), [0.0, 0.0, 1.0, 0.0]);
        let gradients = input.gradients(rows.view(), &embedded, &dx);
        let step = 1e-5;
        let check = |got: f64, moved: &dyn Fn(f64) -> ReferenceInput| {
            let slope = (seen(&moved(step)) - seen(&moved(-step))) / (2.0 * step);
            // Truncation error step^2 f''' / 6, where f''' is about (2 pi)^3, and cancellation.
            assert!((got - slope).abs() < 1e-6, "{got}, slope {slope}");
        };
        for (index, got) in gradients.weights.iter().enumerate() {
            check(*got, &|by| {
                let mut moved = input.clone();
                moved.weights[index] += by;
                moved
            });
        }
        for (index, got) in gradients.scale.iter().enumerate() {
            check(*got, &|by| {
                let mut moved = input.clone();
                moved.scale[index] += by;
                moved
            });
        }
        assert!(gradients.weights[83] == 0.0 && gradients.weights[86..88] == [0.0, 0.0]);
    }
}
