//! A shader that is broken on purpose, for `scripts/mutate-shaders`: so that no mutation needs the compiler.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Names two files, separated as in `PATH`: a shader or piece as it stands, and as it is to be.
const VARIABLE: &str = "TINYTRAIN_MUTATION";

/// `source` with the text of the one file replaced by that of the other, wherever it stands.
///
/// # Panics
/// When the variable does not name two files of text.
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
