//! Classes: the different labels of a data set, in natural order, with their names.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use super::class_names::ClassNames;
use super::label_type::{LabelType, by_truth, has_leading_zero, number, truth};
use super::labels::Label;
use crate::data::excerpt::{list_some, printable_name};

/// Maximum number of different labels that a reader keeps; a column with more does not hold classes.
pub(crate) const MOST_LABELS: usize = 65_536;

/// Maximum number of classes of a table whose labels are numbers; more numbers are values.
pub(crate) const MOST_NUMBERED_CLASSES: usize = 1000;

/// From this number of classes on, at least every second row must share its class with another row.
pub(crate) const FEW_CLASSES: usize = 20;

/// The classes of a data set: index and name of each.
///
/// If all labels are numbers without leading zeros, labels of the same value are one class (`1`, `1.0`), ordered by
/// value. Otherwise labels are compared as text (`001`, `01`), without surrounding ASCII blanks, in natural order:
/// digits inside a name count as a number, so that `class2` precedes `class10`. If all names are booleans, `True` or 1
/// and `False` or 0, each matches all labels of the same truth value. Labels of type text are compared byte for byte.
///
/// Classes may have names other than their labels; data with either are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TypedNames", into = "TypedNames")]
pub struct Classes {
    names: Vec<String>,
    /// The labels in data, if they are not the names.
    labels: Option<Vec<String>>,
    /// Whether all labels are numbers.
    is_numeric: bool,
    label_type: Option<LabelType>,
}

/// The classes as stored in a model file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedNames {
    names: Vec<String>,
    /// The labels in data, unless these are the names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<String>>,
    label_type: Option<LabelType>,
}

impl From<Classes> for TypedNames {
    fn from(Classes { names, labels, label_type, .. }: Classes) -> Self {
        Self { names, labels, label_type }
    }
}

impl TryFrom<TypedNames> for Classes {
    type Error = &'static str;

    fn try_from(TypedNames { names, labels, label_type }: TypedNames) -> Result<Self, Self::Error> {
        let Some(labels) = labels else {
            return Classes::typed(names, label_type).ok_or("expected different names of classes");
        };
        let fits = labels.len() == names.len() && are_different(names.iter());
        let classes = Classes::typed(labels, label_type).filter(|_| fits);
        classes.map(|classes| classes.renamed(names)).ok_or("expected different labels and names of classes")
    }
}

impl Default for Classes {
    /// No classes.
    fn default() -> Self {
        Self::numbered(0)
    }
}

impl Classes {
    /// The classes `0`, `1`, ..., `count - 1`.
    pub fn numbered(count: usize) -> Self {
        let names = (0..count).map(|class| class.to_string()).collect();
        Self { names, labels: None, is_numeric: true, label_type: None }
    }

    /// The classes with these names, in this order; `None` if two names are the same.
    pub fn named(names: Vec<String>) -> Option<Self> {
        let numbers = numbers(names.iter().map(String::as_str));
        let are_different = match &numbers {
            Some(numbers) => are_different(numbers.iter().map(|number| number.to_bits())),
            None => names.iter().all(|name| name.trim_ascii() == name) && are_different(names.iter()),
        };
        are_different.then_some(Self { names, labels: None, is_numeric: numbers.is_some(), label_type: None })
    }

    /// The classes of a type with these names, in this order; `None` if two names are the same.
    pub(crate) fn typed(names: Vec<String>, label_type: Option<LabelType>) -> Option<Self> {
        if label_type == Some(LabelType::Text) {
            let classes = |names| Self { names, labels: None, is_numeric: false, label_type };
            return are_different(names.iter()).then(|| classes(names));
        }
        Self::named(names).map(|classes| Self { label_type, ..classes })
    }

    /// The classes of these labels, and the class of each label.
    pub(crate) fn from_labels(labels: &[Label]) -> (Self, Vec<u32>) {
        Self::from_typed(labels, None)
    }

    /// The classes of these labels of a type, and the class of each label.
    pub(crate) fn from_typed(labels: &[Label], label_type: Option<LabelType>) -> (Self, Vec<u32>) {
        let numbers = numbers(labels.iter().map(|label| label.text.as_str()));
        let numbers = numbers.filter(|_| label_type != Some(LabelType::Text));
        let mut order: Vec<usize> = (0..labels.len()).collect();
        let compare = |a: usize, b: usize| match &numbers {
            Some(numbers) => numbers[a].total_cmp(&numbers[b]),
            None => natural(&labels[a].text, &labels[b].text),
        };
        order.sort_by(|a, b| compare(*a, *b));
        let mut classes = vec![0; labels.len()];
        let mut names: Vec<String> = Vec::new();
        for (place, label) in order.iter().enumerate() {
            if place == 0 || compare(order[place - 1], *label) != Ordering::Equal {
                let text = &labels[*label].text;
                names.push(numbers.as_ref().map_or_else(|| text.clone(), |numbers| written(numbers[*label])));
            }
            classes[*label] = names.len() as u32 - 1;
        }
        (Self { names, labels: None, is_numeric: numbers.is_some(), label_type }, classes)
    }

