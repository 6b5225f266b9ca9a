//! Input columns that may hold identifiers, judged by names and the first rows.

use std::collections::HashMap;

use super::{Header, Holds};
use crate::data::dialect::Kind;

/// Minimum number of cells to judge a column by.
const LEAST_CELLS: usize = 20;

/// Maximum number of different codes, and the least number that looks like a code: smaller ones may be counts.
const MOST_CODES: usize = 20;
const LEAST_CODE: f64 = 100.0;

/// Last words of names of columns that hold codes.
const WORDS: [&str; 8] = ["id", "code", "zip", "zipcode", "postcode", "postalcode", "plz", "fips"];

/// Names of persons and things with several rows each.
const UNITS: [&str; 21] = [
    "patient",
    "subject",
    "user",
    "person",
    "customer",
    "client",
    "participant",
    "respondent",
    "student",
    "pupil",
    "speaker",
    "writer",
    "author",
    "session",
    "device",
    "machine",
    "household",
    "family",
    "animal",
    "donor",
    "username",
];

/// The last word of a name.
fn last_word(name: &str) -> &str {
    name.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default()
}

/// Whether a name suggests codes of a fixed length, such as codes of places, which may begin with zeros.
pub(crate) fn may_have_zeros(name: &str) -> bool {
    let last = last_word(name).to_lowercase();
    WORDS[1..].contains(&last.as_str())
        || ["zip", "zipcode", "postcode"].iter().any(|end| last.ends_with(end))
}

/// Whether a name suggests a column of codes.
fn is_named_code(name: &str) -> bool {
    let last = last_word(name);
    WORDS.contains(&last.to_lowercase().as_str())
        || ["Id", "ID", "Code", "Zip", "ZIP"].iter().any(|end| last.ends_with(end))
}

/// Whether a name suggests that rows with the same value belong together: `patient`, `user_id`, `subjectid`.
fn is_named_unit(name: &str) -> bool {
    let words = name.to_lowercase();
    let words: Vec<&str> = words.split(|letter: char| !letter.is_alphanumeric()).collect();
    let is_unit = |word: &str| {
        ["id", "no", "nr", "number", "key", ""]
            .iter()
            .any(|end| word.strip_suffix(end).is_some_and(|word| UNITS.contains(&word)))
    };
    match words[..] {
        [.., unit, "id" | "no" | "nr" | "number" | "key" | "code" | "name"] => is_unit(unit),
        [.., unit] => is_unit(unit),
        [] => false,
    }
}

impl Header<'_> {
    /// Whether an input column may hold identifiers: text that differs in most of the first rows; or whole numbers, if
    /// the name suggests it, or if they are a few large numbers, about equally frequent, and not years.
    pub(crate) fn may_identify(&self, column: usize, holds: Holds) -> bool {
        let mut counts: HashMap<&[u8], usize> = HashMap::new();
        self.present(column).for_each(|cell| *counts.entry(cell).or_default() += 1);
        let (all, different) = (counts.values().sum::<usize>(), counts.len());
        let name = self.names.map_or("", |names| names[column].as_str());
        let (is_unit, is_named) = (is_named_unit(name), is_named_code(name));
        // The first rows may all belong to one person or thing.
        if all < LEAST_CELLS || different < 3 && !is_unit && !is_named {
            return false;
        }
        let is_named = is_named || is_unit;
        match holds {
            Holds::Dates(_) => false,
            Holds::Categories => different * 2 > all || is_unit,
            Holds::Numbers => {
                let values: Vec<f64> = self.kinds(column).filter_map(Kind::number).collect();
                let (most, least) = (counts.values().max().copied(), counts.values().min().copied());
                let are_codes = different <= MOST_CODES
                    && values.iter().all(|value| *value >= LEAST_CODE && !(1900.0..2100.0).contains(value))
                    && most.unwrap_or(0) <= 3 * least.unwrap_or(0)
                    && least > Some(1);
                values.iter().all(|value| value.fract() == 0.0) && (is_named || are_codes)
            }
        }
    }
}
