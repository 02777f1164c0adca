//! What the medium does while no command wants it.

use drivelab_core::Time;
use drivelab_model::mechanics::Arm;

use super::pass::Pass;

/// What goes on with the segment used last while no command is being served.
#[derive(Debug, Clone, Copy)]
pub(super) enum Background {
    Idle,
    /// The head follows the stream up to the segment's limit.
    Reading(Pass),
    Destaging(Destage),
}

/// Reported data on its way to the medium.
#[derive(Debug, Clone, Copy)]
pub(super) struct Destage {
    /// The first address of it.
    pub(super) first: u64,
    pub(super) until: Time,
    /// Where the arm is then.
    pub(super) arm: Arm,
}
