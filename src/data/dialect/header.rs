//! Whether the first row of a table is a header.

use std::collections::BTreeSet;

use super::{Dialect, Kind, Sample};
use crate::data::excerpt::quote;

impl Sample {
    /// Whether the first row is a header, found by comparing it with the other rows; an error describes a doubt.
    ///
    /// A word above a column of numbers is a name. So are the numbers 0, 1, 2, ... above columns of other numbers, as
    /// some programs write them. Empty cells and markers of missing values are ignored.
    pub(crate) fn has_header(&self, dialect: &Dialect) -> Result<bool, String> {
        let Some(first) = self.rows.first() else { return Ok(false) };
        if self.counts_columns() {
            return Ok(true);
        }
        let cells: Vec<Kind> = first.iter().map(|cell| dialect.kind(cell)).collect();
        let (mut words, mut names, mut fitting, mut odd, mut repeated) = (0, 0, 0, 0, 0);
        let mut named = 0;
        for (column, cell) in cells.iter().enumerate() {
            let below = self.column(dialect, column);
            let numbers: Vec<f64> = below.iter().filter_map(|kind| kind.number()).collect();
            let texts = below.iter().filter(|kind| **kind == Kind::Text).count();
            let is_numeric = !numbers.is_empty() && numbers.len() >= 9 * texts;
            match cell {
                Kind::Missing => {}
                Kind::Text if is_numeric => {
                    words += 1;
                    named = column;
                }
                Kind::Text => {
                    names += 1;
                    let text = first[column].trim_ascii();
                    repeated += usize::from(
                        self.rows[1..]
                            .iter()
                            .any(|row| row.get(column).is_some_and(|cell| cell.trim_ascii() == text)),
                    );
                }
                Kind::Number(value) => {
                    let is_within =
                        || numbers.iter().any(|low| low <= value) && numbers.iter().any(|high| high >= value);
                    let fits = is_numeric && is_within();
                    *(if fits { &mut fitting } else { &mut odd }) += 1;
                }
            }
        }
        let (texts, numbers) = (words + names, fitting + odd);
        // Delimiters at the ends of the rows create empty columns.
        let is_used = |(column, _): &(usize, &[u8])| {
            cells[*column] != Kind::Missing
                || self.column(dialect, *column).iter().any(|kind| *kind != Kind::Missing)
        };
        let used = || first.iter().enumerate().filter(is_used).map(|(_, cell)| cell.trim_ascii());
        let distinct = used().collect::<BTreeSet<&[u8]>>().len() == used().count();
        if self.rows.len() < 2 {
            return Ok(texts > 0);
        }
        let alike = self.rows[1..].iter().filter(|row| row.len() == first.len()).count();
        if texts == 0 && alike < 2 {
            // Too few rows for a comparison.
            return Ok(false);
        }
        if texts == 0 {
            return self.counts(&cells, fitting, odd);
        }
        if words > 0 {
            return match numbers {
                0 => Ok(true),
                _ if distinct && fitting == 0 => Ok(true),
                _ => Err(format!(
                    "the first row holds {} above a column of numbers, but numbers in other columns: it may be a header or a damaged row",
                    quote(&first[named])
                )),
            };
        }
        // All words of the first row are above columns of words.
        if numbers > 0 {
            let is_like_no_row = fitting == 0 && repeated == 0 && distinct && alike > 2;
            return if is_like_no_row { Err(ambiguous_header()) } else { Ok(false) };
        }
        Ok(distinct && repeated == 0)
    }

    /// Whether the first row numbers the columns from 0, as pandas names unnamed columns. In a table of one or two
    /// columns, all rows below must also hold fractions.
    pub(crate) fn counts_columns(&self) -> bool {
        let Some((first, others)) = self.rows.split_first() else { return false };
        let is_number = |(column, cell): (usize, &[u8])| cell == column.to_string().as_bytes();
        let alike = || others.iter().filter(|row| row.len() == first.len());
        let is_fraction = |cell: &[u8]| cell.iter().any(|byte| b".,".contains(byte));
        first.iter().enumerate().all(is_number)
            && alike().next().is_some()
            && alike().all(|row| row != first)
            && (first.len() > 2 || alike().all(|row| row.iter().all(is_fraction)))
    }

