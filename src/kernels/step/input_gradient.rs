//! Host half of `shaders/input_gradient.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, Latency, Nonlinearity, Piece, Shader, StepRecord, ThreadLayout, Tuning, blocks, layer,
    layer_params, matrix,
};

static SHADER: Shader = Shader {
    name: "input_gradient",
    source: include_str!("../../../shaders/input_gradient.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write],
    records: 1,
};

/// dX = dY W', or behind it the gradient by the pre-activations Z of the layer below, dX f'(Z) where dropout kept X = f(Z).
/// Buffers: dY [rows, outputs], parameters, X [rows, inputs] with Z behind it where the activation keeps that (read with a
/// layer below only), dX [rows, inputs].
#[derive(Debug, Clone, Copy)]
pub struct InputGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Where the layer's parameters begin, in vec4s.
    pub offset: usize,
    /// What follows the products of the layer below, if its gradient is wanted.
    pub below: Option<Nonlinearity>,
}

impl Kernel for InputGradient {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        let (kept, below) = (self.rows * blocks(self.inputs), self.below.unwrap_or(Nonlinearity::LINEAR));
        layer_params([self.inputs, self.outputs, self.offset, 1, kept], &below)
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Product { rows: self.rows, columns: self.inputs, matrices: 1 }
    }

    fn numbers(&self) -> [u32; 2] {
        self.below.unwrap_or(Nonlinearity::LINEAR).numbers()
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        let below = self.below.unwrap_or(Nonlinearity::LINEAR);
        [&[("ACTIVATION", self.below.is_some())], &below.flags()[..]].concat()
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        vec![self.below.unwrap_or(Nonlinearity::LINEAR).piece()]
    }

    fn fused(&self) -> Vec<String> {
        self.below.map(|below| below.fused()).unwrap_or_default()
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let (dy, dx) = (matrix(record.live(), self.outputs), matrix(record.live(), self.inputs));
        let x = match self.below {
            Some(below) if below.keeps_z() => matrix(self.rows.saturating_add(record.live()), self.inputs),
            Some(_) => dx,
            None => 0,
        };
        Ok(vec![dy, layer(self.offset, self.inputs, self.outputs), x, dx])
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.rows, self.outputs, self.inputs)
    }

    fn latency(&self, tuning: &Tuning) -> Latency {
        tuning.product_for(self.rows, self.inputs).latency(self.outputs, false)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let width = 4 * blocks(self.inputs);
        let product = [self.rows, self.inputs, self.outputs];
        let shape = tuning.product_for(self.rows, self.inputs);
        let (kept, flop) = match self.below {
            Some(below) => {
                let flop = self.rows * self.inputs * below.activation.flop()[1];
                (shape.rows_before(self.rows) * width, flop)
            }
            None => (0, 0),
        };
        shape.cost(product, 4).with(kept, self.rows * width, flop)
    }
}
