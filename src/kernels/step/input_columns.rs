//! Columns for a dispatch of the input layer's kernels: the table of `shaders/common/input_columns.wgsl`.

use crate::kernels::{Description, Shader, ThreadLayout, blocks, vec4s, word};
use crate::model::{FREQUENCIES, InputColumn, InputLayer, InputLayout, PlacedColumn};

/// Most columns of one dispatch, limited by the uniform.
pub const MOST_COLUMNS: usize = 128;

/// Words of a column.
const COLUMN_WORDS: usize = 8;

/// Start of the weights for a column without weights.
const NO_WEIGHTS: u32 = u32::MAX;

/// Returns the number of threads that own the weights of a column: one per vec4 of each row of an embedding;
/// for a periodic column one per four frequencies, and one for the biases.
pub(super) fn units(column: InputColumn) -> usize {
    match column {
        InputColumn::Number | InputColumn::OneHot { .. } => 0,
        InputColumn::Periodic => FREQUENCIES / 4 + 1,
        InputColumn::Embedding { categories, size } => categories.saturating_mul(blocks(size)),
    }
}

/// Some columns of an input layer, at most [`MOST_COLUMNS`], and the layout of its parameters.
#[derive(Debug, Clone)]
pub(super) struct InputColumns {
    pub columns: Vec<PlacedColumn>,
    pub layout: InputLayout,
    /// Length of a row.
    pub row: usize,
    /// Number of inputs of all columns.
    pub inputs: usize,
}

impl InputColumns {
    /// Returns the columns of a layer for which `wanted` is true, in one or more dispatches.
    pub fn all(layer: &InputLayer, layout: InputLayout, wanted: impl Fn(&PlacedColumn) -> bool) -> Vec<Self> {
        let columns: Vec<PlacedColumn> = layer.placed().filter(wanted).collect();
        let (row, inputs) = (layer.columns().len(), layer.inputs());
        let some = |columns: &[PlacedColumn]| Self { columns: columns.to_vec(), layout, row, inputs };
        columns.chunks(MOST_COLUMNS).map(some).collect()
    }

    /// Returns whether inputs have learnt factors.
    pub fn is_scaled(&self) -> bool {
        self.layout.scales > 0
    }

    /// Returns the number of threads that own weights of these columns.
    pub fn units(&self) -> usize {
        self.columns.iter().map(|it| units(it.column)).fold(0, usize::saturating_add)
    }

    /// Returns the common description of the kernels of these columns, with these words in their uniforms
    /// before the table, and this number of threads.
    pub fn describe(
        &self,
        shader: &'static Shader,
        rows: usize,
        words: &[u32],
        threads: usize,
    ) -> Description {
        let shape = format!("{rows} x {} -> {}", self.row, self.inputs);
        let (words, layout) = ([words, &self.table()].concat(), ThreadLayout::Elements(threads));
        let flags = vec![("SCALE", self.is_scaled())];
        Description { flags, ..Description::new(shader, &words, layout, shape) }
    }

    /// Returns the bytes up to the last of their weights; 0 if they have no weights.
    pub fn weight_bytes(&self) -> u64 {
        let ends = self.columns.iter().filter(|it| it.column.weights() > 0);
        let ends = ends.map(|it| vec4s(&[&[self.layout.offset], &[it.weights], &[it.column.weights()]]));
        ends.max().unwrap_or(0)
    }

    /// Returns the bytes up to the last of their factors; 0 if they have none.
    pub fn scale_bytes(&self) -> u64 {
        let last = self.columns.last().map_or(0, |column| column.inputs().end);
        if self.is_scaled() { vec4s(&[&[self.layout.scale()], &[blocks(last)]]) } else { 0 }
    }

    /// Returns the table.
    fn table(&self) -> Vec<u32> {
        let mut table = Vec::with_capacity(COLUMN_WORDS * MOST_COLUMNS);
        let mut first = 0usize;
        for PlacedColumn { number, column, input, weights } in &self.columns {
            let categories = match column {
                InputColumn::OneHot { categories } | InputColumn::Embedding { categories, .. } => *categories,
                InputColumn::Number | InputColumn::Periodic => 0,
            };
            let place = if column.weights() == 0 { NO_WEIGHTS } else { word(self.layout.offset + weights) };
            let [number, input, size, categories, unit] =
                [*number, *input, column.inputs(), categories, first].map(word);
            table.extend([number, input, size, categories, place, unit, 0, 0]);
            first = first.saturating_add(units(*column));
        }
        table.resize(COLUMN_WORDS * MOST_COLUMNS, 0);
        table
    }
}
