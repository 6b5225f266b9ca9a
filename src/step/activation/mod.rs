//! Activations: what stands behind the products of a hidden layer, element by element.

use super::variants::variants;

/// What an activation computes.
trait Function: Sync {
    /// The name of the option. In WGSL, with `_` for `-`, the start of its functions' names.
    fn name(&self) -> &'static str;

    /// `NAME_value(z: vec4<f32>) -> vec4<f32>` and `NAME_gradient(dy: vec4<f32>, kept: vec4<f32>) -> vec4<f32>`, which
    /// compute what [`value`](Function::value) and [`gradient`](Function::gradient) do.
    fn shader(&self) -> &'static str;

    /// Whether the slope is computed from z; else it is from y = f(z), which is kept anyway.
    fn keeps_z(&self) -> bool;

    /// y = f(z), in place of z. NaN stays NaN.
    fn value(&self, z: &mut [f32]);

    /// dz = dy f'(z), in place of dy. `kept` are z where [`keeps_z`](Function::keeps_z) says so, else y.
    fn gradient(&self, dy: &mut [f32], kept: &[f32]);

    /// FLOP per element of [`value`](Function::value) and of [`gradient`](Function::gradient), counted as the cost models
    /// count: one for each addition, multiplication, comparison or function.
    fn flop(&self) -> [usize; 2];
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
        /// z Phi(z) with the tanh approximation
        Gelu = gelu,
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
        self.piece().value(z);
    }

    /// dz = dy f'(z), in place of dy. `kept` are z where [`Activation::keeps_z`] says so, else y.
    pub fn gradient(self, dy: &mut [f32], kept: &[f32]) {
        self.piece().gradient(dy, kept);
    }

    /// Whether the slope is computed from z, which has to be kept then; else it is from y.
    pub fn keeps_z(self) -> bool {
        self.piece().keeps_z()
    }

    /// FLOP per element, forward and backward.
    pub fn flop(self) -> [usize; 2] {
        self.piece().flop()
    }

    /// The start of the names of its functions in WGSL.
    pub fn prefix(self) -> String {
        self.name().replace('-', "_")
    }
}
