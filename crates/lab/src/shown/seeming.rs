//! Kinds of file that describe no machine, by their content: for the message that names such a
//! file.

/// A position in a file, the bytes there, and the kind of file.
const SIGNS: &[(usize, &[u8], &str)] = &[
    (0, b"\x7fELF", "a program"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\x89PNG", "a picture, whose text is not read"),
    (0, b"\xff\xd8\xff", "a picture, whose text is not read"),
    (0, b"GIF8", "a picture, whose text is not read"),
    (0, b"PK\x03\x04", "a ZIP archive, which must be unpacked first"),
    (0, b"7z\xbc\xaf", "an archive of 7-Zip, which must be unpacked first"),
    (0, b"Rar!", "a RAR archive, which must be unpacked first"),
    (0, b"BZh", "compressed with bzip2, and must be unpacked first"),
    (0, b"\x1f\x8b", "compressed, without a log or a capture in it"),
    (0, b"\xfd7zXZ", "compressed, without a log or a capture in it"),
    (0, b"\x28\xb5\x2f\xfd", "compressed, without a log or a capture in it"),
    (0, b"LPKSHHRH", "a file of journald: `journalctl -k --file FILE` prints the log in it"),
    (0, b"SQLite format 3", "a database of SQLite"),
    (510, b"\x55\xaa", "the image of a disk"),
    (1080, b"\x53\xef", "the image of a file system"),
    (257, b"ustar", "an archive without /sys, /proc or output of tools"),
];

/// Parts of a text, all of which it must have, and the kind of text.
const TEXTS: &[(&[&str], &str)] = &[
    (&["<html"], "a page of the web, of which only the text of the log is of use"),
    (&["<!DOCTYPE html"], "a page of the web, of which only the text of the log is of use"),
    (&["  pool: ", " state: "], "output of `zpool status`"),
    (&["Filesystem ", "Mounted on"], "output of `df`"),
    (&["Personalities : "], "the content of /proc/mdstat"),
    (&["Raid Level : "], "output of `mdadm --detail`"),
    (&["NVME Identify Controller"], "output of `nvme id-ctrl`"),
    (&["Partition Table: "], "output of `parted`"),
    (&["Disk /dev/", "sectors"], "output of `fdisk -l`"),
    (&["UUID=\"", "TYPE=\""], "output of `blkid`"),
    (&["avg-cpu:"], "output of `iostat`, which `drivelab import` reads"),
    (&["Enclosure Device ID"], "output of MegaCli"),
    (&["# dmidecode"], "output of `dmidecode`"),
    (&["Bus 00", ": ID "], "output of `lsusb`"),
    (&["Mem: ", "Swap: "], "output of `free`"),
    (&["Module ", "Used by"], "output of `lsmod`"),
    (&["IOPS="], "the result of a benchmark, which `drivelab import` reads"),
    (&["drivelab.", "schema"], "a result of drivelab, which `drivelab show` prints"),
];

/// Returns what the beginning of a file seems to be.
pub(super) fn seeming(head: &[u8]) -> &'static str {
    if head.is_empty() {
        return "empty";
    }
    let sign =
        SIGNS.iter().find(|(at, sign, _)| head.get(*at..).is_some_and(|it| it.starts_with(sign)));
    if let Some((_, _, kind)) = sign {
        return kind;
    }
    if head.contains(&0) {
        return "binary data";
    }
    let text = String::from_utf8_lossy(head);
    let kind = TEXTS.iter().find(|(parts, _)| parts.iter().all(|part| text.contains(part)));
    match kind {
        Some((_, kind)) => kind,
        None if text.trim_start().starts_with(['{', '[']) => "JSON of another program",
        None => "a text of another kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_content() {
        let check = |head: &[u8], expected: &str| {
            let found = seeming(head);
            assert!(found.contains(expected), "{expected}: {found}");
        };
        check(b"", "empty");
        check(b"%PDF-1.4\n", "PDF");
        check(&[&[0; 510][..], b"\x55\xaa", &[0; 512]].concat(), "image of a disk");
        check(b"a\0b", "binary");
        check(b"  pool: tank\n state: ONLINE\n", "zpool status");
        check(b"Filesystem 1K-blocks Used Available Use% Mounted on\n", "df");
        check(b"{\"a\": 1}", "JSON");
        check(b"a letter", "another kind");
    }
}
