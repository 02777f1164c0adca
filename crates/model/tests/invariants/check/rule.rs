//! The rules, and how often each was held against what a drive did.

use std::fmt;

/// A rule that every history must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Time runs forward; nothing is done before it was asked for, nor before its data has crossed
    /// the wire and left the medium.
    Clock,
    /// Every request completes exactly once, and without an error.
    Once,
    /// Tags in use never exceed their limit, nor the share of their class.
    Tags,
    /// Commands that are not queued share the wire with no other.
    Alone,
    /// One access at a time is on the medium.
    OneAccess,
    /// The platter's angle at a moment is that of the sector under the head.
    Angle,
    /// Arm and head take as long as the curve says, and then at most a revolution.
    Positioning,
    /// What is moved is what was asked, within the drive: sectors in are sectors out.
    Range,
    /// Nothing overtakes what has waited longer than the age limit.
    Age,
    /// First come, first served, where the profile or the elevator says so.
    Order,
    /// What was acknowledged before a flush was sent is on the medium when the flush is done; in
    /// the end, everything is.
    Durable,
    /// The caches answer only what they can hold, and hold no more than their size.
    Cache,
    /// Cached data goes to the medium only when it has come in.
    Arrival,
}

impl Rule {
    pub(crate) const ALL: [Self; 13] = [
        Self::Clock,
        Self::Once,
        Self::Tags,
        Self::Alone,
        Self::OneAccess,
        Self::Angle,
        Self::Positioning,
        Self::Range,
        Self::Age,
        Self::Order,
        Self::Durable,
        Self::Cache,
        Self::Arrival,
    ];
}

/// A rule that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) rule: Rule,
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}

/// How often each rule was checked, and what the histories held.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    checks: [u64; Rule::ALL.len()],
    pub(crate) requests: u64,
    pub(crate) accesses: u64,
    pub(crate) flushes: u64,
    /// Flushes that were done while later writes were still in the cache.
    pub(crate) flushes_before_later_writes: u64,
}

impl Tally {
    /// Counts a check, and fails where it does not hold.
    #[inline]
    pub(crate) fn hold(
        &mut self,
        rule: Rule,
        holds: bool,
        what: impl FnOnce() -> String,
    ) -> Result<(), Violation> {
        self.checks[rule as usize] += 1;
        if holds { Ok(()) } else { Err(Violation { rule, what: what() }) }
    }

    pub(crate) fn of(&self, rule: Rule) -> u64 {
        self.checks[rule as usize]
    }

    pub(crate) fn total(&self) -> u64 {
        self.checks.iter().sum()
    }
}
