//! `tinytrain inspect`.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::data::{
    Column, ColumnSummary, Contents, Format as Written, ImageForm, ReadOptions, Reader, Scaling, Schema,
    Target, data_paths,
};
use crate::error::Error;
use crate::settings::text::text_of;
use crate::settings::{HELD_OUT, TABLES, TrainSettings};
use clap::Args;
use serde_json::{Value, json};

use super::args::Format;
use super::data_text::{
    as_text, date_line, identifier_line, images_of, left_out, mixed_column_lines, odd_labels, transpose_line,
    zero_date_line,
};
use super::inspect_model::{model_fields, model_text};
use super::model_choice::ModelChoice;
use super::output::{note, print, print_lines, print_object, width_for_images, write};
use super::output_place::destination;
use super::table_options::{Columns, DialectOptions};
use super::training::only;
use super::{args, config_file};
use crate::report::text::{SHOWN, Table, column_name, counted, grouped, percent, quoted, shell_word, short};
use crate::report::{blocks, sheet};

/// Show what a table or a model contains.
///
/// For a table: its columns and their types, missing values, how frequent each class is, and the `tinytrain
/// train` command that spells out everything that was detected. For images: their size, how frequent each class
/// is, and, on a terminal or with --color always, their mean and some of them.
#[derive(Debug, Args)]
#[command(
    mut_args(only::<TrainSettings>(|heading, id| heading == Some(TABLES) || ["threads", "augment", "seed"].contains(&id))),
    after_help = "Examples:\n  tinytrain inspect table.csv --target price\n  tinytrain inspect --model model.safetensors"
)]
pub struct Options {
    /// Data: a CSV or NPZ table, a folder with MNIST's files or a train.csv, an IDX file, or a folder of images for
    /// each class.
    ///
    /// Files may be packed by gzip or zstd; `-` is a table on standard input. Several files are one table.
    #[arg(value_name = "DIR-or-FILE", required_unless_present = "model")]
    data: Vec<PathBuf>,
    /// Model file, or the folder of a run or sweep, instead of data.
    #[arg(long, value_name = "FILE-or-DIR", conflicts_with = "data")]
    model: Option<PathBuf>,
    #[command(flatten)]
    which: ModelChoice,
    /// Write a picture of 100 images, or with --augment of ten images and their distorted copies, as PNG.
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    picture: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Column that groups rows: rows of one group are held out together. Not an input.
    #[arg(long, help_heading = HELD_OUT, value_name = "COLUMN", value_parser = args::column, conflicts_with = "time",
          allow_hyphen_values = true)]
    group: Option<String>,
    /// Column with the time of each row: the latest rows are held out. Not an input.
    #[arg(long, help_heading = HELD_OUT, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    time: Option<String>,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    settings: TrainSettings,
}

/// Reads the data or the model and prints a description.
///
/// # Errors
/// Errors of the data or the model, and of the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(file) = &options.model {
        let (model, _) = options.which.load(file)?;
        return match options.format {
            Format::Json => Ok(print_object(&model_fields(&model))?),
            Format::Text => Ok(print_lines(&model_text(&model))?),
        };
    }
    let (source, _) = data_paths::training(&options.data)?;
    let picture = options.picture.as_deref().map(|path| destination("--picture", path)).transpose()?;
    data_paths::spare_data("--picture", options.picture.as_deref(), [Some(&source)])?;
    let task = options.columns.task(None)?;
    options.columns.check(None)?;
    let mut read = ReadOptions { threads: options.settings.threads, ..options.columns.read_options(task)? };
    (read.columns.group, read.columns.time) = (options.group.clone(), options.time.clone());
    read.read_all = true;
    let mut reader = match Reader::open(&source, &read) {
        Err(Error::Undecided { setting: "target", .. }) if source.can_be_read_again() => {
            read.columns.target = Target::Absent;
            Reader::open(&source, &read)?
        }
        opened => opened?,
    };
    let has_target = read.columns.target != Target::Absent;
    reader.read_to_end()?;
    let found = Inspection::from_reader(&reader);
    let form = reader.image().filter(|form| form.values() == reader.inputs());
    match options.format {
        Format::Json => print_object(&found.fields())?,
        Format::Text => {
            print_lines(&found.text(options))?;
            if let Some((form, columns)) = form.zip(width_for_images()) {
                let (images, count) = blocks(&reader.view(Scaling::AsIs), form, columns);
                let count = counted(count as u64, "image", "images");
                print_lines(&[String::new(), format!("mean of all images, and {count}:")])?;
                print(images.as_bytes())?;
            }
        }
    }
    transpose_line(&source, read.images.transpose).iter().for_each(|line| note(line));
    if let Some(picture) = picture {
        let form = form.ok_or_else(|| Error::setting("picture", "images", "other rows"))?;
        let TrainSettings { augment, seed, .. } = &options.settings;
        let (rows, center) = (reader.view(Scaling::AsIs), reader.light_center().unwrap_or(0));
        write(&picture, &sheet(&rows, (form, center), augment.as_ref(), seed.unwrap_or(1))?)?;
    }
    // Reports the errors that training would report.
    if has_target {
        reader.check_classes()?;
    }
    if !reader.holds_images() {
        reader.check_standardised()?;
    }
    Ok(())
}

