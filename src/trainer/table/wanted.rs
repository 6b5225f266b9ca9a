//! The content of columns in training.

/// The content of a column in training.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::trainer) enum Wanted {
    Numbers,
    Categories,
    Dates(usize, Zone),
}

/// The time zone of a column of dates.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::trainer) enum Zone {
    /// As in files: offsets are taken off, times without one are as they are.
    #[default]
    OfFile,
    /// Times without a zone.
    Absent,
    /// Local times of this zone.
    Named(String),
}

impl Wanted {
    /// How errors name it.
    pub(super) fn said(&self) -> String {
        match self {
            Wanted::Numbers => "numbers".to_owned(),
            Wanted::Categories => "categories".to_owned(),
            Wanted::Dates(..) => "dates".to_owned(),
        }
    }
}

impl Zone {
    /// Whether times of this zone are as those of another one.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self == other || *self == Zone::OfFile || *other == Zone::OfFile
    }

    /// How errors name its times.
    pub(in crate::trainer) fn said(&self) -> String {
        match self {
            Zone::OfFile => "times".to_owned(),
            Zone::Absent => "times without a time zone".to_owned(),
            Zone::Named(name) => format!("times of the zone {name}"),
        }
    }

    /// Its name, and `None` of times without a zone; nothing of those of files.
    pub(super) fn entry(&self) -> Option<Option<&str>> {
        match self {
            Zone::OfFile => None,
            Zone::Absent => Some(None),
            Zone::Named(name) => Some(Some(name)),
        }
    }
}
