//! How often the clock was read.

use crate::choice_as_text;
use crate::config::Choice;

/// When latency stamps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamp {
    /// A pair for each request.
    #[default]
    Io,
    /// A pair for each batch that goes to the kernel together: half the cost where requests take
    /// no longer than reading the clock, and latencies long by what the batch took to send.
    Batch,
}

impl Choice for Stamp {
    const WHAT: &'static str = "moment for time stamps";
    const NAMES: &'static [(&'static str, Self)] = &[("io", Self::Io), ("batch", Self::Batch)];
}
choice_as_text!(Stamp);
