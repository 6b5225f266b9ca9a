//! Host half of `shaders/embed_gradient.wgsl`.

use super::input_columns::{InputColumns, units};
use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, LayerUpdate, Piece, Seal, Shader, StepRecord, Tuning, blocks, live_rows,
    matrix, word,
};
use crate::model::{InputColumn, InputLayer, InputLayout, MIXED};

static SHADER: Shader = Shader::of_step("embed_gradient", &[Read, Read, Write]);

/// Shader variant that stores gradients.
static APART: Shader = Shader::of_step("embed_gradient", &[Read, Read, Read, Write]);

/// Gradient with respect to the weights of the columns of a table, or the optimizer's update with it in
/// place; see [`InputLayer`]. Buffers: rows [rows, columns], dX [rows, inputs], parameters followed by the
/// optimizer's state; without `update` parameters and gradients.
#[derive(Debug, Clone)]
pub struct EmbedGradient {
    rows: usize,
    columns: InputColumns,
    update: Option<LayerUpdate>,
}

impl EmbedGradient {
    /// Returns the kernels of all columns with weights of a layer with this layout, for batches of at most
    /// `rows` rows, in one or more dispatches.
    pub fn all(
        rows: usize,
        layer: &InputLayer,
        layout: InputLayout,
        update: Option<LayerUpdate>,
    ) -> Vec<Self> {
        let all = InputColumns::all(layer, layout, |column| column.column.weights() > 0);
        all.into_iter().map(|columns| Self { rows, columns, update }).collect()
    }
}

impl Kernel for EmbedGradient {
    fn describe(&self, _: Seal) -> Description {
        let InputColumns { columns, layout, row, inputs } = &self.columns;
        let (units, scaled) = (self.columns.units(), self.columns.is_scaled());
        let sizes = [*row, *inputs, columns.len(), units, layout.scale()].map(word);
        let [state, region, rate, ..] = LayerUpdate::params(self.update);
        let words = [&sizes[..], &[state, region, rate]].concat();
        let (shader, weights) = match self.update {
            Some(_) => (&SHADER, "weights_updated"),
            None => (&APART, "weights_apart"),
        };
        let scale = scaled.then(|| "scale".to_owned());
        Description {
            pieces: vec![("weights", Piece::Named(weights)), LayerUpdate::piece(self.update)],
            fuses: Some(scale.into_iter().chain(LayerUpdate::fused(self.update)).collect()),
            ..self.columns.describe(shader, self.rows, &words, units)
        }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let InputColumns { row, inputs, .. } = self.columns;
        let (weights, scale) = (self.columns.weight_bytes(), self.columns.scale_bytes());
        let rows = live_rows(record, &SHADER, self.rows)?;
        let read = [matrix(rows, row), matrix(rows, inputs)];
        Ok(match self.update {
            Some(_) => {
                [&read[..], &[weights.saturating_add(LayerUpdate::reach(self.update)).max(scale)]].concat()
            }
            None => [&read[..], &[weights.max(scale), weights]].concat(),
        })
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let scaled = usize::from(self.columns.is_scaled());
        let [of_old, writes, flop] = LayerUpdate::cost(self.update);
        let (mut vectors, mut reads, mut flops) = (0, 0, 0);
        for column in self.columns.columns.iter().map(|column| column.column) {
            let owned = column.weights();
            vectors += owned;
            flops += self.rows * column.flop(self.columns.is_scaled())[1];
            match column {
                InputColumn::Number | InputColumn::OneHot { .. } => {}
                InputColumn::Periodic => {
                    let threads = units(column);
                    let apart = if self.update.is_none() { 4 * (owned - 1) } else { 0 };
                    reads += apart + threads * MIXED * (scaled + self.rows) + (threads - 1) * self.rows;
                }
                InputColumn::Embedding { size, .. } => {
                    // For any categories in the rows, each row's category is read by the owners of its
                    // weights.
                    reads += self.rows * (owned + size) + owned / blocks(size).max(1) * scaled * size;
                }
            }
        }
        let vectors = 4 * vectors;
        Cost::dispatch(reads + of_old * vectors, writes * vectors, flops + flop * vectors)
    }
}
