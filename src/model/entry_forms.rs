//! Forms of the entries of metadata: numbers, lists, and sides of images.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;

use serde::de::DeserializeOwned;

use crate::data::ImageForm;

/// Whether no two of them are the same.
pub(super) fn are_different<T: Eq + Hash>(items: &[T]) -> bool {
    items.iter().collect::<HashSet<&T>>().len() == items.len()
}

/// An entry that is a whole number.
pub(super) fn entry(metadata: &BTreeMap<String, String>, key: &str) -> Option<usize> {
    metadata.get(key)?.parse().ok()
}

/// An entry that is a list in JSON.
pub(super) fn list<T: DeserializeOwned>(
    metadata: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<Option<Vec<T>>, &'static str> {
    metadata.get(key).map(|text| serde_json::from_str(text).map_err(|_| key)).transpose()
}

/// Height and width, followed by 3 where pixels have colours.
pub(super) fn sides(ImageForm { height, width, colour }: ImageForm) -> String {
    format!("{height}x{width}{}", if colour { "x3" } else { "" })
}

/// The form of an image with this number of inputs.
pub(super) fn image_form(text: &str, inputs: usize) -> Option<ImageForm> {
    let (grey, colour) =
        text.strip_suffix("x3").filter(|sides| sides.contains('x')).map_or((text, false), |it| (it, true));
    let (height, width) = grey.split_once('x')?;
    let (height, width): (usize, usize) = (height.parse().ok()?, width.parse().ok()?);
    let form = ImageForm { height, width, colour };
    (height.checked_mul(width)?.checked_mul(form.channels()) == Some(inputs)).then_some(form)
}
