//! Decompresses zstd: one frame after the other, each with its checksum (RFC 8878).

use std::io::{Chain, Cursor, Error, ErrorKind, Read, Result};

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{DEFAULT_MAX_WINDOW_SIZE, FrameDecoder, StreamingDecoder};

/// The first bytes of a frame.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Maximum size of a window, which is kept in memory, in bytes.
pub(crate) const MOST_WINDOW: u64 = DEFAULT_MAX_WINDOW_SIZE;

/// The first bytes of a skippable frame, as a little-endian word, without its lowest four bits.
const SKIPPABLE: u32 = 0x184d_2a50;

/// Whether data begin with a frame.
pub(crate) fn is_zstd(start: &[u8]) -> bool {
    let word = start.first_chunk().map(|start| u32::from_le_bytes(*start));
    word.is_some_and(|word| word.to_le_bytes() == MAGIC || word & !0xf == SKIPPABLE)
}

type Source = Box<dyn Read + Send>;

/// A frame whose first bytes have been read.
type Frame = StreamingDecoder<Chain<Cursor<[u8; 4]>, Source>, FrameDecoder>;

/// Reads until `buffer` is full or the source ends; returns the number of bytes read.
pub(crate) fn fill(source: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The contents of zstd data.
pub(crate) struct Zstd(State);

enum State {
    Between(Source),
    Inside(Box<Frame>),
    Ended,
}

impl Zstd {
    pub(crate) fn new(source: Source) -> Self {
        Self(State::Between(source))
    }

    /// Begins the next frame, if there is one.
    fn begin(mut source: Source) -> Result<State> {
        loop {
            let mut magic = [0; 4];
            match fill(&mut source, &mut magic)? {
                0 => return Ok(State::Ended),
                4 => {}
                _ => return Err(ErrorKind::UnexpectedEof.into()),
            }
            if u32::from_le_bytes(magic) & !0xf != SKIPPABLE {
                let decoder = StreamingDecoder::new(Cursor::new(magic).chain(source)).map_err(refusal)?;
                return Ok(State::Inside(Box::new(decoder)));
            }
            let mut length = [0; 4];
            source.read_exact(&mut length)?;
            let length = u64::from(u32::from_le_bytes(length));
            if std::io::copy(&mut source.by_ref().take(length), &mut std::io::sink())? < length {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            self.0 = match std::mem::replace(&mut self.0, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(source) => Self::begin(source)?,
                State::Inside(mut decoder) => {
                    let count = decoder.read(buffer).map_err(damage)?;
                    if count > 0 || buffer.is_empty() {
                        self.0 = State::Inside(decoder);
                        return Ok(count);
                    }
                    let said = decoder.decoder.get_checksum_from_data();
                    if said.is_some() && said != decoder.decoder.get_calculated_checksum() {
                        return Err(damage("the check sum is that of other bytes"));
                    }
                    State::Between(decoder.into_inner().into_inner().1)
                }
            }
        }
    }
}

/// The error about a frame that cannot be decoded; too large a window is not damage.
fn refusal(error: FrameDecoderError) -> Error {
    match error {
        FrameDecoderError::WindowSizeTooBig { requested, .. } => {
            let text =
                format!("one of {requested} (unpack it by `zstd -d --long=31`, or pack it without --long)");
            Error::new(ErrorKind::Unsupported, text)
        }
        error => damage(error),
    }
}

fn damage(error: impl std::fmt::Display) -> Error {
    // The decoder's messages end in full stops and may have several lines.
    let text = error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
    Error::new(ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'a,b\n1,2\n' | zstd`, which adds a checksum; and a skippable frame.
    const WITH_SUM: &str = "28b52ffd0458410000612c620a312c320a35e7cace";
    const SKIPPED: &str = "5a2a4d1803000000010203";

    fn bytes(hex: &str) -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn unpacked(packed: Vec<u8>) -> Result<String> {
        let mut text = String::new();
        Zstd::new(Box::new(Cursor::new(packed))).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn frames_follow_one_another_and_some_are_skipped() {
        let frame = bytes(WITH_SUM);
        assert_eq!(unpacked(frame.clone()).unwrap(), "a,b\n1,2\n");
        let several = [bytes(SKIPPED), frame.clone(), bytes(SKIPPED), frame.clone()].concat();
        assert_eq!(unpacked(several).unwrap(), "a,b\n1,2\n".repeat(2));
        assert_eq!(unpacked(bytes(SKIPPED)).unwrap(), "");
    }

    #[test]
    fn what_is_damaged_or_cut_is_an_error() {
        let frame = bytes(WITH_SUM);
        for length in 1..frame.len() {
            assert!(unpacked(frame[..length].to_vec()).is_err(), "cut to {length}");
        }
        for place in [9, 16, frame.len() - 1] {
            let mut damaged = frame.clone();
            damaged[place] ^= 1;
            assert!(unpacked(damaged).is_err(), "byte {place}");
        }
        assert!(unpacked([frame, vec![1, 2]].concat()).is_err());
    }
}
