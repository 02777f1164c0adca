//! Which block devices share sectors with a given one, from sysfs.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// A device's number as the kernel writes it: `8:1`.
pub(super) type Number = (u32, u32);

/// A block device of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) number: Number,
    /// The kernel's name: `sda1`.
    pub(super) name: String,
    /// Its folder in sysfs.
    folder: PathBuf,
}

impl Device {
    /// The device with this number.
    pub(super) fn numbered((major, minor): Number) -> io::Result<Self> {
        Self::at(&PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
    }

    fn at(folder: &Path) -> io::Result<Self> {
        let folder = fs::canonicalize(folder)?;
        let text = fs::read_to_string(folder.join("dev"))?;
        let number = number(text.trim()).ok_or(io::ErrorKind::InvalidData)?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Self { number, name: name.unwrap_or_default(), folder })
    }

    fn read(&self, file: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        Some(text.trim().to_owned())
    }

    /// First byte on the disk and length, where it is a partition.
    pub(super) fn extent(&self) -> Option<(u64, u64)> {
        self.read("partition")?;
        // Sysfs counts in sectors of 512 bytes, whatever the disk's are.
        let bytes = |file| self.read(file)?.parse::<u64>().ok()?.checked_mul(512);
        Some((bytes("start")?, bytes("size")?))
    }

    pub(super) fn partitions(&self) -> Vec<Self> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let parts = entries.filter(|entry| entry.path().join("partition").exists());
        parts.filter_map(|entry| Self::at(&entry.path()).ok()).collect()
    }

    /// The disk that this is a partition of.
    fn whole(&self) -> Option<Self> {
        self.read("partition")?;
        Self::at(self.folder.parent()?).ok()
    }

    /// What is built on it.
    pub(super) fn holders(&self) -> Vec<Self> {
        let entries = fs::read_dir(self.folder.join("holders")).into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::at(&entry.path()).ok()).collect()
    }

    /// The file or device behind a loop device.
    pub(super) fn backing(&self) -> Option<PathBuf> {
        self.read("loop/backing_file").map(PathBuf::from)
    }

    /// What it is, for people: `dm-0 (LVM volume vg-root)`.
    pub(super) fn described(&self) -> String {
        let what = self.read("dm/name").map(|name| {
            let uuid = self.read("dm/uuid").unwrap_or_default();
            let kind = match uuid.split('-').next() {
                Some("LVM") => "LVM volume",
                Some("CRYPT") => "encrypted volume",
                Some("mpath") => "multipath device",
                _ => "device-mapper volume",
            };
            format!("{kind} {name}")
        });
        let what = what.or_else(|| self.read("md/level").map(|level| format!("md array, {level}")));
        what.map_or_else(|| self.name.clone(), |what| format!("{} ({what})", self.name))
    }
}

/// Reads `8:1`.
pub(super) fn number(text: &str) -> Option<Number> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The number of the block device under this path, if it is one.
pub(super) fn number_of(path: &Path) -> Option<Number> {
    let meta = fs::metadata(path).ok()?;
    let is_device = meta.file_type().is_block_device();
    is_device.then(|| (rustix::fs::major(meta.rdev()), rustix::fs::minor(meta.rdev())))
}

/// Every loop device that is set up, with what is behind it.
pub(super) fn loops() -> Vec<(Device, PathBuf)> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let devices = entries.filter_map(|entry| Device::at(&entry.path()).ok());
    devices.filter_map(|device| device.backing().map(|path| (device, path))).collect()
}

/// Whether two paths lead to the same file or device.
pub(super) fn same(one: &Path, other: &Path) -> bool {
    let (Ok(a), Ok(b)) = (fs::metadata(one), fs::metadata(other)) else { return false };
    if a.file_type().is_block_device() && b.file_type().is_block_device() {
        return a.rdev() == b.rdev();
    }
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Everything whose sectors writing `device` would change: itself, its partitions, the disk that
/// it is a part of, and the device behind it where it is a loop.
pub(super) fn touched(device: &Device) -> Vec<Device> {
    let mut found: Vec<Device> = Vec::new();
    let mut next = Some(device.clone());
    // A loop on a loop on a disk is the deepest that anybody builds; eight end a circle.
    for _ in 0..8 {
        let Some(device) = next.take() else { break };
        found.extend(device.partitions());
        let whole = device.whole();
        let backing = whole.as_ref().unwrap_or(&device).backing();
        next = backing.and_then(|path| Device::numbered(number_of(&path)?).ok());
        found.extend(whole);
        found.insert(0, device);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    /// A disk in a sysfs of our own: one partition, with an LVM volume on it, and an md array on
    /// the whole, as this machine's kernel may have neither.
    fn disk(scratch: &Scratch) -> Device {
        let files = [
            ("sda/dev", "8:0\n"),
            ("sda/sda1/dev", "8:1\n"),
            ("sda/sda1/partition", "1\n"),
            ("sda/sda1/start", "2048\n"),
            ("sda/sda1/size", "4096\n"),
            ("sda/sda1/holders/dm-0/dev", "253:0\n"),
            ("sda/sda1/holders/dm-0/dm/name", "vg-root\n"),
            ("sda/sda1/holders/dm-0/dm/uuid", "LVM-abc\n"),
            ("sda/holders/md0/dev", "9:0\n"),
            ("sda/holders/md0/md/level", "raid1\n"),
        ];
        for (name, text) in files {
            let path = scratch.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Device::at(&scratch.path("sda")).unwrap()
    }

    #[test]
    fn partitions_disks_and_holders_are_found_and_named() {
        let scratch = Scratch::new("tree");
        let disk = disk(&scratch);
        let part = disk.partitions().pop().unwrap();
        assert_eq!((part.name.as_str(), part.number), ("sda1", (8, 1)));
        assert_eq!((part.extent(), disk.extent()), (Some((1 << 20, 2 << 20)), None));
        let names = |devices: Vec<Device>| -> Vec<String> {
            devices.iter().map(Device::described).collect()
        };
        assert_eq!(names(part.holders()), ["dm-0 (LVM volume vg-root)"]);
        assert_eq!(names(disk.holders()), ["md0 (md array, raid1)"]);
        assert_eq!(names(touched(&disk)), ["sda", "sda1"]);
        assert_eq!(names(touched(&part)), ["sda1", "sda"]);
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!(number("253:17"), Some((253, 17)));
        assert_eq!(number("253"), None);
    }
}
