//! What became of the pages that `durability` wrote, and how fast they were promised.

use serde::Serialize;

use crate::units::Span;

/// How much was promised, and how long that took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromiseRate {
    /// Pages promised, that is written and synced.
    pub promised: u64,
    /// How long it took.
    pub took: Span,
}

impl PromiseRate {
    /// Whether pages were synced more often than a platter of `rpm` revolutions a minute comes
    /// round: one page each at a random angle comes by after half a revolution on average, if the
    /// arm never has to move.
    pub fn is_beyond(&self, rpm: u64) -> bool {
        // promised / took > rpm * 2 / 60, in whole numbers.
        u128::from(self.promised) * 60_000_000_000
            > u128::from(rpm) * 2 * u128::from(self.took.ns())
    }
}

/// What became of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Judgement {
    /// Pages with a promise.
    pub promised: u64,
    /// Those that hold what was promised, or what was being written over it.
    pub survived: u64,
    /// Those that hold something older.
    pub lost: u64,
    /// Those of which a part is damaged or older than what was promised.
    pub torn: u64,
    /// Pages, promised or not, that hold what belongs elsewhere.
    pub misdirected: u64,
    /// Pages that were being written when the power went: anything is right.
    pub unknown: u64,
    /// How long before the end the oldest promise that was broken was made, in nanoseconds.
    pub oldest_loss_ns: Option<u64>,
}

impl Judgement {
    /// Whether every promise was kept.
    pub fn is_kept(&self) -> bool {
        self.lost + self.torn + self.misdirected == 0
    }
}
