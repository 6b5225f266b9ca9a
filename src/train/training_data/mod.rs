//! What a run trains on, and the rows that it is measured by.

mod row_weights;

use std::path::{Path, PathBuf};

use crate::data::{
    BLOCK_ROWS, Dataset, IgnoredColumn, MixedColumn, NumbersAsText, OddLabel, Reader, Rows, Scale,
    TargetScale, Transform, UnknownCells, is_sorted,
};
use crate::error::{Error, Result};
use crate::model::DataSchema;
use crate::step::{Loss, demand};
use crate::train::evaluation::{check_inputs, test_set};
use crate::train::{DataOptions, TrainedRows};

/// The setting of a model that has the sum of the rows that it was tested on.
pub const TESTED_ROWS: &str = "tested_rows";

/// Rows that do not train.
pub(crate) enum HeldOut {
    /// Rows held out of the training file, with the number of cells with values that the training rows did not have.
    Rows(Dataset, UnknownCells),
    /// Rows of a separate file, of which the first may have been read.
    File(Box<Reader>),
}

/// Why training on rows of images does not begin with the first of them, while others are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullReadReason {
    /// The numbers by which columns are scaled depend on all rows.
    Scaled,
    /// A share of the rows is held out.
    HeldOut,
    /// The rows are sorted by label.
    Sorted,
}

/// Rows to train on, to validate on and to test on. Of the training rows the first block is here at least.
pub struct TrainingData {
    pub(crate) reader: Reader,
    pub(crate) validation: Option<HeldOut>,
    pub(crate) test: Option<HeldOut>,
    /// Where the test rows come from, for messages.
    pub(crate) test_name: PathBuf,
    pub(crate) transform: Transform,
    /// Whether all rows are here before training starts; the first epoch then takes them in an order over all of them.
    pub(crate) is_whole: bool,
    /// Why rows of images are all read before training.
    read_first: Option<FullReadReason>,
    /// Rows of the training file, those that are left out of training included, where that is known.
    file_rows: Option<usize>,
    /// What tells the rows that test from others.
    tested_rows: Option<TrainedRows>,
    /// Whether rows have weights of their own.
    pub(super) has_row_weights: bool,
    /// Whether the weights of the rows are those of their classes, too.
    pub(super) is_weighed: bool,
    /// How the values to predict were scaled, if they were. Those of other rows are as they stand in their file.
    target_scale: Option<TargetScale>,
    /// Labels of all rows of the training file that may be slips, as far as these were read before training.
    odd_labels: Vec<OddLabel>,
    pub(super) files_without_weights: Vec<PathBuf>,
}

