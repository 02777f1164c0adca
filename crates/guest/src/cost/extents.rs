//! The extents of the files of a guest, as filefrag(8) prints it in units of 512 bytes.

use drivelab_core::{Lba, Sectors};

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The path of the file.
    pub path: String,
    /// Its first sector; behind btrfs the logical address.
    pub lba: Lba,
    /// Its length.
    pub sectors: Sectors,
}

/// Pieces whose address is not known yet, or which are in the inode itself.
const NOWHERE: [&str; 3] = ["unknown_loc", "delalloc", "inline"];

/// Reads the output of `filefrag -v -b512`.
pub fn extents<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Extent> {
    let mut path = String::new();
    let mut found = Vec::new();
    for line in lines {
        if let Some(rest) = line.strip_prefix("File size of ") {
            // The name may contain ` is ` itself, and the size never does.
            rest.rsplit_once(" is ").map_or(rest, |(name, _)| name).clone_into(&mut path);
        } else if let Some((lba, sectors)) = piece(line) {
            found.push(Extent { path: path.clone(), lba, sectors });
        }
    }
    found
}

/// Reads `0:        0..      15:  182519432.. 182519447:     16:             last,eof`.
fn piece(line: &str) -> Option<(Lba, Sectors)> {
    let mut columns = line.split(':');
    let _: u64 = columns.next()?.trim().parse().ok()?;
    let (_, physical, length) = (columns.next()?, columns.next()?, columns.next()?);
    let flags = columns.next_back().unwrap_or_default();
    if NOWHERE.iter().any(|flag| flags.contains(flag)) {
        return None;
    }
    let (first, _) = physical.split_once("..")?;
    let (first, length): (u64, u64) = (first.trim().parse().ok()?, length.trim().parse().ok()?);
    first.checked_add(length)?;
    (length > 0).then_some((Lba::new(first), Sectors::new(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_files_are_read() {
        // As e2fsprogs 1.47 prints them.
        let text = "\
Filesystem type is: ef53
File size of /mnt/a is 3 (8 block of 512 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..       7:          0..         0:      0:             last,unknown_loc,delalloc,eof
/mnt/a: 1 extent found
File size of /mnt/it is b is 8192 (16 blocks of 512 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..       7:      26944..     26951:      8:
   1:        8..      15:      30000..     30007:      8:      26952: last,eof
/mnt/it is b: 2 extents found
";
        let found = extents(text.lines());
        let piece = |lba| Extent {
            path: "/mnt/it is b".into(),
            lba: Lba::new(lba),
            sectors: Sectors::new(8),
        };
        assert_eq!(found, [piece(26_944), piece(30_000)]);
    }

    #[test]
    fn nonsense_has_no_pieces() {
        let text = "0: 1..2: 18446744073709551615..3: 9: x\n::::\n1: a: b: c\n\u{e9}: 1";
        assert!(extents(text.lines()).is_empty());
    }
}
