//! Puts a shader together from its pieces.

use include_dir::{Dir, include_dir};

/// `shaders/`, as it was when the crate was compiled.
static SHADERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/shaders");

/// The text of a file, by its path in `shaders/` without the ending.
///
/// # Panics
/// When there is none: `tests/layout.rs` composes every variant.
pub(crate) fn shader_text(name: &str) -> &'static str {
    let file = SHADERS.get_file(format!("{name}.wgsl")).and_then(|file| file.contents_utf8());
    file.unwrap_or_else(|| panic!("no shader or piece is called {name}"))
}

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

/// The piece of that name.
fn named(name: &str) -> &'static str {
    match name {
        // Of one network Params has nothing more.
        "member_fields" => "",
        "relu" => shader_text("activation/relu"),
        _ => shader_text(&format!("common/{name}")),
    }
}
