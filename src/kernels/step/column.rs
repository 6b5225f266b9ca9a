//! Host half of `shaders/column.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, LayerInputs, LayerUpdate, MatmulTile, Samples, Seal, Shader, StepRecord,
    StepShape, ThreadLayout, Tuning, blocks, live_rows, order_bytes, vec4s,
};

static SHADER: Shader = Shader::of_step("column", &[Read, Read, Read, Write]);

/// The part of a step that works along the units: every update, and the first layer's sums of the next batch.
/// Buffers: features, order, activations followed by their deltas, parameters followed by the partial sums
/// and the optimizer's state.
#[derive(Debug, Clone)]
pub struct Column {
    shape: StepShape,
    samples: Samples,
    product: MatmulTile,
}

impl Column {
    /// Creates the kernel for steps of this shape, over this data set.
    pub fn new(shape: &StepShape, samples: Samples, tuning: &Tuning) -> Self {
        Self { shape: shape.clone(), samples, product: tuning.column }
    }

    /// Returns the workgroups: those for the first layer's parts, and one per tile of each other layer.
    fn groups(&self) -> usize {
        let [down, across] = self.product.tile();
        let tiles = |inputs: usize, outputs: usize| {
            blocks(inputs + 1).div_ceil(down) * blocks(outputs).div_ceil(across)
        };
        let (first, others) = (&self.shape.layers[0], &self.shape.layers[1..]);
        let owners = blocks(first.outputs).div_ceil(across) * self.shape.parts;
        owners + others.iter().map(|layer| tiles(layer.inputs, layer.outputs)).sum::<usize>()
    }
}

impl Kernel for Column {
    fn describe(&self, _: Seal) -> Description {
        let (shape, layer) = (&self.shape, &self.shape.layers[0]);
        let words = shape.params(self.product.tile(), self.samples.rows());
        let text = match shape.parts {
            ..=1 => shape.describe(),
            parts => format!("{} / {parts}", shape.describe()),
        };
        Description {
            pieces: vec![("features", self.samples.stored.piece()), LayerUpdate::piece(Some(layer.update))],
            fuses: Some(vec![layer.update.optimizer.to_string()]),
            ..Description::new(&SHADER, &words, ThreadLayout::WeightTiles(self.groups()), text)
        }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        live_rows(record, &SHADER, self.shape.rows)?;
        Ok(vec![
            self.samples.bytes(self.shape.layers[0].inputs),
            order_bytes(record, true),
            vec4s(&[&[2, self.shape.activations()]]),
            vec4s(&[&[self.shape.layout.model()]]),
        ])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let (rows, product) = (self.shape.rows, self.product);
        let (first, of_rows) = (&self.shape.layers[0], LayerInputs::DataSet(self.samples));
        let mut cost = Cost::default().sharing(0, 0, self.groups());
        for (index, layer) in self.shape.layers.iter().enumerate() {
            let source = if index == 0 { of_rows } else { LayerInputs::Matrix };
            let dims = [layer.inputs + 1, layer.outputs, rows];
            cost += LayerUpdate::product_cost(Some(layer.update), product, dims, source);
        }
        for (part, width) in self.shape.part_blocks().enumerate() {
            let inputs = first.inputs.saturating_sub(4 * part * self.shape.part).min(4 * width);
            let dims = [rows, first.outputs, inputs];
            let stored = rows * 4 * blocks(first.outputs);
            let order = if width > 0 { of_rows.order_reads(product.places(dims, false)) } else { 0 };
            cost += product.cost(dims, of_rows.words()).with(order, stored, 0);
        }
        Cost { dispatches: 1, ..cost }
    }
}
