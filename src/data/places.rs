//! Where some bytes stand in a text, a block of it at once.

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Places that are written without looking whether there are so many.
const AT_A_TIME: usize = 8;

use super::decimal::{CELLS, Decimals};
use super::notation::ReadAs;

/// Looks for bytes in a block with some kind of vectors.
pub(super) trait Blocks: Copy {
    /// Which bytes of a block are one of those that are wanted: a bit for each, the lowest for the first.
    fn places<const N: usize>(self, block: &[u8; BLOCK], wanted: [u8; N]) -> u64;

    /// The same of the first bytes of a text, a block at most.
    #[inline(always)]
    fn places_in<const N: usize>(self, text: &[u8], wanted: [u8; N]) -> u64 {
        if let Some(block) = text.first_chunk() {
            return self.places(block, wanted);
        }
        let mut block = [0; BLOCK];
        block[..text.len()].copy_from_slice(text);
        self.places(&block, wanted) & !(u64::MAX << text.len())
    }

    /// Reads cells: see [`Decimals::read`].
    #[inline(always)]
    fn decimals(
        self,
        decimals: &mut Decimals,
        text: &[u8],
        bounds: &[u32],
        count: usize,
        read_as: ReadAs,
        numbers: &mut [f32; CELLS],
    ) -> u32 {
        read_decimals(decimals, text, bounds, count, read_as, numbers)
    }

    /// Writes the places of the bits of a word, of which the lowest has the place `first`; behind them anything may be written.
    #[inline(always)]
    fn write(self, mut bits: u64, first: u32, places: &mut [u32; BLOCK]) {
        // More at a time than there mostly are: their number changes from block to block, and would be guessed wrong.
        for some in places.chunks_exact_mut(AT_A_TIME) {
            for place in some {
                *place = first.wrapping_add(bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
            }
            if bits == 0 {
                break;
            }
        }
    }
}

/// What all vectors can: the compiler makes them of plain loops over what `decimals` has for itself.
#[inline(always)]
fn read_decimals(
    decimals: &mut Decimals,
    text: &[u8],
    bounds: &[u32],
    count: usize,
    read_as: ReadAs,
    numbers: &mut [f32; CELLS],
) -> u32 {
    let others = decimals.read(text, bounds, count, read_as);
    *numbers = decimals.numbers;
    others
}

/// Some work that looks at blocks. It is compiled for each kind of vectors.
pub(super) trait WithBlocks {
    /// What it gives.
    type Output;

    /// Does it. To be inlined, so that it becomes part of what is compiled for the vectors.
    fn with_blocks(self, blocks: impl Blocks) -> Self::Output;
}

/// Does some work with the longest vectors of the processor.
#[inline]
pub(super) fn in_blocks<Work: WithBlocks>(work: Work) -> Work::Output {
    #[cfg(target_arch = "x86_64")]
    match crate::vectors::longest() {
        pulp::Arch::V4(v4) => return v4.vectorize(On(work, v4)),
        pulp::Arch::V3(v3) => return v3.vectorize(On(work, v3)),
        _ => (),
    }
    work.with_blocks(Shortest)
}

/// What some work gives with each kind of vectors that this processor has.
#[cfg(test)]
pub(super) fn in_all_blocks<Work: WithBlocks>(work: impl Fn() -> Work) -> Vec<(&'static str, Work::Output)> {
    let mut given = vec![("shortest", work().with_blocks(Shortest)), ("longest", in_blocks(work()))];
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        given.push(("AVX2", v3.vectorize(On(work(), v3))));
    }
    given
}

/// Vectors that all processors of a kind have, or none.
#[derive(Clone, Copy)]
struct Shortest;

impl Blocks for Shortest {
    #[inline(always)]
    fn places<const N: usize>(self, block: &[u8; BLOCK], wanted: [u8; N]) -> u64 {
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
}

#[cfg(target_arch = "x86_64")]
mod longer {
    use pulp::x86::{V3, V4};
    use pulp::{NullaryFnOnce, Simd, cast};

    use super::super::decimal512;
    use super::{BLOCK, Blocks, CELLS, Decimals, ReadAs, WithBlocks, read_decimals};

    /// Work with vectors that the processor has.
    pub(super) struct On<Work, Vectors>(pub Work, pub Vectors);

    impl<Work: WithBlocks, Vectors: Blocks> NullaryFnOnce for On<Work, Vectors> {
        type Output = Work::Output;

        #[inline(always)]
        fn call(self) -> Work::Output {
            self.0.with_blocks(self.1)
        }
    }

