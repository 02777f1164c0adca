//! Which block devices share sectors with a given one, from sysfs.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::uring;

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

    /// Whether it is a partition that this byte of the disk lies in.
    pub(super) fn holds(&self, at: u64) -> bool {
        self.extent().is_some_and(|(start, length)| at >= start && at - start < length)
    }

    pub(super) fn partitions(&self) -> Vec<Self> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let parts = entries.filter(|entry| entry.path().join("partition").exists());
        parts.filter_map(|entry| Self::at(&entry.path()).ok()).collect()
    }

    /// The disk that this is a partition of.
    pub(super) fn whole(&self) -> Option<Self> {
        self.read("partition")?;
        Self::at(self.folder.parent()?).ok()
    }

    /// What is built on it.
    pub(super) fn holders(&self) -> Vec<Self> {
        let entries = fs::read_dir(self.folder.join("holders")).into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::at(&entry.path()).ok()).collect()
    }

    /// Where its file is in `/dev`.
    pub(super) fn node(&self) -> String {
        format!("/dev/{}", self.name.replace('!', "/"))
    }

    /// Whether the kernel lets nobody write it.
    pub(super) fn read_only(&self) -> bool {
        self.read("ro").is_some_and(|switch| switch == "1")
    }

    /// The path of the file or device behind a loop device, as whoever set it up saw it.
    pub(super) fn backing(&self) -> Option<PathBuf> {
        self.read("loop/backing_file").map(PathBuf::from)
    }

    /// What is behind a loop device: from its driver, or from the path where that does not tell.
    pub(super) fn behind(&self) -> Option<Identity> {
        let path = self.backing()?;
        let told = File::open(self.node()).and_then(|device| uring::loop_file(&device));
        told.map(Identity::told).ok().or_else(|| Identity::of(&fs::metadata(path).ok()?))
    }

    /// How far into what is behind it a loop device reaches, in bytes.
    fn reach(&self) -> Option<u64> {
        let number = |file| self.read(file)?.parse::<u64>().ok();
        number("size")?.checked_mul(512)?.checked_add(number("loop/offset")?)
    }

    /// What it is other than a disk: `a partition of /dev/sda`.
    pub(super) fn stands_for(&self) -> Option<String> {
        let whole = self.whole();
        let memory = whole.as_ref().unwrap_or(self);
        let what = match memory.backing() {
            Some(backing) => Some(format!("a loop device on {}", backing.display())),
            None => memory.name.starts_with("zram").then(|| "compressed memory (zram)".into()),
        };
        match (whole, what) {
            (Some(whole), Some(what)) => Some(format!("a partition of {}, {what}", whole.node())),
            (Some(whole), None) => Some(format!("a partition of {}", whole.node())),
            (None, what) => what,
        }
    }

    /// What stands in for a disk under it, where it is none.
    pub(super) fn stand_in(&self) -> Option<String> {
        let whole = self.whole();
        let memory = whole.as_ref().unwrap_or(self);
        let is_none = memory.backing().is_some() || memory.name.starts_with("zram");
        is_none.then(|| self.stands_for()).flatten()
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
    meta.file_type().is_block_device().then(|| split(meta.rdev()))
}

/// Every loop device that is set up, with the path of what is behind it.
fn loops() -> impl Iterator<Item = (Device, PathBuf)> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let devices = entries.filter_map(|entry| Device::at(&entry.path()).ok());
    devices.filter_map(|device| device.backing().map(|path| (device, path)))
}

/// A loop device on the file that `meta` is about.
pub(super) fn loop_on_file(meta: &Metadata) -> Option<Device> {
    let wanted = Identity::of(meta);
    let is_it = |(device, path): &(Device, PathBuf)| {
        if fs::metadata(path).is_ok_and(|there| Identity::of(&there) == wanted) {
            return true;
        }
        // Under that name lies another file, or none: the driver knows. It is not asked where the
        // loop device reaches beyond the end of the file: asking is opening it.
        device.reach().is_none_or(|reach| reach <= meta.len()) && device.behind() == wanted
    };
    loops().find(is_it).map(|(device, _)| device)
}

/// A loop device on `device`, or on the same file as it; none of `except`.
pub(super) fn loop_on_device(device: &Device, except: &[Device]) -> Option<Device> {
    let own = device.behind();
    let mut others = loops().map(|(other, _)| other).filter(|other| !except.contains(other));
    others.find(|other| {
        let behind = other.behind();
        let on_it = behind.is_some_and(|it| it.device == Some(device.number));
        on_it || (own.is_some() && behind == own)
    })
}

/// All devices of the mounted btrfs file system that the device with this number is a part of.
pub(super) fn btrfs_of(number: Number) -> Vec<Number> {
    let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let systems = list("/sys/fs/btrfs".into()).map(|system| -> Vec<Number> {
        let devices = list(system.path().join("devices"));
        devices.filter_map(|entry| Some(Device::at(&entry.path()).ok()?.number)).collect()
    });
    systems.into_iter().find(|devices| devices.contains(&number)).unwrap_or_default()
}

/// What tells a file or device from every other, under whatever name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    /// The file's device and inode; nothing for a device, which may have several files.
    file: Option<(u64, u64)>,
    device: Option<Number>,
}

impl Identity {
    /// Of what `meta` is about; `None` where that has no blocks.
    pub(super) fn of(meta: &Metadata) -> Option<Self> {
        if meta.file_type().is_block_device() {
            return Some(Self { file: None, device: Some(split(meta.rdev())) });
        }
        let file = meta.is_file().then_some((meta.dev(), meta.ino()))?;
        Some(Self { file: Some(file), device: None })
    }

    /// As the loop driver tells it: the file's device and inode, and what device it stands for.
    fn told([device, inode, stands_for]: [u64; 3]) -> Self {
        match stands_for {
            0 => Self { file: Some((device, inode)), device: None },
            number => Self { file: None, device: Some(split(number)) },
        }
    }
}

fn split(number: u64) -> Number {
    (rustix::fs::major(number), rustix::fs::minor(number))
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
        let behind = whole.as_ref().unwrap_or(&device).behind();
        next = behind.and_then(|it| Device::numbered(it.device?).ok());
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
