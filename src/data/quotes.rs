//! Watches the bytes that a CSV parser reads: is a quote still open, and on which line is it?
//!
//! The parser takes an open quote at the end of a file for a closed one and counts the two bytes of a CRLF
//! to different records; messages need both exactly.

use std::io::{self, ErrorKind, Read};

/// Passes bytes on and remembers just enough of them.
pub(super) struct QuoteWatch<R> {
    inner: R,
    /// The bytes that were passed on last, and where they stand in the stream.
    chunk: Vec<u8>,
    chunk_start: u64,
    lines_before_chunk: u64,
    state: State,
    /// Line on which the latest quoted cell began.
    opened_on: u64,
    ended: bool,
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
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            chunk: Vec::new(),
            chunk_start: 0,
            lines_before_chunk: 0,
            state: State::CellStart,
            opened_on: 1,
            ended: false,
        }
    }

    pub(super) fn inner(&self) -> &R {
        &self.inner
    }

    /// The line on which a quote was opened that the end of the stream left open.
    pub(super) fn unclosed(&self) -> Option<u64> {
        (self.ended && self.state == State::Quoted).then_some(self.opened_on)
    }

    /// The line, from 1, of the last byte before `offset`, which must lie in the bytes passed on last.
    pub(super) fn line_before(&self, offset: u64) -> u64 {
        let length = offset.saturating_sub(self.chunk_start + 1) as usize;
        1 + self.lines_before_chunk + count_lines(&self.chunk[..length.min(self.chunk.len())])
    }

    fn follow(&mut self, bytes: &[u8]) {
        self.chunk_start += self.chunk.len() as u64;
        self.lines_before_chunk += count_lines(&self.chunk);
        self.chunk.clear();
        self.chunk.extend_from_slice(bytes);
        // Most tables hold no quotes at all, and searching for one is much faster than following states.
        if bytes.contains(&b'"') || self.state == State::QuoteInQuoted {
            self.follow_quotes(bytes);
        } else if self.state != State::Quoted
            && let Some(last) = bytes.last()
        {
            self.state = after_unquoted(*last);
        }
    }

    fn follow_quotes(&mut self, bytes: &[u8]) {
        let mut line = 1 + self.lines_before_chunk;
        for byte in bytes {
            self.state = match (self.state, *byte) {
                (State::CellStart, b'"') => {
                    self.opened_on = line;
                    State::Quoted
                }
                (State::Quoted, b'"') => State::QuoteInQuoted,
                (State::QuoteInQuoted, b'"') | (State::Quoted, _) => State::Quoted,
                (_, byte) => after_unquoted(byte),
            };
            line += u64::from(*byte == b'\n');
        }
    }
}

fn after_unquoted(byte: u8) -> State {
    if matches!(byte, b',' | b'\n' | b'\r') { State::CellStart } else { State::Unquoted }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

impl<R: Read> Read for QuoteWatch<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(0);
                }
                Ok(count) => {
                    self.follow(&buffer[..count]);
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
