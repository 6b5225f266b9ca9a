//! Host half of `shaders/weight_gradient.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, LayerInputs, LayerUpdate, Seal, Shader, StepRecord, ThreadLayout, Tuning,
    layer, live_rows, matrix, word,
};

static SHADER: Shader = Shader::of_step("weight_gradient", &[Read, Read, Write]);

/// Shader for a layer whose inputs come from the data set.
static FIRST: Shader = Shader::of_step("weight_gradient", &[Read, Read, Read, Write]);

/// dW = X' dY and db = column sums of dY, or the optimizer's update with them in place. Buffers: X [rows,
/// inputs], dY [rows, outputs], gradients (with `update`: parameters followed by the optimizer's state); with
/// inputs from the data set: features, dY, order, gradients.
#[derive(Debug, Clone, Copy)]
pub struct WeightGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Start of the layer's parameters, in vec4s.
    pub offset: usize,
    /// In-place update of the parameters, instead of storing the gradient.
    pub update: Option<LayerUpdate>,
    /// Source of X.
    pub source: LayerInputs,
}

impl Kernel for WeightGradient {
    fn describe(&self, _: Seal) -> Description {
        let Self { rows, inputs, outputs, offset, update, source } = *self;
        let shader = if source.is_data_set() { &FIRST } else { &SHADER };
        let sizes = [inputs, outputs, offset, source.samples()].map(word);
        let words = [&sizes[..], &LayerUpdate::params(update), &[0; 3]].concat();
        let layout = ThreadLayout::Product { rows: inputs.saturating_add(1), columns: outputs, matrices: 1 };
        Description {
            pieces: [source.pieces(), vec![LayerUpdate::piece(update)]].concat(),
            fuses: Some(LayerUpdate::fused(update)),
            ..Description::new(
                shader,
                &words,
                layout,
                format!("{} x {rows} x {outputs}", inputs.saturating_add(1)),
            )
        }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let (rows, behind) = (live_rows(record, &SHADER, self.rows)?, LayerUpdate::reach(self.update));
        let result = layer(self.offset, self.inputs, self.outputs).saturating_add(behind);
        Ok(self.source.extents(matrix(rows, self.outputs), result, [rows, self.inputs], record))
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let dims = [self.inputs + 1, self.outputs, self.rows];
        LayerUpdate::product_cost(self.update, tuning.product_for(dims[0], dims[1]), dims, self.source)
    }
}