    /// The same classes with these names, one for each and all different.
    fn renamed(self, names: Vec<String>) -> Self {
        Self { labels: Some(self.names), names, ..self }
    }

    /// The same classes with the names of their labels; a label without a name keeps its own.
    pub(crate) fn named_by(self, names: &ClassNames) -> Self {
        let name = |label: &String| names.name(label).unwrap_or(label).clone();
        let names = self.names.iter().map(name).collect();
        self.renamed(names)
    }

    /// The label of each class in data.
    pub(crate) fn labels(&self) -> &[String] {
        self.labels.as_ref().unwrap_or(&self.names)
    }

    /// The name of each class.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a class.
    pub fn name(&self, class: u32) -> &str {
        &self.names[class as usize]
    }

    /// The number of classes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no classes.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether all names are labels, and numbers.
    pub fn are_numbers(&self) -> bool {
        self.is_numeric && self.labels.is_none()
    }

    /// The type of the labels, if they are typed.
    pub fn label_type(&self) -> Option<LabelType> {
        self.label_type
    }

    /// Whether labels are compared byte for byte.
    pub fn are_exact(&self) -> bool {
        self.label_type == Some(LabelType::Text)
    }

    /// Whether the classes are the whole numbers from 0 on.
    pub fn are_counted(&self) -> bool {
        self.names.iter().enumerate().all(|(class, name)| *name == class.to_string())
    }

    /// The class of a label, if there is one.
    pub fn find(&self, label: &str) -> Option<u32> {
        self.finder()(label)
    }

    /// [`Classes::find`] for many labels, with one look-up per label.
    pub fn finder<'a>(&'a self) -> impl Fn(&str) -> Option<u32> + 'a {
        let labels = self.labels();
        // A label that is the name of another class is a label.
        let texts = |texts: &'a [String]| texts.iter().map(String::as_str).zip(0..);
        let by_text: HashMap<&str, u32> = texts(&self.names).chain(texts(labels)).collect();
        let values = labels.iter().filter(|_| self.is_numeric).filter_map(|label| number(label));
        let by_value: HashMap<u64, u32> = values.map(f64::to_bits).zip(0..).collect();
        let by_truth = by_truth(labels);
        move |label| {
            if self.are_exact() {
                return by_text.get(label).copied();
            }
            let label = label.trim_ascii();
            let of_value = || by_value.get(&number(label)?.to_bits()).copied();
            let of_truth = || by_truth[usize::from(truth(label)?)];
            by_text.get(label).copied().or_else(of_value).or_else(of_truth)
        }
    }

    /// Some names, for a message.
    pub fn some_names(&self) -> String {
        list_some(self.names.iter().map(|name| printable_name(name.as_bytes())))
    }
}

/// The reason why the labels of `rows` rows are not classes, if any: the finding, and a label as an example, if any.
pub(crate) fn not_classes(
    labels: &[Label],
    classes: &Classes,
    rows: usize,
) -> Option<(String, Option<usize>)> {
    let fraction =
        || labels.iter().position(|label| number(&label.text).is_some_and(|value| value.fract() != 0.0));
    if classes.is_numeric
        && let Some(place) = fraction()
    {
        return Some((format!("{}, a fraction", labels[place].text), Some(place)));
    }
    if classes.is_numeric && classes.len() > MOST_NUMBERED_CLASSES {
        return Some((format!("{} different numbers", classes.len()), None));
    }
    (classes.len() > FEW_CLASSES && classes.len() * 2 > rows)
        .then(|| (format!("{} different labels in {rows} rows", classes.len()), None))
}

fn are_different<T: Eq + Hash>(mut items: impl Iterator<Item = T>) -> bool {
    let mut seen = HashSet::new();
    items.all(|item| seen.insert(item))
}

/// Whether a label counts as a number.
pub(crate) fn is_number(label: &str) -> bool {
    number(label).is_some()
}

/// The values of the labels, if all are numbers and none is a code with a leading zero.
fn numbers<'a>(labels: impl Iterator<Item = &'a str>) -> Option<Vec<f64>> {
    labels.map(|label| number(label).filter(|_| !has_leading_zero(label.as_bytes()))).collect()
}

/// Formats a number as the name of a class: whole numbers without a point.
fn written(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { value.to_string() }
}

