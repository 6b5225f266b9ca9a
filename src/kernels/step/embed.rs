//! Host half of `shaders/embed.wgsl`.

use super::input_columns::InputColumns;
use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, Shader, StepRecord, ThreadLayout, Tuning, blocks, matrix, uniform, vec4s, word,
};
use crate::model::{InputColumn, InputLayer, InputLayout, PERIODIC_BLOCKS};

static SHADER: Shader = Shader {
    name: "embed",
    source: include_str!("../../../shaders/embed.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    records: 1,
};

/// X = E s, where E are the inputs that some columns of a table become; see [`InputLayer`]. Buffers: rows [rows, columns],
/// parameters, X [rows, inputs], and with factors of inputs E behind it.
#[derive(Debug, Clone)]
pub struct Embed {
    rows: usize,
    columns: InputColumns,
}

impl Embed {
    /// Of all columns of a layer whose parameters stand there, for batches of at most so many rows: as many dispatches as it
    /// takes.
    pub fn all(rows: usize, layer: &InputLayer, layout: InputLayout) -> Vec<Self> {
        let all = InputColumns::all(layer, layout, |_| true);
        all.into_iter().map(|columns| Self { rows, columns }).collect()
    }

    /// The number of the last column of a row, if it is among these: with it goes the padding.
    fn last(&self) -> Option<usize> {
        let numbers = || self.columns.columns.iter().map(|column| column.number);
        numbers().find(|number| number + 1 == self.columns.row)
    }
}

impl Kernel for Embed {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        let InputColumns { columns, layout, row, inputs } = &self.columns;
        let kept = 4 * self.rows * blocks(*inputs);
        let last = self.last().map_or(u32::MAX, word);
        let [row, inputs, count, scale, kept] =
            [*row, *inputs, columns.len(), layout.scale(), kept].map(word);
        uniform(&[&[row, inputs, count, scale, kept, last, 0, 0][..], &self.columns.table()].concat())
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows * self.columns.columns.len())
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("SCALE", self.columns.is_scaled())]
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let InputColumns { columns, layout, row, inputs } = &self.columns;
        let weights = columns.iter().map(|column| match column.column.weights() {
            0 => 0,
            weights => vec4s(&[&[layout.offset], &[column.weights], &[weights]]),
        });
        let last = columns.last().map_or(0, |column| column.inputs().end);
        let scale = if self.columns.is_scaled() { vec4s(&[&[layout.scale()], &[blocks(last)]]) } else { 0 };
        let kept = if self.columns.is_scaled() { self.rows } else { 0 };
        let x = matrix(kept.saturating_add(record.live()), *inputs);
        Ok(vec![matrix(record.live(), *row), weights.max().unwrap_or(0).max(scale), x])
    }

    fn shape(&self) -> String {
        format!("{} x {} -> {}", self.rows, self.columns.row, self.columns.inputs)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let scaled = usize::from(self.columns.is_scaled());
        let (mut reads, mut writes, mut flop) = (0, 0, 0);
        for column in self.columns.columns.iter().map(|column| column.column) {
            reads += 1 + scaled * column.inputs();
            writes += (1 + scaled) * column.inputs();
            flop += column.flop(self.columns.is_scaled())[0];
            match column {
                InputColumn::Number | InputColumn::OneHot { .. } => {}
                InputColumn::Periodic => reads += 4 * PERIODIC_BLOCKS,
                InputColumn::Embedding { size, .. } => reads += 4 * blocks(size),
            }
        }
        let inputs = self.columns.inputs;
        let padding = self.last().map_or(0, |_| 4 * blocks(inputs) - inputs);
        Cost::dispatch(self.rows * reads, self.rows * (writes + padding), self.rows * flop)
    }
}
