//! An array of Linux (md) over the disks of a guest: the commands that make it, and the check that
//! the guest has it.

use drivelab_core::choice_as_text;
use drivelab_core::config::{Choice, Value as _};
use drivelab_core::units::Bytes;
use drivelab_core::{Invalid, invalid};

use super::shell::has;

/// The device of the array in the guest.
pub(super) const DEVICE: &str = "md0";
/// The program that makes it.
pub(super) const MAKER: &str = "mdadm";

/// The default of mdadm.
const CHUNK: Bytes = Bytes::kib(512);

/// The layout of an array over its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// One disk behind the other.
    Linear,
    /// Striped.
    Raid0,
    /// Mirrored.
    Raid1,
    /// Striped, with one parity.
    Raid5,
    /// Striped, with two parities.
    Raid6,
    /// Striped, each chunk on two disks.
    Raid10,
}

impl Choice for Level {
    const WHAT: &'static str = "stack";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("linear", Self::Linear),
        ("raid0", Self::Raid0),
        ("raid1", Self::Raid1),
        ("raid5", Self::Raid5),
        ("raid6", Self::Raid6),
        ("raid10", Self::Raid10),
    ];
}
choice_as_text!(Level);

impl Level {
    /// The fewest disks that it works with.
    fn least(self) -> usize {
        match self {
            Self::Linear | Self::Raid0 | Self::Raid1 | Self::Raid10 => 2,
            Self::Raid5 => 3,
            Self::Raid6 => 4,
        }
    }

    fn is_striped(self) -> bool {
        !matches!(self, Self::Linear | Self::Raid1)
    }

    /// Returns whether its disks hold more than the data, so that they may disagree.
    fn is_redundant(self) -> bool {
        !matches!(self, Self::Linear | Self::Raid0)
    }

    /// Returns whether it computes parities.
    fn has_parity(self) -> bool {
        matches!(self, Self::Raid5 | Self::Raid6)
    }
}

/// The record that Linux keeps to make parity and data agree after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The parity of what a stripe keeps, on the disk of its parity.
    Ppl,
    /// All writes, on the last disk.
    Journal,
}

impl Choice for Policy {
    const WHAT: &'static str = "consistency policy";
    const NAMES: &'static [(&'static str, Self)] =
        &[("ppl", Self::Ppl), ("journal", Self::Journal)];
}
choice_as_text!(Policy);

/// An array over all disks of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Array {
    /// Its layout.
    pub level: Level,
    /// Data of one stripe on one disk, where it has stripes.
    chunk: Option<Bytes>,
    /// Linux notes in a bitmap which parts are being written.
    has_bitmap: bool,
    /// The record of writes that are being made, instead of a bitmap.
    policy: Option<Policy>,
}

impl Array {
    /// Reads `LEVEL[,chunk=SIZE][,bitmap=internal|none][,policy=ppl|journal]`.
    ///
    /// # Errors
    /// There is no such array.
    pub fn read(text: &str) -> Result<Self, Invalid> {
        let mut parts = text.split(',').map(str::trim);
        let level = Level::read(parts.next().unwrap_or_default())?;
        let chunk = level.is_striped().then_some(CHUNK);
        let mut stack = Self { level, chunk, has_bitmap: false, policy: None };
        for part in parts {
            match part.split_once('=') {
                Some(("chunk", size)) if level.is_striped() => stack.chunk = Some(chunk_of(size)?),
                Some(("bitmap", "internal")) if level.is_redundant() => stack.has_bitmap = true,
                Some(("bitmap", "none")) if level.is_redundant() => stack.has_bitmap = false,
                Some(("policy", policy)) if level.has_parity() => {
                    stack.policy = Some(Policy::read(policy)?);
                }
                _ => {
                    return Err(invalid!(
                        "`{part}` is not an option of `{level}`: known are `chunk=64k` of a striped \
                         stack, `bitmap=internal` and `bitmap=none` of a redundant one, and \
                         `policy=ppl` and `policy=journal` of one with parity"
                    ));
                }
            }
        }
        stack.is_possible().map(|()| stack)
    }

    fn is_possible(&self) -> Result<(), Invalid> {
        let Some(policy) = self.policy else { return Ok(()) };
        if self.has_bitmap {
            return Err(invalid!("an array has a bitmap or `policy={policy}`, not both"));
        }
        // `ppl_init_log` refuses the other levels.
        if policy == Policy::Ppl && self.level != Level::Raid5 {
            return Err(invalid!("Linux has `policy=ppl` for raid5 alone"));
        }
        Ok(())
    }

    /// The number of its disks that hold data or parity, of all `disks`.
    fn members(&self, disks: usize) -> usize {
        disks - usize::from(self.policy == Some(Policy::Journal))
    }

    /// Refuses fewer disks than it needs.
    ///
    /// # Errors
    /// Says how many it needs.
    pub fn check(&self, disks: usize) -> Result<(), Invalid> {
        let least = self.level.least() + usize::from(self.policy == Some(Policy::Journal));
        if disks < least {
            return Err(invalid!("`{self}` needs {least} disks, and there are {disks}"));
        }
        Ok(())
    }

