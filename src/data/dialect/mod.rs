//! The dialect of a table: its delimiter, the notation of its numbers, and whether its first row is a header.
//!
//! The dialect is detected in the first rows. An ambiguous dialect is an error, which settings resolve.

pub(crate) mod ambiguous;
pub(crate) mod header;
pub(crate) mod notation;
pub(crate) mod number;

use ::csv::{ByteRecord, ReaderBuilder};

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use self::notation::{Notation, grouped};
use self::number::is_missing;
use crate::data::reading::blanks::squeezed;
use crate::data::reading::records::without_padding;

/// Candidate delimiters.
const DELIMITERS: [u8; 5] = [b',', b'\t', b';', b'|', b' '];

/// Maximum number of rows in a sample.
pub(crate) const SAMPLE_ROWS: usize = 100;

/// Maximum number of bytes in a sample.
const SAMPLE_BYTES: usize = 1 << 22;

/// Maximum number of cells in a sample; it has two rows in any case.
const SAMPLE_CELLS: usize = 1 << 18;

/// The format of a table as given by the user; properties not given are detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// Whether the first row holds the names of the columns.
    pub header: Option<bool>,
    /// The byte between two cells.
    pub delimiter: Option<u8>,
    /// The decimal mark: a point or a comma.
    pub decimal: Option<u8>,
    /// Maximum number of bytes per row, at most 1 GiB. The maximum number of columns is a sixteenth of it.
    pub row_limit: usize,
    /// Markers of missing values, in addition to the usual ones.
    pub missing: Vec<String>,
    /// Whether these markers replace the usual ones; empty cells are always missing.
    pub replaces_missing: bool,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            header: None,
            delimiter: None,
            decimal: None,
            row_limit: 16 << 20,
            missing: Vec::new(),
            replaces_missing: false,
        }
    }
}

/// The dialect of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub delimiter: u8,
    pub numbers: Notation,
    /// Markers of missing values, in addition to the usual ones.
    pub missing: Arc<[String]>,
    /// Whether these markers replace the usual ones; empty cells are always missing.
    pub replaces_missing: bool,
}

/// The first rows of a table.
pub(crate) struct Sample {
    pub rows: Vec<ByteRecord>,
}

/// An additional cell of the rows, which the header lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extra {
    /// The first cell, a name of the row, as written by R.
    RowNames,
    /// The last cell, which is empty: each row ends with a delimiter.
    TrailingDelimiter,
}

/// The kind of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Empty, a word for a missing value, or an infinity.
    Missing,
    /// A finite number.
    Number(f64),
    /// Anything else.
    Text,
}

impl Dialect {
    /// Whether a row is a line of blanks, which counts as an empty line.
    fn is_blank_line(row: &ByteRecord, delimiter: u8) -> bool {
        (row.len() == 1 && !row[0].is_empty() || delimiter.is_ascii_whitespace())
            && row.as_slice().trim_ascii().is_empty()
    }

    /// Whether a cell is empty or a marker of a missing value.
    pub(crate) fn is_missing(&self, cell: &[u8]) -> bool {
        let is_usual = || if self.replaces_missing { cell.trim_ascii().is_empty() } else { is_missing(cell) };
        is_usual() || self.is_said_missing(cell)
    }

    /// Whether a cell is a marker of missing values given by the user.
    pub(crate) fn is_said_missing(&self, cell: &[u8]) -> bool {
        self.missing.iter().any(|marker| marker.as_bytes() == cell.trim_ascii())
    }

    /// The kind of a cell.
    pub(crate) fn kind(&self, cell: &[u8]) -> Kind {
        if self.is_missing(cell) {
            return Kind::Missing;
        }
        match self.number(cell) {
            Some(value) if value.is_finite() => Kind::Number(value),
            Some(_) => Kind::Missing,
            None => Kind::Text,
        }
    }

    /// Parses a cell as a number, possibly infinite or NaN.
    pub(crate) fn number(&self, cell: &[u8]) -> Option<f64> {
        let text = str::from_utf8(cell.trim_ascii()).unwrap_or_default();
        self.numbers.plain(text).parse().ok()
    }

