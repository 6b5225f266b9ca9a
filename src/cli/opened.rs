//! The data that `train` and `sweep` read.

use std::path::Path;

use tinytrain::data::{ImageOptions, ReadOptions, Reader, Source, Target, places};
use tinytrain::settings::DatasetInfo;
use tinytrain::train::{Config, TrainingData};
use tinytrain::{Error, Result};

use super::data_text::{column_lines, late_texts};
use super::text::column_name;
use super::train_options::Options;
use super::training::Training;

/// Where rows are that train, that validate, and that test.
pub struct Places {
    train: Source,
    validation: Option<Source>,
    test: Option<Source>,
}

/// Their readers, which work already.
pub struct Opened {
    /// The rows that train.
    pub reader: Reader,
    /// Those that validate, if they are in a file of their own.
    pub validation: Option<Reader>,
    /// Those that test, if they are in a file of their own.
    pub test: Option<Reader>,
    /// What the defaults of settings depend on.
    pub info: DatasetInfo,
    /// To be told: which size images have that nobody has named.
    pub notice: Option<String>,
}

impl Places {
    /// Where the options say.
    ///
    /// # Errors
    /// When there are none.
    pub fn of(options: &Options) -> Result<Self> {
        let (train, beside) = places::training(&options.training.data)?;
        let tests_itself = options.training.settings.test_fraction.is_some() || options.folds.is_some();
        let test = options.test.as_deref().map(places::test).transpose()?;
        let validation = options.validation.as_deref().map(places::test).transpose()?;
        Ok(Self { train, validation, test: test.or(beside.filter(|_| !tests_itself)) })
    }

    /// Refuses a file to be written, by this option, that is one of these.
    ///
    /// # Errors
    /// [`tinytrain::Error::Config`] with its name.
    pub fn spare(&self, option: &str, out: Option<&Path>) -> Result<()> {
        places::spare_data(option, out, [Some(&self.train), self.test.as_ref(), self.validation.as_ref()])
    }

    /// Opens them, and checks whether the options go with what they hold.
    ///
    /// # Errors
    /// Those of the data and of the options.
    pub fn open(&self, options: &Options) -> Result<Opened> {
        let training = &options.training;
        let mut read = training.read_options()?;
        (read.columns.group, read.columns.time) = (options.group.clone(), options.time.clone());
        let mut reader = open_training(&self.train, &mut read)?;
        let info = training.settings.look_at(&mut reader, self.validation.is_some(), self.test.is_some())?;
        training.settings.resolve(&info)?;
        let target = training.columns.target_like(&reader, training.settings.loss)?;
        let like = training.columns.written.like(reader.schema().cloned(), target);
        let images = reader.image().map(ImageOptions::from).unwrap_or_default();
        let mut like = ReadOptions { threads: read.threads, images, ..like };
        like.columns.refuse_missing = read.columns.refuse_missing;
        let open =
            |source: &Option<Source>| source.as_ref().map(|source| Reader::open(source, &like)).transpose();
        let (validation, test) = (open(&self.validation)?, open(&self.test)?);
        let ImageOptions { size, colour } = read.images;
        let is_open = matches!(self.train, Source::Folders { .. }) && (size.is_none() || !colour);
        let notice = reader.image().filter(|_| is_open).map(|form| {
            let of_first = if size.is_none() { ", the size of the first" } else { "" };
            format!("images become {form}{of_first}; --image-size and --colour say otherwise")
        });
        Ok(Opened { reader, validation, test, info, notice })
    }
}

/// The rows to train on, the settings of an epoch over them, and what is said of their columns. `read` says from then on what was found
/// out of the task.
///
/// # Errors
/// Those of the data and of the settings.
pub fn open_alone(
    training: &Training,
    source: &Source,
    read: &mut ReadOptions,
) -> Result<(TrainingData, Config, Vec<String>)> {
    let settings = &training.settings;
    let mut reader = open_training(source, read)?;
    let info = settings.look_at(&mut reader, false, false)?;
    let mut data = TrainingData::new(reader, None, None, &settings.resolve(&info)?.data)?;
    let config = Config { epochs: 1, ..settings.resolve(&info.of(&data))? };
    data.read_rows(0)?;
    let lines = [late_texts(data.late_texts()), column_lines(training, &data)?].concat();
    Ok((data, config, lines))
}

/// Opens a table to train on. Where the first rows alone have made classes of numbers, of which all rows show too many, they are
/// values to predict, and `read` says so from then on. Images are not looked through.
///
/// # Errors
/// Those of the data.
pub fn open_training(source: &Source, read: &mut ReadOptions) -> Result<Reader> {
    let mut reader = Reader::open(source, read)?;
    if !reader.infers_classes() {
        return Ok(reader);
    }
    let read_all = |reader: &mut Reader| {
        if reader.next_block()? && !reader.holds_images() {
            reader.read_to_end()?;
            reader.take_numbers_for_values();
        }
        Ok(())
    };
    let result = read_all(&mut reader);
    // Of more labels than are kept a reader says so itself.
    if reader.values() > 0 || matches!(result, Err(Error::Undecided { setting: "task", .. })) {
        let targets = reader.schema().into_iter().flat_map(|schema| schema.targets());
        read.columns.target = Target::Values(targets.map(column_name).collect());
    }
    match result {
        // What is wrong is said where it always is.
        Err(_) if source.can_be_read_again() => Reader::open(source, read),
        result => result.map(|()| reader),
    }
}
