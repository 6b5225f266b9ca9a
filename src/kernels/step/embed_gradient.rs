//! Host half of `shaders/embed_gradient.wgsl`.

use super::input_columns::{InputColumns, units};
use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, LayerUpdate, Piece, Shader, StepRecord, ThreadLayout, Tuning, blocks, matrix, uniform,
    vec4s, word,
};
use crate::model::{InputColumn, InputLayer, InputLayout, MIXED};

static SHADER: Shader = Shader {
    name: "embed_gradient",
    source: include_str!("../../../shaders/embed_gradient.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    records: 1,
};

/// The same where gradients are stored.
static APART: Shader =
    Shader { bindings: &[Access::Read, Access::Read, Access::Read, Access::Write], ..SHADER };

/// The gradient by the weights of the columns of a table, or the optimizer's update with it in place; see [`InputLayer`].
/// Buffers: rows [rows, columns], dX [rows, inputs], parameters with the optimizer's state behind them; without `update`
/// parameters and gradients.
#[derive(Debug, Clone)]
pub struct EmbedGradient {
    rows: usize,
    columns: InputColumns,
    update: Option<LayerUpdate>,
}

impl EmbedGradient {
    /// Of all columns with weights of a layer whose parameters stand there, for batches of at most so many rows: as many
    /// dispatches as it takes.
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
    fn shader(&self) -> &'static Shader {
        if self.update.is_some() { &SHADER } else { &APART }
    }

    fn params(&self) -> Vec<u8> {
        let InputColumns { columns, layout, row, inputs } = &self.columns;
        let sizes = [*row, *inputs, columns.len(), self.columns.units(), layout.scale()].map(word);
        let [state, region, rate, ..] = self.update.map_or([0; 5], |update| update.params());
        uniform(&[&sizes[..], &[state, region, rate], &self.columns.table()].concat())
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.columns.units())
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("SCALE", self.columns.is_scaled())]
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let store = ("optimizer", Piece::Named("store_gradient"));
        let weights = if self.update.is_some() { "weights_updated" } else { "weights_apart" };
        vec![("weights", Piece::Named(weights)), self.update.map_or(store, |update| update.piece())]
    }

    fn fused(&self) -> Vec<String> {
        let scale = self.columns.is_scaled().then(|| "scale".to_owned());
        scale.into_iter().chain(self.update.map(|update| update.optimizer.to_string())).collect()
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let InputColumns { columns, layout, row, inputs } = &self.columns;
        let end = columns.iter().map(|it| it.weights.saturating_add(it.column.weights())).max().unwrap_or(0);
        let weights = vec4s(&[&[layout.offset], &[end]]);
        let last = columns.last().map_or(0, |column| column.inputs().end);
        let scale = if self.columns.is_scaled() { vec4s(&[&[layout.scale()], &[blocks(last)]]) } else { 0 };
        let read = [matrix(record.live(), *row), matrix(record.live(), *inputs)];
        Ok(match self.update {
            Some(update) => [&read[..], &[weights.saturating_add(update.reach()).max(scale)]].concat(),
            None => [&read[..], &[weights.max(scale), weights]].concat(),
        })
    }

    fn shape(&self) -> String {
        format!("{} x {} -> {}", self.rows, self.columns.row, self.columns.inputs)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let scaled = usize::from(self.columns.is_scaled());
        let [of_old, writes, flop] = self.update.map_or([0, 1, 0], |update| update.cost());
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
                    // Whichever categories the rows have, each row's is read by those who own it.
                    reads += self.rows * (owned + size) + owned / blocks(size).max(1) * scaled * size;
                }
            }
        }
        let vectors = 4 * vectors;
        Cost::dispatch(reads + of_old * vectors, writes * vectors, flops + flop * vectors)
    }
}
