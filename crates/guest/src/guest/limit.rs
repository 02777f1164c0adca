//! How long a guest may take.

use std::time::Duration;

/// How long a guest may take, by two clocks: it is ended by the first that has run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Processor time of the guest and of all that runs in it.
    pub processor: Duration,
    /// Real time.
    pub real: Duration,
}

/// What a guest may take in real time, where its processor time is limited: this many times as
/// long. A machine that gives it less of a processor is too busy to wait for.
const PATIENCE: u32 = 30;

impl Limit {
    /// None.
    pub const NONE: Self = Self { processor: Duration::MAX, real: Duration::MAX };

    /// Real time alone, which a user waits for.
    pub fn real(real: Duration) -> Self {
        Self { processor: Duration::MAX, real }
    }

    /// Processor time, which tells a guest that does not end from one on a busy machine.
    pub fn processor(processor: Duration) -> Self {
        Self { processor, real: processor.saturating_mul(PATIENCE) }
    }
}
