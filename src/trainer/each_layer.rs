//! Settings of hidden layers.

/// A setting of the hidden layers: one for all, or one for each, first to last.
#[derive(Debug, Clone, PartialEq)]
pub struct EachLayer<T>(pub(super) Vec<T>);

impl<T> From<T> for EachLayer<T> {
    fn from(one: T) -> Self {
        Self(vec![one])
    }
}

impl<T, const N: usize> From<[T; N]> for EachLayer<T> {
    fn from(each: [T; N]) -> Self {
        Self(each.into())
    }
}

impl<T> From<Vec<T>> for EachLayer<T> {
    fn from(each: Vec<T>) -> Self {
        Self(each)
    }
}
