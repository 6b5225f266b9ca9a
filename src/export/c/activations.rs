//! Activations in C, each a function of many numbers in place.

use crate::step::Activation;

/// What it does, and the C of f(z); nothing where there is nothing to do.
pub(super) fn expression(activation: Activation) -> Option<(&'static str, &'static str)> {
    Some(match activation {
        Activation::Relu => ("max(0, z)", "z > 0.0f ? z : 0.0f"),
        Activation::LeakyRelu => ("z for z > 0, else 0.01 z", "z > 0.0f ? z : 0.01f * z"),
        Activation::Elu => ("z for z > 0, else exp(z) - 1", "z > 0.0f ? z : expm1f(z)"),
        Activation::Selu => (
            "1.050701 z for z > 0, else 1.7580993 (exp(z) - 1)",
            "z > 0.0f ? 1.050701f * z : 1.7580993f * expm1f(z)",
        ),
        Activation::Gelu => ("z (1 + erf(z / sqrt 2)) / 2", "0.5f * z * erfcf(-0.70710678f * z)"),
        Activation::GeluTanh => (
            "z (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3))) / 2",
            "z / (1.0f + expf(-1.5957692f * z * (1.0f + 0.044715f * z * z)))",
        ),
        Activation::Silu => ("z / (1 + exp(-z))", "z / (1.0f + expf(-z))"),
        Activation::Mish => ("z tanh(log(1 + exp(z)))", "z * tanhf(z > 20.0f ? z : log1pf(expf(z)))"),
        Activation::Tanh => ("tanh(z)", "tanhf(z)"),
        Activation::Sigmoid => ("1 / (1 + exp(-z))", "1.0f / (1.0f + expf(-z))"),
        Activation::Identity => return None,
    })
}

/// The function; its name is that of [`name`].
pub(super) fn function(activation: Activation) -> String {
    let Some((what, value)) = expression(activation) else { return String::new() };
    format!(
        "/* {what} of each number. */\n\
         static void {}(float *numbers, int count)\n{{\n    int i;\n    for (i = 0; i < count; i++) {{\n        \
         float z = numbers[i];\n        numbers[i] = {value};\n    }}\n}}\n",
        name(activation)
    )
}

/// The names of functions; those of `math.h` are reserved.
pub(super) fn name(activation: Activation) -> String {
    format!("activate_{}", activation.prefix())
}
