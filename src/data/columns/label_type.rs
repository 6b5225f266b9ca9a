//! Types of labels and categories, and labels that are booleans.

use crate::named::named;

/// The type of typed labels or categories, as in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelType {
    /// Text, compared byte for byte.
    Text,
    /// `True` and `False`.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Whole numbers of a floating type.
    Float,
}

named!(LabelType { Text = "text", Boolean = "boolean", Integer = "integer", Float = "float" });

/// Parses a label as a boolean: `True`, `true` and 1, or `False`, `false` and 0.
pub(crate) fn truth(label: &str) -> Option<bool> {
    match number(label) {
        Some(1.0) => Some(true),
        Some(0.0) => Some(false),
        Some(_) => None,
        None if label.eq_ignore_ascii_case("true") => Some(true),
        None => label.eq_ignore_ascii_case("false").then_some(false),
    }
}

/// The classes of false and true, if all of these names are booleans.
pub(super) fn by_truth(names: &[String]) -> [Option<u32>; 2] {
    let mut classes = [None; 2];
    for (name, class) in names.iter().zip(0..) {
        match truth(name).map(|truth| &mut classes[usize::from(truth)]) {
            Some(place @ None) => *place = Some(class),
            _ => return [None; 2],
        }
    }
    classes
}

/// Parses a label as a finite number.
///
/// Numbers beyond the exact whole numbers of f64 are text, so that different ones never become equal.
pub(super) fn number(label: &str) -> Option<f64> {
    const GREATEST: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    label.parse().ok().filter(|value: &f64| value.abs() < GREATEST).map(|value| value + 0.0)
}
