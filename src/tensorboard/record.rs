//! Format of a record: the length of its data as u64, the checksum of the length, the data, and the checksum
//! of the data, little-endian. The checksum is CRC-32C (Castagnoli), computed bit by bit, which is fast
//! enough for one record per epoch.

const LENGTH: usize = size_of::<u64>();
const SUM: usize = size_of::<u32>();
/// Polynomial of the checksum, with reversed bits.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Returns data as a record.
pub(super) fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked(&length).to_le_bytes(), data, &masked(data).to_le_bytes()].concat()
}

/// Returns the data of a file's records, up to the first truncated or damaged record, after which no record
/// can be found.
pub(super) fn records(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = checked(bytes, LENGTH)?;
        let length = u64::from_le_bytes(length.try_into().ok()?);
        let (data, rest) = checked(rest, usize::try_from(length).ok()?)?;
        bytes = rest;
        Some(data)
    })
}

/// Splits off `count` checksummed bytes, if their checksum is correct.
fn checked(bytes: &[u8], count: usize) -> Option<(&[u8], &[u8])> {
    let (data, rest) = bytes.split_at_checked(count)?;
    let (sum, rest) = rest.split_at_checked(SUM)?;
    (sum == masked(data).to_le_bytes()).then_some((data, rest))
}

/// Computes the checksum of bytes.
fn sum(bytes: &[u8]) -> u32 {
    let shift = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), shift))
}

/// Computes the masked checksum of records: rotated and offset, as TensorBoard expects.
fn masked(bytes: &[u8]) -> u32 {
    sum(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_bytes_that_the_format_says() {
        let record = framed(b"123456789");
        assert_eq!(record.len(), 9 + 16);
        assert_eq!(record[..8], [9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(record[12..21], *b"123456789");
        // 0xe3069283, rotated to 0x2507c60d, with offset.
        assert_eq!(record[21..], 0x2507_c60du32.wrapping_add(0xa282_ead8).to_le_bytes());
    }

    #[test]
    fn records_read_back_up_to_the_first_that_is_not_whole() {
        let contents: [&[u8]; 4] = [b"", b"a", &[7; 1000], b"the last"];
        let file: Vec<u8> = contents.iter().flat_map(|data| framed(data)).collect();
        assert_eq!(records(&file).collect::<Vec<&[u8]>>(), contents);
        let ends: Vec<usize> = contents
            .iter()
            .scan(0, |end, data| {
                *end += data.len() + 16;
                Some(*end)
            })
            .collect();
        for length in 0..file.len() {
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(records(&file[..length]).count(), whole, "cut behind {length} bytes");
        }
        for byte in 0..file.len() {
            let mut damaged = file.clone();
            damaged[byte] ^= 0x10;
            let whole = ends.iter().filter(|end| **end <= byte).count();
            assert_eq!(records(&damaged).collect::<Vec<&[u8]>>(), contents[..whole], "byte {byte}");
        }
    }

    #[test]
    fn a_length_beyond_memory_ends_a_file() {
        let length = u64::MAX.to_le_bytes();
        let file = [&length[..], &masked(&length).to_le_bytes(), &[0; 64]].concat();
        assert_eq!(records(&file).count(), 0);
    }

    #[test]
    fn sums_are_the_published_ones() {
        // The check value of the catalogue of CRCs, and RFC 3720, B.4.
        assert_eq!(sum(b"123456789"), 0xe306_9283);
        assert_eq!(sum(&[0; 32]), 0x8a91_36aa);
        assert_eq!(sum(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(sum(&rising), 0x46dd_794e);
        assert_eq!(sum(&[]), 0);
    }

    #[test]
    fn masked_sums_are_turned_by_fifteen_bits_and_shifted() {
        // 0x8a9136aa with its lowest 15 bits on top is 0x6d551522.
        assert_eq!(masked(&[0; 32]), 0x6d55_1522u32.wrapping_add(0xa282_ead8));
    }
}