impl TrainingData {
    /// Prepares rows of a table, which have all been read, or reads as much as is needed of rows of images before training can start:
    /// the first block, whose values need no look at all rows, or everything where columns are scaled by what they hold, rows are left out
    /// for validation or testing, or the labels show that the rows are sorted by them.
    ///
    /// # Errors
    /// Those of the data.
    pub fn new(
        mut reader: Reader,
        validation: Option<Reader>,
        test: Option<Reader>,
        options: &DataOptions,
    ) -> Result<Self> {
        for other in [&validation, &test].into_iter().flatten() {
            check_inputs(other.name(), other.inputs(), reader.inputs())?;
        }
        // More than the first block may be long in coming.
        if reader.rows() == 0 {
            reader.next_block()?;
        }
        let encodes = match options.scale {
            Scale::Auto => !reader.holds_images(),
            Scale::None | Scale::Bytes => reader.needs_encoding(),
            Scale::Standard | Scale::MinMax | Scale::Robust | Scale::Quantile => true,
        };
        let clips = options.clips(encodes)?;
        let read_first = match () {
            () if reader.is_complete() => None,
            () if encodes => Some(FullReadReason::Scaled),
            () if !options.split.is_none() => Some(FullReadReason::HeldOut),
            () => is_sorted(reader.labels()).then_some(FullReadReason::Sorted),
        };
        if read_first.is_some() {
            reader.read_to_end()?;
        }
        let read_first = read_first.filter(|_| reader.rows() > BLOCK_ROWS);
        // Values have no classes by which an order of the rows would show.
        let is_in_doubt = reader.values() > 0 || is_sorted(reader.labels());
        let is_whole = encodes || !options.split.is_none() || is_in_doubt;
        reader.check_classes()?;
        reader.check_values()?;
        let (file_rows, odd_labels) = (reader.total_rows(), reader.odd_labels());
        let name = reader.name().to_owned();
        let held_out =
            if options.split.is_none() { Vec::new() } else { reader.divide(&options.split)?.into() };
        let tested_rows = held_out.get(1).filter(|_| options.split.test > 0.0);
        let tested_rows = tested_rows.map(TrainedRows::from_held_out);
        if reader.is_complete() {
            reader.check_weights()?;
            reader.normalise_weights();
        }
        let shares =
            [("validation-fraction", options.split.validation), ("test-fraction", options.split.test)];
        for (rows, (setting, share)) in held_out.iter().zip(shares) {
            if share > 0.0 && rows.rows() == 0 {
                let expected = "a fraction that holds out at least one row of each class";
                return Err(Error::setting(setting, expected, share.to_string()));
            }
        }
        let transform = match options.scale {
            scale if encodes => {
                let encoding = reader.encoding(scale);
                reader.check_encoding(&encoding)?;
                let mut encoding = if clips { encoding.clipped() } else { encoding };
                encoding.is_numbered = options.inputs.need_layer(&encoding);
                Transform::Columns(encoding)
            }
            Scale::None => Transform::None,
            _ => Transform::Bytes,
        };
        if !encodes {
            reader.refuse_missing()?;
        }
        if is_whole {
            reader.apply(&transform)?;
        }
        let standardises = options.standardise_targets && reader.values() > 0;
        let target_scale = standardises.then(|| reader.standardise_targets()).transpose()?;
        let mut rows = held_out.into_iter().map(|rows: Dataset| Some(rows).filter(|rows| rows.rows() > 0));
        let mut held_out = |file: Option<Reader>| -> Result<Option<HeldOut>> {
            let rows = rows.next().flatten();
            match (file, rows) {
                (Some(mut file), _) => {
                    // What is wrong with a small set shows before an epoch has been spent; of IDX labels are known already.
                    if file.total_rows().is_none() {
                        file.next_block()?;
                    }
                    file.refuse_header(&transform)?;
                    if reader.total_rows().is_some() {
                        file.check_labels(reader.classes())?;
                    }
                    Ok(Some(HeldOut::File(Box::new(file))))
                }
                (None, Some(rows)) => {
                    let (rows, unknown) = transform.rows(rows, reader.dictionaries())?;
                    Ok(Some(HeldOut::Rows(rows, unknown)))
                }
                (None, None) => Ok(None),
            }
        };
        let weight = |reader: &Reader| reader.schema().is_some_and(|schema| schema.weight.is_some());
        let files = [&validation, &test].into_iter().flatten();
        let without = files.filter(|file| weight(&reader) && !weight(file));
        let files_without_weights = without.map(|file| file.name().to_owned()).collect();
        let test_name = test.as_ref().map_or(name, |test| test.name().to_owned());
        let (validation, test) = (held_out(validation)?, held_out(test)?);
        let has_row_weights = reader.is_weighted();
        Ok(Self {
            reader,
            validation,
            test,
            test_name,
            transform,
            is_whole,
            read_first,
            file_rows,
            tested_rows,
            has_row_weights,
            is_weighed: false,
            target_scale,
            odd_labels,
            files_without_weights,
        })
    }

    /// The training file, or what stands for it in messages.
    pub fn name(&self) -> &Path {
        self.reader.name()
    }

    /// Training rows, where their number is known before training starts.
    pub fn rows(&self) -> Option<usize> {
        self.reader.total_rows()
    }

    /// Rows of the training file, those that are left out of training included, where that is known.
    pub fn file_rows(&self) -> Option<usize> {
        self.file_rows
    }

    /// How many rows of the training file were left out because they have no target.
    pub fn dropped_rows(&self) -> usize {
        self.reader.dropped_rows()
    }

    /// The identity of the test rows: those of the training file as they are there, those of a separate file,
    /// when they have been read, as inputs of a network.
    pub fn tested_rows(&self) -> Option<TrainedRows> {
        self.tested_rows
    }

    /// Values of a row.
    pub fn inputs(&self) -> usize {
        self.reader.inputs()
    }

