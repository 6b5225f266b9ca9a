//! Options about tables: how they are written, which columns are read, which rows are held out.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tinytrain::Error;
use tinytrain::data::{Format, ImageOptions, ReadOptions, Reader, Scale, Schema, Selection, Split, Target};
use tinytrain::step::Loss;
use tinytrain::train::{Clip, DataOptions, InputOptions, Keep, ONE_HOT_CATEGORIES};

use super::args::{self, Patience};
use super::text::quoted;

/// Headings of the help.
const TABLES: &str = "Tables";
const IMAGES: &str = "Images";
pub const HELD_OUT: &str = "Validation and test";

/// How a table is written.
#[derive(Debug, Clone, Args)]
pub struct Written {
    /// Whether the first row of a table holds the names of its columns. [default: found out by comparing it with the rows
    /// below]
    #[arg(long, help_heading = TABLES, value_enum, value_name = "WHETHER")]
    header: Option<YesNo>,
    /// What stands between two cells: one character, `tab`, or `space`. [default: found out among , ; | and tab]
    #[arg(long, help_heading = TABLES, value_name = "CHARACTER", value_parser = args::delimiter, allow_hyphen_values = true)]
    delimiter: Option<u8>,
    /// What stands before the digits of a fraction: `.` or `,`. [default: found out]
    #[arg(long, help_heading = TABLES, value_name = "CHARACTER", value_parser = args::decimal)]
    decimal: Option<u8>,
    /// The most bytes of a row of a table, 1 GiB at most; a row has at most a sixteenth as many columns.
    #[arg(long, help_heading = TABLES, value_name = "BYTES", default_value_t = Format::default().row_limit, value_parser = args::count,
          allow_hyphen_values = true)]
    row_limit: usize,
    /// Cells that stand for a missing value, besides empty ones and NA, N/A, NaN, NaT, null, ?, - and \N; what a model was
    /// trained with is known to it. Several stand side by side, numbers below 0 too (`--missing-marker -999 XX`); behind `=`, which
    /// other text that begins with a minus needs, stands one, and the option once more for the next
    /// (`--missing-marker=--- --missing-marker=XX`).
    #[arg(long, help_heading = TABLES, value_name = "TEXT", num_args = 1.., allow_negative_numbers = true)]
    missing_marker: Vec<String>,
}

