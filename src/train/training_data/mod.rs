//! Training data, with validation and test rows.

mod row_weights;

use std::path::{Path, PathBuf};

use crate::data::{
    BLOCK_ROWS, Dataset, IgnoredColumn, ImageForm, MixedColumn, NumbersAsText, OddLabel, Reader, Rows, Scale,
    TargetScale, Transform, UnknownCells, is_sorted,
};
use crate::error::{Error, Result};
use crate::model::{DataSchema, Model};
use crate::step::{Loss, demand};
use crate::train::evaluation::{check_inputs, test_set};
use crate::train::{DataOptions, TrainedRows};

/// Name of the model setting with the checksum of the test rows.
pub const TESTED_ROWS: &str = "tested_rows";

/// Validation or test rows.
pub(crate) enum HeldOut {
    /// Rows held out of the training file, and the number of their unknown cells.
    Rows(Dataset, UnknownCells),
    /// A separate file, whose first rows may have been read.
    File(Box<Reader>),
}

/// Reason why training on rows of images does not start while later rows are being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullReadReason {
    /// The scaling of columns depends on all rows.
    Scaled,
    /// A share of the rows is held out.
    HeldOut,
    /// The rows are sorted by label.
    Sorted,
}

/// Training, validation and test rows. At least the first block of training rows has been read.
pub struct TrainingData {
    pub(crate) reader: Reader,
    pub(crate) validation: Option<HeldOut>,
    pub(crate) test: Option<HeldOut>,
    /// Source of the test rows, for messages.
    pub(crate) test_name: PathBuf,
    pub(crate) transform: Transform,
    /// Whether all rows are read before training; the first epoch then has an order over all of them.
    pub(crate) is_whole: bool,
    /// Reason why all rows of images are read before training.
    read_first: Option<FullReadReason>,
    /// Number of rows of the training file, including held-out rows, if known.
    file_rows: Option<usize>,
    /// Identity of the test rows.
    tested_rows: Option<TrainedRows>,
    /// Cells of the training rows that are unknown to the model from which training starts.
    pub(super) unknown: UnknownCells,
    /// Whether rows have individual weights.
    pub(super) has_row_weights: bool,
    /// Whether the weights of the rows include class weights.
    pub(super) is_weighed: bool,
    /// Scaling of the values to predict, if any. Values of validation and test rows are unscaled.
    target_scale: Option<TargetScale>,
    /// Labels of the training file that may be mistakes, among the rows read before training.
    odd_labels: Vec<OddLabel>,
    pub(super) files_without_weights: Vec<PathBuf>,
    /// Value subtracted from the values of images, if any.
    center: Option<u8>,
    /// Form of the images, if the rows are images.
    image: Option<ImageForm>,
}

impl TrainingData {
    /// Prepares rows of a table, which have all been read, or reads the rows of images required to start
    /// training: the first block; or all rows if columns are scaled by their values, rows are held out for
    /// validation or testing, or the rows are sorted by label.
    ///
    /// # Errors
    /// Errors of the data.
    pub fn new(
        reader: Reader,
        validation: Option<Reader>,
        test: Option<Reader>,
        options: &DataOptions,
    ) -> Result<Self> {
        Self::for_model(None, reader, validation, test, options)
    }

