//! A study on many hosts: rank 0 carries it out, and all ranks make each of its runs together.
//!
//! Rank 0 has the plan, the journal and the results; [`Leader`] is a stage like any other, so that
//! nothing of a study is written twice. The others [`follow`]: they activate arms, begin runs
//! and leave arms when rank 0 says so. A run is the exact total of what all ranks counted, and has
//! the record of each.

mod follow;
mod lead;
#[cfg(test)]
mod tests;

pub use follow::{Followed, follow};
pub use lead::{Leader, lead};

use drivelab_core::Rng;
use drivelab_core::record::{HostOutcome, JobRecord, RunRecord};
use drivelab_core::units::Bytes;
use serde::{Deserialize, Serialize};

use super::joint::{Line, Measured, Own, Terms, make};
use super::{Crew, Ranks};
use crate::stage::{PlannedRun, Stage};

/// The part of one rank in a study: a stage whose runs can wait for those of other ranks.
pub trait Member: Stage {
    /// Makes a run that begins when `line` says, as [`make`] asks for it.
    fn run_from(
        &mut self,
        request: PlannedRun,
        line: &mut Line<'_>,
    ) -> Result<Option<Measured>, Self::Error>;

    /// Uses this much of the target from now on, where workloads do not state it: the size that
    /// every rank has.
    fn use_size(&mut self, size: Bytes);
}

/// The word of rank 0 to all others.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    /// Get ready for this study.
    Study(String),
    /// Activate an arm.
    Enter(usize),
    /// Make a run, on this much of the target.
    Run(PlannedRun, Option<Bytes>),
    /// Leave the active arm.
    Leave(usize),
    /// Undoes an arm that an earlier session left in force.
    Undo(usize),
    /// There is nothing more to do.
    End,
}

/// The confirmation of a word, before it is followed. The absence of this confirmation shows a rank
/// that died while it waited, before its work is due.
const HEARD: &[u8] = b"heard";

/// The answer of a rank that was asked to get ready, or to enter or leave an arm.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answer {
    host: String,
    /// Its target.
    target: String,
    /// The size of it that is used, where workloads do not state it.
    size: Option<Bytes>,
    /// The reason why it cannot.
    refusal: Option<String>,
}

/// The message of a rank about a run that it has begun.
#[derive(Debug, Serialize, Deserialize)]
enum RunResult {
    Made(Box<HostOutcome>),
    Failed(String),
}

fn words(word: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(word).expect("words are always JSON")
}

/// Makes a run of a study on this rank: on addresses of this rank, which are the same in each arm.
fn make_one<R: Ranks, S: Member>(
    crew: &mut Crew<'_, R>,
    terms: &Terms,
    stage: &mut S,
    request: PlannedRun,
) -> Own<S::Error> {
    let seed = match crew.rank() {
        0 => request.seed,
        rank => Rng::for_part(request.seed, u64::from(rank)).bits(),
    };
    make(crew, terms, |line| {
        let made = stage.run_from(PlannedRun { seed, ..request }, line)?;
        Ok(made.map(|made| Measured { record: slim(made.record), ..made }))
    })
}

/// The record of one host in addition to a total, kept for each run of a study: without parts that
/// only matter for a run by itself.
fn slim(record: RunRecord) -> RunRecord {
    let total = record.total.map(JobRecord::without_series);
    RunRecord { jobs: Vec::new(), total, ..record }
}
