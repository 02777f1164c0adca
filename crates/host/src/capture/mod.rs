//! A tree as an archive, to be read elsewhere with `--root`.
//!
//! It contains exactly what an inspection reads, so that reading it gives the same result. It
//! contains nothing that identifies a single drive or machine, unless that is requested.

mod names;

use std::io::Write;

use crate::bus::identify::Identify;
use crate::device::redacted_uuid;
use crate::forced;
use crate::log::KernelLog;
use crate::root::{Item, Recording};
use names::Names;

/// The contents of an archive in addition to the tree.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    /// The files that were read.
    pub recording: Recording,
    /// The kernel log, where there is one that is not in the tree.
    pub log: Option<KernelLog>,
    /// True if serial numbers, mount points, names of files and the like are kept.
    pub serials: bool,
}

impl Capture {
    /// Writes the archive (tar); returns the number of entries. Same tree, same bytes.
    pub fn write(self, out: impl Write) -> std::io::Result<usize> {
        let serials = self.serials;
        let mut recording = self.recording;
        if !serials {
            Names::hide(&mut recording);
        }
        let mut items = recording.items;
        if let Some(log) = self.log {
            items.insert("dmesg".into(), Item::File(log.to_text().into_bytes()));
        }
        // Sorted by path, so that the same tree gives the same archive.
        let count = items.len();
        let mut archive = tar::Builder::new(out);
        for (path, item) in items {
            debug_assert!(!path.starts_with('/'), "an archive is unpacked below any folder");
            append(&mut archive, &path, item, serials)?;
        }
        archive.into_inner()?.flush()?;
        Ok(count)
    }
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    path: &str,
    item: Item,
    serials: bool,
) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    // Neither owner nor time: both would identify the machine.
    header.set_mode(0o644);
    header.set_size(0);
    match item {
        Item::Folder => {
            header.set_entry_type(tar::EntryType::Directory);
            header.set_mode(0o755);
            archive.append_data(&mut header, format!("{path}/"), std::io::empty())
        }
        Item::Link(target) => {
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, path, target)
        }
        Item::File(bytes) => {
            let bytes = if serials { bytes } else { redacted(path, &bytes) };
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, path, bytes.as_slice())
        }
    }
}

/// The text of a file without anything that identifies a drive or machine.
fn redacted(path: &str, bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let name = path.rsplit('/').next().unwrap_or("");
    let kept = match name {
        "id" => Identify::parse(&text).map(|identify| identify.redacted()).unwrap_or_default(),
        // Only device-mapper names its owners in a uuid, which the reading needs.
        "uuid" => redacted_uuid(&text),
        "serial" | "wwid" | "boot_id" | "wwn" | "eui" | "nguid" => String::new(),
        "cmdline" => forced::about_disks(&text),
        "mountinfo" | "mounts" => disks_only(&text),
        _ => return masked(&text).unwrap_or_else(|| bytes.to_vec()),
    };
    masked(&kept).unwrap_or_else(|| kept.into_bytes())
}

/// Returns the mounts of devices; other mounts are private.
fn disks_only(text: &str) -> String {
    let of_disks = text.lines().filter(|line| line.contains(" /dev/") || line.starts_with("/dev/"));
    of_disks.flat_map(|line| [line, "\n"]).collect()
}

/// The text with zeros for the digits of each UUID in it; `None` if it contains none.
fn masked(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.as_bytes().to_vec();
    let mut found = false;
    for start in 0..bytes.len().saturating_sub(35) {
        if is_uuid(&bytes[start..start + 36]) {
            found = true;
            for byte in &mut bytes[start..start + 36] {
                // The length and the hyphens stay, so that a reader still recognises a UUID.
                *byte = if *byte == b'-' { b'-' } else { b'0' };
            }
        }
    }
    found.then_some(bytes)
}

/// `8-4-4-4-12` hexadecimal digits.
fn is_uuid(bytes: &[u8]) -> bool {
    debug_assert_eq!(bytes.len(), 36, "the length of a UUID");
    bytes.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_machines_apart_is_taken_out() {
        let check = |path, text: &str, expected: &str| {
            let kept = redacted(path, text.as_bytes());
            assert_eq!(String::from_utf8_lossy(&kept), expected, "{path}");
        };
        let uuid = "01234567-89ab-cdef-0123-456789abcdef";
        check("sys/block/dm-0/dm/uuid", "CRYPT-LUKS2-0123456789ab-luks-home\n", "CRYPT-LUKS2-\n");
        let zeros = "00000000-0000-0000-0000-000000000000";
        check("sys/block/dm-0/dm/name", &format!("luks-{uuid}\n"), &format!("luks-{zeros}\n"));
        check(
            "proc/cmdline",
            &format!("root=UUID={uuid} libata.force=noncq"),
            "libata.force=noncq\n",
        );
        check("sys/block/vda/serial", "overlayblk\n", "");
        check(
            "proc/mounts",
            "tmpfs /run/user/me tmpfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\n",
            "/dev/sda1 / ext4 rw 0 0\n",
        );
        check("sys/block/sda/device/model", "ST31000333AS\n", "ST31000333AS\n");
    }
}