    /// Prepares rows as [`TrainingData::new`] does, but as inputs and targets of a model from which training starts, if
    /// there is one; the rows must have been read with its schema.
    ///
    /// # Errors
    /// As [`TrainingData::new`]; [`Error::Data`] for other inputs, and for labels that are no classes of the model.
    pub fn for_model(
        model: Option<&Model>,
        mut reader: Reader,
        validation: Option<Reader>,
        test: Option<Reader>,
        options: &DataOptions,
    ) -> Result<Self> {
        if let Some(model) = model {
            check_inputs(reader.name(), reader.inputs(), model.transform.columns(model.network.columns()))?;
            reader.read_to_end()?;
        }
        for other in [&validation, &test].into_iter().flatten() {
            check_inputs(other.name(), other.inputs(), reader.inputs())?;
        }
        // Later blocks may arrive late.
        if reader.rows() == 0 {
            reader.next_block()?;
        }
        let center =
            if options.scale == Scale::Auto && model.is_none() { reader.light_center() } else { None };
        let encodes = match options.scale {
            _ if model.is_some() => false,
            Scale::Auto => !reader.holds_images() || center.is_some(),
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
        // Values have no classes that reveal an order of the rows.
        let is_in_doubt = reader.values() > 0 || is_sorted(reader.labels());
        let is_whole = encodes || model.is_some() || !options.split.is_none() || is_in_doubt;
        reader.check_classes()?;
        reader.check_values()?;
        let mut files = [validation, test];
        for reader in [&mut reader].into_iter().chain(files.iter_mut().flatten()) {
            reader.repeat_values(options.quantiles)?;
        }
        let [validation, test] = files;
        let (file_rows, odd_labels) = (reader.total_rows(), reader.odd_labels());
        if let Some(model) = model.filter(|_| reader.values() == 0) {
            reader.take_classes(&model.data_schema.classes)?;
        }
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
            _ if let Some(model) = model => model.transform.clone(),
            scale if encodes => {
                let encoding = match center {
                    Some(center) => reader.encoding(Scale::Bytes).centred(center),
                    None => reader.encoding(scale),
                };
                reader.check_encoding(&encoding)?;
                let mut encoding = if clips { encoding.clipped() } else { encoding };
                encoding.is_numbered = options.inputs.need_layer(&encoding);
                Transform::Columns(encoding)
            }
            Scale::None => Transform::None,
            _ => Transform::Bytes,
        };
        if !matches!(transform, Transform::Columns(_)) {
            reader.refuse_missing()?;
        }
        // Scaled rows of a table no longer look like images.
        let image = reader.image();
        let unknown = if is_whole { reader.apply(&transform)? } else { UnknownCells::default() };
        let standardises = options.standardise_targets && reader.values() > 0;
        let target_scale = match model {
            Some(model) => {
                model.data_schema.target_scale.clone().inspect(|scale| reader.scale_targets(scale))
            }
            None => standardises.then(|| reader.standardise_targets()).transpose()?,
        };
        let mut rows = held_out.into_iter().map(|rows: Dataset| Some(rows).filter(|rows| rows.rows() > 0));
        let mut held_out = |file: Option<Reader>| -> Result<Option<HeldOut>> {
            let rows = rows.next().flatten();
            match (file, rows) {
                (Some(mut file), _) => {
                    // Reports errors of a small set before the first epoch; labels of IDX files have been
                    // checked.
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
            unknown,
            has_row_weights,
            is_weighed: false,
            target_scale,
            odd_labels,
            files_without_weights,
            center,
            image,
        })
    }

    /// Returns the name of the training file, or its replacement in messages.
    pub fn name(&self) -> &Path {
        self.reader.name()
    }

    /// Returns the number of training rows, if known before training starts.
    pub fn rows(&self) -> Option<usize> {
        self.reader.total_rows()
    }

    /// Returns the number of rows of the training file, including held-out rows, if known.
    pub fn file_rows(&self) -> Option<usize> {
        self.file_rows
    }

    /// Returns the number of rows of the training file that were dropped because they have no target.
    pub fn dropped_rows(&self) -> usize {
        self.reader.dropped_rows()
    }

    /// Returns the identity of the test rows: rows of the training file before encoding; rows of a separate
    /// file as network inputs, once read.
    pub fn tested_rows(&self) -> Option<TrainedRows> {
        self.tested_rows
    }

    /// Returns the number of values of a row.
    pub fn inputs(&self) -> usize {
        self.reader.inputs()
    }

    /// Returns the rows so far, as network inputs.
    pub fn view(&self) -> Rows<'_> {
        self.reader.view(self.transform.scaling())
    }

    /// Reads until `rows` rows are available.
    ///
    /// # Errors
    /// Errors of the data.
    pub fn read_rows(&mut self, rows: usize) -> Result<()> {
        while self.reader.rows() < rows && self.reader.next_block()? {}
        Ok(())
    }

    /// Returns the conversion of values to inputs.
    pub fn transform(&self) -> &Transform {
        &self.transform
    }

    /// Returns why all rows of images are read before training, if they are.
    pub fn read_first(&self) -> Option<FullReadReason> {
        self.read_first
    }

    /// Returns whether all rows were read before training, and are shuffled over the whole set from the first
    /// epoch on.
    pub fn is_fully_read(&self) -> bool {
        self.is_whole
    }

    /// Returns whether there are validation rows.
    pub fn validates(&self) -> bool {
        self.validation.is_some()
    }

    /// Returns whether there are test rows.
    pub fn tests(&self) -> bool {
        self.test.is_some()
    }

    /// Returns the numbers of validation rows and of test rows from the training file.
    pub fn held_out_rows(&self) -> [usize; 2] {
        [&self.validation, &self.test].map(|held_out| match held_out {
            Some(HeldOut::Rows(rows, _)) => rows.rows(),
            Some(HeldOut::File(_)) | None => 0,
        })
    }

