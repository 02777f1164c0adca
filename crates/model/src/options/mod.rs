//! How users name a modelled drive and set it: `drive:NAME[,key=value...]`.

mod shelf;
mod spec;
mod switch;

pub use shelf::ShelfOptions;
pub use spec::{DriveSpec, ProfileRef, SpecError};
pub use switch::Switch;

pub use crate::controller::Link;

use drivelab_core::config::{Value, nearest};
use drivelab_core::dispatch::Dispatch;

use crate::controller::Controller;
use crate::elevator::Scheduler;

/// What can be chosen about a modelled drive; what is `None` is left to the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// How it is attached.
    pub controller: Option<Controller>,
    /// At most so many commands on the wire, 1 to 256; controller and drive may allow fewer.
    pub tags: Option<u32>,
    /// The fastest link the port allows; the drive may allow less.
    pub link: Option<Link>,
    /// The drive's volatile write cache.
    pub write_cache: Option<Switch>,
    /// How tags are given out.
    pub dispatch: Option<Dispatch>,
    /// The host's elevator.
    pub scheduler: Option<Scheduler>,
    /// How many requests the elevator sees, those on the wire included; 1 to 65536.
    pub nr_requests: Option<u32>,
    /// Native command queuing.
    pub ncq: Option<Switch>,
    /// Seed of what is random in the drive, such as retries.
    pub seed: Option<u64>,
    /// Several drives, and what they share.
    pub shelf: ShelfOptions,
}

/// An option that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such key.
    #[error("unknown option `{key}`; {hint}")]
    UnknownKey {
        /// The key as given.
        key: String,
        /// The nearest key, or all of them.
        hint: String,
    },
    /// The key cannot have that value.
    #[error("`{key}`: {message}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// What was found and what would be accepted.
        message: String,
    },
}

/// A whole number with limits; the message says them.
pub(super) fn whole(text: &str, limits: std::ops::RangeInclusive<u32>) -> Result<u32, String> {
    let number = u32::read(text).ok().filter(|number| limits.contains(number));
    number.ok_or_else(|| {
        format!("`{text}` is not a whole number from {} to {}", limits.start(), limits.end())
    })
}

impl Options {
    /// Every key, in the order in which they are printed.
    pub const KEYS: [&'static str; 16] = [
        "controller",
        "tags",
        "link",
        "write-cache",
        "dispatch",
        "scheduler",
        "nr-requests",
        "ncq",
        "seed",
        "drives",
        "raid",
        "chunk",
        "failed",
        "bus",
        "host-queue",
        "max-sectors-kb",
    ];

    /// Sets `key` to `value`, both as text; underscores in keys count as hyphens, so that TOML
    /// files may write `write_cache`.
    ///
    /// # Errors
    /// There is no such key, or it cannot have that value; the message suggests what was meant.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let spelled = key.replace('_', "-");
        let Some(&known) = Self::KEYS.iter().find(|known| **known == spelled) else {
            let hint = match nearest(&spelled, Self::KEYS) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("there are `{}`", Self::KEYS.join("`, `")),
            };
            return Err(OptionError::UnknownKey { key: key.to_owned(), hint });
        };
        self.set_known(known, value)
            .map_err(|message| OptionError::BadValue { key: known, message })
    }

    fn set_known(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "controller" => self.controller = Some(Value::read(value)?),
            "tags" => self.tags = Some(whole(value, 1..=256)?),
            "link" => self.link = Some(Value::read(value)?),
            "write-cache" => self.write_cache = Some(Value::read(value)?),
            "dispatch" => self.dispatch = Some(Value::read(value)?),
            "scheduler" => self.scheduler = Some(Value::read(value)?),
            "nr-requests" => self.nr_requests = Some(whole(value, 1..=65_536)?),
            "ncq" => self.ncq = Some(Value::read(value)?),
            "seed" => self.seed = Some(Value::read(value)?),
            _ => self.shelf.set(key, value)?,
        }
        Ok(())
    }

    /// These options, except where `over` says something.
    pub fn overlaid_with(&self, over: &Self) -> Self {
        Self {
            controller: over.controller.or(self.controller),
            tags: over.tags.or(self.tags),
            link: over.link.or(self.link),
            write_cache: over.write_cache.or(self.write_cache),
            dispatch: over.dispatch.or(self.dispatch),
            scheduler: over.scheduler.or(self.scheduler),
            nr_requests: over.nr_requests.or(self.nr_requests),
            ncq: over.ncq.or(self.ncq),
            seed: over.seed.or(self.seed),
            shelf: self.shelf.overlaid_with(&over.shelf),
        }
    }

    /// The keys that are set, with their values as text, in the order of [`Options::KEYS`].
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let values = [
            self.controller.map(|value| value.to_string()),
            self.tags.map(|value| value.to_string()),
            self.link.map(|value| value.to_string()),
            self.write_cache.map(|value| value.to_string()),
            self.dispatch.map(|value| value.to_string()),
            self.scheduler.map(|value| value.to_string()),
            self.nr_requests.map(|value| value.to_string()),
            self.ncq.map(|value| value.to_string()),
            self.seed.map(|value| value.to_string()),
        ];
        let set = |(key, value): (&'static str, Option<String>)| value.map(|value| (key, value));
        let values = values.into_iter().chain(self.shelf.values());
        Self::KEYS.into_iter().zip(values).filter_map(set).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_overrides_its_base_key_by_key() {
        let mut base = Options::default();
        base.set("controller", "ide").unwrap();
        base.set("write_cache", "off").unwrap();
        let mut arm = Options::default();
        arm.set("controller", "ahci").unwrap();
        let both = base.overlaid_with(&arm);
        let entries = both.entries();
        assert_eq!(entries, [("controller", "ahci".into()), ("write-cache", "off".into())]);
    }

    #[test]
    fn each_key_can_be_set_and_is_listed() {
        let values = [
            "scsi", "4", "6", "on", "split", "bioq", "128", "off", "9", "5", "5", "64k", "2",
            "pcie1x8", "32", "128",
        ];
        let mut options = Options::default();
        for (key, value) in Options::KEYS.into_iter().zip(values) {
            options.set(key, value).unwrap();
        }
        let listed: Vec<String> = options.entries().into_iter().map(|(_, value)| value).collect();
        assert_eq!(listed, values);
    }
}
