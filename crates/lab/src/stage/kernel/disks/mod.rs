//! The disks of a guest, by name, and the stack that Linux makes of them.

pub(super) mod declared;
pub(super) mod machines;

use std::fmt;

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;
use drivelab_core::{Refusal, Rng};
use drivelab_guest::stack::Stack;
use drivelab_model::options::DriveSpec;
use drivelab_study::file::DISKS_MAX;

use crate::target;

/// The part of a seed from which the drives of further disks are drawn.
pub(super) const DISKS_PART: u64 = 0xD15C;

/// The division of IDE drives into channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channels {
    /// Two drives on each channel, as ports say.
    #[default]
    Shared,
    /// A channel for each drive.
    Own,
}

impl Choice for Channels {
    const WHAT: &'static str = "division of channels";
    const NAMES: &'static [(&'static str, Self)] = &[("shared", Self::Shared), ("own", Self::Own)];
}
choice_as_text!(Channels);

/// A disk of a guest that has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDisk {
    /// Its name.
    pub name: String,
    /// The number of its port: on a channel for IDE two drives, one after the other.
    pub port: u8,
    /// The drive; that of the run for the first disk.
    pub spec: Option<DriveSpec>,
}

/// The disks of a guest, beyond the only one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disks {
    /// All, the first included; none where a guest has one disk without a name.
    pub named: Vec<NamedDisk>,
    /// The device that Linux makes of all of them.
    pub stack: Option<Stack>,
    /// The disk that workloads run on, where it is neither the stack nor the first.
    pub on: Option<String>,
    /// The channels of IDE drives.
    pub channels: Channels,
}

impl Disks {
    /// A stack over the drive of a run and these others.
    ///
    /// # Errors
    /// There is no such drive, or the stack needs another number of disks.
    pub fn stacked(stack: Option<Stack>, others: &[String]) -> Result<Self, Refusal> {
        let Some(stack) = stack else { return Ok(Self::default()) };
        let count = others.len() + 1;
        if count > DISKS_MAX {
            let message = format!("a guest has {DISKS_MAX} disks at most, and these are {count}");
            return Err(Refusal::request(message).hint("leave some out"));
        }
        stack.check(count).map_err(|wrong| {
            Refusal::request(wrong).hint("name each disk but the first: --disk DRIVE")
        })?;
        let mut named = vec![NamedDisk { name: "1".into(), port: 0, spec: None }];
        for (port, drive) in (1..).zip(others) {
            let spec = Some(target::drive_spec(drive)?);
            named.push(NamedDisk { name: (port + 1).to_string(), port, spec });
        }
        // Behind the second port of a channel only another IDE drive can be.
        Ok(Self { named, stack: Some(stack), on: None, channels: Channels::Own })
    }

    /// The number of the disk that workloads run on; `None` for the stack.
    ///
    /// # Errors
    /// There is no such disk, or too few for the stack.
    pub fn target(&self) -> Result<Option<usize>, Refusal> {
        if let Some(stack) = &self.stack {
            stack.check(self.named.len()).map_err(|wrong| {
                Refusal::request(wrong)
                    .hint("the study has a `[[disk]]` table, with `name` and `drive`, for each")
            })?;
        }
        // Without a name: the stack, or the first disk.
        let Some(on) = &self.on else { return Ok(self.stack.is_none().then_some(0)) };
        if let Some(index) = self.named.iter().position(|disk| disk.name == *on) {
            return match self.stack {
                Some(_) => {
                    let message = format!("`{on}` is a part of the stack, which is in use");
                    Err(Refusal::request(message).hint("leave out `on`, or `stack`"))
                }
                None => Ok(Some(index)),
            };
        }
        let names: Vec<&str> = self.named.iter().map(|disk| disk.name.as_str()).collect();
        let known = names.join("`, `");
        Err(Refusal::request(format!("there is no disk `{on}`"))
            .hint(format!("the disks of this study are `{known}`")))
    }