    impl Blocks for V3 {
        #[inline(always)]
        fn places<const N: usize>(self, block: &[u8; BLOCK], wanted: [u8; N]) -> u64 {
            // Loops, as the compiler does not make part of this what it calls for each: `fold` would be compiled without the vectors.
            let mut places = 0;
            for (part, bytes) in block.as_chunks::<32>().0.iter().enumerate() {
                let (bytes, mut found) = (cast(*bytes), self.avx._mm256_setzero_si256());
                for byte in wanted {
                    let wanted = self.avx._mm256_set1_epi8(byte.cast_signed());
                    found = self.avx2._mm256_or_si256(found, self.avx2._mm256_cmpeq_epi8(bytes, wanted));
                }
                let found = self.avx2._mm256_movemask_epi8(found).cast_unsigned();
                places |= u64::from(found) << (32 * part);
            }
            places
        }
    }

    impl Blocks for V4 {
        #[inline(always)]
        fn decimals(
            self,
            decimals: &mut Decimals,
            text: &[u8],
            bounds: &[u32],
            count: usize,
            read_as: ReadAs,
            numbers: &mut [f32; CELLS],
        ) -> u32 {
            decimal512::read(self, text, bounds, count, read_as, numbers)
                .unwrap_or_else(|| read_decimals(decimals, text, bounds, count, read_as, numbers))
        }

        #[inline(always)]
        fn places<const N: usize>(self, block: &[u8; BLOCK], wanted: [u8; N]) -> u64 {
            let bytes = cast(*block);
            wanted.iter().fold(0, |places, byte| places | self.equal_u8s(bytes, self.splat_u8s(*byte)).0)
        }

        #[inline(always)]
        fn write(self, bits: u64, first: u32, places: &mut [u32; BLOCK]) {
            const LANES: usize = 16;
            let lanes: [u32; LANES] = std::array::from_fn(|lane| lane as u32);
            let mut count = 0;
            for part in 0..BLOCK / LANES {
                let bits = (bits >> (part * LANES)) as u16;
                let all = self.splat_u32s(first.wrapping_add((part * LANES) as u32));
                let all = self.add_u32s(all, cast(lanes));
                let packed = self.avx512f._mm512_maskz_compress_epi32(bits, cast(all));
                places[count..count + LANES].copy_from_slice(&cast::<_, [u32; LANES]>(packed));
                count += bits.count_ones() as usize;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
use longer::On;

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

    struct Find<'a, const N: usize>(&'a [u8], [u8; N]);

    impl<const N: usize> WithBlocks for Find<'_, N> {
        type Output = u64;

        #[inline(always)]
        fn with_blocks(self, blocks: impl Blocks) -> u64 {
            blocks.places_in(self.0, self.1)
        }
    }

    /// What each kind of vectors finds that this processor has.
    fn found<const N: usize>(text: &[u8], wanted: [u8; N]) -> Vec<(&'static str, u64)> {
        in_all_blocks(|| Find(text, wanted))
    }

    struct Write(u64, u32);

    impl WithBlocks for Write {
        type Output = Vec<u32>;

        #[inline(always)]
        fn with_blocks(self, blocks: impl Blocks) -> Vec<u32> {
            let mut places = [0; BLOCK];
            blocks.write(self.0, self.1, &mut places);
            places[..self.0.count_ones() as usize].to_vec()
        }
    }

    #[test]
    fn places_of_bits_are_written_in_their_order() {
        let words = (0..2000u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let sparse = words.clone().map(|word| word & word.rotate_left(11) & word.rotate_left(29));
        for word in words.chain(sparse).chain([0, 1, 1 << 63, u64::MAX, u64::MAX >> 16]) {
            let expected: Vec<u32> =
                (0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| 1000 + bit).collect();
            assert_eq!(Write(word, 1000).with_blocks(Shortest), expected, "{word:x}");
            assert_eq!(in_blocks(Write(word, 1000)), expected, "{word:x}");
        }
    }

    #[test]
    fn every_place_of_a_block_is_found() {
        for wanted in [0, b',', b'\t', 0x80, 0xff] {
            for byte in 0..=255 {
                let mut block = [byte; BLOCK];
                block[17] = wanted;
                let expected = if byte == wanted { u64::MAX } else { 1 << 17 };
                assert_eq!(places_by_words(&block, wanted), expected, "{byte} {wanted}");
                for length in [0, 1, 17, 18, 63, 64] {
                    let expected = expected & u64::MAX.checked_shr(64 - length).unwrap_or(0);
                    for (kind, found) in found(&block[..length as usize], [wanted]) {
                        assert_eq!(found, expected, "{kind} {byte} {wanted} {length}");
                    }
                }
            }
        }
    }

    #[test]
    fn places_of_several_bytes_are_found_together() {
        let text: Vec<u8> = (0..70).collect();
        for (kind, found) in found(&text, [63, 0, 64, 5]) {
            assert_eq!(found, 1 << 63 | 1 | 1 << 5, "{kind}");
        }
        for (kind, found) in found(&text[60..], [63, 0, 69]) {
            assert_eq!(found, 1 << 3 | 1 << 9, "{kind}");
        }
    }
}
