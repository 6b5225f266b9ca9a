//! Modifies valid files into arbitrary ones by a seed: a case always has the same bytes.

/// Numbers that are critical for readers.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff8,
    0xffff_ffff_ffff_ffff,
];

/// Words that are critical for readers of text.
const WORDS: [&str; 38] = [
    "",
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "null",
    "true",
    "1e39",
    "0x10",
    "+5",
    "1_000",
    "1,234.5",
    "1.234,5",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "340282350000000000000000000000000000000",
    "\"",
    "\"\"",
    "\u{0}",
    "\u{feff}",
    "\u{9b}31m",
    "\u{1b}[31m",
    "\r",
    "\n\n",
    "[[",
    "{",
    "}",
    "relu,relu,relu",
    "é",
    "\\u0000",
    "999999999x999999999",
];

/// A stream of pseudorandom numbers.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// Returns a number below `count`; 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        self.next().checked_rem(count as u64).unwrap_or(0) as usize
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Returns one of the seeds, changed one to five times.
pub fn mutated(seeds: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = seeds[chance.below(seeds.len())].clone();
    let changes = 1 + chance.below(5);
    // Files with a single change are read furthest.
    for _ in 0..1 + chance.below(changes) {
        change(&mut bytes, seeds, chance);
    }
    bytes.truncate(1 << 16);
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], chance: &mut Chance) {
    // Headers are short, and most faults are found there.
    let reach = if chance.below(2) == 0 { bytes.len() } else { bytes.len().min(64) };
    let at = chance.below(reach);
    let most = chance.of(&[1, 8, 64, bytes.len()]);
    let length = chance.below(most + 1).min(bytes.len() - at);
    match chance.below(13) {
        0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
        1 if at < bytes.len() => bytes[at] = chance.next() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..at + length)),
        4 => {
            let piece = bytes[at..at + length].to_vec();
            let to = chance.below(bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
        5 => {
            let piece: Vec<u8> = (0..length.min(64)).map(|_| chance.next() as u8).collect();
            bytes.splice(at..at, piece);
        }
        6 => integer(bytes, at, chance),
        7 => swap_lines(bytes, chance),
        8 => {
            let other = &seeds[chance.below(seeds.len())];
            let from = chance.below(other.len());
            let piece = other[from..from + length.min(other.len() - from)].to_vec();
            bytes.splice(at..at + length, piece);
        }
        9 | 10 => number(bytes, chance),
        11 => {
            bytes.splice(at..at, chance.of(&WORDS).bytes());
        }
        _ => token(bytes, chance),
    }
}

/// Overwrites one to eight bytes with a number, in one of both byte orders.
fn integer(bytes: &mut [u8], at: usize, chance: &mut Chance) {
    let (width, number) = (1usize << chance.below(4), chance.of(&NUMBERS));
    let mut word = number.to_le_bytes()[..width].to_vec();
    if chance.below(2) == 0 {
        word.reverse();
    }
    if let Some(place) = bytes.get_mut(at..at + width) {
        place.copy_from_slice(&word);
    }
}

fn swap_lines(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (a, b) = (chance.below(lines.len()), chance.below(lines.len()));
    if !lines.is_empty() {
        lines.swap(a, b);
        *bytes = lines.concat();
    }
}

/// Replaces a number written in digits by another one.
fn number(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let digits = |byte: &u8| byte.is_ascii_digit() || b".+-e".contains(byte);
    replace(bytes, digits, chance);
}

/// Replaces a word between punctuation by another one.
fn token(bytes: &mut Vec<u8>, chance: &mut Chance) {
    replace(bytes, |byte| !b",;:\"[]{}=\n\t ".contains(byte), chance);
}

fn replace(bytes: &mut Vec<u8>, is_inside: impl Fn(&u8) -> bool, chance: &mut Chance) {
    let from = chance.below(bytes.len());
    let Some(start) = bytes[from..].iter().position(&is_inside).map(|start| from + start) else { return };
    let end = bytes[start..].iter().position(|byte| !is_inside(byte)).map_or(bytes.len(), |end| start + end);
    let word = match chance.below(3) {
        0 => chance.of(&NUMBERS).to_string(),
        1 => chance.below(40).to_string(),
        _ => chance.of(&WORDS).to_owned(),
    };
    bytes.splice(start..end, word.bytes());
}

/// Corrects the length before a safetensors header, which ends at its closing brace.
pub fn repair_header(bytes: &mut [u8]) {
    let Some((length, rest)) = bytes.split_first_chunk_mut::<8>() else { return };
    let (mut depth, mut is_quoted, mut is_escaped) = (0, false, false);
    for (at, byte) in rest.iter().enumerate() {
        match (byte, is_quoted) {
            _ if is_escaped => is_escaped = false,
            (b'\\', true) => is_escaped = true,
            (b'"', _) => is_quoted = !is_quoted,
            (b'{', false) => depth += 1,
            (b'}', false) => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            let padding = rest[at + 1..].iter().take_while(|byte| **byte == b' ').count();
            *length = ((at + 1 + padding) as u64).to_le_bytes();
            return;
        }
    }
}

/// Corrects the checksums of the chunks of a PNG file.
pub fn repair_sums(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(head) = bytes.get(at..at + 8) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let end = at + 8 + length;
        let Some(chunk) = bytes.get(at + 4..end) else { return };
        let mut sum = flate2::Crc::new();
        sum.update(chunk);
        let Some(place) = bytes.get_mut(end..end + 4) else { return };
        place.copy_from_slice(&sum.sum().to_be_bytes());
        at = end + 4;
    }
}

/// Corrects the checksums of the stored entries of a ZIP archive.
pub fn repair_archive(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at: usize, size: usize| -> Option<usize> {
        Some(
            bytes
                .get(at..at.checked_add(size)?)?
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | usize::from(*byte)),
        )
    };
    let entries: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"PK\x01\x02")).collect();
    for at in entries {
        let [size, place] = [20, 42].map(|field| number(bytes, at + field, 4).unwrap_or(usize::MAX));
        let lengths = [26, 28].map(|field| number(bytes, place.saturating_add(field), 2).unwrap_or(0));
        let begin = place.saturating_add(30 + lengths[0] + lengths[1]);
        let Some(contents) = bytes.get(begin..begin.saturating_add(size)) else { continue };
        let mut sum = flate2::Crc::new();
        sum.update(contents);
        if let Some(place) = bytes.get_mut(at + 16..at + 20) {
            place.copy_from_slice(&sum.sum().to_le_bytes());
        }
    }
}
