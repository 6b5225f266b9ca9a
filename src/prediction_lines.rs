//! Predictions as lines of text: a table, or one object per line. Everything common to all rows is computed
//! once, and no row allocates memory, since there may be millions of rows.

use std::io::Write;

use serde_json::Value;

use crate::model::Model;
use crate::printable::printable_json;
use crate::step::Loss;
use crate::train::Predictions;

/// Output format of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Form {
    /// A table with a header.
    Csv,
    /// One object a line.
    Json,
}

/// Formats predictions of one model.
pub struct Lines {
    form: Form,
    loss: Loss,
    /// Name of each class, as a cell or as JSON.
    classes: Vec<Vec<u8>>,
    /// Name of each label of 0 or 1, in the order of `numbers`.
    labels: Vec<Vec<u8>>,
    /// Numbers of a row in output order: index among the outputs, and name as a cell, or as a key of JSON.
    numbers: Vec<(usize, Vec<u8>)>,
}

impl Lines {
    /// Creates the formatter for a model.
    pub fn new(form: Form, model: &Model) -> Self {
        let loss = model.network.loss();
        let of_classes = loss.of_classes();
        let classes = model.data_schema.classes.names();
        let names = if of_classes { classes.to_vec() } else { model.data_schema.value_names(&model.network) };
        let mut numbers: Vec<(usize, String)> = names.into_iter().enumerate().collect();
        let shown = match form {
            Form::Csv => cell,
            Form::Json => {
                // Keys of objects are sorted.
                numbers.sort_by(|a, b| a.1.cmp(&b.1));
                json
            }
        };
        let heading =
            |name: String| if loss.classifies() && form == Form::Csv { format!("p({name})") } else { name };
        let labels = numbers.iter().filter(|_| loss.of_labels()).map(|(_, name)| shown(name)).collect();
        Self {
            form,
            loss,
            labels,
            classes: classes.iter().map(|name| shown(name)).collect(),
            numbers: numbers.into_iter().map(|(place, name)| (place, shown(&heading(name)))).collect(),
        }
    }

    /// Returns the header of a table, or `None` for objects: `id` is the copied column.
    pub fn header(&self, names_files: bool, id: Option<&str>) -> Option<Vec<u8>> {
        let fixed = names_files.then(|| b"file".to_vec()).into_iter().chain(id.map(cell));
        let class = self.loss.of_classes().then(|| b"class".to_vec()).into_iter().chain(self.labels.clone());
        let cells: Vec<Vec<u8>> =
            fixed.chain(class).chain(self.numbers.iter().map(|(_, name)| name.clone())).collect();
        (self.form == Form::Csv).then(|| cells.join(&b',')).map(|line| [&line, &b"\n"[..]].concat())
    }

