//! The rows of a data set read so far, and queries on them.

pub(crate) mod encoded;
pub(crate) mod image_folders;
pub(crate) mod labelled;
pub(crate) mod memory_rows;
pub(crate) mod odd_labels;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod weights;

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Instant;
use crate::data::columns::classes::Classes;
use crate::data::columns::odd_cells::MixedColumn;
use crate::data::columns::schema::Schema;
use crate::data::columns::{IgnoredColumn, NumbersAsText};
use crate::data::dataset::{Features, FeaturesRef, Rows as RowsView, Scaling};
use crate::data::dialect::Format;
use crate::data::encoding::targets::TargetsRef;
use crate::data::images::ImageForm;
use crate::data::images::idx::{Images, read_labels};
use crate::data::reading::delivery::{Delivery, Times, Wanted};
use crate::data::reading::locate::Source;
use crate::data::reading::options::ReadOptions;
use crate::data::reading::stream::Stream;
use crate::data::reading::table::{Table, has_pixels};
use crate::error::{Error, Result};
use crate::memory::check_memory;

/// Rows taken from a reader.
#[derive(Debug, Default)]
pub struct Block {
    /// The values, as read from the file.
    pub features: Features,
    /// The cell of the ID column for each row, if there is an ID column.
    pub ids: Vec<String>,
}

/// Reads a data set in background threads and gathers the rows.
///
/// Dropping it stops the threads, without waiting for them, at the next rows they deliver.
pub struct Reader {
    pub(crate) name: PathBuf,
    /// The file that holds the labels.
    pub(crate) labels_name: PathBuf,
    pub(crate) inputs: usize,
    /// Numbers of a row to predict; 0 where targets are labels.
    pub(crate) values: usize,
    pub(crate) table: Table,
    pub(crate) known_rows: Option<usize>,
    /// Estimated rows of a table, from its length and its first rows; 0 if unknown, or if not all rows are kept.
    pub(crate) likely_rows: usize,
    /// Maximum number of threads for work on whole columns; `None` for one per core.
    pub(crate) threads: Option<usize>,
    pub(crate) form: Form,
    pub(crate) times: Option<Times>,
    pub(crate) state: State,
    /// Whether a missing value is an error, because no replacement will be available.
    pub(crate) refuses_missing: bool,
    /// The file's indices of the rows kept, if rows without a target were left out; `dropped` counts the latter.
    pub(crate) kept: Option<Vec<u32>>,
    pub(crate) dropped: usize,
    /// Columns treated as categories because they hold both text and numbers.
    pub(crate) mixed: Vec<MixedColumn>,
    /// Whether training starts while rows are read, so that later rows must have the form of the first rows.
    pub(crate) is_of_pixels: bool,
    /// Whether rows and columns of images are swapped.
    pub(crate) transposes: bool,
}

/// The kind of a data set.
#[derive(Clone)]
pub(crate) enum Form {
    /// Images, with their form if they have height and width.
    Images(Option<ImageForm>),
    Table(Box<TableForm>),
}

/// Properties of a table other than its rows.
#[derive(Clone, Default)]
pub(crate) struct TableForm {
    pub schema: Schema,
    pub written: Format,
    /// The form of the rows, if they are an array of images.
    pub image: Option<ImageForm>,
    /// Columns that were ignored automatically.
    pub left_out: Vec<IgnoredColumn>,
    /// Columns of text that may be meant as numbers.
    pub as_text: Vec<NumbersAsText>,
    /// Messages about the interpretation of the table.
    pub notices: Vec<String>,
    /// Inputs that may be identifiers.
    pub identifiers: Vec<String>,
    /// The number of different numbers in the first rows of the target, if only their small count made them classes.
    pub few_numbers: Option<usize>,
    /// Whether numbers of the target are classes even if there are more than a few.
    pub means_classes: bool,
    /// Whether labels are always classes, whatever their spelling.
    pub are_classes: bool,
    /// For each row, the index of the row that it copies; empty if copies are unknown.
    pub copies: Vec<u32>,
    /// Whether the table has no header only because the table that the model was trained on had none.
    pub is_header_open: bool,
    /// Dates consisting of zeros that were read as missing.
    pub zero_dates: Arc<AtomicUsize>,
    /// Whether the columns are taken from the table that a model was trained on.
    pub is_like_another: bool,
    /// Whether the rows come from arrays, so that the user cannot have named a wrong column.
    pub is_of_arrays: bool,
}

