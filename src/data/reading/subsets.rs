//! The parts of a data set, by the names of folders, files and arrays.

use std::fmt;

/// A part of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subset {
    /// Rows to train on.
    Train,
    /// Rows that select the best model.
    Validation,
    /// Rows to test on.
    Test,
}

impl Subset {
    /// All parts.
    pub(crate) const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

    /// The part with this name, in any case.
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word.to_lowercase().as_str() {
            "train" | "training" => Some(Self::Train),
            "val" | "valid" | "validation" => Some(Self::Validation),
            "test" | "testing" => Some(Self::Test),
            _ => None,
        }
    }

    /// The part that a word in the name of an array names, and the rest of the name: `x_train` is `x`.
    pub(crate) fn of_array(name: &str) -> (Option<Self>, String) {
        let (stem, end) = name.strip_suffix(".categories").map_or((name, ""), |stem| (stem, ".categories"));
        let mut words: Vec<&str> = stem.split('_').collect();
        let named = words.iter().position(|word| Self::named(word).is_some()).filter(|_| words.len() > 1);
        let subset = named.and_then(|at| Self::named(words.remove(at)));
        (subset, words.join("_") + end)
    }
}

impl fmt::Display for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_arrays_begin_or_end_with_the_part() {
        for (name, subset, rest) in [
            ("x_train", Some(Subset::Train), "x"),
            ("train_images", Some(Subset::Train), "images"),
            ("X_VAL", Some(Subset::Validation), "X"),
            ("y_valid.categories", Some(Subset::Validation), "y.categories"),
            ("testing_y", Some(Subset::Test), "y"),
            ("x_extra", None, "x_extra"),
            ("latest", None, "latest"),
            ("test", None, "test"),
        ] {
            assert_eq!(Subset::of_array(name), (subset, rest.to_owned()));
        }
    }
}
