//! Watches the bytes that a CSV parser reads: is a quote still open at the end, and on which line is what?
//!
//! The parser takes an open quote at the end of a file for a closed one and counts the two bytes of a CRLF
//! to different records; messages need both exactly.

use std::fmt;
use std::io::{self, ErrorKind, Read};

/// Passes bytes on and remembers just enough of them.
pub(super) struct QuoteWatch<R> {
    inner: R,
    delimiter: u8,
    /// The most bytes of a record.
    limit: usize,
    /// The bytes that were passed on last, and where they stand in the stream.
    chunk: Vec<u8>,
    chunk_start: u64,
    record_start: u64,
    before_chunk: Progress,
    at_end: Option<Progress>,
}

/// What is known between two bytes of the stream.
#[derive(Clone, Copy)]
struct Progress {
    state: State,
    /// Line of the next byte, counted from 1.
    line: u64,
    /// Line on which the latest quoted cell began.
    opened_on: u64,
}

/// What a quote would mean as the next byte; the same states as the parser's.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// It opens a quoted cell.
    CellStart,
    /// It is a byte like any other.
    Unquoted,
    /// It closes the cell, or is the first of two that stand for one.
    Quoted,
    /// It is the second of two.
    QuoteInQuoted,
}

impl<R> QuoteWatch<R> {
    pub(super) fn new(inner: R, delimiter: u8, limit: usize) -> Self {
        let before_chunk = Progress { state: State::CellStart, line: 1, opened_on: 1 };
        Self {
            inner,
            delimiter,
            limit,
            chunk: Vec::new(),
            chunk_start: 0,
            record_start: 0,
            before_chunk,
            at_end: None,
        }
    }

    pub(super) fn inner(&self) -> &R {
        &self.inner
    }

    /// The most bytes of a record.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Tells that the parser begins a record at `offset`.
    pub(super) fn begin_record(&mut self, offset: u64) {
        self.record_start = offset;
    }

    /// The line on which a quote was opened that the end of the stream left open.
    pub(super) fn unclosed(&self) -> Option<u64> {
        self.at_end.filter(|end| end.state == State::Quoted).map(|end| end.opened_on)
    }

    /// The line of the last byte before `offset`, which must lie in the bytes passed on last.
    pub(super) fn line_before(&self, offset: u64) -> u64 {
        let length = offset.saturating_sub(self.chunk_start + 1) as usize;
        self.before_chunk.line + count_lines(&self.chunk[..length.min(self.chunk.len())])
    }

    /// Follows the record that goes beyond the last bytes; those before it are whole, and do not matter.
    fn after_chunk(&self) -> Progress {
        let mut progress = self.before_chunk;
        let mut rest = self.chunk.as_slice();
        if let Some(length) = self.record_start.checked_sub(self.chunk_start) {
            let (before, record) = rest.split_at(rest.len().min(length as usize));
            progress.line += count_lines(before);
            progress.state = State::CellStart;
            rest = record;
        }
        // Without a quote the last byte tells as much as all of them.
        if progress.state != State::Quoted
            && !rest.contains(&b'"')
            && let Some((_, before)) = rest.split_last()
        {
            progress.line += count_lines(before);
            rest = &rest[before.len()..];
        }
        for byte in rest {
            progress.state = match (progress.state, *byte) {
                (State::CellStart, b'"') => {
                    progress.opened_on = progress.line;
                    State::Quoted
                }
                (State::Quoted, b'"') => State::QuoteInQuoted,
                (State::QuoteInQuoted, b'"') | (State::Quoted, _) => State::Quoted,
                (_, b'\n' | b'\r') => State::CellStart,
                (_, byte) if byte == self.delimiter => State::CellStart,
                _ => State::Unquoted,
            };
            progress.line += u64::from(*byte == b'\n');
        }
        progress
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    // In sums that fit a byte, many of which fit a vector register.
    let count = |bytes: &[u8]| bytes.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    bytes.chunks(usize::from(u8::MAX)).map(|bytes| u64::from(count(bytes))).sum()
}

/// A record has more bytes than it may have.
#[derive(Debug)]
pub(super) struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record is too long")
    }
}

impl std::error::Error for TooLong {}

impl<R: Read> Read for QuoteWatch<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at_end.is_none() {
            // More is asked for only where the record goes on.
            let record = (self.chunk_start + self.chunk.len() as u64).saturating_sub(self.record_start);
            if record > self.limit as u64 {
                return Err(io::Error::other(TooLong));
            }
            match self.inner.read(buffer) {
                Ok(0) => self.at_end = Some(self.after_chunk()),
                Ok(count) => {
                    self.before_chunk = self.after_chunk();
                    self.chunk_start += self.chunk.len() as u64;
                    self.chunk.clear();
                    self.chunk.extend_from_slice(&buffer[..count]);
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(0)
    }
}
