//! A file or another source of bytes, read once from start to end and decompressed if it is gzip or zstd.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use super::blanks::Squeezed;
use super::foreign::{LONGEST_START, by_bytes};
use super::npz::{self, Hints, Npz};
use super::subsets::Subset;
use super::zstd::{MAGIC as ZSTD_MAGIC, MOST_WINDOW, Zstd, fill, is_zstd};
use crate::data::columns::Selection;
use crate::data::dialect::Format;
use crate::data::images::ImageForm;
use crate::error::{Error, Place, Result};

/// The path that denotes standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// Initial capacity for reads of many bytes.
const FIRST_BYTES: usize = 1 << 20;
/// A compression format.
#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }

    /// Maximum number of bytes per compressed byte: deflate's longest match takes two bits; a block of zstd that
    /// repeats one byte takes four bytes for 128 KiB.
    fn most(self) -> u128 {
        match self {
            Packing::Gzip => 1032,
            Packing::Zstd => 1 << 15,
        }
    }
}

/// Bytes, and the name of their source in messages.
pub(crate) struct Stream {
    name: PathBuf,
    inner: Box<dyn Read + Send>,
    packing: Option<Packing>,
    /// The length of the file as stored; `None` for pipes.
    stored: Option<u64>,
    /// The delimiter given by the first line of a table, which is not part of the table.
    pub delimiter: Option<u8>,
    /// Hints from the types of arrays, if arrays were converted to a table.
    hints: Option<Hints>,
}