/// What a table's target is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Task {
    Auto,
    Classification,
    Regression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScaleTarget {
    Standard,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Missing {
    Fill,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Embeddings {
    None,
    Pbld,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

impl Written {
    /// What the library needs of them.
    pub fn format(&self) -> Format {
        Format {
            header: self.header.map(|header| header == YesNo::Yes),
            delimiter: self.delimiter,
            decimal: self.decimal,
            row_limit: self.row_limit,
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
#[derive(Debug, Clone, Args)]
pub struct Columns {
    /// Column of a table that holds the labels: its name, or its index from 0; -1 is the last. With a loss of values, the
    /// columns that hold the values to predict. [default: the column named label, class, target or y, of labels not y beside a
    /// column x and one of text; of labels also the only column of text, if nothing else may be one, or the first of MNIST's 785
    /// columns]
    #[arg(long, help_heading = TABLES, visible_alias = "label-column", value_name = "NAME-or-INDEX", value_parser = args::column,
          num_args = 1.., allow_negative_numbers = true)]
    target: Vec<String>,
    /// Whether a table's target holds classes to be told apart, or numbers to be predicted. [default: as --loss says, else
    /// `auto`: text, and up to 20 different whole numbers in the first hundred rows, are classes, unless
    /// all rows show more of them]
    #[arg(long, help_heading = TABLES, value_enum, value_name = "TASK")]
    task: Option<Task>,
    /// How the values to predict are scaled for training: `standard` takes the mean of the training rows from them and divides
    /// by their standard deviation, and predictions are scaled back; `none` takes them as they are. Refused with classes.
    #[arg(long, help_heading = TABLES, value_enum, value_name = "HOW", default_value_t = ScaleTarget::Standard)]
    scale_target: ScaleTarget,
    /// Column of a table that says how much each row counts in the loss and in the scores: a number of 0 or more. It is divided by
    /// its mean over the training rows.
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    weight: Option<String>,
    /// Columns of a table that are no inputs: names or indices.
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true)]
    exclude: Vec<String>,
    /// The only columns of a table that are inputs: names or indices. [default: all but the target, those excluded,
    /// those that only number the rows, and those without a name and a value]
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true,
          conflicts_with = "exclude")]
    only: Vec<String>,
    /// Columns of a table that are categories, though they hold numbers: names or indices. Columns of text, and of text and numbers, always are. All
    /// of them must be inputs.
    #[arg(long, help_heading = TABLES, value_name = "COLUMN", num_args = 1.., value_parser = args::column, allow_negative_numbers = true)]
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
    /// with one more input that says so, and makes a category of missing categories; `error` refuses them.
    #[arg(long, help_heading = TABLES, value_enum, value_name = "WHAT", default_value_t = Missing::Fill)]
    missing: Missing,
    /// How numbers become inputs, by the training rows: `standard` takes the mean of a column from them and divides by its
    /// standard deviation; `minmax` makes the least 0 and the greatest 1; `robust` takes the median from them and divides
    /// by the distance of the quartiles; `quantile` gives them a normal distribution by their rank; `bytes` divides by
    /// 255; `none` takes them as they are; `auto` is bytes for images and standard for every other table. [default: auto;
    /// robust with --preset table]
    #[arg(long, help_heading = TABLES, value_name = "HOW", value_parser = args::scale())]
    scale: Option<Scale>,
    /// What is done to scaled numbers that are far from the others: `smooth` makes y / sqrt(1 + (y / 3)^2) of them, which is
    /// never beyond -3 and 3, and is refused where it would change nothing: with --scale quantile, and where columns are not scaled;
    /// `auto` does it where it changes something; `none` leaves them. [default: none; auto with --preset table]
    #[arg(long, help_heading = TABLES, value_name = "HOW", value_parser = args::clip())]
    clip: Option<Clip>,
    /// What columns of numbers become: an input each, or with `pbld` four, of which three are learnt mixtures of 16 waves of
    /// learnt frequencies and phases (Holzmüller and others, 2024). [default: none; pbld with --preset table]
    #[arg(long, help_heading = TABLES, value_enum, value_name = "NAME")]
    embeddings: Option<Embeddings>,
    /// Categories up to which a column becomes one input for each; a column of more becomes an embedding of 8 learnt numbers a
    /// category.
    #[arg(long, help_heading = TABLES, value_name = "N", default_value_t = ONE_HOT_CATEGORIES, value_parser = args::count,
          allow_hyphen_values = true)]
    one_hot: usize,
    /// Whether every input is multiplied by a factor of its own, which is learnt. [default: no; yes with --preset table]
    #[arg(long, help_heading = TABLES, value_enum, value_name = "WHETHER", num_args = 0..=1, default_missing_value = "yes")]
    learn_scale: Option<YesNo>,
    /// Height and width to which PNG images in folders are resized: HxW, or one number for both. [default: those of the first image]
    #[arg(long, help_heading = IMAGES, value_name = "HxW", value_parser = args::image_size)]
    image_size: Option<args::ImageSize>,
    /// Train on the colours of PNG images in folders; without it they become grey.
    #[arg(long, help_heading = IMAGES)]
    colour: bool,
    #[command(flatten)]
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
            refuse_missing: self.missing == Missing::Error,
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
            let text = format!("--target: expected one column of labels, found {}", self.target.len());
            return Err(Error::Config(text));
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

    /// Those of the options that say how columns train, as a command line says them; nothing of those that are as usual, and of
    /// how targets are scaled only where they are values.
    pub fn said(&self, predicts_values: bool) -> String {
        let mut said = String::new();
        if let Some(scale) = self.scale.filter(|scale| *scale != Scale::Auto) {
            said += &format!(" --scale {}", scale.name());
        }
        if let Some(clip) = self.clip {
            said += &format!(" --clip {}", clip.name());
        }
        if let Some(embeddings) = self.embeddings {
            said += if embeddings == Embeddings::Pbld { " --embeddings pbld" } else { " --embeddings none" };
        }
        if self.one_hot != ONE_HOT_CATEGORIES {
            said += &format!(" --one-hot {}", self.one_hot);
        }
        if let Some(learn) = self.learn_scale {
            said += if learn == YesNo::Yes { " --learn-scale yes" } else { " --learn-scale no" };
        }
        if self.scale_target == ScaleTarget::None && predicts_values {
            said += " --scale-target none";
        }
        if self.missing == Missing::Error {
            said += " --missing error";
        }
        if self.drop_missing_target {
            said += " --drop-missing-target";
        }
        if self.fold_labels && !predicts_values {
            said += " --fold-labels";
        }
        if let Some(weight) = &self.weight {
            said += &format!(" --weight={}", quoted(OsStr::new(weight)));
        }
        said
    }

    /// What is done to rows of which none are held out, in the place of `usual` where these options say so.
    pub fn data_options(&self, usual: DataOptions) -> DataOptions {
        let inputs = InputOptions {
            periodic: self.embeddings.map_or(usual.inputs.periodic, |it| it == Embeddings::Pbld),
            scaled: self.learn_scale.map_or(usual.inputs.scaled, |learn| learn == YesNo::Yes),
            most_one_hot: self.one_hot,
        };
        DataOptions {
            scale: self.scale.unwrap_or(usual.scale),
            split: Split::default(),
            standardise_targets: self.scale_target == ScaleTarget::Standard,
            clip: self.clip.unwrap_or(usual.clip),
            inputs,
        }
    }
}

