//! A btrfs over all disks of a guest: the file system itself divides them, below no other device.

use drivelab_core::choice_as_text;
use drivelab_core::config::{Choice, Value as _};
use drivelab_core::units::Bytes;
use drivelab_core::{Invalid, invalid};

/// The program that makes it, which is that of the file system.
pub(super) const MAKER: &str = "mkfs.btrfs";
/// The name of the stack.
pub(super) const NAME: &str = "btrfs";

/// The way in which blocks are divided among the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    /// Each block on one disk.
    Single,
    /// Striped.
    Raid0,
    /// On two disks.
    Raid1,
    /// On three disks.
    Raid1c3,
    /// On four disks.
    Raid1c4,
    /// Striped, each stripe on two disks.
    Raid10,
    /// Striped, with one parity.
    Raid5,
    /// Striped, with two parities.
    Raid6,
}

impl Choice for Profile {
    const WHAT: &'static str = "profile of btrfs";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("single", Self::Single),
        ("raid0", Self::Raid0),
        ("raid1", Self::Raid1),
        ("raid1c3", Self::Raid1c3),
        ("raid1c4", Self::Raid1c4),
        ("raid10", Self::Raid10),
        ("raid5", Self::Raid5),
        ("raid6", Self::Raid6),
    ];
}
choice_as_text!(Profile);

impl Profile {
    /// The fewest disks that mkfs.btrfs takes for it.
    fn least(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Raid0 | Self::Raid1 | Self::Raid10 | Self::Raid5 => 2,
            Self::Raid1c3 | Self::Raid6 => 3,
            Self::Raid1c4 => 4,
        }
    }
}

/// A btrfs over all disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    data: Profile,
    metadata: Profile,
}

impl Pool {
    /// Reads `btrfs[,data=PROFILE][,metadata=PROFILE]`; the defaults are those of mkfs.btrfs.
    ///
    /// # Errors
    /// There is no such profile.
    pub(super) fn read(text: &str) -> Result<Self, Invalid> {
        let mut pool = Self { data: Profile::Single, metadata: Profile::Raid1 };
        for part in text.split(',').map(str::trim).skip(1) {
            match part.split_once('=') {
                Some(("data", profile)) => pool.data = Profile::read(profile)?,
                Some(("metadata", profile)) => pool.metadata = Profile::read(profile)?,
                _ => {
                    return Err(invalid!(
                        "`{part}` is not an option of `{NAME}`: known are `data=PROFILE` and \
                         `metadata=PROFILE`, as in `btrfs,data=raid1,metadata=raid1`"
                    ));
                }
            }
        }
        Ok(pool)
    }

    pub(super) fn check(self, disks: usize) -> Result<(), Invalid> {
        let least = self.data.least().max(self.metadata.least()).max(2);
        if disks >= least {
            return Ok(());
        }
        Err(invalid!("`{self}` needs {least} disks, and there are {disks}"))
    }

    /// The option of mount(8) that names all `disks`.
    pub(crate) fn mount_option(disks: &[&str]) -> String {
        let all = disks.iter().map(|disk| format!("device=/dev/{disk}"));
        all.collect::<Vec<_>>().join(",")
    }

    /// Returns the lines of a shell that look at it where it is mounted, or end the shell.
    pub(crate) fn looks(self, disks: usize) -> Vec<String> {
        debug_assert!(self.check(disks).is_ok(), "checked before");
        // Linux makes a profile that it cannot have now a lesser one when it allocates the first
        // block, and mounts without a disk where it may.
        let of = "/sys/fs/btrfs/*-*";
        let mut lines = vec![format!(
            "[ $(ls {of}/devices | wc -l) = {disks} ] || {{ echo \"btrfs is not on {disks} disks\" \
             >&2; exit 2; }}"
        )];
        for (kind, profile) in [("data", self.data), ("metadata", self.metadata)] {
            lines.push(format!(
                "ls -d {of}/allocation/{kind}/{profile} > /dev/null || {{ echo \"{kind} of btrfs is \
                 not {profile}\" >&2; exit 2; }}"
            ));
        }
        lines
    }

    /// The command that makes it on this much of each of `disks`.
    pub fn making(self, disks: &[&str], size: Bytes) -> String {
        let Self { data, metadata } = self;
        let disks: Vec<String> = disks.iter().map(|disk| format!("/dev/{disk}")).collect();
        let (disks, size) = (disks.join(" "), size.get() >> 20);
        format!("{MAKER} -q -f -b {size}m -d {data} -m {metadata} {disks}")
    }
}

impl std::fmt::Display for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME},data={},metadata={}", self.data, self.metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_read_with_the_defaults_of_its_program() {
        let check = |text: &str, disks: usize, expected: Result<&str, &str>| {
            let found = Pool::read(text).and_then(|pool| pool.check(disks).map(|()| pool));
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.to_string(), expected),
                (Err(found), Err(part)) => assert!(found.0.contains(part), "{found}"),
                (found, expected) => panic!("{found:?}, not {expected:?}"),
            }
        };
        check("btrfs", 2, Ok("btrfs,data=single,metadata=raid1"));
        check("btrfs, data=raid10", 4, Ok("btrfs,data=raid10,metadata=raid1"));
        check("btrfs", 1, Err("needs 2 disks, and there are 1"));
        check("btrfs,metadata=raid1c3", 2, Err("needs 3 disks"));
        check("btrfs,data=raid7", 4, Err("raid7"));
        check("btrfs,chunk=64k", 4, Err("not an option of `btrfs`"));
    }

    #[test]
    fn all_disks_are_named_to_mkfs_and_to_mount() {
        let pool = Pool::read("btrfs,data=raid0,metadata=raid1").unwrap();
        let disks = ["sda", "sdb"];
        let make = "mkfs.btrfs -q -f -b 4096m -d raid0 -m raid1 /dev/sda /dev/sdb";
        assert_eq!(pool.making(&disks, Bytes::gib(4)), make);
        assert_eq!(Pool::mount_option(&disks), "device=/dev/sda,device=/dev/sdb");
        let looks = pool.looks(2);
        assert!(looks[0].contains("= 2 ]"), "{}", looks[0]);
        assert!(looks[1].contains("/allocation/data/raid0"), "{}", looks[1]);
    }
}
