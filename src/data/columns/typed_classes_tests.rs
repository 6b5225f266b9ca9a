//! Classes of typed labels, and labels that are booleans.

use super::{Classes, Label, LabelType};

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
