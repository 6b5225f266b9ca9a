//! The first layer, which is most of the work: its columns are divided between the threads, and zeros are skipped.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::product::{View, multiply};
use super::sparse::{Entry, Inputs, Sparse};

/// Columns that a panel is a multiple of: the lanes of the widest vector.
const LANES: usize = 16;

/// Some columns of the first layer's weights, owned by one thread, so that they stay in its core's cache.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Which columns.
    pub columns: Range<usize>,
    /// Columns with padding, which is zero: a multiple of the widest vector's lanes.
    pub width: usize,
    /// [inputs, width]
    pub weights: Vec<f32>,
    /// [width]
    pub bias: Vec<f32>,
}

impl Panel {
    /// How many panels a layer with so many outputs can be divided into.
    pub fn most(outputs: usize) -> usize {
        outputs.div_ceil(LANES)
    }

    /// Panel `number` of `count` of a layer's weights [inputs, outputs] and bias [outputs].
    pub fn new(weights: &[f32], bias: &[f32], number: usize, count: usize) -> Self {
        let outputs = bias.len();
        let groups = Self::most(outputs);
        let edge = |number: usize| (number * groups).div_ceil(count) * LANES;
        let columns = edge(number).min(outputs)..edge(number + 1).min(outputs);
        let width = columns.len().next_multiple_of(LANES);
        let padded = |row: &[f32]| {
            let mut padded = row[columns.clone()].to_vec();
            padded.resize(width, 0.0);
            padded
        };
        Self {
            weights: weights.chunks_exact(outputs).flat_map(padded).collect(),
            bias: padded(bias),
            columns,
            width,
        }
    }

    /// The same columns, all zero.
    pub fn zeros(&self) -> Self {
        let (weights, bias) = (vec![0.0; self.weights.len()], vec![0.0; self.width]);
        Self { columns: self.columns.clone(), weights, bias, ..*self }
    }

    /// hidden [rows, width] = X W + b for these columns.
    pub fn forward(&self, inputs: &Inputs, hidden: &mut Vec<f32>) {
        hidden.clear();
        for _ in 0..inputs.rows {
            hidden.extend_from_slice(&self.bias);
        }
        match &inputs.sparse {
            Some((rows, _)) => Arch::new().dispatch(ForwardSparse { panel: self, rows, hidden }),
            None => {
                let x = View::new(&inputs.dense, self.weights.len() / self.width);
                multiply(hidden, x, View::new(&self.weights, self.width), 1.0, true);
            }
        }
    }

    /// W += scale X'D and b += scale (column sums of D), over the parts of the batch in their order; each part is its
    /// inputs and its D [rows, width].
    pub fn add_gradient(&mut self, parts: &[(&Inputs, &[f32])], scale: f32) {
        for row in parts.iter().flat_map(|(_, delta)| delta.chunks_exact(self.width)) {
            for (b, d) in self.bias.iter_mut().zip(row) {
                *b += scale * d;
            }
        }
        let sparse: Option<Vec<(&Sparse, &[f32])>> = parts
            .iter()
            .map(|(inputs, delta)| inputs.sparse.as_ref().map(|(_, columns)| (columns, *delta)))
            .collect();
        match sparse {
            Some(parts) => Arch::new().dispatch(AddSparse { panel: self, parts: &parts, scale }),
            None => {
                let count = self.weights.len() / self.width;
                for (inputs, delta) in parts.iter().filter(|(inputs, _)| inputs.rows > 0) {
                    let x = View::new(&inputs.dense, count).t();
                    multiply(&mut self.weights, x, View::new(delta, self.width), scale, true);
                }
            }
        }
    }
}

/// sums[j] += scale * value * matrix[index, at + j], over all entries, with the sums held in registers.
#[inline(always)]
fn accumulate<S: Simd, const N: usize>(
    simd: S,
    sums: &mut [S::f32s],
    lists: &[(&[Entry], &[S::f32s])],
    (vectors, at): (usize, usize),
    scale: f32,
) {
    let Ok(sums): Result<&mut [S::f32s; N], _> = sums.try_into() else { return };
    let mut held = *sums;
    for (entries, matrix) in lists {
        for entry in *entries {
            let value = simd.splat_f32s(scale * entry.value);
            let start = entry.index as usize * vectors + at;
            for (sum, factor) in held.iter_mut().zip(&matrix[start..start + N]) {
                *sum = simd.mul_add_e_f32s(value, *factor, *sum);
            }
        }
    }
    *sums = held;
}

