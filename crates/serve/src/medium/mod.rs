//! What keeps the bytes: memory or an image file.

mod image;
mod memory;

use std::fmt::Debug;
use std::io;

use drivelab_core::{Lba, Sectors};

pub use image::Image;
pub use memory::Memory;

/// Non-volatile storage, addressed in 512-byte sectors; what was never written reads as zeros.
///
/// Callers stay within the capacity.
pub trait Medium: Debug {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Fills `data`, whole sectors, from `lba` on.
    fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()>;

    /// Writes `data`, whole sectors, from `lba` on.
    fn write(&mut self, lba: Lba, data: &[u8]) -> io::Result<()>;

    /// Makes the range read as zeros and frees what it held.
    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()>;

    /// What lies from `lba` on: stretches of data and holes in turn, at most `sectors` in sum and
    /// at most `limit` stretches.
    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>>;

    /// Hands everything to the operating system's own medium.
    fn sync(&mut self) -> io::Result<()>;
}

/// A stretch that is all data or all hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How long it is.
    pub sectors: Sectors,
    /// Nothing is stored there, and it reads as zeros.
    pub hole: bool,
}

/// Adds a stretch, joining it to one of its kind before it.
pub(crate) fn push_extent(extents: &mut Vec<Extent>, next: Extent) {
    match extents.last_mut() {
        Some(last) if last.hole == next.hole => last.sectors += next.sectors,
        _ => extents.push(next),
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Bytes;

    use super::*;

    fn media(test: &str, capacity: Sectors) -> Vec<Box<dyn Medium>> {
        let name = format!("drivelab-medium-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let image = Image::open(&path, capacity).unwrap();
        std::fs::remove_file(&path).unwrap();
        vec![Box::new(Memory::new(capacity, Bytes::mib(64))), Box::new(image)]
    }

    fn check_holds(medium: &dyn Medium, lba: u64, expected: &[u8]) {
        let mut found = vec![0xEE; expected.len()];
        medium.read(Lba::new(lba), &mut found).unwrap();
        assert!(found == expected, "{medium:?} at {lba}");
    }

    #[test]
    fn what_is_written_is_read_and_what_is_freed_is_zero() {
        for mut medium in media("data", Sectors::new(1 << 20)) {
            let data: Vec<u8> = (0..512 * 300_u32).map(|byte| (byte % 251) as u8).collect();
            medium.write(Lba::new(100), &data).unwrap();
            check_holds(&*medium, 100, &data);
            check_holds(&*medium, 99, &[0; 512]);
            check_holds(&*medium, 400, &[0; 512]);
            medium.free(Lba::new(150), Sectors::new(200)).unwrap();
            check_holds(&*medium, 100, &data[..512 * 50]);
            check_holds(&*medium, 150, &vec![0; 512 * 200]);
            check_holds(&*medium, 350, &data[512 * 250..]);
            medium.sync().unwrap();
        }
    }

    #[test]
    fn extents_cover_the_range_and_tell_holes_from_data() {
        for mut medium in media("extents", Sectors::new(1 << 20)) {
            medium.write(Lba::new(4096), &vec![7; 65536]).unwrap();
            let extents = medium.extents(Lba::ZERO, Sectors::new(1 << 20), 8).unwrap();
            let extent = |sectors, hole| Extent { sectors: Sectors::new(sectors), hole };
            let expected = [extent(4096, true), extent(128, false), extent(1_044_352, true)];
            assert_eq!(extents, expected, "{medium:?}");
            let first = medium.extents(Lba::new(4100), Sectors::new(1000), 1).unwrap();
            assert_eq!(first, [extent(124, false)], "{medium:?}");
            medium.free(Lba::new(4096), Sectors::new(128)).unwrap();
            let freed = medium.extents(Lba::ZERO, Sectors::new(1 << 20), 8).unwrap();
            assert_eq!(freed, [extent(1 << 20, true)], "{medium:?}");
        }
    }
}
