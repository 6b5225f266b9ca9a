//! Detection of types in text columns of a table in memory.

use super::{Holds, Table};
use crate::data::excerpt::quote;
use crate::data::{DATE_PARTS, is_missing, truth};
use crate::error::{Error, Place, Result};
use crate::trainer::texts::{TextNotes, Texts, TextsAre};

impl Table {
    /// Detects the types of these text columns, counted from 0, of a training table: numbers or dates if all
    /// cells are, otherwise categories.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) that names cells that are probably typing errors: a few texts in a
    /// long column of numbers, or non-dates in a column of mostly dates; also for numbers that are not
    /// finite.
    pub fn understand_texts(&mut self, columns: &[usize]) -> Result<TextNotes> {
        let mut notes = TextNotes::default();
        let mut read_as = vec![None; self.columns.len()];
        let mut input = 0;
        for (index, (name, holds)) in self.columns.iter().enumerate() {
            if let (Holds::Texts(texts), true) = (holds, columns.contains(&index)) {
                let name = name.as_deref().unwrap_or_default();
                let rows = (&self.values[input.min(self.values.len())..], self.inputs());
                read_as[index] = Texts::new(name, index, texts, rows).understood(&mut notes)?;
            }
            input += holds.width();
        }
        self.read_texts(&read_as, "").map(|()| notes)
    }

    /// Converts the table to the columns of the training table: see [`Table::fitted_to`].
    ///
    /// # Errors
    /// Errors of [`Table::fitted_to`].
    pub fn like(self, training: &Self) -> Result<Self> {
        self.fitted(training.columns.iter().map(|(_, holds)| holds.wanted()).collect())
    }

    /// Converts columns of text to numbers and dates, one entry of `read_as` per column; other columns are
    /// unchanged. `like` is appended to errors.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) for a text that cannot be parsed.
    pub(super) fn read_texts(&mut self, read_as: &[Option<TextsAre>], like: &str) -> Result<()> {
        let is_read =
            |holds: &Holds, read_as: &Option<TextsAre>| matches!(holds, Holds::Texts(_)) && read_as.is_some();
        if !self.columns.iter().zip(read_as).any(|((_, holds), read_as)| is_read(holds, read_as)) {
            return Ok(());
        }
        // For each column its first input and its width, and for text the numbers of each text.
        let (mut input, mut plan) = (0, Vec::new());
        for (index, ((name, holds), read_as)) in self.columns.iter().zip(read_as).enumerate() {
            let read = match (holds, read_as) {
                (Holds::Texts(texts), Some(as_what)) => {
                    let place = |row| Place {
                        row: Some(row),
                        column: Some(index + 1),
                        name: name.clone().map(Into::into),
                    };
                    Some((self.numbers_of((texts, input), as_what, place, like)?, as_what.clone()))
                }
                _ => None,
            };
            plan.push((input, holds.width(), read));
            input += holds.width();
        }
        // From the last row on, values move to make space for the parts of dates.
        let widths =
            plan.iter().map(|(_, width, read)| read.as_ref().map_or(*width, |(_, as_what)| as_what.width()));
        let mut to = self.rows * widths.sum::<usize>();
        self.values.resize(to, 0.0);
        for row in (0..self.rows).rev() {
            for (first, width, read) in plan.iter().rev() {
                let from = row * input + first;
                match read {
                    None => {
                        to -= width;
                        self.values.copy_within(from..from + width, to);
                    }
                    Some((numbers, as_what)) => {
                        let cell = self.values[from];
                        let numbers =
                            if cell.is_nan() { [f32::NAN; DATE_PARTS.len()] } else { numbers[cell as usize] };
                        to -= as_what.width();
                        self.values[to..][..as_what.width()].copy_from_slice(&numbers[..as_what.width()]);
                    }
                }
            }
        }
        for ((_, holds), (_, _, read)) in self.columns.iter_mut().zip(plan) {
            match read {
                Some((_, TextsAre::Numbers)) => *holds = Holds::Numbers,
                Some((_, TextsAre::Dates(parts, zone))) => *holds = Holds::Dates(parts, zone),
                None => {}
            }
        }
        Ok(())
    }

