//! The activity of the medium while no command needs it.

use drivelab_core::Time;
use drivelab_model::mechanics::Arm;

use super::pass::Pass;

/// The activity of the most recently used segment while no command is being served.
#[derive(Debug, Clone, Copy)]
pub(super) enum Background {
    Idle,
    /// The head follows the stream up to the segment's limit.
    Reading(Pass),
    Destaging(Destage),
}

/// Acknowledged data on its way to the medium.
#[derive(Debug, Clone, Copy)]
pub(super) struct Destage {
    /// Its first address.
    pub(super) first: u64,
    pub(super) until: Time,
    /// The position of the arm then.
    pub(super) arm: Arm,
}
