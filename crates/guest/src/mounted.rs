//! A file system on the guest's disk: the commands that make and mount it, and the check that the
//! guest has it.

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;
use drivelab_core::record::{Attached, Fact};
use drivelab_core::units::Bytes;
use drivelab_core::{Invalid, invalid};

use crate::stack::Pool;

/// The mount point of the file system in the guest.
pub const MOUNTED: &str = "/mnt";
/// Maximum size of a file system: the time to make it is in proportion.
pub const SIZE_MAX: Bytes = Bytes::gib(16);

/// A file system that a guest's kernel supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// ext3: the driver of ext4 without extents and delayed allocation.
    Ext3,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// NTFS, by the driver of Linux since 5.15.
    Ntfs3,
}

impl Choice for FileSystem {
    const WHAT: &'static str = "file system";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("ext4", Self::Ext4),
        ("ext3", Self::Ext3),
        ("xfs", Self::Xfs),
        ("btrfs", Self::Btrfs),
        ("ntfs3", Self::Ntfs3),
    ];
}
choice_as_text!(FileSystem);

impl FileSystem {
    /// The program that makes it.
    pub fn maker(self) -> String {
        match self {
            Self::Ntfs3 => "mkntfs".into(),
            _ => format!("mkfs.{self}"),
        }
    }

    /// The package of Debian and its derivatives that contains the program.
    pub fn package(self) -> &'static str {
        match self {
            Self::Ext4 | Self::Ext3 => "e2fsprogs",
            Self::Xfs => "xfsprogs",
            Self::Btrfs => "btrfs-progs",
            Self::Ntfs3 => "ntfs-3g",
        }
    }

    /// The reason that a bill of I/O cannot say what its blocks hold; `None` where it can.
    pub fn without_layout(self) -> Option<&'static str> {
        match self {
            Self::Ext4 | Self::Xfs | Self::Btrfs => None,
            Self::Ext3 => Some("the journal of ext3 is in lists of blocks, which no bill reads"),
            Self::Ntfs3 => Some("NTFS does not tell programs where its files are"),
        }
    }

    /// Returns the program's arguments: the default options, on at most [`SIZE_MAX`] of the disk.
    fn making(self, device: &str, capacity: Bytes) -> String {
        let size = SIZE_MAX.min(capacity).get() >> 20;
        match self {
            // Lazy initialisation by the first mount would run in the background of the
            // measurement.
            Self::Ext4 | Self::Ext3 => {
                format!("-q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/{device} {size}M")
            }
            Self::Xfs => format!("-q -f -d size={size}m /dev/{device}"),
            Self::Btrfs => format!("-q -f -b {size}m /dev/{device}"),
            // In quick format; the size is in sectors of 512 bytes, and the rest are what a guest's
            // disk does not say.
            Self::Ntfs3 => {
                format!("-q -F -Q -s 512 -p 0 -H 255 -S 63 /dev/{device} {}", size << 11)
            }
        }
    }
}

/// A file system and its mount options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// Its kind.
    pub file_system: FileSystem,
    /// Options of mount(8), separated by commas, without characters that a shell interprets.
    pub options: String,
}

impl Mounted {
    /// Returns the lines of a shell that make it on `device` and mount it, or end the shell.
    pub fn commands(&self, device: &str, capacity: Bytes) -> Vec<String> {
        let (kind, maker) = (self.file_system, self.file_system.maker());
        let making = kind.making(device, capacity);
        let options = match self.options.as_str() {
            "" => String::new(),
            options => format!("-o {options} "),
        };
        vec![
            format!("{maker} {making} >&2 || exit"),
            format!("mount -t {kind} {options}/dev/{device} {MOUNTED} >&2 || exit"),
        ]
    }

    /// The same over all `disks`, if the file system is that of a pool.
    pub fn commands_over(&self, pool: Pool, disks: &[&str], capacity: Bytes) -> Vec<String> {
        debug_assert_eq!(self.file_system, FileSystem::Btrfs, "checked before");
        let mut options = self.options.clone();
        if !options.is_empty() {
            options.push(',');
        }
        options += &Pool::mount_option(disks);
        let mut lines = vec![
            format!("{} >&2 || exit", pool.making(disks, SIZE_MAX.min(capacity))),
            format!("mount -t btrfs -o {options} /dev/{} {MOUNTED} >&2 || exit", disks[0]),
        ];
        lines.extend(pool.looks(disks.len()));
        lines
    }

    /// Compares the file system that the guest reported with the requested one.
    ///
    /// # Errors
    /// Returns the difference, in a sentence.
    pub fn check(&self, seen: &Attached) -> Result<(), Invalid> {
        let [kind, options] = ["file_system", "mount_options"]
            .map(|name| seen.machine.get(name).map_or("unknown".into(), Fact::to_string));
        if kind != self.file_system.name() {
            return Err(invalid!("the guest's file system is {kind}, not {}", self.file_system));
        }
        let wanted = self.options.split(',').map(str::trim);
        let mut shown = wanted.filter(|option| !option.is_empty() && !DEFAULTS.contains(option));
        match shown.find(|wanted| !has(&options, wanted)) {
            Some(missing) => {
                Err(invalid!("the guest's mount options are {options}, without {missing}"))
            }
            None => Ok(()),
        }
    }
}

