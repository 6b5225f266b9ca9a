//! Activations: what stands behind the products of a hidden layer, element by element.

use super::variants::variants;

/// What an activation computes.
struct Function {
    /// The name of the option. In WGSL, with `_` for `-`, the start of its functions' names.
    name: &'static str,

    /// `NAME_value(z: vec4<f32>) -> vec4<f32>` and `NAME_gradient(dy: vec4<f32>, kept: vec4<f32>) -> vec4<f32>`, which
    /// compute what `value` and `gradient` do.
    shader: &'static str,

    /// Whether the slope is computed from z; else it is from y = f(z), which is kept anyway.
    keeps_z: bool,

    /// y = f(z), in place of z. NaN stays NaN.
    value: fn(&mut [f32]),

    /// dz = dy f'(z), in place of dy. `kept` are z where `keeps_z` says so, else y.
    gradient: fn(&mut [f32], &[f32]),

    /// FLOP per element of `value` and of `gradient`, counted as the cost models
    /// count: one for each addition, multiplication, comparison or function.
    flop: [usize; 2],
}

/// A value that takes the place of another, +0 for -0. Compilers make a store under a mask of a choice between what is there and
/// something else, which takes AMD's processors ten times as long as to store all; of a sum they do not.
#[inline(always)]
fn stored(value: f32) -> f32 {
    value + 0.0
}

variants! {
    /// What a hidden layer does with its pre-activations z = x W + b.
    Activation: Function {
        /// max(0, z)
        Relu = relu,
        /// z for z > 0, else 0.01 z
        LeakyRelu = leaky_relu,
        /// z for z > 0, else exp(z) - 1
        Elu = elu,
        /// elu, scaled so that outputs keep mean 0 and variance 1
        Selu = selu,
        /// z Phi(z)
        Gelu = gelu,
        /// z Phi(z) with the tanh approximation
        GeluTanh = gelu_tanh,
        /// z sigmoid(z)
        Silu = silu,
        /// z tanh(log(1 + exp(z)))
        Mish = mish,
        /// tanh(z)
        Tanh = tanh,
        /// 1 / (1 + exp(-z))
        Sigmoid = sigmoid,
        /// z, so that the layer is linear
        Identity = identity,
    }
}

impl Activation {
    /// y = f(z), in place of z.
    pub fn value(self, z: &mut [f32]) {
        (self.piece().value)(z);
    }

    /// f(0).
    pub fn at_zero(self) -> f32 {
        let mut z = [0.0];
        self.value(&mut z);
        z[0]
    }

    /// dz = dy f'(z), in place of dy. `kept` are z where [`Activation::keeps_z`] says so, else y.
    pub fn gradient(self, dy: &mut [f32], kept: &[f32]) {
        (self.piece().gradient)(dy, kept);
    }

    /// Whether the slope is computed from z, which has to be kept then; else it is from y.
    pub fn keeps_z(self) -> bool {
        self.piece().keeps_z
    }

    /// FLOP per element, forward and backward.
    pub fn flop(self) -> [usize; 2] {
        self.piece().flop
    }

    /// The start of the names of its functions in WGSL.
    pub fn prefix(self) -> String {
        self.name().replace('-', "_")
    }
}
