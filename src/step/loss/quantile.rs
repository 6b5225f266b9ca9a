//! Quantile or pinball loss (R. Koenker, G. Bassett, "Regression quantiles", 1978): the mean over the outputs of
//! max(q (t - z), (q - 1) (t - z)) with the level q of the output. The derivative at 0 is 0.

use super::{Function, Levels, LossRows, mean_of};

pub(super) const PIECE: Function = Function {
    name: "quantile",
    shader: include_str!("../../../shaders/loss/quantile.wgsl"),
    of_classes: false,
    rows: |rows| self::rows(rows, Levels::DEFAULT),
    flop: 7,
};

/// Computes losses and gradients for these levels.
pub(super) fn rows(rows: LossRows<'_>, levels: Levels) {
    let slope = |z: f32, t: f32, output| match (z - t, levels.level(output) as f32) {
        (d, q) if d > 0.0 => 1.0 - q,
        (d, q) if d < 0.0 => -q,
        (d, _) => d,
    };
    mean_of(rows, |z, t, output| term(z, t, levels.level(output)), slope);
}

/// Computes the term of an output of level q.
pub(super) fn term(z: f64, t: f64, q: f64) -> f64 {
    (q * (t - z)).max((q - 1.0) * (t - z))
}

/// Returns the function of the shader that gives the level of an output.
pub(super) fn level_function(levels: Levels) -> String {
    let count = levels.count();
    let cases: String = (1..count)
        .map(|output| format!("case {output}u: {{ return {:?}; }} ", levels.level(output) as f32))
        .collect();
    let first = levels.level(0) as f32;
    format!(
        "fn level_of(output: u32) -> f32 {{ switch output % {count}u {{ {cases}default: {{ return {first:?}; }} }} }}\n"
    )
}
