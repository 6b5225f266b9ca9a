//! Deliberately broken shaders for `scripts/mutate-shaders`, without recompiling.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Environment variable with two file names, separated as in `PATH`: a shader or piece, and its replacement.
const VARIABLE: &str = "TINYTRAIN_MUTATION";

/// Replaces the text of the first file by the text of the second, wherever it occurs in `source`.
///
/// # Panics
/// When the variable does not name two text files.
pub fn mutated(source: &str) -> Cow<'_, str> {
    static TEXTS: OnceLock<Option<[String; 2]>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let paths: Vec<_> = std::env::split_paths(&std::env::var_os(VARIABLE)?).collect();
        let [from, to] = paths.as_slice() else { panic!("{VARIABLE} names {} files, not 2", paths.len()) };
        Some([from, to].map(|path| {
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        }))
    });
    match texts {
        Some([from, to]) => Cow::Owned(source.replace(from, to)),
        None => Cow::Borrowed(source),
    }
}
