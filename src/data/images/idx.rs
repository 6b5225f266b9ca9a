//! IDX, the format of MNIST: a magic number, the dimensions, then one byte per value.

use std::path::Path;

use super::ImageForm;
use crate::data::dataset::{BLOCK_ROWS, Features};
use crate::data::reading::stream::Stream;
use crate::data::reading::table::Table;
use crate::error::{Error, Place, Result};
use crate::memory::check_memory;

/// The third byte of the magic number: unsigned bytes. The fourth is the number of dimensions.
const UNSIGNED_BYTES: u8 = 8;

/// Rows per chunk; a block is a multiple of it. Chunks are small because every waiting chunk takes memory.
pub(crate) const CHUNK_ROWS: usize = BLOCK_ROWS / 8;

/// The header of a file.
struct Header {
    dimensions: Vec<u32>,
    /// Bytes of the header itself.
    length: u128,
}

impl Header {
    /// The dimensions in the usual form, 60000 x 28 x 28.
    fn shape(&self) -> String {
        self.dimensions.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
    }

    /// Values of the whole file; `None` if their number overflows.
    fn values(&self) -> Option<u128> {
        self.dimensions.iter().try_fold(1u128, |product, size| product.checked_mul((*size).into()))
    }

    fn rows(&self) -> usize {
        self.dimensions[0] as usize
    }
}

fn read_header(stream: &mut Stream, wanted: &str, fits: impl Fn(u8) -> bool) -> Result<Header> {
    let mut magic = [0; 4];
    if stream.fill(&mut magic)? < magic.len() {
        return Err(early_end(stream, &format!("{wanted} with a header")));
    }
    if magic[..3] != [0, 0, UNSIGNED_BYTES] || !fits(magic[3]) {
        let found = format!("0x{:08x}", u32::from_be_bytes(magic));
        return Err(stream.error(Place::default(), format!("the magic number of {wanted}"), found));
    }
    let mut sizes = vec![0; 4 * usize::from(magic[3])];
    if stream.fill(&mut sizes)? < sizes.len() {
        return Err(early_end(stream, &format!("a header with {} dimensions", magic[3])));
    }
    let size = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let dimensions: Vec<u32> = sizes.chunks_exact(4).map(size).collect();
    let header = Header { length: 4 + sizes.len() as u128, dimensions };
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

/// Refuses sizes that the file or memory cannot hold, before allocation.
fn check_promise(stream: &Stream, header: &Header, bytes_per_value: u128) -> Result<()> {
    let values = header.values();
    let length = values.and_then(|values| values.checked_add(header.length));
    stream.check_length(length, &header.shape())?;
    let bytes = values.and_then(|values| values.checked_mul(bytes_per_value)).unwrap_or(u128::MAX);
    check_memory(bytes, &format!("{}: a table of {} values", stream.name().display(), header.shape()))
}

/// Reads a whole label file.
pub(crate) fn read_labels(stream: &mut Stream) -> Result<Vec<u8>> {
    let header = read_header(stream, "IDX labels (0x00000801)", |dimensions| dimensions == 1)?;
    check_promise(stream, &header, size_of::<u32>() as u128 + 1)?;
    let bytes = stream.take(header.rows())?;
    if bytes.len() < header.rows() {
        let (expected, found) = (format!("{} labels", header.rows()), bytes.len());
        return Err(stream.error(Place::default(), expected, format!("the end of the file after {found}")));
    }
    stream.expect_end(&format!("{} labels", bytes.len()))?;
    Ok(bytes)
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
}

impl Images {
    /// Reads the header and checks it, also against the number and file name of the labels, if given.
    pub(crate) fn open(mut stream: Stream, labels: Option<(usize, &Path)>) -> Result<Self> {
        let wanted = "IDX images (0x00000803, or bytes of 2 or more dimensions)";
        let header = read_header(&mut stream, wanted, |dimensions| dimensions >= 2)?;
        if let Some((labels, labels_name)) = labels
            && header.rows() != labels
        {
            let expected = format!("{labels} images, one for each label of {}", labels_name.display());
            return Err(stream.error(Place::default(), expected, format!("{}", header.rows())));
        }
        check_promise(&stream, &header, 1)?;
        let sizes: Vec<usize> = header.dimensions[1..].iter().map(|size| *size as usize).collect();
        let form = <[usize; 2]>::try_from(sizes.as_slice()).ok();
        let form = form.map(|[height, width]| ImageForm { height, width, colour: false });
        Ok(Self { stream, rows: header.rows(), done: 0, inputs: sizes.iter().product(), form })
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
        Ok(Some(Table { features: Features::Bytes(bytes), ..Table::default() }))
    }
}
