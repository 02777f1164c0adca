//! The parts of a file that were never written.

use std::fs::File;

use drivelab_core::units::Bytes;
use rustix::fs::{SeekFrom, seek};

/// Maximum number of pieces checked: each takes two system calls, and a file with more pieces than
/// this has them because it was written that way.
const PIECES: usize = 65_536;

/// Number of bytes from `from` to `to` that reading does not fetch from a disk: holes, and space
/// that was allocated but not written. None if the file system does not report it.
///
/// The number of allocated blocks would not help: it includes unwritten allocations, and says
/// nothing about the region.
pub(super) fn within(file: &File, from: u64, to: u64) -> Bytes {
    let (mut at, mut holes) = (from, 0);
    for _ in 0..PIECES {
        let Ok(hole) = seek(file, SeekFrom::Hole(at)) else { break };
        if hole >= to {
            break;
        }
        // After the last data there is none (ENXIO).
        let data = seek(file, SeekFrom::Data(hole)).unwrap_or(to).min(to);
        holes += data - hole;
        at = data;
        if at >= to {
            break;
        }
    }
    debug_assert!(holes <= to.saturating_sub(from), "holes lie in the region");
    Bytes::new(holes)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt as _;

    use rustix::fs::FallocateFlags;

    use super::*;
    use crate::testing::Scratch;

    const MIB: u64 = 1 << 20;

    fn check(make: impl FnOnce(&File), region: (u64, u64), expected: u64) {
        let scratch = Scratch::new("holes");
        let path = scratch.file("data", b"");
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        make(&file);
        file.sync_all().unwrap();
        assert_eq!(within(&file, region.0 * MIB, region.1 * MIB), Bytes::mib(expected));
    }

    fn write(file: &File, from: u64, to: u64) {
        for mib in from..to {
            file.write_all_at(&vec![1; 1 << 20], mib * MIB).unwrap();
        }
    }

    #[test]
    fn holes_are_found_in_the_region_that_is_used() {
        let sparse = |file: &File| {
            file.set_len(16 * MIB).unwrap();
            write(file, 4, 8);
        };
        check(sparse, (0, 16), 12);
        check(sparse, (4, 8), 0);
        check(sparse, (6, 10), 2);
        check(sparse, (10, 12), 2);
        check(|file| write(file, 0, 4), (0, 4), 0);
    }

    #[test]
    fn space_that_was_only_set_aside_is_no_data() {
        let set_aside = |file: &File| {
            rustix::fs::fallocate(file, FallocateFlags::empty(), 0, 8 * MIB).unwrap();
            write(file, 0, 2);
        };
        check(set_aside, (0, 8), 6);
    }
}
