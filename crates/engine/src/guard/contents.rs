//! Distinguishes our own files from others.
//!
//! The file itself shows that drivelab created it: every sector that we write has a mark (see
//! [`drivelab_core::label`]), and sectors spread over the whole file, including its first and its
//! last, must all have it. Writing other data there removes the mark; a name, an attribute or a
//! header alone would not detect this.
//!
//! Zeros are ambiguous: a new disk image and a preallocated log are full of them. They count as
//! ours only in a file of which every other sector has our mark, as after a trim; and in a file of
//! zeros only if an attribute says that we laid it out, with its present length.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use drivelab_core::Rng;
use drivelab_core::label::{self, SECTOR};
use rustix::fs::{SeekFrom, XattrFlags, fgetxattr, fsetxattr, seek};

/// Number of sectors checked: foreign data that fills a tenth of a file is missed in 0.15 % of
/// files (0.9^62), and on a slow disk the check takes half a second.
const SAMPLES: u64 = 64;
const CHUNK: usize = 1 << 20;
const ATTRIBUTE: &str = "user.drivelab";

/// Records on `file` that we laid it out, `length` bytes long.
///
/// On file systems without attributes only the knowledge that zeros may be ours is lost.
pub(crate) fn note_laid_out(file: &File, length: u64) {
    let _ = fsetxattr(file, ATTRIBUTE, length.to_string().as_bytes(), XattrFlags::empty());
}

fn is_laid_out(file: &File, length: u64) -> bool {
    // The longest number of 64 bits has 20 digits.
    let mut value = [0_u8; 20];
    let found = fgetxattr(file, ATTRIBUTE, &mut value[..]).unwrap_or(0);
    value[..found] == *length.to_string().as_bytes()
}

#[derive(Debug, Default)]
struct SectorKinds {
    marked: bool,
    zeros: bool,
    foreign: bool,
}

impl SectorKinds {
    fn look(&mut self, sector: &[u8]) {
        let whole = sector.len() == SECTOR;
        if label::is_ours(sector) || (!whole && label::is_beginning(sector)) {
            // Half a sector shows at most the beginning of a label: it is excused, but proves
            // nothing.
            self.marked |= whole;
        } else if sector.iter().all(|byte| *byte == 0) {
            self.zeros = true;
        } else {
            self.foreign = true;
        }
    }
}

/// Returns true if nothing in `file`, which is `length` bytes long, was written by others;
/// [`io::ErrorKind::Interrupted`] if `stopped` became true meanwhile.
pub(crate) fn holds_only_ours(
    file: &File,
    length: u64,
    stopped: &dyn Fn() -> bool,
) -> io::Result<bool> {
    let mut seen = sampled(file, length)?;
    if seen.foreign || !(seen.marked || seen.zeros) {
        return Ok(false);
    }
    if !seen.zeros {
        return Ok(true);
    }
    let laid_out = is_laid_out(file, length);
    // Zeros alone may be a sparse file of others: only the attribute shows that we laid it out.
    if !seen.marked && !laid_out {
        return Ok(false);
    }
    look_at_all(file, length, &mut seen, stopped)?;
    Ok(!seen.foreign)
}

fn sampled(file: &File, length: u64) -> io::Result<SectorKinds> {
    let mut seen = SectorKinds::default();
    let sectors = length / SECTOR as u64;
    let mut sector = [0_u8; SECTOR];
    // Seeded by the length, so that a second look at the file checks the same sectors.
    let mut rng = Rng::new(length);
    for sample in 0..if sectors == 0 { 0 } else { SAMPLES } {
        let number = match sample {
            0 => 0,
            1 => sectors - 1,
            _ => rng.below(sectors),
        };
        file.read_exact_at(&mut sector, number * SECTOR as u64)?;
        seen.look(&sector);
    }
    let rest = usize::try_from(length % SECTOR as u64).expect("less than a sector");
    file.read_exact_at(&mut sector[..rest], sectors * SECTOR as u64)?;
    if rest > 0 {
        seen.look(&sector[..rest]);
    }
    Ok(seen)
}

/// Reads every sector that is not a hole, until one is foreign.
fn look_at_all(
    file: &File,
    length: u64,
    seen: &mut SectorKinds,
    stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut at = 0;
    while at < length && !seen.foreign {
        if stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        // Holes are zeros. After the last data there is none (ENXIO); on a file system without
        // holes, everything is data.
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data / SECTOR as u64 * SECTOR as u64,
            Err(rustix::io::Errno::NXIO) => break,
            Err(_) => at,
        };
        at = at.max(data);
        let room = usize::try_from(length - at).unwrap_or(CHUNK).min(CHUNK);
        file.read_exact_at(&mut chunk[..room], at)?;
        chunk[..room].chunks(SECTOR).for_each(|sector| seen.look(sector));
        at += room as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;
    use crate::file::pattern;
    use crate::testing::Scratch;

    const LENGTH: usize = 1 << 20;

    fn ours(length: usize) -> Vec<u8> {
        let mut data = vec![0; length];
        pattern::fill(&mut data, &mut Rng::new(1));
        data
    }

    fn is_ours(data: &[u8], noted: Option<u64>) -> bool {
        let scratch = Scratch::new("guard");
        let path = scratch.file("data", data);
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        if let Some(length) = noted {
            note_laid_out(&file, length);
        }
        holds_only_ours(&file, data.len() as u64, &|| false).unwrap()
    }

    fn check(data: &[u8], expected: bool) {
        assert_eq!(is_ours(data, None), expected);
    }

    #[test]
    fn our_own_data_is_recognised_and_other_data_is_not() {
        check(b"", false);
        check(b"short", false);
        check(&[0; 8192], false);
        check(&ours(LENGTH), true);
        check(&ours(LENGTH)[..LENGTH - 100], true);
    }

    fn changed(from: usize, to: usize, byte: u8) -> Vec<u8> {
        let mut data = ours(LENGTH);
        data[from..to].fill(byte);
        data
    }

    #[test]
    fn other_data_at_either_end_or_over_a_good_part_is_noticed() {
        check(&changed(0, 512, b'x'), false);
        check(&changed(LENGTH - 512, LENGTH, b'x'), false);
        check(&changed(1 << 18, 1 << 19, b'x'), false);
        check(&[&ours(LENGTH)[..], b"one line more"].concat(), false);
    }

    #[test]
    fn zeros_are_ours_among_our_own_data_only() {
        check(&changed(0, LENGTH / 2, 0), true);
        check(&changed(1, LENGTH, 0), false);
        // If there are zeros, every sector is read.
        let mut data = changed(0, LENGTH / 2, 0);
        data[LENGTH / 4 + 77] = b'x';
        check(&data, false);
    }

    #[test]
    fn a_file_of_zeros_is_ours_where_we_noted_that_we_made_it() {
        let zeros = vec![0; LENGTH];
        if !is_ours(&zeros, Some(LENGTH as u64)) {
            // A file system without attributes: nothing more is known about zeros.
            return;
        }
        assert!(!is_ours(&zeros, None));
        // Another program replaced the file's contents.
        assert!(!is_ours(&zeros, Some(LENGTH as u64 / 2)));
        let mut data = zeros.clone();
        data[LENGTH / 4 + 77] = b'x';
        assert!(!is_ours(&data, Some(LENGTH as u64)));
    }
}
