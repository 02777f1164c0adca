//! The disks of a guest, by name, and the stack that Linux makes of them.

use std::fmt;

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;
use drivelab_core::{Refusal, Rng};
use drivelab_guest::stack::{self, Stack};
use drivelab_model::options::{DriveSpec, Options};
use drivelab_study::file::Setting;
use drivelab_study::{PlannedRun, StudyFile};

use super::has::{GuestSetting, Has};
use crate::stage::options;
use crate::target;

/// The part of a seed from which the drives of further disks are drawn.
const DISKS_PART: u64 = 0xD15C;

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
    /// The array over all of them.
    pub stack: Option<Stack>,
    /// The disk that workloads run on, where it is neither the stack nor the first.
    pub on: Option<String>,
    /// The channels of IDE drives.
    pub channels: Channels,
}

impl Disks {
    /// The number of the disk that workloads run on; `None` for the stack.
    ///
    /// # Errors
    /// There is no such disk, or too few for the stack.
    pub fn target(&self) -> Result<Option<usize>, Refusal> {
        if let Some(stack) = &self.stack {
            stack.check(self.named.len()).map_err(|wrong| {
                Refusal::request(wrong).hint("add `[[disk]]` tables, each with `name` and `drive`")
            })?;
        }
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
        self.named.len() < 2
    }

    /// As rows of a report.
    pub fn settings(&self) -> Vec<(String, String)> {
        let row = |name: &str, value: String| (name.to_owned(), value);
        let others = self.named.iter().filter_map(|disk| Some((&disk.name, disk.spec.as_ref()?)));
        let mut rows: Vec<_> =
            others.map(|(name, spec)| row(&format!("disk {name}"), spec.to_string())).collect();
        rows.extend(self.stack.map(|stack| row("stack", stack.to_string())));
        rows.extend(self.on.as_ref().map(|on| row("on", on.clone())));
        if self.channels != Channels::default() {
            rows.push(row("channels", self.channels.to_string()));
        }
        rows
    }

    /// The programs that the guest needs for them.
    pub fn program(&self) -> Option<&'static str> {
        self.stack.map(|_| stack::MAKER)
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

/// Gives a guest the disks of its study, whose drives are those of a run.
///
/// # Errors
/// There is no such drive, or no such disk to run on.
pub(super) fn fill(has: Has, study: &StudyFile, request: PlannedRun) -> Result<Has, Refusal> {
    if study.disks.len() < 2 {
        return match (&has.disks.stack, &has.disks.on) {
            (None, None) => Ok(has),
            _ => Err(Refusal::request("`stack` and `on` need several disks")
                .hint("add `[[disk]]` tables, each with `name` and `drive`")),
        };
    }
    let arm = options(&study.arms[request.arm].settings);
    let mut named = Vec::new();
    for (index, disk) in (0_u8..).zip(&study.disks) {
        let port = disk.port.unwrap_or(index);
        let name = disk.name.clone();
        if index == 0 {
            named.push(NamedDisk { name, port, spec: None });
            continue;
        }
        let spec = target::drive_spec(&disk.drive)?;
        let own = spec.options.overlaid_with(&options(&disk.settings)).overlaid_with(&arm);
        let spec = DriveSpec { options: own, ..spec };
        let spec = drawn(spec, study.seed, request.specimen, index)
            .map_err(|failure| failure.hint(format!("this is disk `{name}`")))?;
        named.push(NamedDisk { name, port, spec: Some(spec) });
    }
    let disks = Disks { named, ..has.disks.clone() };
    disks.target()?;
    Ok(Has { disks, ..has })
}

/// The drive of a further disk in a block, which is another one of its kind in each block.
fn drawn(spec: DriveSpec, seed: u64, number: Option<u32>, index: u8) -> Result<DriveSpec, Refusal> {
    let (Some(number), None) = (number, spec.options.specimen) else { return Ok(spec) };
    if target::profile(&spec)?.unknowns().is_empty() {
        return Ok(spec);
    }
    let seed = spec
        .options
        .seed
        .unwrap_or_else(|| Rng::for_part(seed, DISKS_PART + u64::from(index)).bits());
    let options = Options { specimen: Some(number), seed: Some(seed), ..spec.options };
    Ok(DriveSpec { options, ..spec })
}

/// The seed of a disk in a run with `seed`.
pub(super) fn seed_of(seed: u64, index: usize) -> u64 {
    if index == 0 { seed } else { Rng::for_part(seed, DISKS_PART + index as u64).bits() }
}

/// Refuses several disks at any other stage.
///
/// # Errors
/// The study has several.
pub(in crate::stage) fn refuse_several(study: &StudyFile) -> Result<(), Refusal> {
    if study.disks.len() < 2 {
        return Ok(());
    }
    let message =
        format!("this study has {} disks, and stage {} has one", study.disks.len(), study.stage);
    Err(Refusal::request(message).hint("under a real kernel: --stage kernel"))
}

/// The choices for disks among settings, where later ones replace earlier ones.
pub(super) fn of<'a>(settings: impl Iterator<Item = &'a Setting>) -> Disks {
    let mut disks = Disks::default();
    for setting in settings.filter_map(Setting::typed::<GuestSetting>) {
        match setting {
            GuestSetting::Stack(stack) => disks.stack = *stack,
            GuestSetting::On(name) => disks.on = Some(name.clone()),
            GuestSetting::Channels(channels) => disks.channels = *channels,
            _ => {}
        }
    }
    disks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str) -> NamedDisk {
        let spec = (name != "a").then(|| "generic-5400".parse().unwrap());
        NamedDisk { name: name.into(), port: 0, spec }
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
        let check = |disks: Disks, part: &str| {
            let failure = disks.target().unwrap_err();
            assert!(failure.to_string().contains(part), "{failure}");
        };
        check(Disks { on: Some("b".into()), ..stacked.clone() }, "a part of the stack");
        check(Disks { on: Some("c".into()), ..plain }, "no disk `c`");
        let stack = Some(Stack::read("raid5").unwrap());
        check(Disks { stack, ..stacked }, "needs 3 disks");
    }

    #[test]
    fn each_disk_has_its_seed_and_the_first_that_of_the_run() {
        assert_eq!(seed_of(7, 0), 7);
        assert_ne!(seed_of(7, 1), seed_of(7, 2));
    }
}
