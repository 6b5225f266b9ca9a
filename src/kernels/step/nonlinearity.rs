//! Operations after the products of a layer: its activation, and dropout.

use crate::kernels::{Description, Piece, Shader, ThreadLayout, blocks, word};
use crate::model::Network;
use crate::step::{Activation, Dropout};

/// Operations after the products of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nonlinearity {
    /// The activation.
    pub activation: Activation,
    /// Dropout, in training.
    pub dropout: Option<Dropout>,
}

impl Nonlinearity {
    /// The identity without dropout.
    pub const LINEAR: Self = Self { activation: Activation::Identity, dropout: None };
    /// ReLU.
    pub const RELU: Self = Self { activation: Activation::Relu, dropout: None };

    /// Returns the nonlinearity of layer `layer` of a network, from 0; with dropout only in training.
    pub fn for_layer(network: &Network, layer: usize, training: bool) -> Self {
        let dropout = network.dropout(layer).filter(|_| training);
        Self { activation: network.dense()[layer].activation, dropout }
    }

    /// Returns whether the backward pass needs the pre-activations.
    pub fn keeps_z(&self) -> bool {
        self.activation.keeps_z()
    }

    /// Returns layer, threshold and scale of dropout, in the shaders' format.
    pub(crate) fn params(&self) -> [u32; 3] {
        self.dropout.map_or([0, 0, 1f32.to_bits()], |dropout| {
            [word(dropout.layer()), dropout.threshold(), dropout.scale().to_bits()]
        })
    }

    /// Returns the common description of purely elementwise kernels, for matrices of these rows and columns.
    pub(crate) fn describe(&self, shader: &'static Shader, rows: usize, columns: usize) -> Description {
        let ([layer, threshold, scale], shape) = (self.params(), format!("{rows} x {columns}"));
        let layout = ThreadLayout::Elements(rows.saturating_mul(blocks(columns)));
        Description {
            flags: self.flags().to_vec(),
            pieces: vec![self.piece()],
            fuses: Some(self.fused()),
            ..Description::new(shader, &[word(columns), layer, threshold, scale], layout, shape)
        }
    }

    /// Returns the parameters that may differ between networks of one shape: threshold and scale.
    pub(crate) fn numbers(&self) -> [u32; 2] {
        let [_, threshold, scale] = self.params();
        [threshold, scale]
    }

    /// Returns the piece that includes it.
    pub(crate) fn piece(&self) -> (&'static str, Piece) {
        ("activation", activations(&[self.activation]))
    }

    /// Returns its override constants.
    pub(crate) fn flags(&self) -> [(&'static str, bool); 2] {
        [("KEEP_Z", self.keeps_z()), ("DROPOUT", self.dropout.is_some())]
    }

    /// Returns the suffix of a kernel's name.
    pub(crate) fn fused(&self) -> Vec<String> {
        let activation = (self.activation != Activation::Identity).then(|| self.activation.to_string());
        let dropout = self.dropout.map(|_| "dropout".to_owned());
        activation.into_iter().chain(dropout).collect()
    }
}

/// Returns the piece of some activations: `activation_value`, `activation_gradient` and `activation_keeps_z`
/// of the activation with a given number.
pub(crate) fn activations(all: &[Activation]) -> Piece {
    let mut text: String = all.iter().map(|activation| activation.shader()).collect();
    let mut function = |signature: &str, result: &dyn Fn(Activation) -> String| {
        text += &format!("\nfn activation_{signature} {{\n");
        let (last, others) = all.split_last().unwrap_or((&Activation::Identity, &[]));
        for (number, activation) in others.iter().enumerate() {
            text +=
                &format!("    if kind == {number}u {{\n        return {};\n    }}\n", result(*activation));
        }
        text += &format!("    return {};\n}}\n", result(*last));
    };
    function("value(kind: u32, z: vec4<f32>) -> vec4<f32>", &|it| format!("{}_value(z)", it.prefix()));
    function("gradient(kind: u32, dy: vec4<f32>, kept: vec4<f32>) -> vec4<f32>", &|it| {
        format!("{}_gradient(dy, kept)", it.prefix())
    });
    function("keeps_z(kind: u32) -> bool", &|it| it.keeps_z().to_string());
    Piece::Text(text)
}
