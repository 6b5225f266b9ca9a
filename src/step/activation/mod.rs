//! Activations: elementwise functions after the products of a hidden layer.

use super::variants::variants;

/// Implementation of an activation.
struct Function {
    /// Name of the option. In WGSL, with `_` for `-`, the prefix of its functions' names.
    name: &'static str,

    /// `NAME_value(z: vec4<f32>) -> vec4<f32>` and
    /// `NAME_gradient(dy: vec4<f32>, kept: vec4<f32>) -> vec4<f32>`, equivalent to `value` and `gradient`.
    shader: &'static str,

    /// Whether the derivative is computed from z; otherwise from y = f(z), which is kept in any case.
    keeps_z: bool,

    /// y = f(z), in place. NaN stays NaN.
    value: fn(&mut [f32]),

    /// dz = dy f'(z), in place. `kept` is z if `keeps_z`, else y.
    gradient: fn(&mut [f32], &[f32]),

    /// FLOP per element of `value` and of `gradient`, counted as in the cost models: one for each addition,
    /// multiplication, comparison or function.
    flop: [usize; 2],
}

/// Returns the value unchanged, except +0 for -0, for stores. Compilers turn a choice between the stored and
/// another value into a masked store, which takes AMD's processors ten times as long as storing all; the sum
/// prevents this.
#[inline(always)]
fn stored(value: f32) -> f32 {
    value + 0.0
}

variants! {
    /// Function of a hidden layer's pre-activations z = x W + b.
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
    /// Computes y = f(z), in place.
    pub fn value(self, z: &mut [f32]) {
        (self.piece().value)(z);
    }

    /// Returns f(0).
    pub fn at_zero(self) -> f32 {
        let mut z = [0.0];
        self.value(&mut z);
        z[0]
    }

    /// Computes dz = dy f'(z), in place. `kept` is z if [`Activation::keeps_z`], else y.
    pub fn gradient(self, dy: &mut [f32], kept: &[f32]) {
        (self.piece().gradient)(dy, kept);
    }

    /// Returns whether the derivative is computed from z, which then has to be kept; otherwise it is computed
    /// from y.
    pub fn keeps_z(self) -> bool {
        self.piece().keeps_z
    }

    /// Returns the FLOP per element, forward and backward.
    pub fn flop(self) -> [usize; 2] {
        self.piece().flop
    }

    /// Returns the prefix of its functions' names in WGSL.
    pub fn prefix(self) -> String {
        self.name().replace('-', "_")
    }
}
