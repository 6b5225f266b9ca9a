//! Ambiguous decimal marks: if the first rows do not decide, an error asks the user.

use super::{Dialect, Sample};
use crate::data::excerpt::quote;

impl Sample {
    /// The question about the decimal mark, if the first rows do not decide on it.
    pub(crate) fn question_of_decimals(&self, dialect: &Dialect) -> Option<String> {
        if dialect.numbers.grouped {
            return None;
        }
        let are_thousands = |number| format!("is {number} a fraction, or are these thousands?");
        let are_two = |number| format!("is {number} a fraction, or are these two numbers?");
        let thousands = self.ambiguous_number(dialect.delimiter).map(are_thousands);
        thousands.or_else(|| self.ambiguous_fraction(dialect).map(are_two))
    }

    /// A number that may be thousands or a fraction: all numbers of its column with a mark have three digits after it.
    /// Numbers with a point are ambiguous only if the delimiter is a semicolon, as is usual with decimal commas.
    fn ambiguous_number(&self, delimiter: u8) -> Option<String> {
        let marks: &[u8] = match delimiter {
            b';' => b",.",
            _ => b",",
        };
        let is_number =
            |cell: &[u8]| !cell.is_empty() && cell.iter().all(|byte| b"-.,0123456789".contains(byte));
        marks.iter().find_map(|mark| {
            (0..self.width()).find_map(|column| {
                let cells = || self.rows.iter().filter_map(|row| row.get(column)).map(<[u8]>::trim_ascii);
                let with: Vec<&[u8]> =
                    cells().filter(|cell| is_number(cell) && cell.contains(mark)).collect();
                let is_doubtful = with.iter().all(|cell| may_be_thousands(cell, *mark));
                with.first().filter(|_| is_doubtful).map(|cell| quote(cell))
            })
        })
    }

    /// A number with a decimal comma between delimiting commas, if no such number can only be a fraction: the cells may
    /// be lists of two numbers.
    fn ambiguous_fraction(&self, dialect: &Dialect) -> Option<String> {
        if dialect.delimiter != b',' || dialect.numbers.point != b',' {
            return None;
        }
        let columns = (0..self.width()).filter_map(|column| self.numbers(column, dialect.numbers));
        let with: Vec<&[u8]> = columns.flatten().filter(|cell| cell.contains(&b',')).collect();
        let is_sure = |cell: &&[u8]| {
            let fraction = cell.split(|byte| *byte == b',').nth(1).unwrap_or_default();
            cell.starts_with(b"-") || cell.starts_with(b"0") || fraction.starts_with(b"0")
        };
        with.first().filter(|_| !with.iter().any(is_sure)).map(|cell| quote(cell))
    }
}

/// Whether a number has one mark, followed by three digits and preceded by one to three, the first of them not 0: it
/// may be thousands or a fraction.
fn may_be_thousands(cell: &[u8], mark: u8) -> bool {
    let cell = cell.strip_prefix(b"-").unwrap_or(cell);
    let Some(at) = cell.iter().position(|byte| *byte == mark) else { return false };
    let (whole, rest) = (&cell[..at], &cell[at + 1..]);
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    (1..=3).contains(&whole.len()) && whole[0] != b'0' && rest.len() == 3 && digits(whole) && digits(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dialect::Format;

    #[test]
    fn thousands_are_told_from_fractions_or_asked_about() {
        let doubt = |text: &str| {
            let (dialect, sample) = Dialect::detect(text.as_bytes(), true, &Format::default());
            sample.ambiguous_number(dialect.delimiter).filter(|_| !dialect.numbers.grouped)
        };
        for text in [
            "a;b\n1,234;x\n999;y\n",
            "a\tb\n12,500\tx\n-7\ty\n",
            "a;b\n1.234;x\n999;y\n",
            "a,b\n\"1,234\",x\n\"5,678\",y\n",
            "a;b\n1,234;x\n5,678;y\n",
            "a\tb\n31,544\tx\n5,678\ty\n",
            "a;b\n31.544;x\n5.678;y\n",
        ] {
            assert!(doubt(text).is_some(), "{text}");
        }
        for text in [
            "a;b\n1,234;x\n0,999;y\n",
            "a;b\n1,234;x\n9,99;y\n",
            "a;b\n1,5;x\n999;y\n",
            "a,b\n1.234,x\n999,y\n",
            "a\tb\n1.234\tx\n999\ty\n",
            "a;b\n1,234;x\n0,678;y\n",
            "a;b\n1,234;x\n5,67;y\n",
            "a,b\n\"1,234,567\",x\n999,y\n",
            "a,b\n\"Smith, J\",x\n999,y\n",
        ] {
            assert_eq!(doubt(text), None, "{text}");
        }
    }

    #[test]
    fn lists_of_two_are_told_from_fractions_or_asked_about() {
        for (text, is_doubtful) in [
            ("a,b\n\"13,91\",x\n\"7,5\",y\n", true),
            ("a,b\n\"13,91\",x\n\"0,5\",y\n", false),
            ("a,b\n\"13,91\",x\n\"-7,5\",y\n", false),
            ("a,b\n\"13,91\",x\n\"7,05\",y\n", false),
            // The evidence of one column applies to others, too.
            ("a,b\n\"13,91\",\"0,5\"\n\"7,5\",2\n", false),
            ("a;b\n13,91;x\n7,5;y\n", false),
            ("a,b\n\"13,91\",2.5\n\"7,5\",3\n", false),
        ] {
            let (dialect, sample) = Dialect::detect(text.as_bytes(), true, &Format::default());
            assert_eq!(sample.ambiguous_fraction(&dialect).is_some(), is_doubtful, "{text}");
        }
    }
}
