//! Targets of rows, from arrays, slices and vectors.

use std::collections::HashMap;

use ndarray::{ArrayBase, Data, Ix1, Ix2};

use crate::data::{LabelType, MemoryTargets};

/// Source of targets. Labels have any integer type, `bool`, `&str` or `String`; values to predict are `f32`,
/// one per row, or in an array [rows, values].
pub trait Target {
    /// Collects the targets, in the order of the rows.
    fn target_data(&self) -> TargetData;
}

/// Element of targets. User-defined types provide labels through [`TargetData::labels`].
pub trait Element: Sized {
    /// Collects the targets, in the order of the rows.
    fn gather<'a>(elements: impl Iterator<Item = &'a Self>) -> TargetData
    where
        Self: 'a;
}

/// Targets of rows: labels, or values to predict.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetData(pub(super) MemoryTargets);

impl TargetData {
    /// Creates labels; labels with the same text, ignoring surrounding blanks, are one.
    pub fn labels(labels: impl Iterator<Item = impl AsRef<str>>) -> Self {
        let (mut known, mut texts, mut numbers) = (HashMap::<String, u32>::new(), Vec::new(), Vec::new());
        for (label, row) in labels.zip(1..) {
            let text = label.as_ref().trim();
            let number = known.get(text).copied().unwrap_or_else(|| {
                let number = texts.len() as u32;
                known.insert(text.to_owned(), number);
                texts.push((text.to_owned(), row));
                number
            });
            numbers.push(number);
        }
        Self(MemoryTargets::Labels { texts, numbers })
    }

    /// Creates classes with these names, all different but otherwise arbitrary, and the index of each row's
    /// class, counted from 0. Classes without rows are allowed.
    pub fn classes(names: Vec<String>, numbers: Vec<u32>) -> Self {
        Self(MemoryTargets::Classes { names, numbers, label_type: None })
    }

    /// Sets the type of the labels, which is stored in model files: names of text are compared byte for byte.
    #[must_use]
    pub fn of_type(mut self, of: LabelType) -> Self {
        if let MemoryTargets::Classes { label_type, .. } = &mut self.0 {
            *label_type = Some(of);
        }
        self
    }

    /// Creates values to predict, row-major [rows, `columns`].
    fn values(columns: usize, values: impl Iterator<Item = f32>) -> Self {
        Self(MemoryTargets::Values { columns, values: values.collect() })
    }
}

/// Implements targets for types whose text is a label.
macro_rules! labels {
    ($($type:ty),+) => {
        $(impl Element for $type {
            fn gather<'a>(elements: impl Iterator<Item = &'a Self>) -> TargetData
            where
                Self: 'a,
            {
                TargetData::labels(elements.map(<$type>::to_string))
            }
        })+
    };
}

labels!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, bool);

impl Element for &str {
    fn gather<'a>(elements: impl Iterator<Item = &'a Self>) -> TargetData
    where
        Self: 'a,
    {
        TargetData::labels(elements)
    }
}

impl Element for String {
    fn gather<'a>(elements: impl Iterator<Item = &'a Self>) -> TargetData {
        TargetData::labels(elements)
    }
}

impl Element for f32 {
    fn gather<'a>(elements: impl Iterator<Item = &'a Self>) -> TargetData {
        TargetData::values(1, elements.copied())
    }
}

impl<T: Element> Target for [T] {
    fn target_data(&self) -> TargetData {
        T::gather(self.iter())
    }
}

impl<T: Element, const N: usize> Target for [T; N] {
    fn target_data(&self) -> TargetData {
        T::gather(self.iter())
    }
}

impl<T: Element> Target for Vec<T> {
    fn target_data(&self) -> TargetData {
        T::gather(self.iter())
    }
}

impl<T: Element, S: Data<Elem = T>> Target for ArrayBase<S, Ix1> {
    fn target_data(&self) -> TargetData {
        T::gather(self.iter())
    }
}

impl<S: Data<Elem = f32>> Target for ArrayBase<S, Ix2> {
    fn target_data(&self) -> TargetData {
        TargetData::values(self.ncols(), self.iter().copied())
    }
}

impl TargetData {
    /// Creates empty labels, or empty values, to compare kinds of targets.
    pub(super) fn like(columns: Option<usize>) -> Self {
        Self(match columns {
            None => MemoryTargets::Labels { texts: Vec::new(), numbers: Vec::new() },
            Some(columns) => MemoryTargets::Values { columns, values: Vec::new() },
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2, array};

    use super::*;

    #[test]
    fn labels_are_numbered_as_they_come_and_floats_are_values() {
        let of = |target: &dyn Fn() -> TargetData| target().0;
        let labels = |texts: &[(&str, u64)], numbers: &[u32]| MemoryTargets::Labels {
            texts: texts.iter().map(|(text, row)| ((*text).to_owned(), *row)).collect(),
            numbers: numbers.to_vec(),
        };
        assert_eq!(of(&|| [3u8, 1, 3].target_data()), labels(&[("3", 1), ("1", 2)], &[0, 1, 0]));
        assert_eq!(of(&|| array![-1i64, 1].view().target_data()), labels(&[("-1", 1), ("1", 2)], &[0, 1]));
        assert_eq!(of(&|| vec!["a", " a", "b"].target_data()), labels(&[("a", 1), ("b", 3)], &[0, 0, 1]));
        assert_eq!(of(&|| [true, false][..].target_data()), labels(&[("true", 1), ("false", 2)], &[0, 1]));
        let values = |columns, values: &[f32]| MemoryTargets::Values { columns, values: values.to_vec() };
        assert_eq!(of(&|| Array1::from(vec![0.5f32, 2.0]).target_data()), values(1, &[0.5, 2.0]));
        let turned: Array2<f32> = array![[1.0, 2.0], [3.0, 4.0]];
        assert_eq!(of(&|| turned.t().target_data()), values(2, &[1.0, 3.0, 2.0, 4.0]));
    }
}
