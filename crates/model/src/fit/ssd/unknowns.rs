//! The numbers of a solid-state drive that a fit leaves open: those that random reads show.

use drivelab_core::measurements::DriveInterface;

use crate::fit::unknown::Unknown;
use crate::profile::Profile;

/// The profile of all drives of a kind: it has the priors, and what no read shows.
pub(super) fn base(interface: DriveInterface) -> &'static str {
    match interface {
        DriveInterface::Sata => "generic-sata",
        DriveInterface::Nvme => "generic-nvme",
    }
}

/// First the one that decides most: draws are spread evenly over it.
const KEYS: [&str; 5] =
    ["dies", "page_read_factor", "read_processing", "command_processing", "channel_mb_per_s"];

/// Channels of both classes.
const CHANNELS: f64 = 8.0;
/// Nothing in a drive takes less time.
const LEAST_US: f64 = 0.01;

/// What every fit leaves open.
pub(super) fn all(interface: DriveInterface) -> Vec<Unknown> {
    let profile = Profile::embedded(base(interface)).expect("it comes with drivelab");
    let new = |key| {
        let prior = profile.prior(key).expect("a test fits a drive of each kind");
        Unknown::new(key, prior, "us", LEAST_US)
    };
    KEYS.into_iter().map(new).collect()
}

/// The values of all of them, by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    pub(super) dies: f64,
    /// How many times the mean of the class a page takes.
    pub(super) page_read_factor: f64,
    pub(super) read_processing_us: f64,
    pub(super) command_processing_us: f64,
    pub(super) channel_mb_per_s: f64,
}

impl Numbers {
    /// From values in the order of [`all`].
    pub(super) fn of(values: &[f64]) -> Self {
        let [dies, page_read_factor, read_processing_us, command_processing_us, channel_mb_per_s] =
            values.try_into().expect("one value for each unknown");
        Self { dies, page_read_factor, read_processing_us, command_processing_us, channel_mb_per_s }
    }

    /// Those of the class, or as many as there are dies.
    pub(super) fn channels(&self) -> f64 {
        self.dies.min(CHANNELS)
    }

    /// Over its channel, a unit of 4 KiB, in us.
    pub(super) fn transfer_us(&self) -> f64 {
        4096.0 / self.channel_mb_per_s
    }
}
