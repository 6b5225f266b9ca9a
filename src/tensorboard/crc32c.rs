//! CRC-32C (Castagnoli), the check sum of records: bit by bit, which is fast enough for a record an epoch.

/// The polynomial, its bits in reverse.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The check sum of bytes.
fn sum(bytes: &[u8]) -> u32 {
    let shift = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), shift))
}

/// The masked check sum of records: rotated and offset, as TensorBoard expects.
pub(super) fn masked(bytes: &[u8]) -> u32 {
    sum(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

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
