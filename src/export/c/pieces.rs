//! C functions that models share, one a file; an exported file gets those that it calls.

use super::activations;
use crate::data::{NORMAL_QUANTILE, RANK_MARGIN};
use crate::step::Activation;

/// Their names in C and their sources.
const PIECES: [(&str, &str); 15] = [
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
];

/// The source of all functions that some C calls.
pub(super) fn called_by(text: &str) -> String {
    let is_called = |name: &str| {
        let call = format!("{name}(");
        text.match_indices(&call).any(|(at, _)| {
            !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_')
        })
    };
    let pieces = PIECES.iter().filter(|(name, _)| is_called(name)).map(|(_, source)| filled_in(source));
    let activations = Activation::ALL.iter().filter(|activation| is_called(&activations::name(**activation)));
    pieces
        .chain(activations.map(|activation| activations::function(*activation)))
        .map(|text| text + "\n")
        .collect()
}

/// A source with the factors of the normal distribution in their places.
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
