//! Options for tables: their format, and their columns.

use crate::data::{ClassNames, Format, ImageOptions, ReadOptions, Reader, Schema, Selection, Target};
use crate::settings::{TABLES, YesNo, text};
use crate::step::Loss;
use crate::{Error, Missing};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::args::{self, Mark};

/// Heading of the help.
const IMAGES: &str = "Images";

/// Options for the format of a table.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct DialectOptions {
    /// Whether the first row holds the names of the columns. [default: detected]
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "YES-or-NO")]
    #[serde(with = "text")]
    header: Option<YesNo>,
    /// Delimiter between cells: one character, `tab` or `space`. [default: detected among , ; | and tab]
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "CHARACTER", allow_hyphen_values = true)]
    #[serde(with = "text")]
    delimiter: Option<Mark<false>>,
    /// Decimal mark: `.` or `,`. [default: detected]
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "CHARACTER")]
    #[serde(with = "text")]
    decimal: Option<Mark<true>>,
    /// Maximum size of a row in bytes, up to 1 GiB. [default: 16777216]
    ///
    /// A row has at most one column for every 16 of these bytes.
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "BYTES", value_parser = args::count, allow_hyphen_values = true)]
    #[serde(with = "text")]
    max_row_bytes: Option<usize>,
    /// Texts that stand for a missing value, besides empty cells, NA, N/A, NaN, NaT, null, ?, - and \N.
    ///
    /// Example: `--missing-marker -999 XX`. Write `--missing-marker=--- --missing-marker=XX` for texts that start
    /// with a minus.
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "TEXT", num_args = 1.., allow_negative_numbers = true)]
    #[serde(with = "text::texts")]
    missing_marker: Vec<String>,
    /// The only texts that stand for a missing value, separated by commas, in place of NA, -, ? and the others.
    ///
    /// Empty cells always do. Example: `--missing-markers "",?` treats NA and - as they are written.
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "TEXTS", allow_hyphen_values = true)]
    #[serde(with = "text")]
    missing_markers: Option<String>,
}

/// Task for a table's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    Auto,
    Classification,
    Regression,
    MultiLabel,
}

impl DialectOptions {
    /// Returns the format for the library.
    pub fn format(&self) -> Format {
        let only = self.missing_markers.iter().flat_map(|texts| texts.split(','));
        let only = only.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        Format {
            header: self.header.map(|header| header == YesNo::Yes),
            delimiter: self.delimiter.map(|mark| mark.0),
            decimal: self.decimal.map(|mark| mark.0),
            row_limit: self.max_row_bytes.unwrap_or(Format::default().row_limit),
            missing: self.missing_marker.iter().cloned().chain(only).collect(),
            replaces_missing: self.missing_markers.is_some(),
        }
    }

    /// Returns options to read a table with a known schema.
    pub fn like(&self, schema: Option<Schema>, target: Target) -> ReadOptions {
        let columns = Selection { schema, target, ..Selection::default() };
        ReadOptions { columns, format: self.format(), ..ReadOptions::default() }
    }
}

/// Columns of a table, and their roles.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Columns {
    /// Column to predict: a name, or an index from 0 (-1 is the last). [default: the column named label, class,
    /// target or y, or the only text column]
    ///
    /// Several columns for regression with several outputs, or for --task multi-label.
    #[arg(long, help_heading = TABLES, visible_alias = "label-column", value_name = "NAME-or-INDEX", value_parser = args::column,
          num_args = 1.., allow_negative_numbers = true)]
    #[serde(with = "text::texts")]
    target: Vec<String>,
    /// Task. [default: by --loss, else auto: text and up to 20 different whole numbers are classes; more, if the
    /// target is called label or class, or the inputs are pixels]
    ///
    /// `multi-label` predicts several targets of 0 or 1, each by its probability.
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_enum, value_name = "TASK")]
    task: Option<Task>,
    /// Column with the weight of each row in the loss and in all measures.
    ///
    /// Weights are divided by their mean over the training rows.
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub weight: Option<String>,
    /// Columns to ignore.
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true)]
    #[serde(with = "text::texts")]
    exclude: Vec<String>,
    /// The only columns to use as inputs. [default: all but the target, --exclude, row numbers and empty columns
    /// without a name]
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true,
          conflicts_with = "exclude")]
    #[serde(with = "text::texts")]
    include: Vec<String>,
    /// Numeric columns to treat as categories.
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true)]
    #[serde(with = "text::texts")]
    categorical: Vec<String>,
    /// Treat labels that differ only in case or surrounding blanks as one class.
    #[arg(long, hide_short_help = true, help_heading = TABLES)]
    fold_labels: bool,
    /// Leave out rows without a target.
    #[arg(long, hide_short_help = true, help_heading = TABLES)]
    drop_missing_target: bool,
    /// Treatment of missing inputs: fill or error. [default: fill]
    ///
    /// `fill` replaces a number by the median of the training rows and adds an input that marks it; missing
    /// categories are a category.
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "WHAT")]
    #[serde(with = "text")]
    pub missing: Option<Missing>,
    /// Read all images of a CSV table before training begins, and not while it goes on.
    ///
    /// Needed where rows behind the first 4,096 hold another label, or a cell that is not a whole number from 0 to 255.
    #[arg(long, hide_short_help = true, help_heading = IMAGES)]
    read_all: bool,
    /// Size of images in folders: HxW, or one number for both. [default: the size of the first image]
    #[arg(long, hide_short_help = true, help_heading = IMAGES, value_name = "HxW")]
    #[serde(with = "text")]
    image_size: Option<args::ImageSize>,
    /// Keep the colours of images in folders. Without it they become grey.
    #[arg(long, hide_short_help = true, help_heading = IMAGES)]
    colour: bool,
    /// Swap rows and columns of images in IDX files, arrays and tables, as EMNIST stores them.
    ///
    /// A model keeps this: `eval` and `predict` read such files alike.
    #[arg(long, hide_short_help = true, help_heading = IMAGES)]
    transpose: bool,
    /// Names of classes whose labels are whole numbers: a file with one name per line, or `a,b,c`, from label 0 on.
    ///
    /// Or a file with a label and a Unicode code point per line, as EMNIST's mapping files. A model keeps the names.
    #[arg(long, hide_short_help = true, help_heading = TABLES, value_name = "FILE-or-NAMES")]
    #[serde(with = "text")]
    class_names: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub written: DialectOptions,
}

