//! Short texts that were looked up lately, found without a strong hash.

use super::row::Found;

/// How many are kept.
const PLACES: usize = 512;

/// The longest text that is kept.
const LONGEST: usize = 16;

/// Stands for the number of a text that is not here. No text has it.
pub(super) const UNKNOWN: u32 = u32::MAX - 1;

/// A place for each value of a weak hash, with the text that was there last and its number.
pub(super) struct Recent {
    places: Box<[(Key, u32); PLACES]>,
}

/// A text of up to 16 bytes: the first and the last 8 of as many bytes, the last of which are the text and the others 0; and its
/// length.
type Key = ([u64; 2], u32);

/// No text has this key.
const NO_KEY: Key = ([0; 2], u32::MAX);

/// The bytes that are a text of each length.
const MASKS: [[u64; 2]; LONGEST + 1] = {
    let mut masks = [[0; 2]; LONGEST + 1];
    let mut length = 1;
    while length <= LONGEST {
        let mask = u128::MAX << (8 * (LONGEST - length));
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

impl Recent {
    pub(super) fn new() -> Self {
        Self { places: Box::new([(NO_KEY, 0); PLACES]) }
    }

    /// The number of the text that is the last `length` bytes, if it is here.
    #[inline(always)]
    pub(super) fn find(&self, bytes: &[u8], length: usize) -> Option<u32> {
        let key = key(bytes, length)?;
        let place = place(key);
        let (found, number) = self.places[place];
        if is_same(found, key) { Some(number) } else { self.find_beside(key, place) }
    }

    /// The numbers of the cells of a column, or [`UNKNOWN`].
    ///
    /// Not to be inlined: it takes all registers, and no vectors.
    #[inline(never)]
    pub(super) fn find_each(&self, found: Found<'_>, column: usize, numbers: &mut Vec<u32>) {
        let Found { text, bounds, firsts } = found;
        let bounds = &bounds[column..];
        numbers.clear();
        numbers.extend(firsts.iter().map(|first| {
            let (start, end) = (bounds[*first as usize] as usize, bounds[*first as usize + 1] as usize - 1);
            self.find(&text[..end], end - start).unwrap_or(UNKNOWN)
        }));
    }

    /// The number of a text beside its place.
    fn find_beside(&self, key: Key, place: usize) -> Option<u32> {
        let (found, number) = self.places[place ^ 1];
        is_same(found, key).then_some(number)
    }

    /// Puts a text in its place, or beside it if that is free and its place is not. Two texts that come in turn and have the same
    /// place would push one another out of it each time.
    pub(super) fn put(&mut self, text: &[u8], number: u32) {
        if let Some(key) = key(text, text.len()) {
            let place = place(key);
            let is_free = |place: usize| self.places[place].0 == NO_KEY;
            let place = if !is_free(place) && is_free(place ^ 1) { place ^ 1 } else { place };
            self.places[place] = (key, number);
        }
    }
}

/// Without a branch that depends on the text: lengths change from row to row, and would be guessed wrong.
#[inline(always)]
fn key(bytes: &[u8], length: usize) -> Option<Key> {
    let mask = MASKS.get(length)?;
    let last = bytes.last_chunk().copied().unwrap_or_else(|| copied(bytes));
    let word = |place: usize| {
        let bytes: &[u8; 8] = &last.as_chunks().0[place];
        u64::from_le_bytes(*bytes) & mask[place]
    };
    Some(([word(0), word(1)], length as u32))
}

/// Fewer bytes than a key has, behind zeros.
#[cold]
fn copied(bytes: &[u8]) -> [u8; LONGEST] {
    let mut last = [0; LONGEST];
    last[LONGEST - bytes.len()..].copy_from_slice(bytes);
    last
}

/// Whether they are the same, with one branch.
#[inline(always)]
fn is_same((a, a_length): Key, (b, b_length): Key) -> bool {
    (a[0] ^ b[0]) | (a[1] ^ b[1]) | u64::from(a_length ^ b_length) == 0
}

#[inline(always)]
fn place(([first, last], length): Key) -> usize {
    // The highest bits of a product depend on all bits of its factors (D. E. Knuth, "The Art of Computer Programming", 6.4).
    let mixed = (first.rotate_left(23) ^ last ^ u64::from(length)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - PLACES.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_never_taken_for_others() {
        // Every text that differs in a byte or in its length has a key of its own.
        let mut keys = std::collections::HashSet::new();
        for length in 0..=16 {
            let text = vec![b'a'; length];
            assert!(keys.insert(key(&text, length)));
            for place in 0..length {
                let mut other = text.clone();
                other[place] = 0;
                assert!(keys.insert(key(&other, length)), "{length} {place}");
                // What stands in front of it does not matter.
                let longer = [b"a text in front of it", other.as_slice()].concat();
                assert_eq!(key(&longer, length), key(&other, length));
            }
        }
        assert_eq!(key(&[b'a'; 17], 17), None);
        let mut recent = Recent::new();
        for number in 0..5000u32 {
            recent.put(number.to_string().as_bytes(), number);
            recent.put(format!("a text of many bytes {number}").as_bytes(), number);
        }
        let find = |text: &str| recent.find(text.as_bytes(), text.len());
        let found: Vec<u32> = (0..5000).filter(|number| find(&number.to_string()) == Some(*number)).collect();
        assert!(found.len() > PLACES / 2 && found.len() <= PLACES, "{}", found.len());
        assert_eq!(find("a text of many bytes 7"), None);
        assert!((0..5000u32).all(|number| find(&number.to_string()).is_none_or(|found| found == number)));
    }

    #[test]
    fn two_texts_of_one_place_are_both_kept() {
        let text = |number: u32| number.to_string();
        let place_of = |number| key(text(number).as_bytes(), text(number).len()).map(place);
        let same: Vec<u32> = (0..5000).filter(|number| place_of(*number) == place_of(7)).collect();
        let mut recent = Recent::new();
        let find = |recent: &Recent, number| recent.find(text(number).as_bytes(), text(number).len());
        for number in &same[..2] {
            recent.put(text(*number).as_bytes(), *number);
        }
        for number in &same[..2] {
            assert_eq!(find(&recent, *number), Some(*number));
        }
        // The next one takes the place of the first.
        recent.put(text(same[2]).as_bytes(), same[2]);
        let found: Vec<bool> = same[..3].iter().map(|number| find(&recent, *number).is_some()).collect();
        assert_eq!(found, [false, true, true]);
    }
}
