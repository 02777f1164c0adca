//! The time limits of a guest.

use std::time::Duration;

/// The time that a guest may take, by two clocks: the first to run out ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Processor time of the guest and of all that runs in it.
    pub processor: Duration,
    /// Real time.
    pub real: Duration,
}

/// Real time limit as a multiple of the processor time limit. A machine that gives a guest less of
/// a processor is too busy to wait for.
const PATIENCE: u32 = 30;

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { processor: Duration::MAX, real: Duration::MAX };

    /// A limit of real time only, for which a user waits.
    pub fn real(real: Duration) -> Self {
        Self { processor: Duration::MAX, real }
    }

    /// A limit of processor time, which distinguishes a guest that does not end from a busy
    /// machine.
    pub fn processor(processor: Duration) -> Self {
        Self { processor, real: processor.saturating_mul(PATIENCE) }
    }
}
