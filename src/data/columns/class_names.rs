//! Names of classes that data give by numbers.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use crate::data::excerpt::quote;
use crate::error::{Error, Place, Result};

/// The names of classes, by the numbers that are their labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassNames(BTreeMap<u32, String>);

impl ClassNames {
    /// Reads a file of names, or names separated by commas, numbered from 0. A file has one name per line, or, if all
    /// lines contain only numbers, a label and the Unicode code point of its character, as EMNIST's mapping files.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Data`] or [`Error::Setting`] for names that are not different texts.
    pub fn read(text: &str) -> Result<Self> {
        let path = Path::new(text);
        let error = |row: Option<usize>, expected: &str, found: String| match row {
            Some(row) => Error::data(path, Place::row(row as u64), expected, found),
            None => Error::setting("class-names", expected, found),
        };
        let is_file = path.is_file();
        if !is_file && !text.contains(',') {
            let found = quote(text.as_bytes());
            return Err(error(None, "a file of names, or names separated by commas", found));
        }
        let content = match is_file {
            true => {
                fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?
            }
            false => text.replace(',', "\n"),
        };
        let lines: Vec<&str> = content.trim_end().lines().map(str::trim).collect();
        let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().ok()).collect();
        let pairs: Option<Vec<Vec<u32>>> = lines.iter().map(|line| numbers(line)).collect();
        let pairs = pairs.filter(|pairs| is_file && pairs.iter().all(|pair| pair.len() > 1));
        let (mut names, mut seen) = (BTreeMap::new(), HashSet::new());
        for (index, line) in lines.iter().enumerate() {
            let row = is_file.then_some(index + 1);
            let (label, name) = match &pairs {
                Some(pairs) => {
                    let letter = char::from_u32(pairs[index][1]).filter(|letter| !letter.is_whitespace());
                    let expected = "a label and the Unicode code point of its character";
                    let name = letter.filter(|letter| !letter.is_control()).map(String::from);
                    (pairs[index][0], name.ok_or_else(|| error(row, expected, quote(line.as_bytes())))?)
                }
                None if line.is_empty() => return Err(error(row, "the name of a class", "none".to_owned())),
                None => (index as u32, (*line).to_owned()),
            };
            let found = quote(name.as_bytes());
            if !seen.insert(name.clone()) || names.insert(label, name).is_some() {
                return Err(error(row, "different names, and one for each label", format!("{found} again")));
            }
        }
        Ok(Self(names))
    }

    /// The name of the class with this label.
    pub(crate) fn name(&self, label: &str) -> Option<&String> {
        self.0.get(&label.parse().ok()?)
    }

    /// The number of names and the range of their labels, for a message.
    pub(crate) fn describe(&self) -> String {
        let ends = self.0.first_key_value().zip(self.0.last_key_value());
        let range =
            ends.map_or_else(String::new, |((first, _), (last, _))| format!(" of labels {first} to {last}"));
        format!("{} names{range}", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<ClassNames> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names.txt");
        fs::write(&path, content).unwrap();
        ClassNames::read(path.to_str().unwrap())
    }

    fn of(names: &[(u32, &str)]) -> ClassNames {
        ClassNames(names.iter().map(|(label, name)| (*label, (*name).to_owned())).collect())
    }

    #[test]
    fn names_come_from_lists_and_files() {
        assert_eq!(ClassNames::read("cat, dog,7").unwrap(), of(&[(0, "cat"), (1, "dog"), (2, "7")]));
        assert_eq!(
            read("T-shirt/top\nsneaker, low\r\n\n").unwrap(),
            of(&[(0, "T-shirt/top"), (1, "sneaker, low")])
        );
        assert_eq!(read("0 48\n10 65\n36 97\n").unwrap(), of(&[(0, "0"), (10, "A"), (36, "a")]));
        // EMNIST's letters have the code points of both cases.
        assert_eq!(read("1 65 97\n2 66 98\n").unwrap(), of(&[(1, "A"), (2, "B")]));
        assert_eq!(read("3\n5\n").unwrap(), of(&[(0, "3"), (1, "5")]));
        assert_eq!(read("1 65\n2 66\n").unwrap().describe(), "2 names of labels 1 to 2");
    }

    #[test]
    fn names_that_cannot_be_used_are_refused_with_their_place() {
        for (content, message) in [
            ("a\n\nb\n", "row 2: expected the name of a class, found none"),
            ("a\nb\na\n", "row 3: expected different names, and one for each label, found \"a\" again"),
            ("1 65\n1 66\n", "row 2: expected different names, and one for each label, found \"B\" again"),
            (
                "1 65\n2 55296\n",
                "row 2: expected a label and the Unicode code point of its character, found \"2 55296\"",
            ),
        ] {
            let error = read(content).unwrap_err();
            assert!(error.to_string().ends_with(message), "{content:?}: {error}");
            assert_eq!(error.exit_code(), 2);
        }
        let error = ClassNames::read("absent.txt").unwrap_err().to_string();
        let expected =
            "class-names: expected a file of names, or names separated by commas, found \"absent.txt\"";
        assert_eq!(error, expected);
        assert!(ClassNames::read("a,,b").is_err());
        assert!(ClassNames::read("a,b,a").is_err());
    }
}