/// Properties detected in the data.
struct Inspection<'a> {
    reader: &'a Reader,
    columns: Vec<ColumnSummary>,
    /// Number of rows of each class.
    classes: Vec<u64>,
}

impl<'a> Inspection<'a> {
    fn from_reader(reader: &'a Reader) -> Self {
        let mut classes = vec![0; reader.classes().len()];
        reader.labels().iter().for_each(|label| classes[*label as usize] += 1);
        Self { reader, columns: reader.summaries(), classes }
    }

    fn targets(&self) -> Vec<&Column> {
        self.reader.schema().map_or_else(Vec::new, |schema| schema.targets().collect())
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let Self { reader, columns, classes } = self;
        let column = |summary: &ColumnSummary| {
            let mut object = json!({
                "name": summary.column.name,
                "position": summary.column.position,
                "missing": summary.missing,
                "distinct": summary.distinct,
            });
            match &summary.contents {
                Contents::Numbers { least, median, greatest } => {
                    object["type"] = "number".into();
                    object["least"] = (*least).into();
                    object["median"] = (*median).into();
                    object["greatest"] = (*greatest).into();
                    object["rounded"] = summary.is_rounded().into();
                }
                Contents::Categories(categories) => {
                    object["type"] = "categories".into();
                    let list = categories.iter().map(|(name, rows)| json!({ "name": name, "rows": rows }));
                    object["categories"] = list.collect();
                }
            }
            object
        };
        let left_out = reader.left_out().iter();
        let left_out = left_out.map(|column| json!({ "column": column.column, "why": column.why.name() }));
        let rows_of_classes = reader.classes().names().iter().zip(classes);
        vec![
            ("rows", reader.rows().into()),
            ("image", reader.image().map(sizes).into()),
            ("columns", columns.iter().map(column).collect()),
            ("left_out", left_out.collect()),
            ("task", self.task().into()),
            ("targets", self.targets().iter().map(|column| Value::from(column_name(column))).collect()),
            ("classes", rows_of_classes.map(|(name, rows)| json!({ "name": name, "rows": rows })).collect()),
        ]
    }