    /// Returns the validation rows and the test rows, for a network with these inputs; `unknown` receives the
    /// name of each set with unknown cells, and their number.
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

    /// Returns the number of outputs of a network for these rows: classes, or values to predict.
    pub fn outputs(&self) -> usize {
        match self.reader.values() {
            0 => self.reader.classes().len(),
            values => values,
        }
    }

    /// Returns whether targets are values, not classes.
    pub fn predicts_values(&self) -> bool {
        self.reader.values() > 0
    }

    /// Returns whether targets are labels of 0 or 1, several for each row.
    pub fn has_labels(&self) -> bool {
        self.reader.has_labels()
    }

    /// Returns whether rows have weights in the loss.
    pub fn is_weighted(&self) -> bool {
        self.reader.is_weighted()
    }

    /// Checks that a loss fits the targets.
    ///
    /// # Errors
    /// [`Error::Setting`] if one is for classes, values, or labels of 0 or 1, and the other is not; [`Error::Data`] for
    /// other values than 0 and 1 with a loss of labels.
    pub fn check_loss(&self, loss: Loss) -> Result<()> {
        let expected = match (self.predicts_values(), self.has_labels()) {
            (_, true) => "binary-cross-entropy, for targets that are labels of 0 or 1",
            (true, false) => "a loss of values, for targets that are values",
            (false, false) => "a loss of classes, for targets that are labels",
        };
        let fits = loss.of_classes() != self.predicts_values() && (loss.of_labels() || !self.has_labels());
        demand(fits, "loss", expected, loss)?;
        if loss.of_labels() { self.reader.check_labels_of_arrays() } else { Ok(()) }
    }

    /// Returns whether the rows are from a table without images.
    pub fn is_table(&self) -> bool {
        self.image.is_none()
    }

    /// Returns whether the labels are numbers that are classes only because of the first rows.
    pub fn infers_classes(&self) -> bool {
        self.reader.infers_classes()
    }

    /// Returns columns that were ignored automatically.
    pub fn left_out(&self) -> &[IgnoredColumn] {
        self.reader.left_out()
    }

    /// Returns the number of dates of zeros that were read as missing so far.
    pub fn zero_dates(&self) -> usize {
        self.reader.zero_dates()
    }

    /// Returns lines about the interpretation of a table.
    pub fn table_notices(&self) -> &[String] {
        self.reader.table_notices()
    }

    /// Returns the value that is subtracted from the values of images, if any: a light background or a mean.
    pub fn center(&self) -> Option<u8> {
        self.center
    }

    /// Returns columns of text that may be meant as numbers.
    pub fn numbers_as_text(&self) -> &[NumbersAsText] {
        self.reader.numbers_as_text()
    }

    /// Returns columns that are categories because they contain text and numbers.
    pub fn mixed_columns(&self) -> &[MixedColumn] {
        self.reader.mixed_columns()
    }

    /// Returns inputs that may be identifiers.
    pub fn identifiers(&self) -> &[String] {
        self.reader.identifiers()
    }

    /// Returns labels that may be mistakes.
    pub fn odd_labels(&self) -> &[OddLabel] {
        &self.odd_labels
    }

    /// Returns the meaning of inputs and outputs, based on the rows so far.
    pub fn data_schema(&self) -> DataSchema {
        let (classes, schema) = (self.reader.classes().clone(), self.reader.schema().cloned());
        let (image, transposed) = (self.image, self.reader.transposes());
        DataSchema { classes, schema, image, transposed, target_scale: self.target_scale.clone() }
    }

    /// Returns the form of the images, if the rows are images of bytes that became inputs by one division, after
    /// the same value was subtracted from all of them.
    pub(crate) fn image_of_bytes(&self) -> Option<ImageForm> {
        let scaled = match &self.transform {
            Transform::Bytes => true,
            Transform::None => false,
            Transform::Columns(encoding) => encoding.is_of_bytes(),
        };
        self.image.filter(|form| scaled && form.values() == self.inputs())
    }

    /// Reads all remaining rows.
    ///
    /// # Errors
    /// Errors of the data.
    pub(crate) fn read_all(&mut self) -> Result<()> {
        self.reader.read_to_end()?;
        self.reader.check_classes()?;
        self.reader.check_weights()
    }
}

impl HeldOut {
    /// Returns the rows, with labels as class indices, for a network with these inputs, and the number of
    /// unknown cells.
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
