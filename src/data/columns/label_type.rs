//! Types of labels and categories, and labels that are booleans.

use super::classes::number;
use crate::named::named;

/// The type of labels or categories that are typed, as those in memory are.
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

/// What a label says as a boolean: `True`, `true` and 1, or `False`, `false` and 0.
pub(crate) fn truth(label: &str) -> Option<bool> {
    match number(label) {
        Some(1.0) => Some(true),
        Some(0.0) => Some(false),
        Some(_) => None,
        None if label.eq_ignore_ascii_case("true") => Some(true),
        None => label.eq_ignore_ascii_case("false").then_some(false),
    }
}

/// The class of false and that of true, where all of these names are booleans.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::columns::classes::{Classes, Label};

    #[test]
    fn typed_text_is_compared_byte_for_byte() {
        let labels = ["3.10", "3.1", "", " a", "a", "NA", "1e5", "100000"];
        let labels = labels.map(|text| Label { text: text.to_owned(), row: 1 });
        let (classes, of) = Classes::from_typed(&labels, Some(LabelType::Text));
        assert_eq!(classes.len(), 8);
        for (label, class) in labels.iter().zip(of) {
            assert_eq!((classes.name(class), classes.find(&label.text)), (&*label.text, Some(class)));
        }
        assert_eq!(classes.names(), ["", " a", "1e5", "3.1", "3.10", "100000", "NA", "a"]);
        assert_eq!([classes.find("a "), classes.find("3.100"), classes.find("null")], [None; 3]);
        assert_eq!(Classes::typed(classes.names().to_vec(), Some(LabelType::Text)), Some(classes));
        assert_eq!(Classes::typed(vec![String::new(); 2], Some(LabelType::Text)), None);
        let numbers = Classes::typed(vec!["1".to_owned(), "2".to_owned()], Some(LabelType::Integer)).unwrap();
        assert_eq!((numbers.find("2.0"), numbers.label_type()), (Some(1), Some(LabelType::Integer)));
    }

    #[test]
    fn booleans_are_0_and_1() {
        for names in [["False", "True"], ["false", "true"], ["0", "1"], ["false", "1"]] {
            let classes = Classes::named(names.map(str::to_owned).into()).unwrap();
            for (class, labels) in
                [["0", "0.0", "False", "FALSE", " false"], ["1", "1.0", "True", "TRUE", "true "]]
                    .iter()
                    .enumerate()
            {
                for label in labels {
                    assert_eq!(classes.find(label), Some(class as u32), "{label} in {names:?}");
                }
            }
            assert_eq!(
                [classes.find("2"), classes.find("0.5"), classes.find("yes"), classes.find("")],
                [None; 4]
            );
        }
        for names in [["True", "true"], ["True", "no"], ["1", "2"]] {
            let classes = Classes::named(names.map(str::to_owned).into()).unwrap();
            assert_eq!([classes.find("TRUE"), classes.find("False")], [None; 2], "{names:?}");
        }
        assert_eq!(Classes::named(vec!["True".to_owned()]).unwrap().find("1"), Some(0));
    }
}
