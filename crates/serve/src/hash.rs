//! A hash function for sector and page numbers.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds the hasher of a map by sector or page number; anything that is iterated is sorted first.
pub(crate) type SectorHashBuilder = BuildHasherDefault<SectorHasher>;

/// Spreads neighbouring sector numbers over a hash table.
#[derive(Debug, Default)]
pub(crate) struct SectorHasher(u64);

impl Hasher for SectorHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Knuth's multiplicative hashing with 2^64 divided by the golden ratio. The table takes its
        // control bits from the top and its index from the bottom, hence the fold.
        let product = u128::from(number) * 0x9E37_79B9_7F4A_7C15;
        let bytes = product.to_le_bytes();
        let (low, high) = bytes.split_at(8);
        self.0 = half(low) ^ half(high);
    }
}

fn half(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}
