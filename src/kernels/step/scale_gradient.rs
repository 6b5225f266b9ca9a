//! Host half of `shaders/scale_gradient.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, LayerUpdate, Piece, Shader, StepRecord, ThreadLayout, Tuning, blocks, matrix, uniform,
    vec4s, word,
};

static SHADER: Shader = Shader {
    name: "scale_gradient",
    source: include_str!("../../../shaders/scale_gradient.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    records: 1,
};

/// `ds[j]` = sum over the rows of E[r, j] dX[r, j], or the optimizer's update of s with it in place. Buffers: X [rows,
/// inputs] with E behind it, dX [rows, inputs], gradients (with `update`: parameters with the optimizer's state behind them).
#[derive(Debug, Clone, Copy)]
pub struct ScaleGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the first dense layer.
    pub inputs: usize,
    /// Where s begins, in vec4s.
    pub offset: usize,
    /// How s is updated at once, as biases are, instead of storing the gradient.
    pub update: Option<LayerUpdate>,
}

impl Kernel for ScaleGradient {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        let sizes = [self.inputs, self.rows * blocks(self.inputs), self.offset].map(word);
        let [state, region, _, rate, decay] = self.update.map_or([0; 5], |update| update.params());
        uniform(&[&sizes[..], &[state, region, rate, decay, 0]].concat())
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(blocks(self.inputs))
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let store = ("optimizer", Piece::Named("store_gradient"));
        vec![self.update.map_or(store, |update| update.piece())]
    }

    fn fused(&self) -> Vec<String> {
        self.update.map(|update| update.optimizer.to_string()).into_iter().collect()
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let behind = self.update.map_or(0, |update| update.reach());
        let scale = vec4s(&[&[self.offset], &[blocks(self.inputs)]]).saturating_add(behind);
        let e = matrix(self.rows.saturating_add(record.live()), self.inputs);
        Ok(vec![e, matrix(record.live(), self.inputs), scale])
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.inputs)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let width = 4 * blocks(self.inputs);
        let [reads, writes, flop] = self.update.map_or([0, 1, 0], |update| update.cost());
        Cost::dispatch(width * (2 * self.rows + reads), width * writes, width * (2 * self.rows + flop))
    }
}