    /// Parses each of these texts as a number, or as parts of a date. The rows hold text indices at `input`.
    fn numbers_of(
        &self,
        (texts, input): (&[String], usize),
        as_what: &TextsAre,
        place: impl Fn(u64) -> Place,
        like: &str,
    ) -> Result<Vec<[f32; DATE_PARTS.len()]>> {
        // Booleans are 0 and 1 if a column contains nothing else.
        let truth_of = |text: &String| truth(text.trim()).map(|truth| f32::from(u8::from(truth)));
        let are_truths = *as_what == TextsAre::Numbers
            && texts.iter().all(|text| truth_of(text).is_some() || is_missing(text.as_bytes()));
        let number = |(at, text): (usize, &String)| {
            if let Some(number) = truth_of(text).filter(|_| are_truths) {
                return Ok([number; DATE_PARTS.len()]);
            }
            as_what.numbers(text).map_err(|expected| {
                let mut rows = self.values.iter().skip(input).step_by(self.inputs());
                let row = rows.position(|value| *value == at as f32).unwrap_or_default();
                Error::data("x", place(row as u64 + 1), format!("{expected}{like}"), quote(text.as_bytes()))
            })
        };
        texts.iter().enumerate().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::Cells;
    use crate::trainer::table::Zone;

    /// Returns a table with a numeric column and this text column.
    fn table(cells: &[&str]) -> Table {
        let mut texts: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
        texts.sort_unstable();
        texts.dedup();
        let row = |cell: &&str| texts.iter().position(|text| text == *cell).map(|at| at as u32);
        let rows = cells.iter().map(row).collect();
        let numbers = Cells::Numbers((0..cells.len()).map(|row| row as f32).collect());
        let columns = vec![("a".to_owned(), numbers), ("b".to_owned(), Cells::Texts { rows, texts })];
        Table::of_columns(columns).unwrap()
    }

    fn understood(cells: &[&str]) -> Result<(Table, TextNotes)> {
        let mut table = table(cells);
        let notes = table.understand_texts(&[1])?;
        Ok((table, notes))
    }

    #[test]
    fn text_is_numbers_or_dates_where_all_of_it_is() {
        let (numbers, notes) = understood(&["4", " 1.5", "NA", "", "-2e1", "0.07"]).unwrap();
        let cells: Vec<u32> = numbers.values().iter().skip(1).step_by(2).map(|cell| cell.to_bits()).collect();
        let expected = [4.0, 1.5, f32::NAN, f32::NAN, -20.0, 0.07];
        assert_eq!(cells, expected.map(f32::to_bits));
        assert_eq!((notes, &numbers.columns[1].1), (TextNotes::default(), &Holds::Numbers));
        let (days, _) = understood(&["1970-01-02", "?", "2024/2/29"]).unwrap();
        assert_eq!(days.columns[1].1, Holds::Dates(3, Zone::Absent));
        assert_eq!(days.values()[..4], [0.0, 1.0, 1.0, 4.0]);
        assert!(days.values()[5..8].iter().all(|part| part.is_nan()));
        assert_eq!(days.values()[8..], [2.0, 19_782.0, 2.0, 3.0]);
        let (times, _) = understood(&["1970-01-02", "1970-01-02T12:30"]).unwrap();
        assert_eq!(times.values(), [0.0, 1.0, 1.0, 4.0, 0.0, 1.0, 1.0, 1.0, 4.0, 12.5]);
        // An empty column is numeric, too.
        assert_eq!(understood(&["", "NA"]).unwrap().0.columns[1].1, Holds::Numbers);
        // Columns declared as categories stay categories.
        let mut told = table(&["1", "2"]);
        assert_eq!(told.understand_texts(&[]).unwrap(), TextNotes::default());
        assert_eq!(told, table(&["1", "2"]));
    }

    #[test]
    fn text_and_numbers_are_categories_or_slips() {
        let (plain, notes) = understood(&["red", "blue", "red"]).unwrap();
        assert_eq!((plain, notes), (table(&["red", "blue", "red"]), TextNotes::default()));
        let cells = [vec!["4"; 100], vec!["f", "r", "2024-01-01"]].concat();
        let (found, notes) = understood(&cells).unwrap();
        assert_eq!(found, table(&cells));
        let line = "column b holds numbers and text (\"f\" in x, row 101), so its cells are categories";
        assert_eq!(notes.mixed[0].to_string(), line);
        let cells = [vec!["4"; 250], vec!["seven"], vec!["5"; 250], vec!["?x"]].concat();
        let said = |cells: &[&str]| understood(cells).unwrap_err().to_string();
        let line = "x, row 251, column 2 (b): expected a number, as in 500 other rows, found \"seven\" (and \"?x\" in row 502)";
        assert_eq!(said(&cells), line);
        let cells = ["2024-01-01", "2024-01-02", "soon"];
        let line =
            "x, row 3, column 2 (b): expected a date such as 2026-11-22, as in 2 other rows, found \"soon\"";
        assert_eq!(said(&cells), line);
        assert_eq!(said(&["1", "inf"]), "x, row 2, column 2 (b): expected a finite number, found \"inf\"");
    }

    #[test]
    fn text_that_is_no_category_is_told() {
        let names: Vec<String> = (0..40).map(|row| format!("name {row}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(understood(&names).unwrap().1.different, ["b"]);
        assert_eq!(understood(&names[..19]).unwrap().1, TextNotes::default());
        let number = understood(&["$1,200", "$7", "n/a"]).unwrap().1.as_text.remove(0);
        assert_eq!((number.column.as_str(), number.cell.as_str()), ("b", "\"$1,200\""));
    }

    #[test]
    fn rows_to_predict_are_like_those_of_training() {
        let numbers = understood(&["1", "2"]).unwrap().0;
        let said =
            |cells: &[&str], training: &Table| table(cells).like(training).map_err(|error| error.to_string());
        assert_eq!(said(&["2", "1"], &numbers).unwrap(), understood(&["2", "1"]).unwrap().0);
        assert_eq!(said(&["true", "False"], &numbers).unwrap().values(), [0.0, 1.0, 1.0, 0.0]);
        assert!(said(&["2", "NA"], &numbers).unwrap().values()[3].is_nan());
        let line = "x, row 2, column 2 (b): expected a number, as in training, found \"x\"";
        assert_eq!(said(&["1", "x"], &numbers).unwrap_err(), line);
        let categories = understood(&["01", "x"]).unwrap().0;
        assert_eq!(said(&["01", "1"], &categories).unwrap(), table(&["01", "1"]));
        let times = understood(&["1970-01-02", "1970-01-02T12:30"]).unwrap().0;
        assert_eq!(said(&["1970-01-03"], &times).unwrap().values(), [0.0, 2.0, 1.0, 5.0, 0.0]);
    }
}