impl Stream {
    /// Opens a file or a pipe, or standard input, once.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_part(path, None)
    }

    /// Opens an archive of arrays, of which it reads a part of the data set, or arrays in a file each.
    pub(crate) fn open_arrays(paths: &[PathBuf], subset: Option<Subset>) -> Result<Self> {
        match paths {
            [path] => Self::open_part(path, subset),
            _ => {
                let npz = Npz::of_files(paths).map_err(|source| not_whole(&paths[0], source))?;
                Self::of_arrays(&paths[0], npz)
            }
        }
    }

    /// The parts of a data set in an archive of arrays; `None` if the file is something else.
    pub(crate) fn subsets(path: &Path) -> Result<Option<Vec<Subset>>> {
        npz::subsets(path).map_err(|source| not_whole(path, source))
    }

    fn of_arrays(path: &Path, npz: Npz) -> Result<Self> {
        let hints = Some(npz.hints());
        Ok(Self { hints, ..Self::unpack(path, npz, None)? })
    }

    fn open_part(path: &Path, subset: Option<Subset>) -> Result<Self> {
        if path == Path::new(STANDARD_INPUT) {
            return Self::unpack(Path::new("standard input"), io::stdin(), None);
        }
        let fault = |source| Error::Read { path: path.to_path_buf(), source };
        if path.is_dir() {
            return Err(fault(ErrorKind::IsADirectory.into()));
        }
        let file = File::open(path).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        if metadata.is_file()
            && let Some(npz) = Npz::open(path, subset).map_err(|source| not_whole(path, source))?
        {
            return Self::of_arrays(path, npz);
        }
        Self::unpack(path, file, metadata.is_file().then_some(metadata.len()))
    }

    /// The format of a table and the columns to read, completed by hints from the file type, and the form of images.
    pub(crate) fn hints(
        &self,
        format: &Format,
        columns: &Selection,
    ) -> (Format, Selection, Option<ImageForm>) {
        match &self.hints {
            Some(hints) => (hints.format(format), hints.selection(columns), hints.image),
            None => (format.clone(), columns.clone(), None),
        }
    }

    /// Opens a table, and skips preambles that some programs write.
    pub(crate) fn open_table(path: &Path) -> Result<Self> {
        let mut stream = Self::open(path)?;
        stream.skip_preamble()?;
        Ok(stream)
    }

    /// A stream of bytes in memory.
    pub(crate) fn of_bytes(name: &Path, bytes: Arc<[u8]>) -> Result<Self> {
        let length = bytes.len() as u64;
        Self::unpack(name, Cursor::new(bytes), Some(length))
    }

    /// A stream of unknown length.
    pub(crate) fn new(name: &Path, raw: impl Read + Send + 'static) -> Result<Self> {
        Self::unpack(name, raw, None)
    }

    fn unpack(name: &Path, raw: impl Read + Send + 'static, stored: Option<u64>) -> Result<Self> {
        let mut stream = Self {
            name: name.to_path_buf(),
            inner: Box::new(raw),
            packing: None,
            stored,
            delimiter: None,
            hints: None,
        };
        // Detected by the first bytes, because file names are unreliable.
        let start = stream.peek(ZSTD_MAGIC.len())?;
        if start.starts_with(&GZIP_MAGIC) {
            stream.inner = Box::new(MultiGzDecoder::new(stream.inner));
            stream.packing = Some(Packing::Gzip);
        } else if is_zstd(&start) {
            stream.inner = Box::new(Zstd::new(stream.inner));
            stream.packing = Some(Packing::Zstd);
        }
        Ok(stream)
    }

    /// The first `count` bytes (fewer at the end of the stream), which stay in the stream.
    pub(crate) fn peek(&mut self, count: usize) -> Result<Vec<u8>> {
        let start = self.take(count)?;
        self.put_back(start.clone());
        Ok(start)
    }

    /// The first rows, which stay in the stream: `rows` of them, or at least `least` if these have `bytes` bytes or
    /// more; and whether the stream ends after them. A row is at most `limit` bytes long.
    pub(crate) fn peek_rows(
        &mut self,
        rows: usize,
        least: usize,
        bytes: usize,
        limit: usize,
    ) -> Result<(Vec<u8>, bool)> {
        let (mut start, mut lines) = (Vec::new(), 0);
        let mut piece = vec![0; 1 << 14];
        let is_whole = loop {
            let most = if lines == 0 { limit } else { limit.saturating_mul(2) };
            if lines > rows || lines > least && start.len() >= bytes || start.len() > most {
                break false;
            }
            // Reads only available bytes: the rest of a pipe may arrive later.
            let count = match self.inner.read(&mut piece) {
                Ok(0) => break true,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.fault(error)),
            };
            lines += piece[..count].iter().filter(|byte| **byte == b'\n').count();
            start.extend_from_slice(&piece[..count]);
        };
        self.put_back(start.clone());
        Ok((start, is_whole))
    }

    /// Replaces each run of blanks by one blank, for columns aligned by blanks.
    pub(crate) fn squeeze_blanks(&mut self) {
        let rest = std::mem::replace(&mut self.inner, Box::new(io::empty()));
        self.inner = Box::new(Squeezed::new(rest));
    }

    fn put_back(&mut self, start: Vec<u8>) {
        let rest = std::mem::replace(&mut self.inner, Box::new(io::empty()));
        self.inner = Box::new(Cursor::new(start).chain(rest));
    }

    /// Refuses other table formats than UTF-8 text; an error that names the format is more helpful than one about
    /// UTF-8.
    fn refuse_other_formats(&mut self) -> Result<()> {
        let start = self.peek(LONGEST_START)?;
        let (what, remedy) = match start[..] {
            [b'P', b'A', b'R', b'1', next, ..] if next.is_ascii_control() && !next.is_ascii_whitespace() => {
                ("a Parquet file", "pandas writes it as CSV by read_parquet and to_csv(FILE, index=False)")
            }
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                let found = "text in UTF-16; save it as UTF-8";
                return Err(self.error(Place::default(), "text in UTF-8", found));
            }
            _ => match by_bytes(&start) {
                Some(known) => known,
                None => return Ok(()),
            },
        };
        Err(self.error(Place::default(), "a table as text (CSV)", format!("{what}; {remedy}")))
    }

    /// Skips the byte order mark that some programs write before UTF-8 text, and a first line `sep=;`, which gives the
    /// delimiter to spreadsheet programs.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Data`] if the file is not text.
    pub(crate) fn skip_preamble(&mut self) -> Result<()> {
        self.refuse_other_formats()?;
        if self.peek(BYTE_ORDER_MARK.len())? == BYTE_ORDER_MARK {
            self.fill(&mut [0; BYTE_ORDER_MARK.len()])?;
        }
        let (delimiter, length) = match self.peek(7)?[..] {
            [b's', b'e', b'p', b'=', delimiter, b'\r', b'\n'] => (delimiter, 7),
            [b's', b'e', b'p', b'=', delimiter, b'\r' | b'\n', ..] => (delimiter, 6),
            _ => return Ok(()),
        };
        if delimiter == b'\t' || delimiter.is_ascii_punctuation() && delimiter != b'"' {
            self.fill(&mut [0; 7][..length])?;
            self.delimiter = Some(delimiter);
        }
        Ok(())
    }

    /// The line on which the table begins, counted from 1.
    pub(crate) fn first_line(&self) -> u64 {
        1 + u64::from(self.delimiter.is_some())
    }

    /// Reads until `buffer` is full or the stream ends; returns the number of bytes read.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        fill(&mut self.inner, buffer).map_err(|error| self.fault(error))
    }

    /// Reads `count` bytes, or fewer at the end of the stream. Memory grows with the bytes read, so that a wrong header
    /// cannot exhaust it.
    pub(crate) fn take(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let filled = bytes.len();
            bytes.resize(count.min((2 * filled).max(FIRST_BYTES)), 0);
            let found = self.fill(&mut bytes[filled..])?;
            if filled + found < bytes.len() {
                bytes.truncate(filled + found);
                break;
            }
        }
        Ok(bytes)
    }

    /// Maximum number of bytes of this stream after decompression; `None` if its length is unknown.
    pub(crate) fn most(&self) -> Option<u128> {
        Some(u128::from(self.stored?).saturating_mul(self.packing.map_or(1, Packing::most)))
    }

    /// Checks the length declared by a header against the length of the file, if known.
    pub(crate) fn check_length(&self, promised: Option<u128>, header: &str) -> Result<()> {
        let Some(stored) = self.stored.map(u128::from) else { return Ok(()) };
        let promise =
            promised.map_or("more bytes than can be counted".into(), |bytes| format!("{bytes} bytes"));
        if self.packing.is_none() && promised != Some(stored) {
            let expected = format!("{promise}, as the header says ({header})");
            return Err(self.error(Place::default(), expected, format!("{stored} bytes")));
        }
        let Some(packing) = self.packing else { return Ok(()) };
        let most = stored.saturating_mul(packing.most());
        if promised.is_none_or(|bytes| bytes > most) {
            let expected = format!("at most {most} bytes in {stored} bytes of {}", packing.name());
            return Err(self.error(
                Place::default(),
                expected,
                format!("a header that says {promise} ({header})"),
            ));
        }
        Ok(())
    }

    /// Checks that the stream ends here; for compressed bytes this also verifies the checksum.
    pub(crate) fn expect_end(&mut self, after: &str) -> Result<()> {
        if self.fill(&mut [0])? == 0 {
            return Ok(());
        }
        let expected = format!("the end of the file after {after}");
        Err(self.error(Place::default(), expected, "more bytes"))
    }

    /// The number of bytes, if known before they are read.
    pub(crate) fn length(&self) -> Option<u64> {
        self.stored.filter(|_| self.packing.is_none())
    }

    /// The name of the source in messages.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Makes an error about the contents.
    pub(crate) fn error(&self, place: Place, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::data(&self.name, place, expected, found)
    }

    /// Makes an error about reading; if the bytes are compressed, faults of the compression are errors about the
    /// contents.
    pub(crate) fn fault(&self, source: io::Error) -> Error {
        if self.packing.is_some() && source.kind() == ErrorKind::Unsupported {
            let expected = format!("zstd data with a window of at most {MOST_WINDOW} bytes");
            return self.error(Place::default(), expected, source.to_string());
        }
        let found = match source.kind() {
            _ if self.packing.is_none() => None,
            ErrorKind::UnexpectedEof => {
                Some("an early end (cut off, or stray bytes after the end)".to_string())
            }
            ErrorKind::InvalidInput | ErrorKind::InvalidData => Some(format!("damage: {source}")),
            _ => None,
        };
        let Some(found) = found else { return Error::Read { path: self.name.clone(), source } };
        let expected = format!("whole {} data", self.packing.map_or("", Packing::name));
        self.error(Place::default(), expected, found)
    }
}

/// Makes an error about an archive of arrays.
fn not_whole(path: &Path, source: io::Error) -> Error {
    let found = match source.kind() {
        ErrorKind::UnexpectedEof => "an early end".to_owned(),
        ErrorKind::InvalidData | ErrorKind::InvalidInput => source.to_string(),
        _ => return Error::Read { path: path.to_owned(), source },
    };
    Error::data(path, Place::default(), "arrays of numbers or text (NPZ, NPY)", found)
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}