    /// Detects the dialect from the first bytes of a table, and splits them into rows. `is_whole` is true if they are
    /// the whole table, so that the last row is complete.
    pub(crate) fn detect(bytes: &[u8], is_whole: bool, format: &Format) -> (Self, Sample) {
        let missing: Arc<[String]> = format.missing.iter().map(|text| text.trim_ascii().to_owned()).collect();
        let delimiters = format.delimiter.map_or(DELIMITERS.to_vec(), |delimiter| vec![delimiter]);
        let mut readings: Vec<(f64, Self, Sample)> = delimiters
            .iter()
            .map(|delimiter| {
                let sample = Sample::new(bytes, is_whole, *delimiter);
                let numbers = sample.notation(*delimiter, format.decimal);
                let missing = Arc::clone(&missing);
                let replaces_missing = format.replaces_missing;
                let dialect = Self { delimiter: *delimiter, numbers, missing, replaces_missing };
                (sample.quality(&dialect), dialect, sample)
            })
            .collect();
        if let [others @ .., (quality, dialect, sample)] = &mut readings[..]
            && format.delimiter.is_none()
            && dialect.delimiter == b' '
        {
            // Text contains blanks, too; and tabs may align columns as blanks do.
            let has_marks =
                others.iter().any(|(quality, other, _)| *quality > 0.0 && other.delimiter != b'\t');
            if has_marks || !sample.is_aligned() {
                *quality = 0.0;
            }
        }
        // The first of equally good readings: a table of one column has no delimiter.
        let better = |best: usize, next: usize| if readings[next].0 > readings[best].0 { next } else { best };
        let best = (0..readings.len()).reduce(better).unwrap_or(0);
        let explains = |(_, dialect, sample): &(f64, Self, Sample)| {
            readings[best].1.delimiter == b',' && sample.explains_commas(dialect, &readings[best].2)
        };
        let best = readings.iter().position(explains).unwrap_or(best);
        let (_, dialect, sample) = readings.swap_remove(best);
        (dialect, sample)
    }
}

impl Sample {
    fn new(bytes: &[u8], is_whole: bool, delimiter: u8) -> Self {
        let (bytes, is_whole) = match bytes.get(..SAMPLE_BYTES) {
            Some(start) => (start, false),
            None => (bytes, is_whole),
        };
        let bytes = match delimiter {
            b' ' => Cow::Owned(squeezed(bytes)),
            _ => without_padding(bytes, delimiter),
        };
        let mut reader =
            ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(&*bytes);
        let (mut rows, mut cells) = (Vec::new(), 0);
        let mut record = ByteRecord::new();
        // One row more than needed, because the last row may be incomplete.
        while rows.len() <= SAMPLE_ROWS
            && (rows.len() < 3 || cells < SAMPLE_CELLS)
            && reader.read_byte_record(&mut record).unwrap_or(false)
        {
            if Dialect::is_blank_line(&record, delimiter) {
                continue;
            }
            cells += record.len();
            rows.push(record.clone());
        }
        if rows.len() > SAMPLE_ROWS || !is_whole && rows.len() > 1 {
            rows.pop();
        }
        Self { rows }
    }

    /// The notation of the numbers; `said` is the given decimal mark, if any.
    fn notation(&self, delimiter: u8, said: Option<u8>) -> Notation {
        let is_grouped = |point: u8| {
            (0..self.width())
                .any(|column| self.is_grouped(column, Notation { point, grouped: true }, said.is_some()))
        };
        match said {
            Some(point) => Notation { point, grouped: is_grouped(point) },
            None => match [is_grouped(b'.'), is_grouped(b',')] {
                [true, false] => Notation { point: b'.', grouped: true },
                [false, true] => Notation { point: b',', grouped: true },
                _ => Notation { point: self.decimal(delimiter), grouped: false },
            },
        }
    }

    /// Whether all cells of a column, except the first, are numbers in this notation, and at least one is certainly
    /// written in groups of digits: a number with a fraction, or a number with several marks in a column of numbers of
    /// different lengths. If the decimal mark was given, the other mark certainly separates groups.
    fn is_grouped(&self, column: usize, notation: Notation, is_said: bool) -> bool {
        let Some(cells) = self.numbers(column, notation) else { return false };
        let differ = cells.windows(2).any(|pair| pair[0].len() != pair[1].len());
        let is_sure = |cell: &&[u8]| {
            grouped(cell, notation.point)
                .is_some_and(|number| is_said || number.is_sure && (differ || cell.contains(&notation.point)))
        };
        cells.iter().any(is_sure)
    }

