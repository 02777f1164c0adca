//! Addresses and lengths on a drive, in the 512-byte sectors of the block layer.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use super::Bytes;
use crate::{Invalid, invalid};

/// Bytes in one [`Lba`] step.
///
/// Always 512, regardless of the medium's own sector size: the Linux block layer counts in this
/// unit (`sector_t`, `include/linux/blk_types.h`), and so do ATA and the traces that we read. A
/// drive with 4096-byte physical sectors has eight addresses in each.
pub const SECTOR_BYTES: u64 = 512;

/// A logical block address: the number of a 512-byte sector, from 0.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct Lba(u64);

/// A number of 512-byte sectors.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct Sectors(u64);

impl Lba {
    /// The first sector.
    pub const ZERO: Self = Self(0);

    /// The sector with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sector that holds the byte at `offset`.
    pub const fn at_byte(offset: Bytes) -> Self {
        Self(offset.get() / SECTOR_BYTES)
    }

    /// Offset of its first byte from the beginning of the drive.
    pub const fn byte_offset(self) -> Bytes {
        Bytes::new(self.0.saturating_mul(SECTOR_BYTES))
    }
}

impl Sectors {
    /// The largest capacity of a drive that is modelled or served: 64 TiB.
    pub const DRIVE_MAX: Self = Self(1 << 37);

    /// None.
    pub const ZERO: Self = Self(0);

    /// This many sectors.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of sectors.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sectors needed for `amount`; the last one may be partly used.
    pub const fn holding(amount: Bytes) -> Self {
        Self(amount.get().div_ceil(SECTOR_BYTES))
    }

    /// The capacity of a drive of `size` bytes.
    ///
    /// # Errors
    /// No drive has this size: clients read sizes as signed numbers, and in whole sectors.
    pub fn of_drive(size: Bytes) -> Result<Self, Invalid> {
        let is_whole = size.get().is_multiple_of(SECTOR_BYTES);
        if size == Bytes::ZERO || size > Self::DRIVE_MAX.bytes() || !is_whole {
            return Err(invalid!("{size} is not a multiple of 512 from 512 bytes to 64 TiB"));
        }
        Ok(Self::holding(size))
    }

    /// Their size.
    pub const fn bytes(self) -> Bytes {
        Bytes::new(self.0.saturating_mul(SECTOR_BYTES))
    }
}

impl Add<Sectors> for Lba {
    type Output = Self;
    fn add(self, count: Sectors) -> Self {
        Self(self.0.saturating_add(count.0))
    }
}

impl Sub for Lba {
    type Output = Sectors;
    fn sub(self, earlier: Self) -> Sectors {
        Sectors(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Sectors {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Sectors {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_and_bytes_convert() {
        assert_eq!(Lba::at_byte(Bytes::kib(4)), Lba::new(8));
        assert_eq!(Lba::new(8).byte_offset(), Bytes::kib(4));
        assert_eq!(Sectors::holding(Bytes::new(513)), Sectors::new(2));
        assert_eq!(Sectors::new(8).bytes(), Bytes::kib(4));
    }

    #[test]
    fn a_drive_has_whole_sectors_and_a_size_that_clients_can_read() {
        let check = |size: u64, expected: Option<u64>| {
            let found = Sectors::of_drive(Bytes::new(size)).ok().map(Sectors::get);
            assert_eq!(found, expected, "{size}");
        };
        check(512, Some(1));
        check(1 << 46, Some(1 << 37));
        check(0, None);
        check(513, None);
        check((1 << 46) + 512, None);
        check(i64::MAX as u64, None);
        check(u64::MAX, None);
    }

    #[test]
    fn addresses_saturate_instead_of_wrapping() {
        assert_eq!(Lba::new(u64::MAX) + Sectors::new(1), Lba::new(u64::MAX));
    }
}