    /// Whether a first row without words is a header.
    fn counts(&self, cells: &[Kind], fitting: usize, odd: usize) -> Result<bool, String> {
        let Some((start, step)) = progression(cells).filter(|_| fitting + odd > 2) else { return Ok(false) };
        if step != 1.0 {
            return if fitting == 0 && self.rows.len() > 3 { Err(ambiguous_header()) } else { Ok(false) };
        }
        let is_repeated = || self.rows[1..].iter().any(|row| row == &self.rows[0]);
        match (start == 0.0, fitting) {
            (true, 0) => Ok(true),
            (true, _) if odd > 0 && fitting + odd > 4 => Ok(true),
            (_, 0) => Err(ambiguous_header()),
            (_, _) if odd > 0 && start != 0.0 || is_repeated() => Ok(false),
            _ => Err(ambiguous_header()),
        }
    }
}

fn ambiguous_header() -> String {
    "the numbers of the first row differ from those below, or count up: it may be a header or a row of values"
        .to_owned()
}

/// The first number and the step of an arithmetic progression, if all cells are its numbers or missing.
fn progression(cells: &[Kind]) -> Option<(f64, f64)> {
    let numbers: Vec<f64> = cells.iter().filter_map(|kind| kind.number()).collect();
    let (start, step) = (*numbers.first()?, numbers.get(1)? - numbers[0]);
    let is_even = |pair: &[f64]| (pair[1] - pair[0] - step).abs() <= 1e-9 * pair[1].abs();
    (step > 0.0 && numbers.windows(2).all(is_even)).then_some((start, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Format;

    fn header(text: &str) -> Result<bool, String> {
        let (dialect, sample) = Dialect::detect(text.as_bytes(), true, &Format::default());
        sample.has_header(&dialect)
    }

    #[test]
    fn a_header_is_told_from_a_row() {
        for (text, expected) in [
            ("a,b,class\n1,2,x\n3,4,y\n", true),
            ("a,b,class\n1,?,x\n3,4,y\n", true),
            (",a,b\n0,1,2\n1,3,4\n", true),
            ("a,b,,\nx,y,,\nz,y,,\n", true),
            ("5.1,3.5,setosa\n4.9,3.0,setosa\n5.0,3.1,other\n", false),
            ("?,3.5,1\n4.9,3.0,0\n5.0,3.6,1\n", false),
            ("5,3.5,?\n4.9,3.0,0\n5.0,3.6,1\n", false),
            ("0,1,2,3\n5.1,3.5,1.4,a\n4.9,3.0,1.4,b\n", true),
            ("1,2,3\n0,4,5\n", false),
            ("1,inf\n0,2\n3,4\n", false),
            ("5.0,3.6,b\n4.9,3.0,a\n5.0,3.6,b\n5.2,3.9,b\n", false),
            ("1,2,3\n0,4\n5\n", false),
            ("0,1,2,3,4\n5.1,3.5,1.4,0.2,0\n4.9,3.0,2.4,0.2,1\n6.0,2.0,1.5,0.1,2\n", true),
            (",0,1,2\n0,5.1,3.5,7\n1,4.9,3.0,8\n", true),
            ("5,0,0,255\n0,0,17,3\n4,1,2,9\n", false),
            ("0,1\n1,2\n", false),
            ("p,x,s\ne,x,s\np,b,t\n", false),
            ("kind,shape,edge\ne,x,s\np,b,t\n", true),
            ("id,2019,2020,class\n1,310,410,a\n2,330,450,b\n", true),
            ("id,2019,2020\n1,310,410\n2,330,450\n", true),
            ("a,b\n", true),
            ("1,2,3\n", false),
            ("1,2,3\n1,2,3\n1,3,3\n2,2,5\n", false),
            ("0,1,2\n0,1,5\n3,0,1\n4,3,4\n", true),
            ("0,1,2\n0,1,2\n3,0,1\n4,3,4\n", false),
            ("0,1,2\n5,7,8\n", true),
            ("0,1\n0.5,1.5\n", true),
        ] {
            assert_eq!(header(text), Ok(expected), "{text}");
        }
        for text in [
            "5.1x,3.5,1\n4.9,3.0,0\n5.0,3.6,1\n",
            "1,2,3\n10,20,30\n40,50,60\n",
            "2018,2019,class\n5,6,a\n7,8,b\n6,5,a\n",
            "400,410.5,420,species\n5,6,7,a\n7,8,6,b\n6,5,7,a\n",
            "10,20,30,40\n1,2,3,0\n4,2,1,1\n2,3,4,1\n",
        ] {
            assert!(header(text).is_err(), "{text}");
        }
    }
}