    /// Returns the lines of a shell that make it over `disks` and look at it, or end the shell.
    pub fn commands(&self, disks: &[&str]) -> Vec<String> {
        debug_assert!(disks.len() >= self.level.least(), "checked before");
        let Self { level, chunk, has_bitmap, policy } = self;
        let count = self.members(disks.len());
        // Without the name of a host and a wait for udev, which a guest does not have.
        let mut make = format!(
            "MDADM_NO_UDEV=1 {MAKER} --create /dev/{DEVICE} --run --quiet --homehost=none \
             --metadata=1.2 --level={level} --raid-devices={count}"
        );
        if let Some(chunk) = chunk {
            make.push_str(&format!(" --chunk={}", chunk.get() >> 10));
        }
        if level.is_redundant() {
            let bitmap = if *has_bitmap { "internal" } else { "none" };
            // New disks are zeros, and the parity of zeros is zeros: a resync would change nothing.
            make.push_str(&format!(" --assume-clean --bitmap={bitmap}"));
        }
        match policy {
            Some(Policy::Ppl) => make.push_str(" --consistency-policy=ppl"),
            Some(Policy::Journal) => {
                make.push_str(&format!(" --write-journal /dev/{}", disks[count]));
            }
            None => {}
        }
        for disk in &disks[..count] {
            make.push_str(&format!(" /dev/{disk}"));
        }
        let about = format!("/sys/block/{DEVICE}/md");
        let mut lines = vec![format!("{make} >&2 || exit")];
        lines.push(has(&format!("{about}/level"), level.name()));
        lines.push(has(&format!("{about}/raid_disks"), &count.to_string()));
        if let Some(chunk) = chunk {
            lines.push(has(&format!("{about}/chunk_size"), &chunk.get().to_string()));
        }
        if let Some(policy) = policy {
            lines.push(has(&format!("{about}/consistency_policy"), policy.name()));
        }
        lines
    }

    /// Returns the line of a shell that puts an array together again out of those of its disks that
    /// are there, or fails; `options` are further ones of mdadm.
    pub(super) fn again(disks: &[&str], options: &str) -> String {
        let mut line = format!("MDADM_NO_UDEV=1 {MAKER} --assemble /dev/{DEVICE} --run {options}");
        for disk in disks {
            line.push_str(&format!(" /dev/{disk}"));
        }
        line + " >&2"
    }

    /// The line of a shell that takes it apart.
    pub(super) fn end() -> String {
        format!("{MAKER} --stop --quiet /dev/{DEVICE} >&2")
    }
}

impl std::fmt::Display for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.level)?;
        if let Some(chunk) = self.chunk {
            write!(f, ",chunk={chunk}")?;
        }
        if self.has_bitmap {
            write!(f, ",bitmap=internal")?;
        }
        if let Some(policy) = self.policy {
            write!(f, ",policy={policy}")?;
        }
        Ok(())
    }
}

/// A power of two from a page on, as Linux has it.
pub(super) fn chunk_of(text: &str) -> Result<Bytes, Invalid> {
    let chunk = Bytes::read(text)?;
    let is_possible = chunk.get().is_power_of_two();
    if !is_possible || !(Bytes::kib(4)..=Bytes::mib(64)).contains(&chunk) {
        return Err(invalid!("`{text}` is not a power of two from 4k to 64M, a chunk of Linux"));
    }
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        match (Array::read(text), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.to_string(), expected),
            (Err(found), Err(part)) => assert!(found.0.contains(part), "{found}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_stack_is_read_and_printed_as_it_is_made() {
        check("raid0", Ok("raid0,chunk=512k"));
        check("raid10, chunk=64k, bitmap=internal", Ok("raid10,chunk=64k,bitmap=internal"));
        check("raid1,bitmap=none", Ok("raid1"));
        check("raid1,chunk=64k", Err("not an option of `raid1`"));
        check("raid0,bitmap=internal", Err("not an option of `raid0`"));
        check("raid0,chunk=3k", Err("a chunk of Linux"));
        check("raid7", Err("raid7"));
        check("raid5,policy=ppl", Ok("raid5,chunk=512k,policy=ppl"));
        check("raid6,policy=ppl", Err("for raid5 alone"));
        check("raid10,policy=journal", Err("not an option of `raid10`"));
        check("raid5,policy=journal,bitmap=internal", Err("not both"));
    }

    #[test]
    fn a_stack_needs_its_disks_and_is_looked_at() {
        let stack = Array::read("raid5,chunk=64k").unwrap();
        assert!(stack.check(2).unwrap_err().0.contains("needs 3 disks"));
        stack.check(3).unwrap();
        let lines = stack.commands(&["sda", "sdb", "sdc"]);
        let make = "MDADM_NO_UDEV=1 mdadm --create /dev/md0 --run --quiet --homehost=none \
                    --metadata=1.2 --level=raid5 --raid-devices=3 --chunk=64 --assume-clean \
                    --bitmap=none /dev/sda /dev/sdb /dev/sdc >&2 || exit";
        assert_eq!(lines[0], make);
        assert_eq!(lines.len(), 4);
        assert!(lines[3].starts_with("[ \"$(cat /sys/block/md0/md/chunk_size)\" = 65536 ] || {"));
        let journal = Array::read("raid5,policy=journal").unwrap();
        assert!(journal.check(3).unwrap_err().0.contains("needs 4 disks"));
        let lines = journal.commands(&["sda", "sdb", "sdc", "sdd"]);
        let end = " --raid-devices=3 --chunk=512 --assume-clean --bitmap=none --write-journal \
                   /dev/sdd /dev/sda /dev/sdb /dev/sdc >&2 || exit";
        assert!(lines[0].ends_with(end), "{}", lines[0]);
        let again = Array::again(&["sda", "sdc"], "--force");
        assert!(again.ends_with("--assemble /dev/md0 --run --force /dev/sda /dev/sdc >&2"));
        let linear = Array::read("linear").unwrap().commands(&["vda", "vdb"]);
        assert!(!linear[0].contains("chunk") && !linear[0].contains("assume"), "{}", linear[0]);
    }
}
