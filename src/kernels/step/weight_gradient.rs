//! Host half of `shaders/weight_gradient.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, Latency, LayerInputs, LayerUpdate, Piece, Shader, StepRecord, ThreadLayout, Tuning, blocks,
    layer, matrix, uniform, word,
};

static SHADER: Shader = Shader {
    name: "weight_gradient",
    source: include_str!("../../../shaders/weight_gradient.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    records: 1,
};

/// The same for a layer whose inputs are the data set's.
static FIRST: Shader =
    Shader { bindings: &[Access::Read, Access::Read, Access::Read, Access::Write], ..SHADER };

/// dW = X' dY and db = column sums of dY, or the optimizer's update with them in place.
/// Buffers: X [rows, inputs], dY [rows, outputs], gradients (with `update`: parameters with the optimizer's state behind
/// them); with inputs from the data set: features, dY, order, gradients.
#[derive(Debug, Clone, Copy)]
pub struct WeightGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Where the layer's parameters begin, in vec4s.
    pub offset: usize,
    /// How the parameters are updated at once, instead of storing the gradient.
    pub update: Option<LayerUpdate>,
    /// Where X comes from.
    pub source: LayerInputs,
}

impl Kernel for WeightGradient {
    fn shader(&self) -> &'static Shader {
        if self.source.is_data_set() { &FIRST } else { &SHADER }
    }

    fn params(&self) -> Vec<u8> {
        let update = self.update.map_or([0; 5], |update| update.params());
        let sizes = [self.inputs, self.outputs, self.offset, self.source.samples()].map(word);
        uniform(&[&sizes[..], &update, &[0; 3]].concat())
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Product { rows: self.inputs + 1, columns: self.outputs, matrices: 1 }
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let store = ("optimizer", Piece::Named("store_gradient"));
        [self.source.pieces(), vec![self.update.map_or(store, |update| update.piece())]].concat()
    }

    fn fused(&self) -> Vec<String> {
        self.update.map(|update| update.optimizer.to_string()).into_iter().collect()
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let behind = self.update.map_or(0, |update| update.reach());
        let result = layer(self.offset, self.inputs, self.outputs).saturating_add(behind);
        Ok(self.source.extents(matrix(record.live(), self.outputs), result, self.inputs, record))
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.inputs + 1, self.rows, self.outputs)
    }

    fn latency(&self, tuning: &Tuning) -> Latency {
        tuning.product_for(self.inputs + 1, self.outputs).latency(self.rows, self.source.is_data_set())
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let width = 4 * blocks(self.outputs);
        let rows = self.inputs + 1;
        let product = [rows, self.outputs, self.rows];
        let shape = tuning.product_for(rows, self.outputs);
        let order = self.source.order_reads(shape.places(product, true));
        let [reads, writes, flop] = self.update.map_or([0, 1, 0], |update| update.cost());
        shape.cost(product, self.source.words()).with(
            reads * shape.rows_before(rows) * width + order,
            writes * rows * width,
            flop * rows * width,
        )
    }
}