    fn task(&self) -> &'static str {
        match self.reader.values() {
            0 if self.targets().is_empty() && self.reader.schema().is_some() => "unknown",
            0 => "classification",
            _ if self.reader.has_labels() => "multi-label",
            _ => "regression",
        }
    }

    fn text(&self, options: &Options) -> Vec<String> {
        let reader = self.reader;
        let rows = counted(reader.rows() as u64, "row", "rows");
        let mut lines = match (reader.image(), self.columns.len()) {
            (Some(form), _) => vec![format!("{rows}, {}", images_of(form))],
            (None, 0) => vec![format!("{rows} of {} values", reader.inputs())],
            (None, columns) => {
                vec![format!("{rows}, {}", counted(columns as u64, "input column", "input columns"))]
            }
        };
        if reader.image().is_none() && !self.columns.is_empty() {
            lines.push(String::new());
            lines.extend(self.column_table());
            let rounded = self.columns.iter().filter(|summary| summary.is_rounded());
            let rounded: Vec<String> = rounded.map(|summary| column_name(&summary.column)).collect();
            if !rounded.is_empty() {
                let names = rounded.join(", ");
                lines.push(format!(
                    "numbers beyond 16,777,216 are rounded to 24 bits, as they are read: in {names}"
                ));
            }
        }
        lines.extend(identifier_line(reader.identifiers()));
        lines.extend(reader.schema().and_then(date_line));
        lines.extend(zero_date_line(reader.zero_dates()));
        lines.extend(left_out(reader.left_out()));
        lines.extend(as_text(reader.numbers_as_text()));
        lines.extend_from_slice(reader.table_notices());
        lines.extend(mixed_column_lines(reader.mixed_columns()));
        lines.extend(odd_labels(&reader.odd_labels()));
        lines.push(String::new());
        lines.extend(self.target_lines());
        if let Some(written) = reader.format().filter(|_| !self.targets().is_empty()) {
            let apart = [("group", &options.group), ("time", &options.time)];
            let apart = apart.iter().find_map(|(name, column)| Some((*name, column.as_ref()?)));
            let needs = apart.map_or_else(String::new, |(name, _)| {
                format!(" (--{name} needs rows to hold out: add --validation-fraction, --test-fraction or --folds)")
            });
            let mut command = self.command(&options.data, written) + &said(options, reader.values() > 0);
            if let Some((name, column)) = apart {
                command += &format!(" --{name}={}", quoted(OsStr::new(column)));
            }
            lines.extend([String::new(), format!("the same with all options spelled out{needs}:"), command]);
        }
        lines
    }

    fn column_table(&self) -> Vec<String> {
        let is_number = |summary: &ColumnSummary| matches!(summary.contents, Contents::Numbers { .. });
        let spans = self.columns.chunk_by(|before, column| {
            self.columns.len() > MOST_LINES
                && is_number(before)
                && is_number(column)
                && column.column.position == before.column.position + 1
        });
        let rows = spans.flat_map(|span| match span {
            [_, .., _] if span.len() >= LEAST_SPAN => vec![line_of_span(span)],
            _ => span.iter().map(line_of_column).collect(),
        });
        Table::new(&["column", "holds", ">missing", ">distinct", "values"], rows).lines()
    }

    fn target_lines(&self) -> Vec<String> {
        let names: Vec<String> = self.targets().iter().map(|column| column_name(column)).collect();
        if names.is_empty() && self.reader.schema().is_some() {
            return vec!["no target column was detected; use --target to name it".to_owned()];
        }
        if self.reader.values() > 0 {
            return vec![format!("values to predict: {}", names.join(", "))];
        }
        let target = names.first().map_or_else(|| "labels".to_owned(), |name| format!("target {name}"));
        let count = counted(self.classes.len() as u64, "class", "classes");
        let mut lines = vec![format!("{target}, {count}")];
        let all = self.reader.rows().max(1) as f64;
        let named = self.reader.classes().names().iter().zip(&self.classes).take(4 * SHOWN);
        let rows = named.map(|(name, rows)| vec![name.clone(), grouped(*rows), percent(*rows as f64 / all)]);
        lines.extend(Table::new(&["class", ">rows", ">share"], rows).lines());
        if self.classes.len() > 4 * SHOWN {
            lines.push(format!("... and {} more", grouped((self.classes.len() - 4 * SHOWN) as u64)));
        }
        lines
    }

    /// Returns the command that trains on the same data without any detection.
    fn command(&self, files: &[PathBuf], written: &Written) -> String {
        let word = |text: &str| quoted(OsStr::new(text));
        let byte = |byte: Option<u8>| match byte {
            Some(b'\t') => "tab".to_owned(),
            Some(b' ') => "space".to_owned(),
            Some(byte) => word(&char::from(byte).to_string()),
            None => String::new(),
        };
        let header = if written.header == Some(true) { "yes" } else { "no" };
        let mut command = format!(
            "tinytrain train --data {} --header {header} --delimiter {} --decimal {} --task {}",
            files.iter().map(|file| shell_word(file)).collect::<Vec<_>>().join(" "),
            byte(written.delimiter),
            byte(written.decimal),
            self.task()
        );
        let mut add = |option: &str, columns: &[&Column]| {
            // Names that begin like options would be parsed as options.
            let names = spans(columns).into_iter();
            let (odd, plain): (Vec<String>, Vec<String>) = names.partition(|name| name.starts_with('-'));
            if !plain.is_empty() {
                command += &format!(" {option}");
            }
            plain.iter().for_each(|name| command += &format!(" {}", word(name)));
            odd.iter().for_each(|name| command += &format!(" {option}={}", word(name)));
        };
        add("--target", &self.targets());
        let is_category = |summary: &&ColumnSummary| matches!(summary.contents, Contents::Categories(_));
        let categories: Vec<&Column> =
            self.columns.iter().filter(is_category).map(|summary| &summary.column).collect();
        let read = self.reader.schema().map(Schema::read_columns).unwrap_or_default();
        let mut read: Vec<&Column> = read.iter().collect();
        read.sort_by_key(|column| column.position);
        add("--include", &read);
        add("--categorical", &categories);
        if written.replaces_missing {
            command += &format!(" --missing-markers={}", word(&written.missing.join(",")));
        } else {
            written.missing.iter().for_each(|text| command += &format!(" --missing-marker={}", word(text)));
        }
        command
    }
}