    /// True if a guest has one disk, and nothing on top of it.
    pub fn is_one(&self) -> bool {
        self.named.len() < 2 && self.stack.is_none()
    }

    /// As rows of a report.
    pub fn settings(&self) -> Vec<(String, String)> {
        let others = self.named.iter().filter_map(|disk| Some((&disk.name, disk.spec.as_ref()?)));
        let mut rows: Vec<_> =
            others.map(|(name, spec)| (format!("disk {name}"), spec.to_string())).collect();
        rows.extend(self.stack.map(|stack| ("stack".to_owned(), stack.to_string())));
        rows.extend(self.on.as_ref().map(|on| ("on".to_owned(), on.clone())));
        if self.channels != Channels::default() {
            rows.push(("channels".to_owned(), self.channels.to_string()));
        }
        rows
    }
}

/// The disks as words behind the name of the first one's drive.
impl fmt::Display for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for spec in self.named.iter().filter_map(|disk| disk.spec.as_ref()) {
            write!(f, " + {spec}")?;
        }
        match self.stack {
            Some(stack) => write!(f, " as {stack}"),
            None => Ok(()),
        }
    }
}

/// The seed of a disk in a run with `seed`.
pub(super) fn seed_of(seed: u64, index: usize) -> u64 {
    if index == 0 { seed } else { Rng::for_part(seed, DISKS_PART + index as u64).bits() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str) -> NamedDisk {
        let spec = (name != "a").then(|| "generic-5400".parse().unwrap());
        NamedDisk { name: name.into(), port: 0, spec }
    }

    fn is_refused(disks: &Disks, part: &str) {
        let failure = disks.target().unwrap_err();
        assert!(failure.to_string().contains(part), "{failure}");
    }

    #[test]
    fn workloads_run_on_the_stack_or_the_disk_that_is_named_or_the_first() {
        let plain = Disks { named: vec![disk("a"), disk("b")], ..Disks::default() };
        assert_eq!(plain.target().unwrap(), Some(0));
        let second = Disks { on: Some("b".into()), ..plain.clone() };
        assert_eq!(second.target().unwrap(), Some(1));
        let stack = Some(Stack::read("raid0").unwrap());
        let stacked = Disks { stack, ..plain.clone() };
        assert_eq!(stacked.target().unwrap(), None);
        assert_eq!(stacked.to_string(), " + drive:generic-5400 as raid0,chunk=512k");
        is_refused(&Disks { on: Some("b".into()), ..stacked.clone() }, "a part of the stack");
        is_refused(&Disks { on: Some("c".into()), ..plain }, "no disk `c`");
        let stack = Some(Stack::read("raid5").unwrap());
        is_refused(&Disks { stack, ..stacked }, "needs 3 disks");
    }

    #[test]
    fn the_other_disks_of_a_run_are_numbered() {
        let stack = |text: &str| Some(Stack::read(text).unwrap());
        let others = ["generic-5400".to_owned(), "drive:generic-5400,controller=ide".to_owned()];
        let disks = Disks::stacked(stack("raid5"), &others).unwrap();
        let ports: Vec<u8> = disks.named.iter().map(|disk| disk.port).collect();
        assert_eq!((ports, disks.named[2].name.as_str()), (vec![0, 1, 2], "3"));
        assert_eq!(Disks::stacked(None, &[]).unwrap(), Disks::default());
        let few = Disks::stacked(stack("raid5"), &others[..1]).unwrap_err();
        assert!(few.to_string().contains("3 disks"), "{few}");
        let many = vec!["generic-5400".to_owned(); 8];
        assert!(Disks::stacked(stack("raid0"), &many).unwrap_err().to_string().contains("8 disks"));
    }

    #[test]
    fn each_disk_has_its_seed_and_the_first_that_of_the_run() {
        assert_eq!(seed_of(7, 0), 7);
        assert_ne!(seed_of(7, 1), seed_of(7, 2));
    }
}