/// Compares text in which digits count as numbers; ties are compared letter by letter.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let ((m, rest_left), (n, rest_right)) = (digits(left), digits(right));
            let order = m.len().cmp(&n.len()).then_with(|| m.cmp(n));
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (rest_left, rest_right);
        } else if x != y {
            return x.cmp(&y);
        } else {
            (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Splits the leading digits, without leading zeros, from the rest of a text.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].trim_start_matches('0'), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(texts: &[&str]) -> (Vec<String>, Vec<u32>) {
        let labels: Vec<Label> =
            texts.iter().map(|text| Label { text: (*text).to_owned(), row: 1 }).collect();
        let (classes, of) = Classes::from_labels(&labels);
        for (text, class) in texts.iter().zip(&of) {
            assert_eq!(classes.find(text), Some(*class), "{text}");
        }
        let find = classes.finder();
        for text in texts.iter().copied().chain(["", "2.0", " 3", "-0", "x", "class 2"]) {
            assert_eq!(find(text), classes.find(text), "{text}");
        }
        drop(find);
        assert_eq!(Classes::named(classes.names.clone()), Some(classes.clone()));
        (classes.names, of)
    }

    #[test]
    fn numbers_are_ordered_by_value_and_text_naturally() {
        for (texts, names, of) in [
            (&["3", "1", "10", "2.0", "2"][..], &["1", "2", "3", "10"][..], &[2, 0, 3, 1, 1][..]),
            (&["1", "-1"], &["-1", "1"], &[1, 0]),
            (&["True", "False"], &["False", "True"], &[1, 0]),
            (&["class10", "class2", "class02"], &["class02", "class2", "class10"], &[2, 1, 0]),
            (&["b", "7", "a", "007"], &["007", "7", "a", "b"], &[3, 1, 2, 0]),
            (&["0", "-0"], &["0"], &[0, 0]),
            // Blanks outside ASCII belong to a name.
            (&["b\u{a0}", "b", "a\u{b}"], &["a\u{b}", "b", "b\u{a0}"], &[2, 1, 0]),
            // A leading zero makes all labels text.
            (&["010", "001"], &["001", "010"], &[1, 0]),
            (&["2", "01", "1", "10", "1.0"], &["01", "1", "1.0", "2", "10"], &[3, 0, 1, 4, 2]),
            (&["00", "0"], &["0", "00"], &[1, 0]),
            (&["-01", "1"], &["-01", "1"], &[0, 1]),
            (&["00.5", "0"], &["0", "0.5"], &[1, 0]),
            (&["9007199254740993", "9007199254740992"], &["9007199254740992", "9007199254740993"], &[1, 0]),
        ] {
            let (found, classes) = classes(texts);
            assert_eq!(
                (found.iter().map(String::as_str).collect::<Vec<_>>(), &classes[..]),
                (names.to_vec(), of)
            );
        }
        assert_eq!(Classes::named(vec!["1".to_owned(), "1.0".to_owned()]), None);
        assert_eq!(Classes::numbered(3).find(" 2.0 "), Some(2));
        assert!(Classes::numbered(3).are_counted());
        assert_eq!(Classes::numbered(3).find("3"), None);
    }

    #[test]
    fn classes_are_found_by_their_labels_and_names() {
        let given = r#"{"names":["2","zero","one"],"labels":["0","1","2"],"label_type":null}"#;
        let classes: Classes = serde_json::from_str(given).unwrap();
        assert_eq!(serde_json::to_string(&classes).unwrap(), given);
        // A label precedes an equal name.
        for (text, class) in [("0", 0), ("1", 1), ("2", 2), ("2.0", 2), ("zero", 1), (" one", 2)] {
            assert_eq!(classes.find(text), Some(class), "{text}");
        }
        assert_eq!(classes.find("3"), None);
        assert!(!classes.are_numbers());
        for wrong in [
            r#"{"names":["a","a"],"labels":["0","1"],"label_type":null}"#,
            r#"{"names":["a","b"],"labels":["0","0.0"],"label_type":null}"#,
            r#"{"names":["a","b"],"labels":["0"],"label_type":null}"#,
        ] {
            let error = serde_json::from_str::<Classes>(wrong).unwrap_err().to_string();
            assert!(error.contains("expected different labels and names of classes"), "{error}");
        }
    }

    #[test]
    fn many_classes_are_named_in_less_than_quadratic_time() {
        // Pairwise comparison would take minutes.
        for prefix in ["", "class "] {
            let names: Vec<String> = (0..400_000).map(|class| format!("{prefix}{class}")).collect();
            let twice = [&names[..], &names[7..8]].concat();
            assert_eq!(Classes::named(names).map(|classes| classes.len()), Some(400_000));
            assert_eq!(Classes::named(twice), None);
        }
        assert_eq!(Classes::named(vec![" a".to_owned(), "b".to_owned()]), None);
    }

    #[test]
    fn values_are_no_classes() {
        let labels = |texts: &mut dyn Iterator<Item = String>| -> Vec<Label> {
            texts.zip(1..).map(|(text, row)| Label { text, row }).collect()
        };
        let why = |labels: &[Label], rows| not_classes(labels, &Classes::from_labels(labels).0, rows);
        let mixed = labels(&mut ["1", "2.5", "3"].map(String::from).into_iter());
        assert_eq!(why(&mixed, 100), Some(("2.5, a fraction".to_owned(), Some(1))));
        let text = labels(&mut ["v1", "2.5"].map(String::from).into_iter());
        assert_eq!(why(&text, 100), None);
        let many = labels(&mut (0..1001).map(|value: u32| value.to_string()));
        assert_eq!(why(&many, 10_000), Some(("1001 different numbers".to_owned(), None)));
        assert_eq!(why(&many[..1000], 2000), None);
        assert_eq!(why(&many[..150], 150), Some(("150 different labels in 150 rows".to_owned(), None)));
        assert_eq!(why(&many[..20], 20), None);
    }
}

#[cfg(test)]
#[path = "typed_classes_tests.rs"]
mod typed_tests;
