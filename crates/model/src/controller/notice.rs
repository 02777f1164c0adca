//! Delivery of `NVMe` completions to the host.

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;
use drivelab_core::units::Span;

/// Delivery of `NVMe` completions to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The drive interrupts a processor, which wakes the waiting thread.
    Interrupt,
    /// The waiting thread polls the completion queue.
    Polled,
}

impl Choice for Notice {
    const WHAT: &'static str = "way to learn of completions";
    const NAMES: &'static [(&'static str, Self)] =
        &[("interrupt", Self::Interrupt), ("polled", Self::Polled)];
}
choice_as_text!(Notice);

impl Notice {
    /// From the completion in memory until the waiting thread has it.
    ///
    /// A small read by interrupt takes about 3.2 us longer than a polled one (after Yang, Minturn
    /// and Hady, "When Poll is Better than Interrupt", FAST 2012; quoted from memory). The
    /// absolute values are an estimate.
    pub(crate) fn latency(self) -> Span {
        match self {
            Self::Interrupt => Span::from_ns(3_500),
            Self::Polled => Span::from_ns(300),
        }
    }
}