    /// Appends a line for each row: with this file, if it is named, and these copied cells, if there are any.
    pub fn append(&self, file: Option<&str>, predictions: &Predictions, ids: &[String], out: &mut Vec<u8>) {
        let Predictions { classes, probabilities, values } = predictions;
        let width = self.numbers.len().max(1);
        let rows = if self.loss.of_classes() {
            classes.len()
        } else {
            probabilities.len().max(values.len()) / width
        };
        let front = match (file, self.form) {
            (None, _) => Vec::new(),
            (Some(file), Form::Csv) => [&cell(file)[..], b","].concat(),
            (Some(file), Form::Json) => [b"\"file\":", &json(file)[..], b","].concat(),
        };
        for row in 0..rows {
            let class = self.loss.of_classes().then(|| &self.classes[classes[row] as usize][..]);
            let numbers = row * width..(row + 1) * width;
            let labels = if self.loss.of_labels() { &classes[numbers.clone()] } else { &[] };
            match self.form {
                Form::Csv => {
                    out.extend_from_slice(&front);
                    if let Some(id) = ids.get(row) {
                        append_cell(id, out);
                        out.push(b',');
                    }
                    match class {
                        _ if !labels.is_empty() => {
                            labels.iter().for_each(|label| append_shown(format_args!("{label},"), out));
                            for (place, probability) in probabilities[numbers].iter().enumerate() {
                                if place > 0 {
                                    out.push(b',');
                                }
                                append_share(*probability, out);
                            }
                        }
                        Some(class) => {
                            out.extend_from_slice(class);
                            for probability in &probabilities[numbers] {
                                out.push(b',');
                                append_share(*probability, out);
                            }
                        }
                        None => {
                            for (place, value) in values[numbers].iter().enumerate() {
                                if place > 0 {
                                    out.push(b',');
                                }
                                append_shown(value, out);
                            }
                        }
                    }
                }
                Form::Json => {
                    out.push(b'{');
                    out.extend_from_slice(&front);
                    if let Some(id) = ids.get(row) {
                        out.extend_from_slice(b"\"id\":");
                        out.extend(json(id));
                        out.push(b',');
                    }
                    match class {
                        Some(class) => {
                            out.extend_from_slice(b"\"class\":");
                            out.extend_from_slice(class);
                            out.extend_from_slice(b",\"probabilities\":{");
                        }
                        None if !labels.is_empty() => {
                            for (written, (name, (place, _))) in
                                self.labels.iter().zip(&self.numbers).enumerate()
                            {
                                out.extend_from_slice(if written > 0 { b"," } else { b"\"labels\":{" });
                                out.extend_from_slice(name);
                                append_shown(format_args!(":{}", labels[*place]), out);
                            }
                            out.extend_from_slice(b"},\"probabilities\":{");
                        }
                        None => out.extend_from_slice(b"\"values\":{"),
                    }
                    for (written, (place, name)) in self.numbers.iter().enumerate() {
                        if written > 0 {
                            out.push(b',');
                        }
                        out.extend_from_slice(name);
                        out.push(b':');
                        let place = numbers.start + place;
                        let is_share = self.loss.classifies();
                        let number = if is_share { probabilities[place] } else { f64::from(values[place]) };
                        // Writing into memory does not fail.
                        let _ = serde_json::to_writer(&mut *out, &number);
                    }
                    out.extend_from_slice(b"}}");
                }
            }
            out.push(b'\n');
        }
    }
}

/// Returns a text as JSON, with all characters printable.
fn json(text: &str) -> Vec<u8> {
    printable_json(&Value::from(text).to_string()).into_bytes()
}

/// Returns a text as a cell of a table, quoted if necessary.
fn cell(text: &str) -> Vec<u8> {
    let mut cell = Vec::new();
    append_cell(text, &mut cell);
    cell
}

fn append_cell(text: &str, out: &mut Vec<u8>) {
    if text.bytes().any(|byte| b",\"\r\n".contains(&byte)) {
        out.extend_from_slice(format!("\"{}\"", text.replace('"', "\"\"")).as_bytes());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

fn append_shown(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    // Writing into memory does not fail.
    let _ = write!(out, "{number}");
}

/// Appends a number from 0 to 1 with six decimals, rounded as by the standard library.
fn append_share(share: f64, out: &mut Vec<u8>) {
    const MILLION: u32 = 1_000_000;
    let millionths = share * f64::from(MILLION);
    let whole = millionths.round();
    // Near the middle between two decimals, the product may have been rounded to the other side.
    let is_clear = (millionths - whole).abs() < 0.499_999;
    if !(is_clear && (0.0..=f64::from(MILLION)).contains(&whole)) {
        let _ = write!(out, "{share:.6}");
        return;
    }
    let mut rest = whole as u32;
    let mut digits = *b"0.000000";
    for digit in digits[2..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits[0] = b'0' + rest as u8;
    out.extend_from_slice(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_what_the_standard_library_writes() {
        let mut check = |share: f64| {
            let mut text = Vec::new();
            append_share(share, &mut text);
            assert_eq!(str::from_utf8(&text).unwrap(), format!("{share:.6}"), "{share:e}");
        };
        for number in 0..=20_000u32 {
            check(f64::from(number) / 20_000.0);
            check(f64::from(number) * 1e-9);
            // The middle between two decimals, and its neighbours.
            let middle = (f64::from(number * 37) + 0.5) * 1e-6;
            [middle, middle.next_up(), middle.next_down()].into_iter().for_each(&mut check);
        }
        for share in [0.0, 1.0, 1f64.next_down(), 0.999_999_5, 5e-7, 1e-300, 1.0 + 1e-9] {
            check(share);
        }
    }

    #[test]
    fn cells_are_quoted_as_the_csv_crate_quotes_them() {
        for text in ["plain", "two words", "a,b", "a\"b", "line\nend", "\r", "ä;|", "'", "-1", "#x"] {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record([text, "x"]).unwrap();
            let expected = writer.into_inner().unwrap();
            assert_eq!([&cell(text)[..], b",x\n"].concat(), expected, "{text}");
        }
    }
}
