//! IDX, the format of MNIST: a magic number, the dimensions, then the values.

use std::path::Path;

use super::ImageForm;
use crate::data::dataset::{BLOCK_ROWS, Features};
use crate::data::reading::stream::Stream;
use crate::data::reading::table::Table;
use crate::error::{Error, Place, Result};
use crate::memory::check_memory;

/// Rows per chunk; a block is a multiple of it. Chunks are small because every waiting chunk takes memory.
pub(crate) const CHUNK_ROWS: usize = BLOCK_ROWS / 8;

/// The remedy for files that are not read.
const REMEDY: &str = "save other arrays by numpy.savez(FILE, X=X, y=y)";

/// The type of the values, which are big-endian.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Byte,
    Signed,
    Short,
    Integer,
    Float,
    Double,
}

impl Kind {
    /// The type with this code, the third byte of the magic number.
    fn by_code(code: u8) -> Option<Self> {
        Some(match code {
            8 => Self::Byte,
            9 => Self::Signed,
            11 => Self::Short,
            12 => Self::Integer,
            13 => Self::Float,
            14 => Self::Double,
            _ => return None,
        })
    }

    /// Bytes per value, and the name in messages.
    fn describe(self) -> (usize, &'static str) {
        match self {
            Self::Byte => (1, "bytes"),
            Self::Signed => (1, "signed bytes"),
            Self::Short => (2, "16-bit integers"),
            Self::Integer => (4, "32-bit integers"),
            Self::Float => (4, "32-bit floats"),
            Self::Double => (8, "64-bit floats"),
        }
    }

    /// The value in these bytes.
    fn value(self, bytes: &[u8]) -> f64 {
        let word = bytes.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        match self {
            Self::Byte => word as f64,
            Self::Signed => (word as i8).into(),
            Self::Short => (word as i16).into(),
            Self::Integer => (word as i32).into(),
            Self::Float => f32::from_bits(word as u32).into(),
            Self::Double => f64::from_bits(word),
        }
    }
}

/// The header of a file.
struct Header {
    kind: Kind,
    dimensions: Vec<u32>,
    /// Bytes of the header itself.
    length: u128,
}

impl Header {
    /// The dimensions in the usual form, 60000 x 28 x 28.
    fn shape(&self) -> String {
        self.dimensions.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
    }

    /// Bytes of all values; `None` if their number overflows.
    fn bytes(&self) -> Option<u128> {
        let (size, _) = self.kind.describe();
        self.dimensions.iter().try_fold(size as u128, |product, size| product.checked_mul((*size).into()))
    }

    fn rows(&self) -> usize {
        self.dimensions[0] as usize
    }
}

/// Reads a header whose type and number of dimensions fit.
fn read_header(stream: &mut Stream, wanted: &str, fits: impl Fn(Kind, u8) -> bool) -> Result<Header> {
    let mut magic = [0; 4];
    if stream.fill(&mut magic)? < magic.len() {
        return Err(early_end(stream, &format!("{wanted} with a header")));
    }
    let kind = Kind::by_code(magic[2]).filter(|_| magic[..2] == [0, 0]);
    let Some(kind) = kind.filter(|kind| fits(*kind, magic[3])) else {
        let described = kind.map_or_else(String::new, |kind| {
            let (_, name) = kind.describe();
            let plural = if magic[3] == 1 { "" } else { "s" };
            let remedy = if kind == Kind::Byte { String::new() } else { format!("; {REMEDY}") };
            format!(", {name} of {} dimension{plural}{remedy}", magic[3])
        });
        let found = format!("0x{:08x}{described}", u32::from_be_bytes(magic));
        return Err(stream.error(Place::default(), format!("the magic number of {wanted}"), found));
    };
    let mut sizes = vec![0; 4 * usize::from(magic[3])];
    if stream.fill(&mut sizes)? < sizes.len() {
        return Err(early_end(stream, &format!("a header with {} dimensions", magic[3])));
    }
    let size = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let dimensions: Vec<u32> = sizes.chunks_exact(4).map(size).collect();
    let header = Header { kind, length: 4 + sizes.len() as u128, dimensions };
    if header.dimensions.contains(&0) {
        let found = format!("a header that says {}", header.shape());
        return Err(stream.error(
            Place::default(),
            format!("{wanted}, at least one value in every dimension"),
            found,
        ));
    }
    Ok(header)
}

fn early_end(stream: &Stream, expected: &str) -> Error {
    stream.error(Place::default(), expected, "the end of the file")
}

/// Refuses sizes that the file or memory cannot hold, before allocation; `factor` is the memory per byte of the file.
fn check_promise(stream: &Stream, header: &Header, factor: u128) -> Result<()> {
    let values = header.bytes();
    let length = values.and_then(|values| values.checked_add(header.length));
    stream.check_length(length, &header.shape())?;
    let bytes = values.and_then(|values| values.checked_mul(factor)).unwrap_or(u128::MAX);
    check_memory(bytes, &format!("{}: a table of {} values", stream.name().display(), header.shape()))
}

