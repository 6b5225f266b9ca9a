//! C functions shared by models, one per file, and activations, each a function that works on many numbers in place; an
//! exported file includes only the functions that it calls.

use crate::data::{NORMAL_QUANTILE, RANK_MARGIN};
use crate::step::Activation;

/// The names of the functions in C and their sources.
const PIECES: [(&str, &str); 16] = [
    ("scaled", include_str!("pieces/scaled.c")),
    ("clipped", include_str!("pieces/clipped.c")),
    ("normal_score", include_str!("pieces/normal_score.c")),
    ("category", include_str!("pieces/category.c")),
    ("sign", include_str!("pieces/sign.c")),
    ("one_hot", include_str!("pieces/one_hot.c")),
    ("copy", include_str!("pieces/copy.c")),
    ("bytes", include_str!("pieces/bytes.c")),
    ("periodic", include_str!("pieces/periodic.c")),
    ("embedding", include_str!("pieces/embedding.c")),
    ("scale", include_str!("pieces/scale.c")),
    ("dense", include_str!("pieces/dense.c")),
    ("add_softmax", include_str!("pieces/add_softmax.c")),
    ("add", include_str!("pieces/add.c")),
    ("restore", include_str!("pieces/restore.c")),
    ("sort", include_str!("pieces/sort.c")),
];

/// The source of all functions that a C text calls.
pub(super) fn called_by(text: &str) -> String {
    let is_called = |name: &str| {
        let call = format!("{name}(");
        text.match_indices(&call).any(|(at, _)| {
            !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_')
        })
    };
    let pieces = PIECES.iter().filter(|(name, _)| is_called(name)).map(|(_, source)| filled_in(source));
    let activations = Activation::ALL.iter().filter(|activation| is_called(&activation_name(**activation)));
    pieces
        .chain(activations.map(|activation| activation_function(*activation)))
        .map(|text| text + "\n")
        .collect()
}

/// A source with the coefficients of the normal distribution filled in.
fn filled_in(source: &str) -> String {
    let lines = ["a", "b", "c", "d"].iter().zip(NORMAL_QUANTILE.factors).map(|(name, factors)| {
        let list: Vec<String> = factors.iter().map(|factor| format!("{factor:?}")).collect();
        format!("    static const double {name}[{}] = {{{}}};", list.len(), list.join(", "))
    });
    source
        .replace("@FACTORS@", &lines.collect::<Vec<String>>().join("\n"))
        .replace("@MARGIN@", &format!("{RANK_MARGIN:?}"))
        .replace("@TAIL@", &format!("{:?}", NORMAL_QUANTILE.tail))
}

/// A description of the activation, and the C expression of f(z); `None` for the identity.
fn expression(activation: Activation) -> Option<(&'static str, &'static str)> {
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

/// The source of the function; its name is [`activation_name`].
fn activation_function(activation: Activation) -> String {
    let Some((what, value)) = expression(activation) else { return String::new() };
    format!(
        "/* {what} of each number. */\n\
         static void {}(float *numbers, int count)\n{{\n    int i;\n    for (i = 0; i < count; i++) {{\n        \
         float z = numbers[i];\n        numbers[i] = {value};\n    }}\n}}\n",
        activation_name(activation)
    )
}

/// The name of an activation function; names of `math.h` are reserved.
pub(super) fn activation_name(activation: Activation) -> String {
    format!("activate_{}", activation.prefix())
}
