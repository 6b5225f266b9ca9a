//! Where some bytes stand in a text, a block of it at once.

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Which of the first bytes of a text, a block at most, are one of those that are wanted: a bit for each, the lowest for the
/// first.
#[inline(always)]
pub(super) fn places_in<const N: usize>(text: &[u8], wanted: [u8; N]) -> u64 {
    if let Some(block) = text.first_chunk() {
        return places(block, wanted);
    }
    let mut block = [0; BLOCK];
    block[..text.len()].copy_from_slice(text);
    places(&block, wanted) & !(u64::MAX << text.len())
}

#[inline(always)]
fn places<const N: usize>(block: &[u8; BLOCK], wanted: [u8; N]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // Every such processor has it, which the compiler knows.
    if let Some(sse2) = pulp::core_arch::x86::Sse2::try_new() {
        return block.as_chunks::<16>().0.iter().enumerate().fold(0, |places, (part, bytes)| {
            let bytes = bytemuck::cast(*bytes);
            let found = wanted.iter().fold(sse2._mm_setzero_si128(), |found, byte| {
                let wanted = sse2._mm_set1_epi8(byte.cast_signed());
                sse2._mm_or_si128(found, sse2._mm_cmpeq_epi8(bytes, wanted))
            });
            places | u64::from(sse2._mm_movemask_epi8(found).cast_unsigned()) << (16 * part)
        });
    }
    wanted.into_iter().fold(0, |places, byte| places | places_by_words(block, byte))
}

/// The places of one byte on any processor, eight at once, without a branch.
#[inline]
fn places_by_words(block: &[u8; BLOCK], wanted: u8) -> u64 {
    /// A byte in all bytes of a word, as a factor.
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = ONES * 0x7f;
    let pattern = ONES * u64::from(wanted);
    block.as_chunks::<8>().0.iter().enumerate().fold(0, |places, (word, bytes)| {
        let differences = u64::from_le_bytes(*bytes) ^ pattern;
        // The top bit of every byte that is not 0.
        let others = ((differences & LOW) + LOW) | differences;
        let found = (!others >> 7) & ONES;
        // Puts the lowest bits of all bytes side by side.
        places | (found.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_block_is_found() {
        for wanted in [0, b',', b'\t', 0x80, 0xff] {
            for byte in 0..=255 {
                let mut block = [byte; BLOCK];
                block[17] = wanted;
                let expected = if byte == wanted { u64::MAX } else { 1 << 17 };
                for found in [places(&block, [wanted]), places_by_words(&block, wanted)] {
                    assert_eq!(found, expected, "{byte} {wanted}");
                }
                for length in [0, 1, 17, 18, 63] {
                    let expected = expected & !(u64::MAX << length);
                    assert_eq!(places_in(&block[..length], [wanted]), expected, "{byte} {wanted} {length}");
                }
            }
        }
    }

    #[test]
    fn places_of_several_bytes_are_found_together() {
        let text: Vec<u8> = (0..70).collect();
        assert_eq!(places_in(&text, [63, 0, 64, 5]), 1 << 63 | 1 | 1 << 5);
        assert_eq!(places_in(&text[60..], [63, 0, 69]), 1 << 3 | 1 << 9);
    }
}
