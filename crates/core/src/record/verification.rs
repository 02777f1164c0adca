//! What reading back everything that was written found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Examples of faults that are kept: enough to see a pattern, few enough to read.
const EXAMPLES_MAX: usize = 20;

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damage {
    /// It holds what was there before the run: no write to it arrived.
    Lost,
    /// It holds an earlier write than it must: the last one did not arrive.
    Stale,
    /// Parts of it are from the write it must hold, parts from before.
    Torn,
    /// It holds what was written for another place.
    Misdirected,
    /// It holds what no write put there: bits changed.
    Corrupt,
    /// The target ends before it.
    Truncated,
}

/// One faulty block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamageExample {
    /// What is wrong.
    pub fault: Damage,
    /// Its first byte on the target.
    pub offset_bytes: u64,
    /// The write it must hold, or a later one.
    pub expected_generation: u64,
    /// The write it holds, where it holds one of ours.
    pub found_generation: Option<u64>,
    /// Where what it holds belongs, where that is elsewhere.
    pub belongs_at_bytes: Option<u64>,
}

/// What reading everything back found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verification {
    /// Blocks that had to hold something.
    pub promised: u64,
    /// Of them as they must be.
    pub good: u64,
    /// Blocks with parts of a write that was never acknowledged: no fault, nothing was promised.
    pub unfinished: u64,
    /// Faulty blocks by kind.
    pub faults: BTreeMap<Damage, u64>,
    /// The first of them.
    pub examples: Vec<DamageExample>,
}

impl Verification {
    /// Whether everything is as promised.
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
