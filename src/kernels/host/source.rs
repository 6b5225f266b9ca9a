//! Puts a shader together from its pieces.

/// The pieces that shaders share, by the names under which they are included.
const PIECES: &[(&str, &str)] = &[
    ("added_up", include_str!("../../../shaders/common/added_up.wgsl")),
    ("record", include_str!("../../../shaders/common/record.wgsl")),
    ("record_immediates", include_str!("../../../shaders/common/record_immediates.wgsl")),
    ("record_list", include_str!("../../../shaders/common/record_list.wgsl")),
    ("record_offsets", include_str!("../../../shaders/common/record_offsets.wgsl")),
    ("blocks", include_str!("../../../shaders/common/blocks.wgsl")),
    ("clip_none", include_str!("../../../shaders/common/clip_none.wgsl")),
    ("clip_norm", include_str!("../../../shaders/common/clip_norm.wgsl")),
    ("dropout", include_str!("../../../shaders/common/dropout.wgsl")),
    ("elementwise", include_str!("../../../shaders/common/elementwise.wgsl")),
    ("features_bytes", include_str!("../../../shaders/common/features_bytes.wgsl")),
    ("features_floats", include_str!("../../../shaders/common/features_floats.wgsl")),
    ("first_sums", include_str!("../../../shaders/common/first_sums.wgsl")),
    ("grid_line", include_str!("../../../shaders/common/grid_line.wgsl")),
    ("grid_plane", include_str!("../../../shaders/common/grid_plane.wgsl")),
    ("input_columns", include_str!("../../../shaders/common/input_columns.wgsl")),
    ("item_f32", include_str!("../../../shaders/common/item_f32.wgsl")),
    ("item_u32", include_str!("../../../shaders/common/item_u32.wgsl")),
    ("known_network", include_str!("../../../shaders/common/known_network.wgsl")),
    ("layer", include_str!("../../../shaders/common/layer.wgsl")),
    ("layer_table", include_str!("../../../shaders/common/layer_table.wgsl")),
    ("logits", include_str!("../../../shaders/common/logits.wgsl")),
    ("row_metrics", include_str!("../../../shaders/common/row_metrics.wgsl")),
    ("loss_scale", include_str!("../../../shaders/common/loss_scale.wgsl")),
    ("matmul_broadcast", include_str!("../../../shaders/common/matmul_broadcast.wgsl")),
    ("matmul_broadcast_tall", include_str!("../../../shaders/common/matmul_broadcast_tall.wgsl")),
    ("matmul_direct", include_str!("../../../shaders/common/matmul_direct.wgsl")),
    ("matmul_lanes", include_str!("../../../shaders/common/matmul_lanes.wgsl")),
    ("matmul_operands", include_str!("../../../shaders/common/matmul_operands.wgsl")),
    ("matmul_tiled", include_str!("../../../shaders/common/matmul_tiled.wgsl")),
    ("member", include_str!("../../../shaders/common/member.wgsl")),
    // Of one network Params has nothing more.
    ("member_fields", ""),
    ("members", include_str!("../../../shaders/common/members.wgsl")),
    ("members_fields", include_str!("../../../shaders/common/members_fields.wgsl")),
    ("multiply_block", include_str!("../../../shaders/common/multiply_block.wgsl")),
    ("nan", include_str!("../../../shaders/common/nan.wgsl")),
    ("negative_exp", include_str!("../../../shaders/common/negative_exp.wgsl")),
    ("network", include_str!("../../../shaders/common/network.wgsl")),
    ("network_fields", include_str!("../../../shaders/common/network_fields.wgsl")),
    ("network_parameter", include_str!("../../../shaders/common/network_parameter.wgsl")),
    ("networks", include_str!("../../../shaders/common/networks.wgsl")),
    ("operations", include_str!("../../../shaders/common/operations.wgsl")),
    ("parameter", include_str!("../../../shaders/common/parameter.wgsl")),
    ("philox", include_str!("../../../shaders/common/philox.wgsl")),
    ("relu", include_str!("../../../shaders/activation/relu.wgsl")),
    ("row_of_outputs", include_str!("../../../shaders/common/row_of_outputs.wgsl")),
    ("row_statistics", include_str!("../../../shaders/common/row_statistics.wgsl")),
    ("rows", include_str!("../../../shaders/common/rows.wgsl")),
    ("samples_batch", include_str!("../../../shaders/common/samples_batch.wgsl")),
    ("samples_order", include_str!("../../../shaders/common/samples_order.wgsl")),
    ("scan_team", include_str!("../../../shaders/common/scan_team.wgsl")),
    ("segments", include_str!("../../../shaders/common/segments.wgsl")),
    ("store_gradient", include_str!("../../../shaders/common/store_gradient.wgsl")),
    ("targets_classes", include_str!("../../../shaders/common/targets_classes.wgsl")),
    ("targets_values", include_str!("../../../shaders/common/targets_values.wgsl")),
    ("team", include_str!("../../../shaders/common/team.wgsl")),
    ("tree", include_str!("../../../shaders/common/tree.wgsl")),
    ("units", include_str!("../../../shaders/common/units.wgsl")),
    ("wave", include_str!("../../../shaders/common/wave.wgsl")),
    ("weights_apart", include_str!("../../../shaders/common/weights_apart.wgsl")),
    ("weights_updated", include_str!("../../../shaders/common/weights_updated.wgsl")),
    ("zip_f32", include_str!("../../../shaders/common/zip_f32.wgsl")),
    ("zip_u32", include_str!("../../../shaders/common/zip_u32.wgsl")),
];

/// Replaces each line `//#include NAME` by the piece of that name, once. `choices` says which piece stands for a name
/// that is none (`matmul_body` -> `matmul_tiled`).
///
/// # Panics
/// When a shader of ours names a piece that is not there: `tests/layout.rs` composes every variant.
pub fn compose(source: &str, choices: &[(&'static str, Piece)]) -> String {
    let mut composed = Composed::default();
    put(source, choices, &mut composed);
    composed.overrides + &composed.text
}

/// What stands for a name that a shader includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The piece of this name.
    Named(&'static str),
    /// This text, which may include pieces itself.
    Text(String),
}

#[derive(Default)]
struct Composed {
    included: Vec<String>,
    /// Come first: naga 30 loses count when one follows an array whose length is made of overrides (an assertion in
    /// `process_override`).
    overrides: String,
    text: String,
}

fn put(source: &str, choices: &[(&'static str, Piece)], composed: &mut Composed) {
    #[cfg(feature = "mutations")]
    let source = &*super::mutation::mutated(source);
    for line in source.lines() {
        let Some(name) = line.strip_prefix("//#include ") else {
            let text =
                if line.starts_with("override ") { &mut composed.overrides } else { &mut composed.text };
            text.push_str(line);
            text.push('\n');
            continue;
        };
        let (name, piece) = match choices.iter().find(|(from, _)| *from == name) {
            Some((_, Piece::Text(text))) => (name, text.as_str()),
            Some((_, Piece::Named(to))) => (*to, named(to)),
            None => (name, named(name)),
        };
        if !composed.included.iter().any(|included| included == name) {
            composed.included.push(name.to_owned());
            put(piece, choices, composed);
        }
    }
}

fn named(name: &str) -> &'static str {
    let piece = PIECES.iter().find(|(known, _)| *known == name);
    piece.unwrap_or_else(|| panic!("no shader piece is called {name}")).1
}
