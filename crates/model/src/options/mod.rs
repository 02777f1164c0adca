//! Users' options of a modelled drive: `drive:NAME[,key=value...]`.

mod spec;
mod switch;
mod tier;

pub use spec::{DriveSpec, ProfileRef, SpecError};
pub use switch::Switch;
pub use tier::Tier;

pub use crate::controller::{Burst, Link, Notice, Priorities, Weights};
pub use crate::ssd::{Precondition, Scale};
pub use crate::tier::TierKind;

use drivelab_core::config::{Value, nearest};
use drivelab_core::dispatch::Dispatch;
use drivelab_core::units::Bytes;
use drivelab_core::{Invalid, Ratio, Sectors, invalid};

use crate::controller::{Controller, QUEUES_MAX};
use crate::elevator::Scheduler;
use crate::raid::Level;
use crate::shelf::Bus;

/// Declares each option once: its field, its key, and the function that reads its value.
macro_rules! options {
    ($($(#[$doc:meta])+ $key:literal => $field:ident: $type:ty, $read:expr;)+) => {
        /// Options of a modelled drive; `None` leaves the setting to the profile.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Options {
            $($(#[$doc])+ pub $field: Option<$type>,)+
        }

        impl Options {
            /// Every key, in the order of output.
            pub const KEYS: [&'static str; [$($key),+].len()] = [$($key),+];

            fn set_known(&mut self, key: &str, value: &str) -> Result<(), Invalid> {
                match key {
                    $($key => self.$field = Some($read(value)?),)+
                    _ => unreachable!("the caller looked the key up in KEYS"),
                }
                Ok(())
            }

            /// These options, overridden by those set in `over`.
            pub fn overlaid_with(&self, over: &Self) -> Self {
                Self { $($field: over.$field.or(self.$field),)+ }
            }

            /// The set keys with their values as text, in the order of [`Options::KEYS`].
            pub fn entries(&self) -> Vec<(&'static str, String)> {
                let entries = [$(self.$field.map(|value| ($key, value.to_string()))),+];
                entries.into_iter().flatten().collect()
            }
        }
    };
}

options! {
    /// The controller.
    "controller" => controller: Controller, Value::read;
    /// Maximum commands on the wire; controller and drive may allow fewer.
    "tags" => tags: u32, whole::<1, 256>;
    /// The fastest link the port allows; the drive may allow less.
    "link" => link: Link, Value::read;
    /// The drive's volatile write cache.
    "write-cache" => write_cache: Switch, Value::read;
    /// Durable writes by forced unit access; otherwise by a flush behind them.
    "fua" => fua: Switch, Value::read;
    /// The allocation of tags.
    "dispatch" => dispatch: Dispatch, Value::read;
    /// The host's elevator.
    "scheduler" => scheduler: Scheduler, Value::read;
    /// Maximum requests in the elevator, including those on the wire.
    "nr-requests" => nr_requests: u32, whole::<1, 65_536>;
    /// Native command queuing.
    "ncq" => ncq: Switch, Value::read;
    /// Delivery of completions to the host.
    "completion" => completion: Notice, Value::read;
    /// Queues of an `NVMe` controller; each submitter uses one.
    "queues" => queues: u32, whole::<1, QUEUES_MAX>;
    /// Commands fetched from one queue before the next.
    "queue-burst" => queue_burst: Burst, Value::read;
    /// The class of each queue.
    "queue-priorities" => queue_priorities: Priorities, Value::read;
    /// Commands of each class in a round.
    "queue-weights" => queue_weights: Weights, Value::read;
    /// Ratio of the drive to the modelled flash.
    "scale" => scale: Scale, Value::read;
    /// Writes to the flash before the first request.
    "precondition" => precondition: Precondition, Value::read;
    /// Flash beyond the capacity, as a share of the capacity.
    "spare" => spare: Ratio, spare;
    /// The share of the capacity, at its end, that was trimmed and not rewritten.
    "trimmed" => trimmed: Ratio, trimmed;
    /// Seed of the drive's randomness, such as retries.
    "seed" => seed: u64, Value::read;
    /// Number of a specimen of the profile; the median drive if absent.
    "specimen" => specimen: u32, Value::read;
    /// Number of drives of this model: members are bits of a `u32`.
    "drives" => drives: u32, whole::<1, 32>;
    /// RAID level; concatenated drives if absent.
    "raid" => raid: Level, Value::read;
    /// Data of one stripe on one drive.
    "chunk" => chunk: Bytes, chunk;
    /// Index of the failed drive.
    "failed" => failed: u32, whole::<0, 31>;
    /// The bus shared by all drives.
    "bus" => bus: Bus, Value::read;
    /// Maximum commands at the controller, over all drives.
    "host-queue" => host_queue: u32, whole::<1, 65_536>;
    /// Maximum size of the host's requests, in KiB; longer ones are split.
    "max-sectors-kb" => max_sectors_kb: u32, whole::<4, 1_048_576>;
    /// The byte of the drive at which the modelled device begins, as a partition does.
    "offset" => offset: Bytes, offset;
    /// The write cache of a RAID controller.
    "controller-cache" => controller_cache: Bytes, controller_cache;
    /// A battery for it; without one the controller writes through.
    "battery" => battery: Switch, Value::read;
    /// A fast drive in front of this one.
    "tier" => tier: Tier, Value::read;
    /// Start with the beginning of the drive on the tier.
    "tier-warm" => tier_warm: Switch, Value::read;
    /// Memory in front of a swapcache.
    "page-cache" => page_cache: Bytes, page_cache;
}

/// An invalid option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such key.
    #[error("unknown option `{key}`; {hint}")]
    UnknownKey {
        /// The given key.
        key: String,
        /// The nearest key, or all of them.
        hint: String,
    },
    /// Invalid value.
    #[error("`{key}`: {message}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// The given value and the accepted ones.
        message: String,
    },
}

impl Options {
    /// Sets `key` to `value`, both as text; underscores in keys count as hyphens, so that TOML
    /// files may write `write_cache`.
    ///
    /// # Errors
    /// Unknown key or invalid value; the message suggests an alternative.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let spelled = key.replace('_', "-");
        let Some(&known) = Self::KEYS.iter().find(|known| **known == spelled) else {
            // A suggestion only if it is near; otherwise the list of all keys helps more.
            let hint = match nearest(&spelled, Self::KEYS) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("there are `{}`", Self::KEYS.join("`, `")),
            };
            return Err(OptionError::UnknownKey { key: key.to_owned(), hint });
        };
        self.set_known(known, value)
            .map_err(|Invalid(message)| OptionError::BadValue { key: known, message })
    }

    /// The options of a single drive: without those of arrays, buses and tiers, and without a seed.
    pub(crate) fn single_drive(&self) -> Self {
        Self {
            seed: None,
            drives: None,
            raid: None,
            chunk: None,
            failed: None,
            bus: None,
            host_queue: None,
            max_sectors_kb: None,
            offset: None,
            controller_cache: None,
            battery: None,
            tier: None,
            tier_warm: None,
            page_cache: None,
            ..*self
        }
    }

    /// The options of solid-state drives; the flag is true for a set option.
    pub fn of_flash(&self) -> [(&'static str, bool); 4] {
        [
            ("scale", self.scale.is_some()),
            ("precondition", self.precondition.is_some()),
            ("spare", self.spare.is_some()),
            ("trimmed", self.trimmed.is_some()),
        ]
    }

    /// The options of several queues; the flag is true for a set option.
    pub fn of_queues(&self) -> [(&'static str, bool); 4] {
        [
            ("queues", self.queues.is_some()),
            ("queue-burst", self.queue_burst.is_some()),
            ("queue-priorities", self.queue_priorities.is_some()),
            ("queue-weights", self.queue_weights.is_some()),
        ]
    }

    /// Returns true if an option is of a controller's write cache.
    pub(crate) fn has_controller_cache(&self) -> bool {
        self.controller_cache.is_some() || self.battery.is_some()
    }

    /// Returns a set option that requires a tier.
    pub(crate) fn tier_option(&self) -> Option<&'static str> {
        let set =
            [("tier-warm", self.tier_warm.is_some()), ("page-cache", self.page_cache.is_some())];
        set.into_iter().find(|(_, set)| *set).map(|(key, _)| key)
    }

    /// The options of the drive behind a tier: without those of the tier.
    pub(crate) fn behind_tier(&self) -> Self {
        Self { tier: None, tier_warm: None, page_cache: None, ..*self }
    }

    /// Returns true if no option combines several drives.
    pub(crate) fn is_single_drive(&self) -> bool {
        Self { seed: self.seed, ..self.single_drive() } == *self
    }
}

/// Reads a whole number from `MIN` to `MAX`.
pub(crate) fn whole<const MIN: u32, const MAX: u32>(text: &str) -> Result<u32, Invalid> {
    let number = u32::read(text).ok().filter(|number| (MIN..=MAX).contains(number));
    number.ok_or_else(|| invalid!("`{text}` is not a whole number from {MIN} to {MAX}"))
}

/// Below 1 % garbage collection has no spare blocks; above 300 % no such drive is sold.
fn spare(text: &str) -> Result<Ratio, Invalid> {
    let spare = Ratio::read(text)?;
    let sane = Ratio::percent(1)..=Ratio::percent(300);
    if sane.contains(&spare) {
        return Ok(spare);
    }
    Err(invalid!("`{text}` is not a share from 1% to 300%"))
}

fn trimmed(text: &str) -> Result<Ratio, Invalid> {
    let trimmed = Ratio::read(text)?;
    if trimmed < Ratio::ONE {
        return Ok(trimmed);
    }
    Err(invalid!("`{text}` is not a share below 100%"))
}

/// md accepts powers of two from the page size.
fn chunk(text: &str) -> Result<Bytes, Invalid> {
    let chunk = Bytes::read(text)?;
    if chunk.get().is_power_of_two() && (4096..=1 << 30).contains(&chunk.get()) {
        return Ok(chunk);
    }
    Err(invalid!(
        "`{text}` is not a chunk size: give a power of two from 4k to 1G, for example 512k"
    ))
}

/// Drives address 512 bytes, also those with larger physical sectors.
fn offset(text: &str) -> Result<Bytes, Invalid> {
    let bytes = Bytes::read(text)?;
    if bytes.get().is_multiple_of(512) && bytes < Sectors::DRIVE_MAX.bytes() {
        return Ok(bytes);
    }
    Err(invalid!("`{text}` is not a multiple of 512 below 64 TiB, for example 32256 (63 sectors)"))
}

fn controller_cache(text: &str) -> Result<Bytes, Invalid> {
    let bytes = Bytes::read(text)?;
    if (1 << 20..=1 << 36).contains(&bytes.get()) {
        return Ok(bytes);
    }
    Err(invalid!("`{text}` is not a size of a controller's cache from 1m to 64g"))
}

/// The upper limit keeps the number of pages within 32 bits.
fn page_cache(text: &str) -> Result<Bytes, Invalid> {
    let bytes = Bytes::read(text)?;
    if (1 << 20..=1 << 40).contains(&bytes.get()) {
        return Ok(bytes);
    }
    Err(invalid!("`{text}` is not a size of memory from 1m to 1t"))
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
            "scsi",
            "4",
            "6",
            "on",
            "off",
            "split",
            "bioq",
            "128",
            "off",
            "polled",
            "2",
            "4",
            "high/low",
            "8/4/1",
            "1/32",
            "steady",
            "28%",
            "50%",
            "9",
            "3",
            "5",
            "5",
            "64k",
            "2",
            "pcie1x8",
            "32",
            "128",
            "32256",
            "1G",
            "off",
            "swapcache:crucial-c300",
            "on",
            "256M",
        ];
        let mut options = Options::default();
        for (key, value) in Options::KEYS.into_iter().zip(values) {
            options.set(key, value).unwrap();
        }
        let listed: Vec<String> = options.entries().into_iter().map(|(_, value)| value).collect();
        assert_eq!(listed, values);
    }
}