/// [`accumulate`] for up to eight vectors.
#[inline(always)]
fn accumulate_some<S: Simd>(
    simd: S,
    sums: &mut [S::f32s],
    lists: &[(&[Entry], &[S::f32s])],
    place: (usize, usize),
    scale: f32,
) {
    match sums.len() {
        8 => accumulate::<S, 8>(simd, sums, lists, place, scale),
        4 => accumulate::<S, 4>(simd, sums, lists, place, scale),
        _ => {
            for (offset, sum) in sums.chunks_mut(1).enumerate() {
                accumulate::<S, 1>(simd, sum, lists, (place.0, place.1 + offset), scale);
            }
        }
    }
}

/// Divides `vectors` vectors into runs that fit into registers: eights, then a four, then the rest.
fn runs(vectors: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let left = vectors - at;
        let length = [8, 4].into_iter().find(|length| *length <= left).unwrap_or(left);
        at += length;
        (length > 0).then_some(at - length..at)
    })
}

struct ForwardSparse<'a> {
    panel: &'a Panel,
    rows: &'a Sparse,
    hidden: &'a mut [f32],
}

impl WithSimd for ForwardSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let vectors = self.panel.width / S::F32_LANES;
        let (weights, _) = S::as_simd_f32s(&self.panel.weights);
        let (hidden, _) = S::as_mut_simd_f32s(self.hidden);
        for (row, hidden) in hidden.chunks_exact_mut(vectors).enumerate() {
            let lists = [(self.rows.list(row), weights)];
            for run in runs(vectors) {
                let place = (vectors, run.start);
                accumulate_some(simd, &mut hidden[run], &lists, place, 1.0);
            }
        }
    }
}

struct AddSparse<'a> {
    panel: &'a mut Panel,
    parts: &'a [(&'a Sparse, &'a [f32])],
    scale: f32,
}

impl WithSimd for AddSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let vectors = self.panel.width / S::F32_LANES;
        let (weights, _) = S::as_mut_simd_f32s(&mut self.panel.weights);
        let deltas: Vec<&[S::f32s]> = self.parts.iter().map(|(_, delta)| S::as_simd_f32s(delta).0).collect();
        let mut lists: Vec<(&[Entry], &[S::f32s])> = Vec::with_capacity(self.parts.len());
        // A run of columns of all deltas stays in the nearest cache while the inputs are walked.
        for run in runs(vectors) {
            for (input, weights) in weights.chunks_exact_mut(vectors).enumerate() {
                lists.clear();
                lists.extend(
                    self.parts.iter().zip(&deltas).map(|((columns, _), d)| (columns.list(input), *d)),
                );
                if lists.iter().any(|(entries, _)| !entries.is_empty()) {
                    accumulate_some(
                        simd,
                        &mut weights[run.clone()],
                        &lists,
                        (vectors, run.start),
                        self.scale,
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_every_column_once() {
        for (outputs, count) in [(300, 2), (300, 3), (16, 1), (5, 1), (100, 7), (17, 2)] {
            let weights: Vec<f32> = (0..2 * outputs).map(|i| i as f32).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| -(i as f32)).collect();
            let panels: Vec<Panel> = (0..count).map(|n| Panel::new(&weights, &bias, n, count)).collect();
            let columns: Vec<usize> = panels.iter().flat_map(|panel| panel.columns.clone()).collect();
            assert_eq!(columns, (0..outputs).collect::<Vec<_>>());
            for panel in panels {
                for (offset, column) in panel.columns.clone().enumerate() {
                    assert_eq!(panel.weights[panel.width + offset], (outputs + column) as f32);
                    assert_eq!(panel.bias[offset], -(column as f32));
                }
                assert!(panel.bias[panel.columns.len()..].iter().all(|b| *b == 0.0));
            }
        }
    }

    #[test]
    fn runs_cover_all_vectors() {
        for vectors in 0..40 {
            let covered: Vec<usize> = runs(vectors).flatten().collect();
            assert_eq!(covered, (0..vectors).collect::<Vec<_>>());
        }
    }
}
