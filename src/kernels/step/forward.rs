//! Host half of `shaders/forward.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, LayerInputs, Nonlinearity, Seal, Shader, StepRecord, ThreadLayout, Tuning,
    blocks, layer, layer_params, live_rows, matrix,
};

static SHADER: Shader = Shader::of_step("forward", &[Read, Read, Write]);

/// Shader for a layer whose inputs come from the data set.
static FIRST: Shader = Shader::of_step("forward", &[Read, Read, Read, Write]);

/// Y = f(X W + b), with optional dropout. Buffers: X [rows, inputs], parameters, Y [rows, outputs] followed
/// by Z if the activation keeps it; with inputs from the data set: features, parameters, order, Y.
#[derive(Debug, Clone, Copy)]
pub struct Forward {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Start of the layer's parameters, in vec4s.
    pub offset: usize,
    /// f, and dropout.
    pub nonlinearity: Nonlinearity,
    /// Source of X.
    pub source: LayerInputs,
}

impl Kernel for Forward {
    fn describe(&self, _: Seal) -> Description {
        let Self { rows, inputs, outputs, offset, nonlinearity, source } = self;
        let shader = if source.is_data_set() { &FIRST } else { &SHADER };
        let sizes = [*inputs, *outputs, *offset, source.samples(), rows.saturating_mul(blocks(*outputs))];
        let layout = ThreadLayout::Product { rows: *rows, columns: *outputs, matrices: 1 };
        let shape = format!("{rows} x {inputs} x {outputs}");
        Description {
            flags: nonlinearity.flags().to_vec(),
            pieces: [source.pieces(), vec![nonlinearity.piece()]].concat(),
            fuses: Some(nonlinearity.fused()),
            numbers: nonlinearity.numbers(),
            ..Description::new(shader, &layer_params(sizes, nonlinearity), layout, shape)
        }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let rows = live_rows(record, &SHADER, self.rows)?;
        let kept = if self.nonlinearity.keeps_z() { self.rows } else { 0 };
        let y = matrix(kept.saturating_add(rows), self.outputs);
        let parameters = layer(self.offset, self.inputs, self.outputs);
        Ok(self.source.extents(parameters, y, [rows, self.inputs], record))
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let width = 4 * blocks(self.outputs);
        let product = [self.rows, self.outputs, self.inputs];
        let shape = tuning.product_for(self.rows, self.outputs);
        let order = self.source.order_reads(shape.places(product, false));
        let bias = shape.rows_before(self.rows) * width;
        let copies = if self.nonlinearity.keeps_z() { 2 } else { 1 };
        let flop = self.rows * self.outputs * (1 + self.nonlinearity.activation.flop()[0]);
        shape.cost(product, self.source.words()).with(order + bias, copies * self.rows * width, flop)
    }
}
