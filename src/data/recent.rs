//! Short texts that were looked up lately, found without a strong hash.

/// How many are kept.
const PLACES: usize = 512;

/// A place for each value of a weak hash, with the text that was there last and its number.
pub(super) struct Recent {
    places: Vec<(Key, u32)>,
}

/// A text of up to 16 bytes: its first and last 8, or 4, or 3 of them, and its length.
type Key = (u64, u64, usize);

impl Recent {
    pub(super) fn new() -> Self {
        // No text has this key.
        Self { places: vec![((0, 0, usize::MAX), 0); PLACES] }
    }

    /// The number of a text, if it is here.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<u32> {
        let key = key(text)?;
        let (found, number) = self.places[place(key)];
        (found == key).then_some(number)
    }

    /// Puts a text in the place of another.
    pub(super) fn put(&mut self, text: &[u8], number: u32) {
        if let Some(key) = key(text) {
            self.places[place(key)] = (key, number);
        }
    }
}

#[inline]
fn key(text: &[u8]) -> Option<Key> {
    let length = text.len();
    let (first, last) = if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
    } else {
        let byte = |place: usize| u64::from(text.get(place).copied().unwrap_or(0));
        (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
    };
    (length <= 16).then_some((first, last, length))
}

#[inline]
fn place((first, last, length): Key) -> usize {
    // The highest bits of a product depend on all bits of its factors (D. E. Knuth, "The Art of Computer Programming", 6.4).
    let mixed = (first ^ last.rotate_left(23) ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
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
            assert!(keys.insert(key(&text)));
            for place in 0..length {
                let mut other = text.clone();
                other[place] = 0;
                assert!(keys.insert(key(&other)), "{length} {place}");
            }
        }
        assert_eq!(key(&[b'a'; 17]), None);
        let mut recent = Recent::new();
        for number in 0..5000u32 {
            recent.put(number.to_string().as_bytes(), number);
            recent.put(format!("a text of many bytes {number}").as_bytes(), number);
        }
        let found: Vec<u32> =
            (0..5000).filter(|number| recent.find(number.to_string().as_bytes()) == Some(*number)).collect();
        assert!(found.len() > PLACES / 2 && found.len() <= PLACES, "{}", found.len());
        assert_eq!(recent.find(b"a text of many bytes 7"), None);
        assert!(
            (0..5000u32)
                .all(|number| recent.find(number.to_string().as_bytes()).is_none_or(|found| found == number))
        );
    }
}
