//! The required content of each block, and its entry in a file.

use super::checksum;

/// The writes that a block may contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockAccount {
    /// The newest write; 0 for none. A verified run records one when it is acknowledged,
    /// `durability` when it is submitted.
    pub newest: u64,
    /// The newest write known to be durable, by a flush or because it was itself durable.
    pub durable: u64,
}

impl BlockAccount {
    /// The oldest write that the block may contain, if every write up to `flushed` is durable; 0 if
    /// nothing was promised.
    pub fn floor(self, flushed: u64) -> u64 {
        debug_assert!(self.durable <= self.newest, "a write is durable before it was recorded");
        if self.newest <= flushed { self.newest } else { self.durable }
    }
}

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 16;

/// 48 bits, which at a million writes per second last for nine years.
const MOST: u64 = (1 << 48) - 1;

/// The entry of `numbers` at `index`: 48 bits of each number, and 32 of a checksum over both
/// and the index.
pub fn entry(index: u64, numbers: [u64; 2]) -> [u8; ENTRY_BYTES] {
    assert!(numbers.iter().all(|number| *number <= MOST), "nine years of writes in one run");
    let [one, other] = numbers;
    // The index is in the checksum, so that an entry written to a wrong slot is damaged there.
    let sum = u64::from(checksum([index, one, other].map(u64::to_le_bytes).as_flattened()));
    // The upper 16 bits of both words are free for the two halves of the checksum.
    let halves = [one | sum >> 16 << 48, other | sum << 48].map(u64::to_le_bytes);
    halves.as_flattened().try_into().expect("two halves of eight bytes")
}

/// The numbers of an entry at `index`; zeros if it was never written, `None` if it is damaged.
pub fn entry_numbers(index: u64, bytes: &[u8]) -> Option<[u64; 2]> {
    let (halves, _) = bytes.as_chunks();
    let [one, other] = *halves else { return None };
    let numbers = [one, other].map(|half| u64::from_le_bytes(half) & MOST);
    (bytes == [0; ENTRY_BYTES] || bytes == entry(index, numbers)).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_back_and_no_flipped_bit_is() {
        let bytes = entry(7, [31, 12]);
        assert_eq!(entry_numbers(7, &bytes), Some([31, 12]));
        assert_eq!(entry_numbers(8, &bytes), None, "another block's");
        assert_eq!(entry_numbers(7, &bytes[1..]), None);
        assert_eq!(entry_numbers(7, &[0; ENTRY_BYTES]), Some([0, 0]));
        for bit in 0..ENTRY_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(entry_numbers(7, &flipped), None, "bit {bit}");
        }
    }

    #[test]
    fn a_block_must_hold_what_is_durable_and_all_that_a_flush_covers() {
        let check = |newest, durable, flushed, expected| {
            assert_eq!(BlockAccount { newest, durable }.floor(flushed), expected);
        };
        check(0, 0, 9, 0);
        check(3, 0, 2, 0);
        check(3, 0, 3, 3);
        check(8, 5, 0, 5);
        check(8, 5, 7, 5);
        check(8, 5, 8, 8);
    }
}
