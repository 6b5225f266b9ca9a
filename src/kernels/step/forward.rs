//! Host half of `shaders/forward.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, Latency, LayerInputs, Nonlinearity, Piece, Shader, StepRecord, ThreadLayout, Tuning,
    blocks, layer, layer_params, matrix,
};

static SHADER: Shader = Shader {
    name: "forward",
    source: include_str!("../../../shaders/forward.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    records: 1,
};

/// The same for a layer whose inputs are the data set's.
static FIRST: Shader =
    Shader { bindings: &[Access::Read, Access::Read, Access::Read, Access::Write], ..SHADER };

/// Y = f(X W + b), and what dropout leaves of it. Buffers: X [rows, inputs], parameters, Y [rows, outputs] with Z behind it
/// where the activation keeps that; with inputs from the data set: features, parameters, order, Y.
#[derive(Debug, Clone, Copy)]
pub struct Forward {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Where the layer's parameters begin, in vec4s.
    pub offset: usize,
    /// f, and dropout.
    pub nonlinearity: Nonlinearity,
    /// Where X comes from.
    pub source: LayerInputs,
}

impl Kernel for Forward {
    fn shader(&self) -> &'static Shader {
        if self.source.is_data_set() { &FIRST } else { &SHADER }
    }

    fn params(&self) -> Vec<u8> {
        let kept = self.rows * blocks(self.outputs);
        layer_params(
            [self.inputs, self.outputs, self.offset, self.source.samples(), kept],
            &self.nonlinearity,
        )
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Product { rows: self.rows, columns: self.outputs, matrices: 1 }
    }

    fn numbers(&self) -> [u32; 2] {
        self.nonlinearity.numbers()
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        self.nonlinearity.flags().to_vec()
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        [self.source.pieces(), vec![self.nonlinearity.piece()]].concat()
    }

    fn fused(&self) -> Vec<String> {
        self.nonlinearity.fused()
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let kept = if self.nonlinearity.keeps_z() { self.rows } else { 0 };
        let y = matrix(kept.saturating_add(record.live()), self.outputs);
        let parameters = layer(self.offset, self.inputs, self.outputs);
        Ok(self.source.extents(parameters, y, self.inputs, record))
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.rows, self.inputs, self.outputs)
    }

    fn latency(&self, tuning: &Tuning) -> Latency {
        tuning.product_for(self.rows, self.outputs).latency(self.inputs, self.source.is_data_set())
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
