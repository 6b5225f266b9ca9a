//! Columns aligned by runs of blanks: each run becomes one blank, and blanks around a line are removed.

use std::io::{self, Read};

/// Bytes read at a time.
const CHUNK: usize = 1 << 14;

/// The position of the next byte in a line.
#[derive(Clone, Copy, PartialEq)]
enum At {
    LineStart,
    /// After blanks that follow a cell.
    Gap,
    Cell,
    Quoted,
    /// After a quote that closes a cell, unless another quote follows.
    Closed,
}

/// The bytes of a table without the blanks that only align its columns.
pub(crate) struct Squeezed<Source> {
    source: Source,
    at: At,
    ready: Vec<u8>,
    given: usize,
}

impl<Source: Read> Squeezed<Source> {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, at: At::LineStart, ready: Vec::new(), given: 0 }
    }

    fn push(&mut self, byte: u8) {
        let next = match (self.at, byte) {
            (At::Quoted, b'"') => At::Closed,
            (At::Quoted, _) => At::Quoted,
            (At::Closed, b'"') => At::Quoted,
            (_, b'\n' | b'\r') => At::LineStart,
            (At::LineStart, b' ' | b'\t') => At::LineStart,
            (_, b' ' | b'\t') => At::Gap,
            (At::LineStart | At::Gap, b'"') => At::Quoted,
            _ => At::Cell,
        };
        let is_blank = matches!(next, At::LineStart | At::Gap) && matches!(byte, b' ' | b'\t');
        if !is_blank {
            if self.at == At::Gap && next != At::LineStart {
                self.ready.push(b' ');
            }
            self.ready.push(byte);
        }
        self.at = next;
    }
}

impl<Source: Read> Read for Squeezed<Source> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            let mut chunk = [0; CHUNK];
            let count = self.source.read(&mut chunk)?;
            if count == 0 {
                return Ok(0);
            }
            self.ready.clear();
            self.given = 0;
            chunk[..count].iter().for_each(|byte| self.push(*byte));
        }
        let count = (&self.ready[self.given..]).read(buffer)?;
        self.given += count;
        Ok(count)
    }
}

/// Squeezes the blanks of bytes in memory.
pub(crate) fn squeezed(bytes: &[u8]) -> Vec<u8> {
    let mut squeezed = Squeezed::new(io::empty());
    bytes.iter().for_each(|byte| squeezed.push(*byte));
    squeezed.ready
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_blanks_become_one() {
        for (text, expected) in [
            ("  1  2\t3 \n\t4 5   6\r\n", "1 2 3\n4 5 6\r\n"),
            ("a \"b  c\"  \"d \"\"  e\" f\n", "a \"b  c\" \"d \"\"  e\" f\n"),
            ("5\"  6\n   \n7", "5\" 6\n\n7"),
        ] {
            assert_eq!(squeezed(text.as_bytes()), expected.as_bytes(), "{text}");
            let mut read = Vec::new();
            Squeezed::new(text.as_bytes()).read_to_end(&mut read).unwrap();
            assert_eq!(read, expected.as_bytes(), "{text}");
        }
    }
}
