//! Stacks over the disks of a guest: an array of md, a target of the device mapper, bcache, or a
//! btrfs. A stack is the commands that make it, and the check that the guest has it.

mod array;
mod mapped;
mod pool;
mod shell;

use drivelab_core::config::{Choice as _, nearest};
use drivelab_core::units::Bytes;
use drivelab_core::{Invalid, invalid};

pub use array::{Array, Level, Policy};
pub use mapped::{Kind, Mapped};
pub use pool::Pool;

/// A device or file system made of the disks of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// An array of md over all disks.
    Array(Array),
    /// A target of the device mapper.
    Mapped(Mapped),
    /// A btrfs over all disks, which is a file system and no device.
    Pool(Pool),
}

impl Stack {
    /// Reads an array (`LEVEL[,key=value...]`) or another stack (`KIND[,key=value...]`).
    ///
    /// # Errors
    /// There is no such stack.
    pub fn read(text: &str) -> Result<Self, Invalid> {
        let first = text.split(',').next().unwrap_or_default().trim();
        let others: Vec<&str> = Kind::NAMES.iter().map(|(name, _)| *name).collect();
        if others.contains(&first) {
            return Mapped::read(text).map(Self::Mapped);
        }
        if first == pool::NAME {
            return Pool::read(text).map(Self::Pool);
        }
        let arrays: Vec<&str> = Level::NAMES.iter().map(|(name, _)| *name).collect();
        if arrays.contains(&first) {
            return Array::read(text).map(Self::Array);
        }
        // Either kind alone would list half of the names.
        let known = [arrays, others, vec![pool::NAME]].concat();
        let meant = nearest(first, known.iter().copied());
        let meant = meant.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        let known = known.join("`, `");
        Err(invalid!("`{first}` is not a valid stack; {meant}known: `{known}`"))
    }

    /// Refuses a number of disks that it cannot be made of.
    ///
    /// # Errors
    /// Says how many it needs.
    pub fn check(&self, disks: usize) -> Result<(), Invalid> {
        match self {
            Self::Array(array) => array.check(disks),
            Self::Mapped(mapped) => mapped.check(disks),
            Self::Pool(pool) => pool.check(disks),
        }
    }

    /// The name of its device in the guest, below `/dev`; `None` for a file system.
    pub fn device(&self) -> Option<&'static str> {
        match self {
            Self::Array(_) => Some(array::DEVICE),
            Self::Mapped(mapped) => Some(mapped.device()),
            Self::Pool(_) => None,
        }
    }

    /// The file system that it is, if it is one.
    pub fn pool(&self) -> Option<Pool> {
        if let Self::Pool(pool) = self { Some(*pool) } else { None }
    }

    /// The part of its disks that it takes, where it does not take all of them.
    pub fn size(&self) -> Option<Bytes> {
        match self {
            Self::Array(_) | Self::Pool(_) => None,
            Self::Mapped(mapped) => mapped.size(),
        }
    }

    /// The program that makes it.
    pub fn maker(&self) -> &'static str {
        match self {
            Self::Array(_) => array::MAKER,
            Self::Mapped(mapped) => mapped.maker(),
            Self::Pool(_) => pool::MAKER,
        }
    }

    /// The package of Debian and its derivatives that contains the program.
    pub fn package(&self) -> &'static str {
        match self.maker() {
            mapped::BCACHE_MAKER => "bcache-tools",
            pool::MAKER => "btrfs-progs",
            named_alike => named_alike,
        }
    }

    /// True if it can be put together without one of its disks.
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Returns the lines of a shell that make it of new `disks` and look at it, or end the shell;
    /// none for a file system, which is made where it is mounted.
    pub fn commands(&self, disks: &[&str]) -> Vec<String> {
        match self {
            Self::Array(array) => array.commands(disks),
            Self::Mapped(mapped) => mapped.commands(disks),
            Self::Pool(_) => Vec::new(),
        }
    }

    /// Returns the line of a shell that puts it together again out of `disks`, or fails; `options`
    /// are those of the program that makes an array.
    pub fn again(&self, disks: &[&str], options: &str) -> String {
        match self {
            Self::Array(_) => Array::again(disks, options),
            Self::Mapped(mapped) => mapped.again(disks),
            Self::Pool(_) => "true".to_owned(),
        }
    }

    /// The line of a shell that takes it apart.
    pub fn end(&self) -> String {
        match self {
            Self::Array(_) => Array::end(),
            Self::Mapped(mapped) => mapped.end(),
            Self::Pool(_) => "true".to_owned(),
        }
    }
}

impl std::fmt::Display for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Array(array) => array.fmt(f),
            Self::Mapped(mapped) => mapped.fmt(f),
            Self::Pool(pool) => pool.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_stack_is_refused_with_the_names_of_all() {
        for text in ["raid5", "dm-cache,size=64M", "btrfs"] {
            Stack::read(text).unwrap();
        }
        let wrong = Stack::read("dm-thinn").unwrap_err();
        assert!(wrong.0.contains("did you mean `dm-thin`?"), "{wrong}");
        let wrong = Stack::read("zfs").unwrap_err();
        assert!(wrong.0.contains("`raid10`") && wrong.0.contains("`dm-cache`"), "{wrong}");
    }
}