/// The line of a shell that unmounts all of them: the driver of a disk that is unbound below a
/// mounted file system loses what that has to write.
pub fn unmount() -> String {
    let names = FileSystem::NAMES.iter().map(|(name, _)| *name);
    format!("umount -a -t {} >&2", names.collect::<Vec<_>>().join(","))
}

/// The names of all, as a part of a sentence.
pub fn names() -> String {
    let names: Vec<&str> = FileSystem::NAMES.iter().map(|(name, _)| *name).collect();
    let (last, first) = names.split_last().expect("there are some");
    format!("{} or {last}", first.join(", "))
}

/// Options that Linux does not list because they are its defaults.
const DEFAULTS: [&str; 8] =
    ["defaults", "rw", "async", "barrier", "barrier=1", "data=ordered", "nodiscard", "delalloc"];

/// Returns whether the list has an option, or Linux's form of it: `compress=zstd` is listed with a
/// level.
fn has(list: &str, wanted: &str) -> bool {
    // ext4 shows it under this name.
    let name = if wanted == "barrier=0" { "nobarrier" } else { wanted };
    list.split(',').any(|option| option == name || option.split(':').next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Stack;

    fn of(file_system: FileSystem, options: &str) -> Mounted {
        Mounted { file_system, options: options.into() }
    }

    #[test]
    fn a_file_system_is_made_on_the_beginning_of_the_disk() {
        let check = |mounted: Mounted, capacity, expected: [&str; 2]| {
            assert_eq!(mounted.commands("sda", capacity), expected);
        };
        check(
            of(FileSystem::Ext4, ""),
            Bytes::gib(900),
            [
                "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda 16384M >&2 || \
                 exit",
                "mount -t ext4 /dev/sda /mnt >&2 || exit",
            ],
        );
        check(
            of(FileSystem::Xfs, "noatime,wsync"),
            Bytes::gib(8),
            [
                "mkfs.xfs -q -f -d size=8192m /dev/sda >&2 || exit",
                "mount -t xfs -o noatime,wsync /dev/sda /mnt >&2 || exit",
            ],
        );
        check(
            of(FileSystem::Ext3, "barrier=0"),
            Bytes::gib(1),
            [
                "mkfs.ext3 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda 1024M >&2 || \
                 exit",
                "mount -t ext3 -o barrier=0 /dev/sda /mnt >&2 || exit",
            ],
        );
        check(
            of(FileSystem::Ntfs3, "sync"),
            Bytes::gib(1),
            [
                "mkntfs -q -F -Q -s 512 -p 0 -H 255 -S 63 /dev/sda 2097152 >&2 || exit",
                "mount -t ntfs3 -o sync /dev/sda /mnt >&2 || exit",
            ],
        );
    }

    #[test]
    fn a_btrfs_is_mounted_with_all_of_its_disks() {
        let Ok(Stack::Pool(pool)) = Stack::read("btrfs") else { panic!("btrfs is a pool") };
        let lines =
            of(FileSystem::Btrfs, "noatime").commands_over(pool, &["sda", "sdb"], Bytes::gib(2));
        let mount = "mount -t btrfs -o noatime,device=/dev/sda,device=/dev/sdb /dev/sda /mnt >&2 \
                     || exit";
        assert_eq!(lines[1], mount);
        assert!(lines[0].contains("-b 2048m"), "{}", lines[0]);
    }

    #[test]
    fn all_are_named_and_unmounted() {
        assert_eq!(names(), "ext4, ext3, xfs, btrfs or ntfs3");
        assert_eq!(unmount(), "umount -a -t ext4,ext3,xfs,btrfs,ntfs3 >&2");
    }

    #[test]
    fn a_guest_with_another_file_system_or_other_options_is_named() {
        let guest = |kind: &str, options: &str| {
            let mut seen = Attached::default();
            seen.machine.insert("file_system".into(), kind.into());
            seen.machine.insert("mount_options".into(), options.into());
            seen
        };
        let check = |mounted: &Mounted, seen: &Attached, expected: Option<&str>| {
            assert_eq!(mounted.check(seen).err(), expected.map(Invalid::from));
        };
        let plain = of(FileSystem::Ext4, "defaults,barrier=1");
        check(&plain, &guest("ext4", "rw,relatime"), None);
        check(&plain, &guest("xfs", "rw"), Some("the guest's file system is xfs, not ext4"));
        check(&plain, &Attached::default(), Some("the guest's file system is unknown, not ext4"));
        let fast = of(FileSystem::Ext4, "noatime,barrier=0");
        check(&fast, &guest("ext4", "rw,noatime,nobarrier"), None);
        let slow = "the guest's mount options are rw,noatime, without barrier=0";
        check(&fast, &guest("ext4", "rw,noatime"), Some(slow));
        let packed = of(FileSystem::Btrfs, "compress=zstd");
        check(&packed, &guest("btrfs", "rw,compress=zstd:3"), None);
    }
}
