//! Options about tables: how they are written, and which columns are read.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use tinytrain::data::{Format, ImageOptions, ReadOptions, Reader, Schema, Selection, Target};
use tinytrain::settings::{TABLES, YesNo, text};
use tinytrain::step::Loss;
use tinytrain::{Error, Missing};

use super::args::{self, Mark};

/// Headings of the help.
const IMAGES: &str = "Images";

/// How a table is written.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Written {
    /// Whether the first row of a table holds the names of its columns. [default: found out by comparing it with the rows
    /// below]
    #[arg(long, help_heading = TABLES, value_name = "WHETHER")]
    #[serde(with = "text")]
    header: Option<YesNo>,
    /// What stands between two cells: one character, `tab`, or `space`. [default: found out among , ; | and tab]
    #[arg(long, help_heading = TABLES, value_name = "CHARACTER", allow_hyphen_values = true)]
    #[serde(with = "text")]
    delimiter: Option<Mark<false>>,
    /// What stands before the digits of a fraction: `.` or `,`. [default: found out]
    #[arg(long, help_heading = TABLES, value_name = "CHARACTER")]
    #[serde(with = "text")]
    decimal: Option<Mark<true>>,
    /// The most bytes of a row of a table, 1 GiB at most; a row has at most a sixteenth as many columns. [default: 16777216]
    #[arg(long, help_heading = TABLES, value_name = "BYTES", value_parser = args::count, allow_hyphen_values = true)]
    #[serde(with = "text")]
    row_limit: Option<usize>,
    /// Cells that stand for a missing value, besides empty ones and NA, N/A, NaN, NaT, null, ?, - and \N; what a model was
    /// trained with is known to it. Several stand side by side, numbers below 0 too (`--missing-marker -999 XX`); behind `=`, which
    /// other text that begins with a minus needs, stands one, and the option once more for the next
    /// (`--missing-marker=--- --missing-marker=XX`).
    #[arg(long, help_heading = TABLES, value_name = "TEXT", num_args = 1.., allow_negative_numbers = true)]
    #[serde(with = "text::texts")]
    missing_marker: Vec<String>,
}

/// What a table's target is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    Auto,
    Classification,
    Regression,
}

impl Written {
    /// What the library needs of them.
    pub fn format(&self) -> Format {
        Format {
            header: self.header.map(|header| header == YesNo::Yes),
            delimiter: self.delimiter.map(|mark| mark.0),
            decimal: self.decimal.map(|mark| mark.0),
            row_limit: self.row_limit.unwrap_or(Format::default().row_limit),
            missing: self.missing_marker.clone(),
        }
    }

    /// How a table like one that is known is read.
    pub fn like(&self, schema: Option<Schema>, target: Target) -> ReadOptions {
        let columns = Selection { schema, target, ..Selection::default() };
        ReadOptions { columns, format: self.format(), ..ReadOptions::default() }
    }
}

