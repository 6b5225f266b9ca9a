//! Host half of `shaders/embed.wgsl`.

use super::input_columns::InputColumns;
use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, Seal, Shader, StepRecord, Tuning, blocks, live_rows, matrix, word,
};
use crate::model::{InputColumn, InputLayer, InputLayout, PERIODIC_BLOCKS};

static SHADER: Shader = Shader::of_step("embed", &[Read, Read, Write]);

/// X = E s, where E are the inputs computed from some columns of a table; see [`InputLayer`]. Buffers: rows
/// [rows, columns], parameters, X [rows, inputs], followed by E if inputs have factors.
#[derive(Debug, Clone)]
pub struct Embed {
    rows: usize,
    columns: InputColumns,
}

impl Embed {
    /// Returns the kernels of all columns of a layer with this layout, for batches of at most `rows` rows, in
    /// one or more dispatches.
    pub fn all(rows: usize, layer: &InputLayer, layout: InputLayout) -> Vec<Self> {
        let all = InputColumns::all(layer, layout, |_| true);
        all.into_iter().map(|columns| Self { rows, columns }).collect()
    }

    /// Returns the number of the last column of a row, if it is among these: it includes the padding.
    fn last(&self) -> Option<usize> {
        let numbers = || self.columns.columns.iter().map(|column| column.number);
        numbers().find(|number| number + 1 == self.columns.row)
    }
}

impl Kernel for Embed {
    fn describe(&self, _: Seal) -> Description {
        let InputColumns { columns, layout, row, inputs } = &self.columns;
        let kept = self.rows.saturating_mul(4 * blocks(*inputs));
        let last = self.last().map_or(u32::MAX, word);
        let sizes = [*row, *inputs, columns.len(), layout.scale(), kept].map(word);
        let threads = self.rows.saturating_mul(columns.len());
        self.columns.describe(&SHADER, self.rows, &[&sizes[..], &[last, 0, 0]].concat(), threads)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let InputColumns { row, inputs, .. } = self.columns;
        let rows = live_rows(record, &SHADER, self.rows)?;
        let kept = if self.columns.is_scaled() { self.rows } else { 0 };
        let x = matrix(kept.saturating_add(rows), inputs);
        let parameters = self.columns.weight_bytes().max(self.columns.scale_bytes());
        Ok(vec![matrix(rows, row), parameters, x])
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