pub(crate) enum State {
    /// Complete readers are shared between threads; a delivery cannot be, hence the mutex.
    Reading(Box<Mutex<Delivery>>),
    Complete,
    Failed,
}

impl Reader {
    /// Opens the files. A table is read completely, because its columns depend on all rows. Rows of images (IDX, and
    /// CSV whose first rows are pixels, unless `read_all` is set) are read in the background.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Data`] for the first invalid row; [`Error::Undecided`] for an ambiguous format; and
    /// [`Error::Config`] if a table does not fit into memory.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        match source {
            Source::Idx { images, labels } => {
                // All labels are read first: they determine the number of classes.
                let labels_stream = Stream::open(labels)?;
                Self::idx(labels_stream, || Stream::open(images), options)
            }
            Source::Csv { path } => Self::csv(Stream::open(path)?, &[], options),
            Source::Folders { path } => Self::image_folders(path, options),
            Source::Arrays { paths, subset } => Self::csv(Stream::open_arrays(paths, *subset)?, &[], options),
            Source::Parts { paths } => match &paths[..] {
                [first, others @ ..] => Self::csv(Stream::open(first)?, others, options),
                [] => Err(Error::Config("a table of no files".to_owned())),
            },
        }
    }

    /// Opens rows without labels: a table whose labels, if any, are ignored, or an IDX file of images.
    pub fn open_unlabelled(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let mut stream = Stream::open(path.as_ref())?;
        if stream.peek(2)? != [0, 0] {
            return Self::csv(stream, &[], options);
        }
        Self::images(Images::open(stream, None, options.images.transpose)?, Table::default(), options)
    }

    /// Reads CSV from any source of bytes; messages show `name` as the path.
    pub fn from_csv(name: &Path, stream: impl Read + Send + 'static, options: &ReadOptions) -> Result<Self> {
        Self::csv(Stream::new(name, stream)?, &[], options)
    }

    /// Reads CSV from memory; messages show `name` as the path.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn from_bytes(name: &Path, bytes: impl Into<Arc<[u8]>>, options: &ReadOptions) -> Result<Self> {
        Self::csv(Stream::of_bytes(name, bytes.into())?, &[], options)
    }

    /// Reads IDX from any two sources of bytes; messages show the names as the paths.
    pub fn from_idx(
        images_name: &Path,
        images: impl Read + Send + 'static,
        labels_name: &Path,
        labels: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self> {
        Self::idx(Stream::new(labels_name, labels)?, || Stream::new(images_name, images), options)
    }

    /// Creates a reader of this form without rows.
    pub(crate) fn empty(name: PathBuf, inputs: usize, form: Form, state: State) -> Self {
        Self {
            labels_name: name.clone(),
            name,
            inputs,
            values: 0,
            table: Table::default(),
            known_rows: None,
            likely_rows: 0,
            threads: None,
            form,
            times: None,
            state,
            refuses_missing: false,
            kept: None,
            dropped: 0,
            mixed: Vec::new(),
            is_of_pixels: false,
            transposes: false,
        }
    }

    fn idx(
        mut labels_stream: Stream,
        open_images: impl FnOnce() -> Result<Stream>,
        options: &ReadOptions,
    ) -> Result<Self> {
        let labels = read_labels(&mut labels_stream)?;
        let counted = Some((labels.len(), labels_stream.name()));
        let images = Images::open(open_images()?, counted, options.images.transpose)?;
        let table = Table::labelled(&labels, options.class_names.clone());
        let reader = Self::images(images, table, options)?;
        Ok(Self { labels_name: labels_stream.name().to_owned(), ..reader })
    }

    fn images(images: Images, mut table: Table, options: &ReadOptions) -> Result<Self> {
        let name = images.name().to_path_buf();
        let (inputs, form, known_rows) = (images.inputs, Form::Images(images.form), Some(images.rows));
        if let Some(values) = images.values() {
            table.reserve(values, &name)?;
        }
        let times = options.timed.then(Times::default);
        let delivery = Delivery::images(images, options.threads, times.clone())?;
        let state = State::Reading(Mutex::new(delivery.stopped_by(options.stop.as_ref())).into());
        let reader = Self::empty(name, inputs, form, state);
        let transposes = options.images.transpose;
        Ok(Self { table, known_rows, times, threads: options.threads, transposes, ..reader })
    }

    /// Waits for one more block of [`BLOCK_ROWS`](super::BLOCK_ROWS) rows, or for the end of the file.
    ///
    /// Returns `Ok(false)` if all rows had been delivered before the call.
    pub fn next_block(&mut self) -> Result<bool> {
        self.receive(false)
    }

    /// Waits for a block if no rows are waiting, as some tables are read whole at the start; returns `Ok(false)` at the
    /// end. For rows that [`Reader::take_block`] takes.
    pub fn wait_for_rows(&mut self) -> Result<bool> {
        Ok(self.rows() > 0 || self.next_block()?)
    }

    /// Reads all remaining rows.
    pub fn read_to_end(&mut self) -> Result<()> {
        self.receive(true).map(|_| ())
    }

    /// Waits for one more block, or for all remaining blocks; returns whether rows arrived.
    fn receive(&mut self, all: bool) -> Result<bool> {
        match self.state {
            State::Complete => return Ok(false),
            State::Failed => {
                let name = self.name.display();
                return Err(Error::Config(format!("{name}: cannot continue after an error")));
            }
            State::Reading(_) => {}
        }
        let (before, classes) = (self.rows(), self.is_of_pixels.then(|| self.classes().clone()));
        let State::Reading(mut delivery) = std::mem::replace(&mut self.state, State::Failed) else {
            return Ok(false);
        };
        let received = self.fill(delivery.get_mut().unwrap_or_else(PoisonError::into_inner), all);
        // An error about a missing value refers to an earlier row than the error of the delivery.
        match self.check_missing().and(received) {
            Ok(true) => self.state = State::Reading(delivery),
            Ok(false) => self.state = State::Complete,
            Err(error) => {
                if matches!(error, Error::Interrupted) {
                    // The next call continues with the following rows.
                    self.state = State::Reading(delivery);
                }
                return Err(error);
            }
        }
        if let Some(classes) = classes {
            self.check_later_labels(&classes).inspect_err(|_| self.state = State::Failed)?;
        }
        Ok(self.rows() > before)
    }

    /// Adds the rows of one more block, or all remaining rows; returns false at the end.
    fn fill(&mut self, delivery: &mut Delivery, all: bool) -> Result<bool> {
        let (name, expected) = (&self.name, self.likely_rows);
        let wanted = Wanted { all, name, inputs: self.inputs, expected, known: self.known_rows };
        let received = delivery.fill(&mut self.table, &wanted);
        self.table.classify();
        received
    }

    /// Whether all rows have been read and the file is complete.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    /// The consecutive time spans in which threads parsed rows so far; empty unless requested.
    pub fn times(&self) -> Vec<(Instant, Instant)> {
        let times = self.times.as_ref();
        let mut times =
            times.map_or_else(Vec::new, |times| times.lock().unwrap_or_else(PoisonError::into_inner).clone());
        times.sort();
        // Overlapping spans of several threads are counted once.
        let mut last = None;
        times.retain_mut(|(begin, end)| {
            *begin = last.map_or(*begin, |last| (*begin).max(last));
            last = last.max(Some(*end));
            begin < end
        });
        times
    }

    /// Rows delivered so far.
    pub fn rows(&self) -> usize {
        self.table.features.len() / self.inputs
    }

    /// Rows of the whole data set: known in advance for IDX, at the end for CSV.
    pub fn total_rows(&self) -> Option<usize> {
        self.known_rows.or(self.is_complete().then(|| self.rows()))
    }

    /// The name of the file as shown in messages; the first name if there are several files.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Numbers to predict per row; 0 if targets are labels.
    pub fn values(&self) -> usize {
        self.values
    }

    /// Whether these numbers are labels of 0 or 1.
    pub fn has_labels(&self) -> bool {
        self.schema().is_some_and(|schema| schema.are_labels)
    }

    /// Marks the values to predict of a table as labels, which must be 0 or 1.
    #[must_use]
    pub fn with_labels(mut self) -> Self {
        if let Form::Table(form) = &mut self.form {
            form.schema.are_labels = true;
        }
        self
    }

    /// Values per row.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The classes: of the whole file for IDX, of the rows so far for CSV.
    pub fn classes(&self) -> &Classes {
        &self.table.classes
    }

    /// The class of each row: of the whole file for IDX, of the rows so far for CSV.
    pub fn labels(&self) -> &[u32] {
        &self.table.labels
    }

    /// Properties of a table other than its rows; `None` for images.
    pub(crate) fn table_form(&self) -> Option<&TableForm> {
        match &self.form {
            Form::Images(_) => None,
            Form::Table(form) => Some(form),
        }
    }

    /// The schema of a table; `None` for images.
    pub fn schema(&self) -> Option<&Schema> {
        self.table_form().map(|form| &form.schema)
    }

    /// The format of a table, given or detected.
    pub fn format(&self) -> Option<&Format> {
        self.table_form().map(|form| &form.written)
    }

    /// Columns that were ignored automatically.
    pub fn left_out(&self) -> &[IgnoredColumn] {
        self.table_form().map_or(&[], |form| &form.left_out)
    }

    /// Dates of zeros, such as `0000-00-00`, that were read as missing so far.
    pub fn zero_dates(&self) -> usize {
        self.table_form().map_or(0, |form| form.zero_dates.load(Ordering::Relaxed))
    }

    /// Messages about the interpretation of a table.
    pub fn table_notices(&self) -> &[String] {
        self.table_form().map_or(&[], |form| &form.notices)
    }

    /// Columns of text, including the target, in which most cells are a number with a sign or a unit.
    pub fn numbers_as_text(&self) -> &[NumbersAsText] {
        self.table_form().map_or(&[], |form| &form.as_text)
    }

    /// Inputs that may hold identifiers: names of persons or things, as text or as numbers.
    pub fn identifiers(&self) -> &[String] {
        self.table_form().map_or(&[], |form| &form.identifiers)
    }

    /// The form of the images, if the rows are images: from the header of an array, or a square.
    pub fn image(&self) -> Option<ImageForm> {
        match &self.form {
            Form::Images(form) => *form,
            Form::Table(form) if self.holds_images() => form.image.or(ImageForm::square(self.inputs)),
            Form::Table(_) => None,
        }
    }

    /// Whether rows and columns of images are swapped, compared with the file.
    pub fn transposes(&self) -> bool {
        self.transposes
    }

    /// Whether the rows are images of bytes. IDX rows always are. Rows of a table are if their columns number n * n or
    /// 3 * n * n (at least 64), or are an array of images, and if more than half of the rows of the first block hold only
    /// whole numbers from 0 to 255, one of them above 127.
    pub fn holds_images(&self) -> bool {
        match &self.form {
            Form::Images(_) => true,
            Form::Table(form) => has_pixels(self.inputs, form.image) && self.table.holds_images(self.inputs),
        }
    }

    /// Whether all values so far are whole numbers from 0 to 255.
    pub fn has_bytes(&self) -> bool {
        matches!(self.table.features, Features::Bytes(_))
    }

    /// Reads to the end and copies all rows.
    ///
    /// # Errors
    /// As [`Reader::next_block`]; [`Error::Config`] if memory cannot hold a second copy.
    pub fn copied(&mut self) -> Result<Self> {
        self.read_to_end()?;
        let bytes = match &self.table.features {
            Features::Bytes(values) => size_of_val(&values[..]),
            Features::Floats(values) => size_of_val(&values[..]),
        };
        check_memory(bytes as u128, &format!("{}: a copy", self.name.display()))?;
        Ok(Self {
            labels_name: self.labels_name.clone(),
            values: self.values,
            table: self.table.clone(),
            known_rows: self.known_rows,
            threads: self.threads,
            times: self.times.clone(),
            refuses_missing: self.refuses_missing,
            kept: self.kept.clone(),
            dropped: self.dropped,
            mixed: self.mixed.clone(),
            transposes: self.transposes,
            ..Self::empty(self.name.clone(), self.inputs, self.form.clone(), State::Complete)
        })
    }

    /// Takes the delivered rows and their labels out of the reader, to free their memory.
    pub fn take_block(&mut self) -> Block {
        let table = std::mem::take(&mut self.table);
        // Later rows continue these row numbers, and are stored without these rows.
        self.likely_rows = 0;
        self.table.dictionaries = table.dictionaries;
        Block { features: table.features, ids: table.ids }
    }

    /// The delivered rows `range` as network inputs, and their labels.
    pub fn block(&self, range: Range<usize>, scaling: Scaling) -> (FeaturesRef<'_>, &[u32]) {
        let rows = self.view(scaling);
        (rows.scaled(range.clone()), &rows.labels()[range])
    }

    /// All rows delivered so far, under `scaling`.
    pub fn view(&self, scaling: Scaling) -> RowsView<'_> {
        let (rows, total) = (self.rows(), self.total_rows());
        let targets = match self.values {
            0 => TargetsRef::Classes(&self.table.labels[..rows]),
            columns => TargetsRef::Values { columns, values: &self.table.values },
        };
        RowsView {
            inputs: self.inputs,
            features: &self.table.features,
            targets,
            weights: &self.table.weights,
            scaling,
            total,
        }
    }
}