    /// The cells of a column, except the first and missing ones, if all of them are numbers in this notation.
    pub(crate) fn numbers(&self, column: usize, notation: Notation) -> Option<Vec<&[u8]>> {
        let cells = self.rows.iter().skip(1).filter_map(|row| row.get(column)).map(<[u8]>::trim_ascii);
        let cells: Vec<&[u8]> = cells.filter(|cell| !is_missing(cell)).collect();
        let is_number =
            |cell: &&[u8]| str::from_utf8(cell).is_ok_and(|text| notation.plain(text).parse::<f64>().is_ok());
        cells.iter().all(is_number).then_some(cells)
    }

    /// Whether all rows have the same length, and the decimal commas in their numbers are exactly the commas that the
    /// other reading takes for delimiters.
    fn explains_commas(&self, dialect: &Dialect, other: &Sample) -> bool {
        let Some(width) = self.rows.first().map(ByteRecord::len).filter(|width| *width > 1) else {
            return false;
        };
        let decimals = |row: &ByteRecord| {
            let is_decimal =
                |cell: &&[u8]| cell.contains(&b',') && matches!(dialect.kind(cell), Kind::Number(_));
            row.iter().filter(is_decimal).count()
        };
        dialect.numbers.point == b','
            && self.rows.len() == other.rows.len()
            && self.rows.iter().all(|row| row.len() == width)
            && self.rows.iter().zip(&other.rows).all(|(row, other)| decimals(row) + 1 == other.len())
    }

    /// Returns a comma if some numbers have a decimal comma and none has a decimal point, and otherwise a point. If the
    /// delimiter is a comma, only columns that consist of numbers with decimal commas count.
    fn decimal(&self, delimiter: u8) -> u8 {
        let cells = || self.rows.iter().flatten().map(<[u8]>::trim_ascii);
        let written_with = |mark: u8| {
            move |cell: &[u8]| {
                let parts: Vec<&[u8]> = cell.split(|byte| *byte == mark).collect();
                let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
                let whole = parts[0].strip_prefix(b"-").unwrap_or(parts[0]);
                parts.len() == 2 && !parts[1].is_empty() && digits(whole) && digits(parts[1])
            }
        };
        let columns = (0..self.width())
            .filter_map(|column| self.numbers(column, Notation { point: b',', grouped: false }));
        let commas = match delimiter {
            b',' => columns.flatten().any(|cell| cell.contains(&b',')),
            _ => cells().any(written_with(b',')),
        };
        let points = cells().any(written_with(b'.'));
        if commas && !points { b',' } else { b'.' }
    }

    /// The number of cells of the longest row.
    pub(crate) fn width(&self) -> usize {
        self.rows.iter().map(ByteRecord::len).max().unwrap_or(0)
    }

    /// The additional cell of all rows after the first, if the first holds only names: an empty last cell, or a first
    /// cell with a unique name of the row.
    pub(crate) fn extra_cell(&self, dialect: &Dialect) -> Option<Extra> {
        let (first, others) = self.rows.split_first()?;
        if first.iter().any(|cell| dialect.kind(cell) != Kind::Text) {
            return None;
        }
        if others.is_empty() || others.iter().any(|row| row.len() != first.len() + 1) {
            return None;
        }
        let cells = |column: usize| others.iter().map(move |row| row[column].trim_ascii());
        if cells(first.len()).all(<[u8]>::is_empty) {
            return Some(Extra::TrailingDelimiter);
        }
        let names: HashSet<&[u8]> = cells(0).collect();
        (names.len() == others.len() && !names.contains(&b""[..])).then_some(Extra::RowNames)
    }

    /// The number of cells of most rows, if it is above one and the first row has a single cell: a title.
    pub(crate) fn width_below_title(&self) -> Option<usize> {
        let (first, others) = self.rows.split_first()?;
        let (width, count) = usual_width(others)?;
        (first.len() == 1 && width > 1 && 2 * count > others.len()).then_some(width)
    }

    /// Whether the rows have the same length; the first may be one cell shorter, as headers above rows with names are.
    /// Below a single name, cells with a blank are times or text.
    fn is_aligned(&self) -> bool {
        let Some(width) = self.rows.get(1).map(ByteRecord::len) else { return false };
        let first = self.rows[0].len();
        (first == width || first > 1 && first + 1 == width)
            && self.rows[1..].iter().all(|row| row.len() == width)
    }

