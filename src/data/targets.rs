//! What rows should give.

/// What the rows of a data set should give.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// One class per row, counted from 0.
    Classes(Vec<u32>),
    /// Numbers, row after row.
    Values {
        /// Numbers of a row.
        columns: usize,
        /// `[rows, columns]`
        values: Vec<f32>,
    },
}

/// Borrowed [`Targets`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TargetsRef<'a> {
    /// One class per row, counted from 0.
    Classes(&'a [u32]),
    /// Numbers, row after row.
    Values {
        /// Numbers of a row.
        columns: usize,
        /// `[rows, columns]`
        values: &'a [f32],
    },
}

impl From<Vec<u32>> for Targets {
    fn from(labels: Vec<u32>) -> Self {
        Targets::Classes(labels)
    }
}

impl Targets {
    /// Borrows them.
    pub fn view(&self) -> TargetsRef<'_> {
        match self {
            Targets::Classes(labels) => TargetsRef::Classes(labels),
            Targets::Values { columns, values } => TargetsRef::Values { columns: *columns, values },
        }
    }
}

impl<'a> TargetsRef<'a> {
    /// The classes; nothing where targets are values.
    pub fn labels(self) -> &'a [u32] {
        match self {
            TargetsRef::Classes(labels) => labels,
            TargetsRef::Values { .. } => &[],
        }
    }
}
