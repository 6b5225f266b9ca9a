//! Host half of `shaders/input_gradient.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, Nonlinearity, Seal, Shader, StepRecord, ThreadLayout, Tuning, blocks, layer,
    layer_params, live_rows, matrix,
};

static SHADER: Shader = Shader::of_step("input_gradient", &[Read, Read, Read, Write]);

/// dX = dY W', or the gradient with respect to the pre-activations Z of the layer below, dX f'(Z) if dropout
/// kept X = f(Z). Buffers: dY [rows, outputs], parameters, X [rows, inputs] followed by Z if the activation
/// keeps it (read only with a layer below), dX [rows, inputs].
#[derive(Debug, Clone, Copy)]
pub struct InputGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Start of the layer's parameters, in vec4s.
    pub offset: usize,
    /// Nonlinearity of the layer below, if its gradient is requested.
    pub below: Option<Nonlinearity>,
}

impl Kernel for InputGradient {
    fn describe(&self, _: Seal) -> Description {
        let Self { rows, inputs, outputs, offset, below } = *self;
        let (activation, below) = (below.is_some(), below.unwrap_or(Nonlinearity::LINEAR));
        let words = layer_params([inputs, outputs, offset, 1, rows.saturating_mul(blocks(inputs))], &below);
        let layout = ThreadLayout::Product { rows, columns: inputs, matrices: 1 };
        Description {
            flags: [&[("ACTIVATION", activation)], &below.flags()[..]].concat(),
            pieces: vec![below.piece()],
            fuses: Some(below.fused()),
            numbers: below.numbers(),
            ..Description::new(&SHADER, &words, layout, format!("{rows} x {outputs} x {inputs}"))
        }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let rows = live_rows(record, &SHADER, self.rows)?;
        let (dy, dx) = (matrix(rows, self.outputs), matrix(rows, self.inputs));
        let x = match self.below {
            Some(below) if below.keeps_z() => matrix(self.rows.saturating_add(rows), self.inputs),
            Some(_) => dx,
            None => 0,
        };
        Ok(vec![dy, layer(self.offset, self.inputs, self.outputs), x, dx])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let width = 4 * blocks(self.inputs);
        let product = [self.rows, self.inputs, self.outputs];
        let shape = tuning.product_for(self.rows, self.inputs);
        let (kept, flop) = self.below.map_or((0, 0), |below| {
            (shape.rows_before(self.rows) * width, self.rows * self.inputs * below.activation.flop()[1])
        });
        shape.cost(product, 4).with(kept, self.rows * width, flop)
    }
}