    /// A score of the rows as a table, from the share of rows of the usual length and the share of cells that are
    /// numbers.
    fn quality(&self, dialect: &Dialect) -> f64 {
        let Some((_, count)) = usual_width(&self.rows).filter(|(width, _)| *width > 1) else { return 0.0 };
        let cells = || self.rows.iter().skip(1).flatten();
        let numbers = cells().filter(|cell| matches!(dialect.kind(cell), Kind::Number(_))).count();
        let share = numbers as f64 / cells().count().max(1) as f64;
        count as f64 / self.rows.len() as f64 * (0.5 + share)
    }

    /// The kinds of the cells of a column, in the rows after the first that have its length.
    pub(crate) fn column(&self, dialect: &Dialect, column: usize) -> Vec<Kind> {
        let width = self.rows.first().map_or(0, ByteRecord::len);
        let rows = self.rows.iter().skip(1).filter(|row| row.len() == width);
        rows.filter_map(|row| row.get(column)).map(|cell| dialect.kind(cell)).collect()
    }
}

/// The most frequent number of cells per row, and the number of rows with it.
fn usual_width(rows: &[ByteRecord]) -> Option<(usize, usize)> {
    let count = |width: usize| rows.iter().filter(|row| row.len() == width).count();
    rows.iter().map(|row| (row.len(), count(row.len()))).max_by_key(|(_, count)| *count)
}

impl Kind {
    /// The number, if it is one.
    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Kind::Number(value) => Some(value),
            Kind::Missing | Kind::Text => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_and_decimals_are_found() {
        for (text, delimiter, decimal) in [
            ("a,b\n1.5,2\n", b',', b'.'),
            ("a;b\n1.5;2\n", b';', b'.'),
            ("a;b;c\n1,5;2,5;x\n3,5;4,5;y\n", b';', b','),
            ("1,5;2,5;0\n3,5;4,5;1\n", b';', b','),
            ("a\tb\n1,5\t2\n", b'\t', b','),
            ("a|b\n1|2\n", b'|', b'.'),
            ("text,b\n\"x;y\",2\n\"z;w\",3\n", b',', b'.'),
            ("a;b\n1,234.5;2\n", b';', b'.'),
            ("a\n1\n", b',', b'.'),
            // One column of decimal commas, and text: at the end, at the start, and next to quoted commas.
            ("a;b;c\nx;y;1,5\nz;w;2,5\n", b';', b','),
            ("a;b;c\n1,5;x;y\n2,5;z;w\n", b';', b','),
            ("x;y;1,5\nz;w;2,5\n", b';', b','),
            ("a;b;c\n\"x, x\";y;1,5\n\"z, z\";w;2,5\n", b';', b','),
            ("a,b\nx;y,1\nz;w,2\n", b',', b'.'),
            // Thousands that are certain.
            ("a;b\n1.234,5;x\n999;y\n", b';', b','),
            ("a;b\n1.234.567;x\n12.345.678;y\n", b';', b','),
            ("a,b\n\"1,234.5\",x\n999,y\n", b',', b'.'),
            ("a,b\n\"1,234,567\",x\n999,y\n", b',', b'.'),
            // Decimal commas between commas.
            ("a,b\n\"1,5\",x\n\"-0,25\",y\n", b',', b','),
            ("a,b\n\"1,5\",x\n3,y\n,z\n", b',', b','),
            ("a,b\n\"1,5\",2.5\n\"3,5\",4.5\n", b',', b'.'),
            ("a,b\n\"1,5\",x\n\"3,4,5\",y\n", b',', b'.'),
            ("a,b\n\"1,5\",x\nnone of them,y\n", b',', b'.'),
        ] {
            let (dialect, _) = Dialect::detect(text.as_bytes(), true, &Format::default());
            assert_eq!((dialect.delimiter, dialect.numbers.point), (delimiter, decimal), "{text}");
        }
        let said = Format { delimiter: Some(b'x'), decimal: Some(b','), ..Format::default() };
        let (dialect, sample) = Dialect::detect(b"1,5x2\n3x4", true, &said);
        assert_eq!(dialect.kind(&sample.rows[0][0]), Kind::Number(1.5));
        assert_eq!(dialect.kind(b"1.5"), Kind::Text);
        assert_eq!(Dialect::detect(b"1,5x2\n3x", false, &said).1.rows.len(), 1);
    }
}
