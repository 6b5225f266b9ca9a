//! Required content of columns, as in training.

/// Content of a column in training.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::trainer) enum Wanted {
    Numbers,
    Categories,
    Dates(usize, Zone),
}

/// Time zone of a column of dates.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::trainer) enum Zone {
    /// As in files: offsets are subtracted, times without offset are unchanged.
    #[default]
    OfFile,
    /// Times without a zone.
    Absent,
    /// Local times of this zone.
    Named(String),
}

impl Wanted {
    /// Describes the content in errors.
    pub(super) fn said(&self) -> String {
        match self {
            Wanted::Numbers => "numbers".to_owned(),
            Wanted::Categories => "categories".to_owned(),
            Wanted::Dates(..) => "dates".to_owned(),
        }
    }
}

impl Zone {
    /// Returns whether times of both zones can be compared.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self == other || *self == Zone::OfFile || *other == Zone::OfFile
    }

    /// Describes the times in errors.
    pub(in crate::trainer) fn said(&self) -> String {
        match self {
            Zone::OfFile => "times".to_owned(),
            Zone::Absent => "times without a time zone".to_owned(),
            Zone::Named(name) => format!("times of the zone {name}"),
        }
    }

    /// Returns the zone's name, `Some(None)` for times without a zone, `None` for times of files.
    pub(super) fn entry(&self) -> Option<Option<&str>> {
        match self {
            Zone::OfFile => None,
            Zone::Absent => Some(None),
            Zone::Named(name) => Some(Some(name)),
        }
    }
}
