//! Composes shaders from their pieces.

use std::collections::HashMap;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};

/// `shaders/` at compile time.
static SHADERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/shaders");

/// Texts of kernels and shared pieces, by their file names without extension.
static TEXTS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let folders = SHADERS.get_dir("common").into_iter().chain([&SHADERS]);
    let files = folders.flat_map(Dir::files).chain(SHADERS.get_file("activation/relu.wgsl"));
    let named = files.filter_map(|file| Some((file.path().file_stem()?.to_str()?, file.contents_utf8()?)));
    // `Params` of one network has no more fields.
    named.chain([("member_fields", "")]).collect()
});

/// Returns the text of a kernel or piece.
///
/// # Panics
/// When there is none of that name: `tests/layout.rs` composes every variant.
pub(crate) fn shader_text(name: &str) -> &'static str {
    TEXTS.get(name).copied().unwrap_or_else(|| panic!("no shader or piece is named {name}"))
}

/// Replaces each line `//#include NAME` by the piece of that name, once. `choices` maps names that are not
/// pieces to pieces (`matmul_body` -> `matmul_tiled`).
///
/// # Panics
/// When a shader of this crate names a missing piece: `tests/layout.rs` composes every variant.
pub fn compose(source: &str, choices: &[(&'static str, Piece)]) -> String {
    let mut composed = Composed::default();
    put(source, choices, &mut composed);
    composed.overrides + &composed.text
}

/// The replacement for a name that a shader includes.
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
    /// Placed first: naga 30 miscounts if one follows an array whose length depends on overrides (an
    /// assertion in `process_override`).
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
            Some((_, Piece::Named(to))) => (*to, shader_text(to)),
            None => (name, shader_text(name)),
        };
        if !composed.included.iter().any(|included| included == name) {
            composed.included.push(name.to_owned());
            put(piece, choices, composed);
        }
    }
}