/// Returns the sizes of an array of an image.
fn sizes(form: ImageForm) -> Value {
    let ImageForm { height, width, colour } = form;
    if colour { json!([height, width, 3]) } else { json!([height, width]) }
}

/// Formats the options for columns as on a command line.
fn said(options: &Options, predicts_values: bool) -> String {
    let mut columns = options.columns.clone();
    columns.written = DialectOptions::default();
    let given =
        [config_file::table(&columns), config_file::table(&options.settings)].into_iter().flatten().flatten();
    let other = if predicts_values { "fold-labels" } else { "scale-target" };
    let found_out = ["target", "task", "include", "exclude", "categorical", "threads", other];
    let said = given.filter(|(name, _)| !found_out.contains(&name.as_str()));
    said.map(|(name, value)| match value {
        toml::Value::Boolean(_) => format!(" --{name}"),
        value => format!(" --{name}={}", quoted(OsStr::new(&text_of(&value)))),
    })
    .collect()
}

/// Number of columns above which consecutive numeric columns share a line.
const MOST_LINES: usize = 60;

/// Number of consecutive columns from which a range is shorter than all names.
const LEAST_SPAN: usize = 10;

/// Returns names of columns, shortened to the first and last name for many consecutive columns.
fn spans(columns: &[&Column]) -> Vec<String> {
    let spans = columns.chunk_by(|before, column| column.position == before.position + 1);
    let names = spans.flat_map(|span| match span {
        [first, .., last] if span.len() >= LEAST_SPAN => {
            vec![format!("{}..{}", column_name(first), column_name(last))]
        }
        _ => span.iter().map(|column| column_name(column)).collect(),
    });
    names.collect()
}

/// Returns the line of a column in the table of columns.
fn line_of_column(summary: &ColumnSummary) -> Vec<String> {
    let (holds, values) = match &summary.contents {
        Contents::Numbers { least, median, greatest } => {
            ("numbers", format!("{} to {}, median {}", short(*least), short(*greatest), short(*median)))
        }
        Contents::Categories(categories) => ("categories", shares(categories)),
    };
    let [missing, distinct] = [summary.missing, summary.distinct].map(|count| grouped(count as u64));
    vec![column_name(&summary.column), holds.to_owned(), missing, distinct, values]
}

/// Returns the line of consecutive numeric columns, with the total of missing values and the largest number
/// of different values.
fn line_of_span(span: &[ColumnSummary]) -> Vec<String> {
    let ends = |summary: &ColumnSummary| match summary.contents {
        Contents::Numbers { least, greatest, .. } => [least, greatest],
        Contents::Categories(_) => [f64::NAN; 2],
    };
    let least = span.iter().map(|summary| ends(summary)[0]).fold(f64::NAN, f64::min);
    let greatest = span.iter().map(|summary| ends(summary)[1]).fold(f64::NAN, f64::max);
    let missing: usize = span.iter().map(|summary| summary.missing).sum();
    let distinct = span.iter().map(|summary| summary.distinct).max().unwrap_or(0);
    let names = spans(&span.iter().map(|summary| &summary.column).collect::<Vec<_>>()).join(" ");
    let [missing, distinct] = [missing, distinct].map(|count| grouped(count as u64));
    vec![names, "numbers".to_owned(), missing, distinct, format!("{} to {}", short(least), short(greatest))]
}

/// Lists the most frequent categories with their rows.
fn shares(categories: &[(String, usize)]) -> String {
    let mut shown: Vec<String> = categories
        .iter()
        .take(SHOWN)
        .map(|(name, rows)| format!("{name} {}", grouped(*rows as u64)))
        .collect();
    if categories.len() > SHOWN {
        shown.push("...".to_owned());
    }
    shown.join(", ")
}