    /// The rows so far, as network inputs.
    pub fn view(&self) -> Rows<'_> {
        self.reader.view(self.transform.scaling())
    }

    /// Reads until `rows` rows are here.
    ///
    /// # Errors
    /// Those of the data.
    pub fn read_rows(&mut self, rows: usize) -> Result<()> {
        while self.reader.rows() < rows && self.reader.next_block()? {}
        Ok(())
    }

    /// How values become inputs.
    pub fn transform(&self) -> &Transform {
        &self.transform
    }

    /// Why rows of images are all read before training can start, if that is so.
    pub fn read_first(&self) -> Option<FullReadReason> {
        self.read_first
    }

    /// Whether all rows were read before training, and are shuffled over the whole set from the first epoch on.
    pub fn is_fully_read(&self) -> bool {
        self.is_whole
    }

    /// Whether there are rows to validate on.
    pub fn validates(&self) -> bool {
        self.validation.is_some()
    }

    /// Whether there are rows to test on.
    pub fn tests(&self) -> bool {
        self.test.is_some()
    }

    /// How many rows of the training file validate, and how many test.
    pub fn held_out_rows(&self) -> [usize; 2] {
        [&self.validation, &self.test].map(|held_out| match held_out {
            Some(HeldOut::Rows(rows, _)) => rows.rows(),
            Some(HeldOut::File(_)) | None => 0,
        })
    }

    /// The rows that validate and those that test, for a network with these inputs; `unknown` takes the name of each set
    /// that has cells with what no training row held, and how many cells they are.
    pub(super) fn held_out_rows_for(
        &mut self,
        inputs: usize,
        data_schema: &DataSchema,
        unknown: &mut dyn FnMut(&'static str, UnknownCells),
    ) -> Result<[Option<Dataset>; 2]> {
        let transform = &self.transform;
        let mut rows = |set, held_out: Option<HeldOut>| {
            let Some(held_out) = held_out else { return Ok(None) };
            let (rows, cells) = held_out.rows(inputs, transform, data_schema)?;
            if cells.count() > 0 {
                unknown(set, cells);
            }
            Ok::<_, Error>(Some(rows))
        };
        let is_file = matches!(self.test, Some(HeldOut::File(_)));
        let found = [rows("validation", self.validation.take())?, rows("test", self.test.take())?];
        if let Some(test) = found[1].as_ref().filter(|_| is_file) {
            self.tested_rows = Some(TrainedRows::from_held_out(test));
        }
        Ok(found)
    }

    /// Outputs of a network for these rows: classes, or values to predict.
    pub fn outputs(&self) -> usize {
        match self.reader.values() {
            0 => self.reader.classes().len(),
            values => values,
        }
    }

    /// Whether targets are values, not classes.
    pub fn predicts_values(&self) -> bool {
        self.reader.values() > 0
    }

    /// Whether rows have weights in the loss.
    pub fn is_weighted(&self) -> bool {
        self.reader.is_weighted()
    }

    /// Checks whether the targets are those of a loss.
    ///
    /// # Errors
    /// [`Error::Setting`] if one is for classes and the other values.
    pub fn check_loss(&self, loss: Loss) -> Result<()> {
        let expected = match loss.of_classes() {
            true => "a loss of values, for targets that are values",
            false => "a loss of classes, for targets that are labels",
        };
        demand(loss.of_classes() == (self.reader.values() == 0), "loss", expected, loss)
    }

    /// Whether the rows are those of a table that holds no images.
    pub fn is_table(&self) -> bool {
        !self.reader.holds_images()
    }

    /// Whether the labels are numbers that the first rows alone have made classes of.
    pub fn infers_classes(&self) -> bool {
        self.reader.infers_classes()
    }

    /// Columns that were ignored automatically.
    pub fn left_out(&self) -> &[IgnoredColumn] {
        self.reader.left_out()
    }

    /// Dates of zeros that were read as missing so far.
    pub fn zero_dates(&self) -> usize {
        self.reader.zero_dates()
    }

    /// Lines about how a table was understood.
    pub fn table_notices(&self) -> &[String] {
        self.reader.table_notices()
    }

    /// Columns of text that may be meant as numbers.
    pub fn numbers_as_text(&self) -> &[NumbersAsText] {
        self.reader.numbers_as_text()
    }

    /// Columns that are categories since they hold text and numbers.
    pub fn mixed_columns(&self) -> &[MixedColumn] {
        self.reader.mixed_columns()
    }

    /// Inputs that may hold identifiers.
    pub fn identifiers(&self) -> &[String] {
        self.reader.identifiers()
    }

    /// Labels that may be slips.
    pub fn odd_labels(&self) -> &[OddLabel] {
        &self.odd_labels
    }

    /// The meaning of inputs and outputs, as far as the rows so far tell.
    pub fn data_schema(&self) -> DataSchema {
        let (classes, schema) = (self.reader.classes().clone(), self.reader.schema().cloned());
        DataSchema { classes, schema, image: self.reader.image(), target_scale: self.target_scale.clone() }
    }

    /// Reads all that is left.
    ///
    /// # Errors
    /// Those of the data.
    pub(crate) fn read_all(&mut self) -> Result<()> {
        self.reader.read_to_end()?;
        self.reader.check_classes()?;
        self.reader.check_weights()
    }
}

impl HeldOut {
    /// The rows, whose labels count the classes of a network with these inputs; and how many of their cells held what the
    /// training rows did not.
    pub(crate) fn rows(
        self,
        inputs: usize,
        transform: &Transform,
        data_schema: &DataSchema,
    ) -> Result<(Dataset, UnknownCells)> {
        let (rows, unknown) = match self {
            HeldOut::Rows(rows, unknown) => (rows, unknown),
            HeldOut::File(reader) => test_set(*reader, inputs, transform, &data_schema.classes)?,
        };
        if rows.rows() == 0 {
            return Err(Error::Config("no rows to test on".to_owned()));
        }
        rows.check_weights().map(|()| (rows, unknown))
    }
}
