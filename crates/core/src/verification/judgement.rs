//! The result for the pages that `durability` wrote, and the rate of its promises.

use serde::Serialize;

use crate::units::Span;

/// Number of promised pages, and the time that this took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromiseRate {
    /// Pages promised, that is, written and synced.
    pub promised: u64,
    /// The time that it took.
    pub took: Span,
}

impl PromiseRate {
    /// True if pages were synced more often than a platter makes revolutions at `rpm`: a
    /// page at a random angle passes after half a revolution on average, if the arm never
    /// has to move.
    pub fn is_beyond(&self, rpm: u64) -> bool {
        // promised / took > rpm * 2 / 60, in whole numbers.
        u128::from(self.promised) * 60_000_000_000
            > u128::from(rpm) * 2 * u128::from(self.took.ns())
    }
}

/// The result for the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Judgement {
    /// Pages with a promise.
    pub promised: u64,
    /// Pages that contain the promised data, or data that was being written over it.
    pub survived: u64,
    /// Pages that contain something older.
    pub lost: u64,
    /// Pages of which part is damaged or older than the promise.
    pub torn: u64,
    /// Pages, promised or not, that contain data that belongs elsewhere.
    pub misdirected: u64,
    /// Pages that were being written when the power failed: any content is right.
    pub unknown: u64,
    /// Age of the oldest broken promise at the end, in nanoseconds.
    pub oldest_loss_ns: Option<u64>,
}

impl Judgement {
    /// True if every promise was kept.
    pub fn is_kept(&self) -> bool {
        self.lost + self.torn + self.misdirected == 0
    }
}