/// Reads a whole label file: numbers in one column, or rows of 32-bit integers whose first column is the class, as in
/// QMNIST.
pub(crate) fn read_labels(stream: &mut Stream) -> Result<Vec<i32>> {
    let wanted = "IDX labels (0x00000801), or numbers in one column, or rows of 32-bit integers (0x00000c02)";
    let header = read_header(stream, wanted, |_, dimensions| (1..=2).contains(&dimensions))?;
    let (size, name) = header.kind.describe();
    let width = header.dimensions[1..].iter().map(|width| *width as usize).product::<usize>();
    if width > 1 && header.kind != Kind::Integer {
        let found = format!("{name} in {width} columns; {REMEDY}");
        return Err(stream.error(Place::default(), wanted, found));
    }
    check_promise(stream, &header, 2 * size_of::<u32>() as u128 + 1)?;
    let bytes = stream.take(header.rows() * width * size)?;
    let rows = bytes.chunks_exact(width * size);
    if rows.len() < header.rows() {
        let (expected, found) = (format!("{} labels", header.rows()), rows.len());
        return Err(stream.error(Place::default(), expected, format!("the end of the file after {found}")));
    }
    stream.expect_end(&format!("{} labels", rows.len()))?;
    let is_one_hot =
        |row: &[u8]| row.chunks_exact(size).filter(|value| header.kind.value(value) != 0.0).count() == 1;
    if width > 1 && rows.clone().all(is_one_hot) {
        let found = "one value in each row that is not 0 (one-hot); save the numbers of the classes";
        return Err(stream.error(Place::default(), "classes in the first column", found));
    }
    let label = |(row, number): (&[u8], u64)| {
        let value = header.kind.value(&row[..size]);
        let label = value as i32;
        (f64::from(label) == value).then_some(label).ok_or_else(|| {
            let expected = "labels of classes, which are 32-bit integers";
            stream.error(Place::row(number), expected, format!("{value}; {REMEDY}"))
        })
    };
    rows.zip(1..).map(label).collect()
}

/// An image file whose header has been read.
pub(crate) struct Images {
    stream: Stream,
    /// The number of images.
    pub rows: usize,
    /// The number of rows read so far.
    done: usize,
    /// Values per image.
    pub inputs: usize,
    /// The form of an image, if it has height and width.
    pub form: Option<ImageForm>,
    /// For each value of an image, its index in the file, if rows and columns are swapped.
    transposition: Option<Vec<usize>>,
}

impl Images {
    /// Reads the header and checks it, also against the number and file name of the labels, if given. `transpose` swaps
    /// rows and columns.
    pub(crate) fn open(mut stream: Stream, labels: Option<(usize, &Path)>, transpose: bool) -> Result<Self> {
        let wanted = "IDX images (0x00000803, or bytes of 2 or more dimensions)";
        let fits = |kind, dimensions| kind == Kind::Byte && dimensions >= 2;
        let header = read_header(&mut stream, wanted, fits)?;
        if let Some((labels, labels_name)) = labels
            && header.rows() != labels
        {
            let expected = format!("{labels} images, one for each label of {}", labels_name.display());
            return Err(stream.error(Place::default(), expected, format!("{}", header.rows())));
        }
        check_promise(&stream, &header, 1)?;
        let sizes: Vec<usize> = header.dimensions[1..].iter().map(|size| *size as usize).collect();
        let (rows, inputs) = (header.rows(), sizes.iter().product());
        let form = ImageForm::of_sizes(&sizes);
        let images = Self { stream, rows, done: 0, inputs, form, transposition: None };
        match form {
            Some(form) if transpose => {
                let transposition = Some(form.transposition());
                Ok(Self { form: Some(form.transposed()), transposition, ..images })
            }
            None if transpose => {
                Err(Error::setting("transpose", "images with rows and columns", header.shape()))
            }
            _ => Ok(images),
        }
    }

    /// The name of the file in messages.
    pub(crate) fn name(&self) -> &Path {
        self.stream.name()
    }

    /// The number of values for which to reserve memory: all of them, if the length of the file bounds them.
    pub(crate) fn values(&self) -> Option<usize> {
        self.stream.most().map(|_| self.rows * self.inputs)
    }

    /// Reads the next rows; at the end of the file, checks the end and returns `None`.
    pub(crate) fn next(&mut self) -> Result<Option<Table>> {
        let rows = CHUNK_ROWS.min(self.rows - self.done);
        if rows == 0 {
            self.stream.expect_end(&format!("{} rows of {} values", self.rows, self.inputs))?;
            return Ok(None);
        }
        let bytes = self.stream.take(rows * self.inputs)?;
        if bytes.len() < rows * self.inputs {
            let expected = format!("{} rows of {} values", self.rows, self.inputs);
            let place = Place::row((self.done + bytes.len() / self.inputs) as u64 + 1);
            return Err(self.stream.error(place, expected, "the end of the file"));
        }
        self.done += rows;
        let bytes = match &self.transposition {
            Some(from) => gathered(&bytes, from),
            None => bytes,
        };
        Ok(Some(Table { features: Features::Bytes(bytes), ..Table::default() }))
    }
}

/// Images whose values are those at these places of each image.
fn gathered(images: &[u8], from: &[usize]) -> Vec<u8> {
    let mut all = vec![0; images.len()];
    for (to, image) in all.chunks_exact_mut(from.len()).zip(images.chunks_exact(from.len())) {
        to.iter_mut().zip(from).for_each(|(to, place)| *to = image[*place]);
    }
    all
}