impl Columns {
    /// Returns options to read a training table.
    ///
    /// # Errors
    /// For names of classes that cannot be read.
    pub fn read_options(&self, task: Task) -> crate::error::Result<ReadOptions> {
        let class_names = self.class_names.as_deref().map(ClassNames::read).transpose()?.map(Arc::new);
        let columns = Selection {
            target: self.target(task),
            infer_values: task == Task::Auto,
            weight: self.weight.clone(),
            only: self.include.clone(),
            exclude: self.exclude.clone(),
            categorical: self.categorical.clone(),
            refuse_missing: self.missing == Some(Missing::Error),
            fold_labels: self.fold_labels,
            drop_missing_target: self.drop_missing_target,
            ..Selection::default()
        };
        let size = self.image_size.map(|size| size.0);
        let images = ImageOptions { size, colour: self.colour, transpose: self.transpose };
        let (format, read_all) = (self.written.format(), self.read_all);
        Ok(ReadOptions { columns, format, images, class_names, read_all, ..ReadOptions::default() })
    }

    /// Returns the columns of the labels, or of the values to predict.
    fn target(&self, task: Task) -> Target {
        match &self.target[..] {
            names if task == Task::MultiLabel => Target::Labels(names.to_vec()),
            names if task == Task::Regression || names.len() > 1 => Target::Values(names.to_vec()),
            [] => Target::Auto,
            [name, ..] => Target::Column(name.clone()),
        }
    }

    /// Returns the task, given a loss, if one is named.
    ///
    /// # Errors
    /// [`Error::Config`], in one line, if the loss belongs to the other task.
    pub fn task(&self, loss: Option<Loss>) -> crate::error::Result<Task> {
        let of_loss = |loss: Loss| match loss {
            loss if loss.of_classes() => Task::Classification,
            loss if loss.of_labels() => Task::MultiLabel,
            _ => Task::Regression,
        };
        let given = match self.task {
            None | Some(Task::Auto) if self.class_names.is_some() => Some(Task::Classification),
            given => given,
        };
        match (given, loss) {
            (None, None) => Ok(Task::Auto),
            (Some(Task::Auto) | None, Some(loss)) => Ok(of_loss(loss)),
            (Some(task), Some(loss)) if task != of_loss(loss) => {
                let (goes_with, found) = match task {
                    Task::Regression => ("mse, mae, huber or quantile", "regression"),
                    Task::MultiLabel => ("binary-cross-entropy", "multi-label"),
                    _ => ("cross-entropy", "classification"),
                };
                Err(Error::Config(format!("--task {found} needs --loss {goes_with}, found --loss {loss}")))
            }
            (Some(task), _) => Ok(task),
        }
    }

    /// Checks whether the options can be combined with each other and with a loss.
    ///
    /// # Errors
    /// [`Error::Config`], in one line, for the first conflict.
    pub fn check(&self, loss: Option<Loss>) -> crate::error::Result<()> {
        let found = match self.task(loss)? {
            Task::Regression => "values to predict (--task regression)",
            Task::MultiLabel => "labels of 0 or 1 (--task multi-label)",
            Task::Auto | Task::Classification => "",
        };
        if self.class_names.is_some() && !found.is_empty() {
            return Err(Error::setting("class-names", "classes", found));
        }
        if self.task(loss)? == Task::Classification && self.target.len() > 1 {
            return Err(Error::Config(format!(
                "--target: classification needs one column of labels, found {}",
                self.target.len()
            )));
        }
        Ok(())
    }

    /// Returns the columns of a test set's labels: as in the training table, if it is one.
    ///
    /// # Errors
    /// See [`Columns::task`].
    pub fn target_like(&self, reader: &Reader, loss: Option<Loss>) -> crate::error::Result<Target> {
        Ok(if reader.schema().is_some() { Target::Auto } else { self.target(self.task(loss)?) })
    }
}
