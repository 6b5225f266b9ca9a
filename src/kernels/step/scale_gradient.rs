//! Host half of `shaders/scale_gradient.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, LayerUpdate, Seal, Shader, StepRecord, ThreadLayout, Tuning, blocks,
    live_rows, matrix, vec4s, word,
};

static SHADER: Shader = Shader::of_step("scale_gradient", &[Read, Read, Write]);

/// `ds[j]` = sum over the rows of E[r, j] dX[r, j], or the optimizer's update of s with it in place. Buffers:
/// X [rows, inputs] followed by E, dX [rows, inputs], gradients (with `update`: parameters followed by the
/// optimizer's state).
#[derive(Debug, Clone, Copy)]
pub struct ScaleGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the first dense layer.
    pub inputs: usize,
    /// Start of s, in vec4s.
    pub offset: usize,
    /// In-place update of s, as for biases, instead of storing the gradient.
    pub update: Option<LayerUpdate>,
}

impl Kernel for ScaleGradient {
    fn describe(&self, _: Seal) -> Description {
        let Self { rows, inputs, offset, update } = *self;
        let sizes = [inputs, rows.saturating_mul(blocks(inputs)), offset].map(word);
        let [state, region, _, rate, decay] = LayerUpdate::params(update);
        let words = [&sizes[..], &[state, region, rate, decay, 0]].concat();
        let layout = ThreadLayout::Elements(blocks(inputs));
        Description {
            pieces: vec![LayerUpdate::piece(update)],
            fuses: Some(LayerUpdate::fused(update)),
            ..Description::new(&SHADER, &words, layout, format!("{rows} x {inputs}"))
        }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let (rows, behind) = (live_rows(record, &SHADER, self.rows)?, LayerUpdate::reach(self.update));
        let scale = vec4s(&[&[self.offset], &[blocks(self.inputs)]]).saturating_add(behind);
        let e = matrix(self.rows.saturating_add(rows), self.inputs);
        Ok(vec![e, matrix(rows, self.inputs), scale])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let width = 4 * blocks(self.inputs);
        let [reads, writes, flop] = LayerUpdate::cost(self.update);
        Cost::dispatch(width * (2 * self.rows + reads), width * writes, width * (2 * self.rows + flop))
    }
}