/// Rows that do not train, and what they decide.
#[derive(Debug, Clone, Default, Args)]
pub struct HeldOut {
    /// Test data: an IDX file of images, or a table. They are never used to choose anything. [default: the test files of
    /// the folder, if it has any]
    #[arg(long, help_heading = HELD_OUT, value_name = "FILE")]
    pub test: Option<PathBuf>,
    /// Share of the training rows that test instead, of each class the same, chosen by the seed.
    #[arg(long, help_heading = HELD_OUT, value_name = "SHARE", value_parser = args::share, conflicts_with = "test", allow_hyphen_values = true)]
    pub test_fraction: Option<f64>,
    /// Validation data: an IDX file of images, or a table. The model that is best on them is kept.
    #[arg(long, help_heading = HELD_OUT, value_name = "FILE")]
    pub validation: Option<PathBuf>,
    /// Share of the training rows that validate instead, of each class the same, chosen by the seed.
    #[arg(long, help_heading = HELD_OUT, value_name = "SHARE", value_parser = args::share, conflicts_with = "validation",
          allow_hyphen_values = true)]
    pub validation_fraction: Option<f64>,
    /// Column of a table whose rows with the same cell are held out together or not at all, such as a person's; it is no input.
    #[arg(long, help_heading = HELD_OUT, value_name = "COLUMN", value_parser = args::column, conflicts_with = "time",
          allow_hyphen_values = true)]
    pub group: Option<String>,
    /// Column of a table that says when a row is of: the last rows test, those before them validate, and rows of one time stay
    /// together; it is no input. It holds numbers, or dates such as 2026-11-22 or 2026/11/22, also with a time of the day behind a
    /// blank or T: 10:30, 10:30:00 or 10:30:00.5, and an offset from UTC, such as Z or +02:00; without one a time is of UTC.
    #[arg(long, help_heading = HELD_OUT, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    pub time: Option<String>,
    /// Ends training when so many epochs in a row have brought nothing better on the validation data; `none` for never.
    /// [default: none; 64 with --preset table, unless --keep last]
    #[arg(long, help_heading = HELD_OUT, value_name = "EPOCHS", value_parser = args::patience, allow_hyphen_values = true)]
    pub patience: Option<Patience>,
    /// Which model is saved: the best on the validation data, or the last. [default: best, if there are such data]
    #[arg(long, help_heading = HELD_OUT, value_enum, value_name = "WHICH")]
    keep: Option<KeepArgument>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeepArgument {
    Best,
    Last,
}

impl HeldOut {
    /// Which model is kept, if that was said.
    pub fn keep(&self) -> Option<Keep> {
        self.keep.map(|keep| match keep {
            KeepArgument::Best => Keep::Best,
            KeepArgument::Last => Keep::Last,
        })
    }

    /// How the training rows are divided.
    pub fn split(&self, seed: u64) -> Split {
        Split {
            validation: self.validation_fraction.unwrap_or(0.0),
            test: self.test_fraction.unwrap_or(0.0),
            seed,
            fold: None,
        }
    }

    /// The option that says how rows are held out, where none are.
    pub fn unused(&self) -> Option<&'static str> {
        let named = self.group.as_ref().map(|_| "--group").or(self.time.as_ref().map(|_| "--time"));
        named.filter(|_| self.split(0).is_none())
    }

    /// Whether there are rows that can say which model is best.
    pub fn validates(&self) -> bool {
        self.validation.is_some() || self.validation_fraction.is_some()
    }
}
