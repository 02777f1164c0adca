//! The result of reading back everything that was written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Maximum number of examples of faults: enough to see a pattern, few enough to read.
const EXAMPLES_MAX: usize = 20;

/// A fault of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damage {
    /// It contains the data from before the run: no write to it arrived.
    Lost,
    /// It contains an earlier write than required: the last one did not arrive.
    Stale,
    /// Parts of it are from the required write, parts from before.
    Torn,
    /// It contains data that was written for another address.
    Misdirected,
    /// It contains data that no write put there: bits changed.
    Corrupt,
    /// The target ends before it.
    Truncated,
}

/// One faulty block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamageExample {
    /// The fault.
    pub fault: Damage,
    /// Its first byte on the target.
    pub offset_bytes: u64,
    /// The required write; a later one is also right.
    pub expected_generation: u64,
    /// The write that it contains, if that is one of ours.
    pub found_generation: Option<u64>,
    /// Offset at which its content belongs, if that is another.
    pub belongs_at_bytes: Option<u64>,
}

/// The result of reading everything back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verification {
    /// Blocks that must contain acknowledged data.
    pub promised: u64,
    /// Number of blocks that do.
    pub good: u64,
    /// Blocks with parts of a write that was never acknowledged: not a fault, because nothing was
    /// promised.
    pub unfinished: u64,
    /// Faulty blocks by kind.
    pub faults: BTreeMap<Damage, u64>,
    /// The first of them.
    pub examples: Vec<DamageExample>,
}

impl Verification {
    /// Adds the result for other blocks.
    pub fn merge(&mut self, other: Self) {
        self.promised += other.promised;
        self.good += other.good;
        self.unfinished += other.unfinished;
        for (fault, count) in other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        let room = EXAMPLES_MAX.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
        debug_assert!(self.examples.len() <= EXAMPLES_MAX || room == 0, "few enough to read");
    }

    /// True if every promise was kept.
    pub fn is_good(&self) -> bool {
        self.faults.is_empty()
    }

    /// Counts a faulty block.
    pub fn add(&mut self, example: DamageExample) {
        *self.faults.entry(example.fault).or_default() += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(example);
        }
    }
}