/// Which columns of a table train.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Columns {
    /// Column of a table that holds the labels: its name, or its index from 0; -1 is the last. With a loss of values, the
    /// columns that hold the values to predict. [default: the column named label, class, target or y, of labels not y beside a
    /// column x and one of text; of labels also the only column of text, if nothing else may be one, or the first of MNIST's 785
    /// columns]
    #[arg(long, help_heading = TABLES, visible_alias = "label-column", value_name = "NAME-or-INDEX", value_parser = args::column,
          num_args = 1.., allow_negative_numbers = true)]
    #[serde(with = "text::texts")]
    target: Vec<String>,
    /// Whether a table's target holds classes to be told apart, or numbers to be predicted. [default: as --loss says, else
    /// `auto`: text, and up to 20 different whole numbers in the first hundred rows, are classes, unless
    /// all rows show more of them]
    #[arg(long, help_heading = TABLES, value_enum, value_name = "TASK")]
    task: Option<Task>,
    /// Column of a table that says how much each row counts in the loss and in the scores: a number of 0 or more. It is divided by
    /// its mean over the training rows.
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    #[serde(with = "text")]
    weight: Option<String>,
    /// Columns of a table that are no inputs: names or indices.
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true)]
    #[serde(with = "text::texts")]
    exclude: Vec<String>,
    /// The only columns of a table that are inputs: names or indices. [default: all but the target, those excluded,
    /// those that only number the rows, and those without a name and a value]
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true,
          conflicts_with = "exclude")]
    #[serde(with = "text::texts")]
    only: Vec<String>,
    /// Columns of a table that are categories, though they hold numbers: names or indices. Columns of text, and of text and numbers, always are. All
    /// of them must be inputs.
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true)]
    #[serde(with = "text::texts")]
    categorical: Vec<String>,
    /// Take labels that differ only in case, or in blanks around them, for one, which has the name of the most frequent of them.
    /// The model does the same with the labels of tables that it is evaluated on.
    #[arg(long, help_heading = TABLES)]
    fold_labels: bool,
    /// Leave out rows without a label or a value to predict; a line says how many they are. The model does the same with tables that
    /// it is evaluated on.
    #[arg(long, help_heading = TABLES)]
    drop_missing_target: bool,
    /// What becomes of missing values among the inputs: `fill` puts the median of the training rows in the place of a number,
    /// with one more input that says so, and makes a category of missing categories; `error` refuses them. [default: fill]
    #[arg(long, help_heading = TABLES, value_name = "WHAT")]
    #[serde(with = "text")]
    pub missing: Option<Missing>,
    /// Height and width to which PNG images in folders are resized: HxW, or one number for both. [default: those of the first image]
    #[arg(long, help_heading = IMAGES, value_name = "HxW")]
    #[serde(with = "text")]
    image_size: Option<args::ImageSize>,
    /// Train on the colours of PNG images in folders; without it they become grey.
    #[arg(long, help_heading = IMAGES)]
    colour: bool,
    #[command(flatten)]
    #[serde(flatten)]
    pub written: Written,
}

impl Columns {
    /// How a table to train on is read.
    pub fn read_options(&self, task: Task) -> ReadOptions {
        let columns = Selection {
            target: self.target(task),
            infer_values: task == Task::Auto,
            weight: self.weight.clone(),
            only: self.only.clone(),
            exclude: self.exclude.clone(),
            categorical: self.categorical.clone(),
            refuse_missing: self.missing == Some(Missing::Error),
            fold_labels: self.fold_labels,
            drop_missing_target: self.drop_missing_target,
            ..Selection::default()
        };
        let images = ImageOptions { size: self.image_size.map(|size| size.0), colour: self.colour };
        ReadOptions { columns, format: self.written.format(), images, ..ReadOptions::default() }
    }

    /// Where the labels are, or the values to predict.
    fn target(&self, task: Task) -> Target {
        match &self.target[..] {
            names if task == Task::Regression || names.len() > 1 => Target::Values(names.to_vec()),
            [] => Target::Auto,
            [name, ..] => Target::Column(name.clone()),
        }
    }

    /// What the target is taken for with a loss, if one is named.
    ///
    /// # Errors
    /// [`Error::Config`], in one line, where the loss is one for the other task.
    pub fn task(&self, loss: Option<Loss>) -> tinytrain::Result<Task> {
        let of_loss = |loss: Loss| if loss.of_classes() { Task::Classification } else { Task::Regression };
        match (self.task, loss) {
            (None, None) => Ok(Task::Auto),
            (Some(Task::Auto) | None, Some(loss)) => Ok(of_loss(loss)),
            (Some(task), Some(loss)) if task != of_loss(loss) => {
                let (goes_with, found) = match task {
                    Task::Regression => ("mse, mae or huber", "regression"),
                    _ => ("cross-entropy", "classification"),
                };
                Err(Error::Config(format!(
                    "--task: {found} goes with --loss {goes_with}, found --loss {loss}"
                )))
            }
            (Some(task), _) => Ok(task),
        }
    }

    /// Checks whether the options go with one another and with a loss.
    ///
    /// # Errors
    /// [`Error::Config`], in one line, for the first that does not.
    pub fn check(&self, loss: Option<Loss>) -> tinytrain::Result<()> {
        if self.task(loss)? == Task::Classification && self.target.len() > 1 {
            return Err(Error::Config(format!(
                "--target: expected one column of labels, found {}",
                self.target.len()
            )));
        }
        Ok(())
    }

    /// Where the labels of a test set are: where the training table says, if it is one.
    ///
    /// # Errors
    /// As [`Columns::task`].
    pub fn target_like(&self, reader: &Reader, loss: Option<Loss>) -> tinytrain::Result<Target> {
        Ok(if reader.schema().is_some() { Target::Auto } else { self.target(self.task(loss)?) })
    }
}
