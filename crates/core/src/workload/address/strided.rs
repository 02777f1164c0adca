//! Zones of the region that are used one after the other.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Lba, SECTOR_BYTES, Sectors};
use crate::{Invalid, invalid};

/// Zones of equal length with gaps between them, of each of which so much is used before the next:
/// fio's `zonemode=strided` with `zonesize`, `zonerange` and `zoneskip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Strided {
    /// Bytes that are moved in a zone before the next one follows.
    pub bytes: Bytes,
    /// Length of a zone.
    pub length: Bytes,
    /// Gap between a zone and the next.
    pub gap: Bytes,
}

impl Strided {
    /// Zones of `length` with `gap` bytes between them.
    ///
    /// # Errors
    /// A zone is empty, or a length is not whole sectors.
    pub fn new(bytes: Bytes, length: Bytes, gap: Bytes) -> Result<Self, Invalid> {
        if bytes == Bytes::ZERO || length == Bytes::ZERO {
            return Err("a zone of 0 bytes contains nothing".into());
        }
        for part in [length, gap] {
            if !part.get().is_multiple_of(SECTOR_BYTES) {
                return Err(invalid!("zones: {part} is not a multiple of 512 bytes"));
            }
        }
        let step = length.get().checked_add(gap.get());
        if step.is_none_or(|step| i64::try_from(step).is_err()) {
            return Err("a zone and its gap exceed any drive".into());
        }
        Ok(Self { bytes, length, gap })
    }
}

impl fmt::Display for Strided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}/{}", self.bytes, self.length, self.gap))
    }
}

impl FromStr for Strided {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parts: Vec<&str> = text.split('/').collect();
        let [bytes, length, gap] = parts[..] else {
            return Err(invalid!("`{text}` does not describe zones: write `BYTES/LENGTH/GAP`"));
        };
        Self::new(bytes.parse()?, length.parse()?, gap.parse()?)
    }
}

impl TryFrom<String> for Strided {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<Strided> for String {
    fn from(zones: Strided) -> Self {
        zones.to_string()
    }
}

/// The zone that is in use.
#[derive(Debug, Clone, Copy)]
pub(in crate::workload) struct Walk {
    bytes: u64,
    /// From the beginning of a zone to that of the next.
    step: Sectors,
    /// Beginning of the first zone, and the end of the region.
    first: Lba,
    end: Lba,
    /// Beginning of the zone in use.
    zone: Lba,
    moved: u64,
}

impl Walk {
    /// Begins with the first of the `zones` of a region.
    pub(in crate::workload) fn new(zones: Strided, first: Lba, end: Lba) -> Self {
        let step = Sectors::holding(Bytes::new(zones.length.get() + zones.gap.get()));
        debug_assert!(step.get() > 0 && first < end, "a zone and a region have sectors");
        Self { bytes: zones.bytes.get(), step, first, end, zone: first, moved: 0 }
    }

    /// True if the next request belongs to another zone, which is then in use; after the last zone
    /// the first follows. A zone without room for a block counts as none.
    pub(in crate::workload) fn turn(&mut self, block: Sectors) -> bool {
        let is_used = self.moved >= self.bytes;
        if is_used {
            self.moved = 0;
            self.zone = self.zone + self.step;
            if self.zone + block > self.end {
                self.zone = self.first;
            }
        }
        self.moved += block.bytes().get();
        is_used
    }

    /// The distance of the zone in use from the first.
    pub(in crate::workload) fn shift(&self) -> Sectors {
        self.zone - self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_read_and_print() {
        let check = |text: &str, good: bool| {
            let read = text.parse::<Strided>();
            assert_eq!(read.map(|zones| zones.to_string()).ok(), good.then(|| text.to_owned()));
        };
        check("64k/1M/3M", true);
        check("64k/1M/0", true);
        for wrong in ["0/1M/0", "1M/0/0", "1M/1M", "1M/1M/0/0", "1M/1000/0", "1M/9E/9E", "x/y/z"] {
            check(wrong, false);
        }
    }

    #[test]
    fn so_much_of_a_zone_precedes_the_next() {
        let zones = "8k/16k/16k".parse().unwrap();
        let mut walk = Walk::new(zones, Lba::new(0), Lba::new(80));
        let block = Sectors::new(8);
        let shifts: Vec<u64> = (0..6)
            .map(|_| {
                walk.turn(block);
                walk.shift().get()
            })
            .collect();
        assert_eq!(shifts, [0, 0, 64, 64, 0, 0]);
    }
}
