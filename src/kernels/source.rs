//! Puts a shader together from its pieces.

/// The pieces that shaders share, by the names under which they are included.
const PIECES: &[(&str, &str)] = &[
    ("batch", include_str!("../../shaders/common/batch.wgsl")),
    ("blocks", include_str!("../../shaders/common/blocks.wgsl")),
    ("elementwise", include_str!("../../shaders/common/elementwise.wgsl")),
    ("features_bytes", include_str!("../../shaders/common/features_bytes.wgsl")),
    ("features_floats", include_str!("../../shaders/common/features_floats.wgsl")),
    ("layer", include_str!("../../shaders/common/layer.wgsl")),
    ("log_sum_exp", include_str!("../../shaders/common/log_sum_exp.wgsl")),
    ("loss", include_str!("../../shaders/common/loss.wgsl")),
    ("matmul_broadcast", include_str!("../../shaders/common/matmul_broadcast.wgsl")),
    ("matmul_direct", include_str!("../../shaders/common/matmul_direct.wgsl")),
    ("matmul_operands", include_str!("../../shaders/common/matmul_operands.wgsl")),
    ("matmul_tiled", include_str!("../../shaders/common/matmul_tiled.wgsl")),
    ("relu", include_str!("../../shaders/common/relu.wgsl")),
    ("reduce", include_str!("../../shaders/common/reduce.wgsl")),
];

/// Replaces each line `//#include NAME` by the piece of that name, once. `choices` says which piece stands for a name
/// that is none (`matmul_body` -> `matmul_tiled`).
///
/// # Panics
/// When a shader of ours names a piece that is not there: `tests/layout.rs` composes every variant.
pub fn compose(source: &str, choices: &[(&str, &str)]) -> String {
    let mut included = Vec::new();
    let mut text = String::new();
    put(source, choices, &mut included, &mut text);
    text
}

fn put<'a>(source: &str, choices: &[(&str, &'a str)], included: &mut Vec<&'a str>, text: &mut String) {
    for line in source.lines() {
        let Some(name) = line.strip_prefix("//#include ") else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        let name = choices.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to);
        let (name, piece) = PIECES
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("no shader piece is called {name}"));
        if !included.contains(name) {
            included.push(name);
            put(piece, choices, included, text);
        }
    }
}
