//! The unknowns of a solid-state drive that random reads show.

use drivelab_core::measurements::DriveInterface;

use crate::fit::unknown::Unknown;
use crate::profile::Profile;

/// The base profile of a class of drives, with the priors and the numbers that no read shows.
pub(super) fn base(interface: DriveInterface) -> &'static str {
    match interface {
        DriveInterface::Sata => "generic-sata",
        DriveInterface::Nvme => "generic-nvme",
    }
}

/// The unknowns.
// The first has the largest effect: draws cover it evenly.
const KEYS: [&str; 5] =
    ["dies", "page_read_factor", "read_processing", "command_processing", "channel_mb_per_s"];

/// Channels of both classes.
const CHANNELS: f64 = 8.0;
/// Lower bound of all times.
const LEAST_US: f64 = 0.01;

/// The unknowns of every fit.
pub(super) fn all(interface: DriveInterface) -> Vec<Unknown> {
    let profile = Profile::embedded(base(interface)).expect("it is built in");
    KEYS.into_iter()
        .map(|key| {
            let prior = profile.prior(key).expect("a test fits a drive of each kind");
            Unknown::new(key, prior, "us", LEAST_US)
        })
        .collect()
}

/// The values of the unknowns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    pub(super) dies: f64,
    /// Ratio of the mean read of a page to that of the class.
    pub(super) page_read_factor: f64,
    pub(super) read_processing_us: f64,
    pub(super) command_processing_us: f64,
    pub(super) channel_mb_per_s: f64,
}

impl Numbers {
    /// The numbers from values in the order of [`all`].
    pub(super) fn of(values: &[f64]) -> Self {
        let [dies, page_read_factor, read_processing_us, command_processing_us, channel_mb_per_s] =
            values.try_into().expect("one value for each unknown");
        Self { dies, page_read_factor, read_processing_us, command_processing_us, channel_mb_per_s }
    }

    /// Channels: as many as in the class, but at most one for each die.
    pub(super) fn channels(&self) -> f64 {
        debug_assert!(self.dies >= 1.0, "{self:?}");
        self.dies.min(CHANNELS)
    }

    /// Transfer of a unit of 4 KiB over its channel, in us.
    pub(super) fn transfer_us(&self) -> f64 {
        debug_assert!(self.channel_mb_per_s > 0.0, "{self:?}");
        4096.0 / self.channel_mb_per_s
    }
}
