//! The queue settings of a guest's disk, and the check that the guest has them.

use drivelab_core::record::{AttachedDevice, Fact};
use thiserror::Error;

/// The queue settings of an arm, which the guest must have like the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSetting {
    /// The driver of the disk's controller; virtio reports none.
    pub driver: Option<&'static str>,
    /// The scheduler, as Linux calls it.
    pub scheduler: &'static str,
    /// The number of requests that the scheduler sees; without a scheduler the number of slots.
    pub nr_requests: u64,
    /// The number of commands that the disk accepts.
    pub tags: u16,
    /// The number of commands that the controller accepts for all its disks.
    pub slots: u16,
    /// True if the disk reports a cache that has to be flushed.
    pub write_cache: bool,
}

/// A setting that the guest does not have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the guest's {name} is {seen}, and the model's {expected}")]
pub struct Disagreement {
    /// Its name in `inspect`.
    pub name: &'static str,
    /// The model's.
    pub expected: Fact,
    /// The guest's, or a word that it has none.
    pub seen: Fact,
}

/// Linux without a scheduler.
pub const NO_SCHEDULER: &str = "none";
/// The fewest and the most requests that a write to `nr_requests` sets (`BLKDEV_MIN_RQ` and
/// `MAX_SCHED_RQ` of Linux).
pub const NR_REQUESTS_MIN: u64 = 4;
/// See [`NR_REQUESTS_MIN`].
pub const NR_REQUESTS_MAX: u64 = 2048;

impl QueueSetting {
    /// Returns the lines of a shell that set the queue of `device`.
    pub fn commands(&self, device: &str) -> Vec<String> {
        let queue = format!("/sys/block/{device}/queue");
        let mut lines = vec![format!("echo {} > {queue}/scheduler", self.scheduler)];
        if self.scheduler != NO_SCHEDULER {
            let (wanted, file) = (self.nr_requests, format!("{queue}/nr_requests"));
            // Linux gives a disk with one tag two, and sets four where two are asked for.
            lines.push(format!("[ \"$(cat {file})\" = {wanted} ] || echo {wanted} > {file}"));
        }
        lines
    }

    /// Returns whether the controller accepts requests that the disk has no tag for and no
    /// scheduler orders them: later ones may then overtake earlier ones for seconds.
    pub fn lets_overtake(&self) -> bool {
        self.scheduler == NO_SCHEDULER && self.tags < self.slots
    }

    /// Returns the facts that the guest must report.
    fn expected(&self) -> impl Iterator<Item = (&'static str, Fact)> {
        let (tags, slots) = (u64::from(self.tags), u64::from(self.slots));
        // Without a scheduler Linux reports the tags of the driver.
        let nr_requests = if self.scheduler == NO_SCHEDULER { slots } else { self.nr_requests };
        let driver = self.driver.map(|driver| ("driver", driver.into()));
        let cache = if self.write_cache { "write back" } else { "write through" };
        let queue = [
            ("queue_depth", tags.into()),
            ("scheduler", self.scheduler.into()),
            ("nr_requests", nr_requests.into()),
            ("write_cache_kernel", cache.into()),
        ];
        driver.into_iter().chain(queue)
    }

    /// Compares the settings that the guest reported with the expected ones.
    pub fn check(&self, seen: &AttachedDevice) -> Result<(), Disagreement> {
        for (name, expected) in self.expected() {
            let fact = seen.facts.get(name).cloned();
            let seen = fact.unwrap_or_else(|| Fact::from("unknown"));
            if seen != expected {
                return Err(Disagreement { name, expected, seen });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: QueueSetting = QueueSetting {
        driver: Some("ahci"),
        scheduler: "mq-deadline",
        nr_requests: 64,
        tags: 32,
        slots: 32,
        write_cache: true,
    };

    fn guest() -> AttachedDevice {
        let mut device = AttachedDevice::default();
        device.set("driver", Some("ahci"));
        device.set("queue_depth", Some(32_u64));
        device.set("scheduler", Some("mq-deadline"));
        device.set("nr_requests", Some(64_u64));
        device.set("write_cache_kernel", Some("write back"));
        device
    }

    #[test]
    fn a_guest_that_has_the_settings_agrees() {
        assert_eq!(DEADLINE.check(&guest()), Ok(()));
        let bare = QueueSetting { scheduler: NO_SCHEDULER, nr_requests: 256, ..DEADLINE };
        let mut device = guest();
        device.set("scheduler", Some("none"));
        device.set("nr_requests", Some(32_u64));
        assert_eq!(bare.check(&device), Ok(()), "without a scheduler the slots are the limit");
        assert!(!bare.lets_overtake(), "the disk takes as many as the adapter");
        assert!(QueueSetting { tags: 1, ..bare.clone() }.lets_overtake());
        assert!(!QueueSetting { tags: 1, ..DEADLINE }.lets_overtake());
        device.set("driver", Some("ata_piix"));
        assert!(bare.check(&device).is_err());
        assert_eq!(QueueSetting { driver: None, ..bare }.check(&device), Ok(()));
    }

    #[test]
    fn any_setting_that_differs_or_is_missing_is_named() {
        let check = |name: &str, value: Option<u64>, expected: &str| {
            let mut device = guest();
            device.facts.remove(name);
            device.set(name, value);
            assert_eq!(DEADLINE.check(&device).unwrap_err().to_string(), expected);
        };
        check("nr_requests", Some(4), "the guest's nr_requests is 4, and the model's 64");
        check("queue_depth", Some(1), "the guest's queue_depth is 1, and the model's 32");
        let none = "the guest's scheduler is unknown, and the model's mq-deadline";
        check("scheduler", None, none);
        let through = QueueSetting { write_cache: false, ..DEADLINE };
        assert!(through.check(&guest()).is_err());
    }

    #[test]
    fn requests_are_set_only_where_a_scheduler_has_them_and_not_yet() {
        let bare = QueueSetting { scheduler: NO_SCHEDULER, ..DEADLINE };
        assert_eq!(bare.commands("vda"), ["echo none > /sys/block/vda/queue/scheduler"]);
        let lines = DEADLINE.commands("sda");
        assert_eq!(lines[0], "echo mq-deadline > /sys/block/sda/queue/scheduler");
        assert!(lines[1].ends_with("= 64 ] || echo 64 > /sys/block/sda/queue/nr_requests"));
    }
}
