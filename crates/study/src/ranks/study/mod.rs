//! A study on many hosts: rank 0 carries it out, and all ranks make each of its runs together.
//!
//! Rank 0 has the plan, the journal and the results; [`Leader`] is a stage like any other, so that
//! nothing of a study is written twice. The others [`follow`]: they put arms in place, begin runs
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
use crate::stage::{Request, Stage};

/// What one rank does of a study: a stage of its own, whose runs can wait for those of others.
pub trait Member: Stage {
    /// Makes a run that begins when `line` says, as [`make`] asks for it.
    fn run_from(
        &mut self,
        request: Request,
        line: &mut Line<'_>,
    ) -> Result<Option<Measured>, Self::Error>;

    /// Uses so much of the target from now on, where workloads do not say it: as much as every rank
    /// has.
    fn use_size(&mut self, size: Bytes);
}

/// What rank 0 tells all others.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    /// Get ready for this study.
    Study(String),
    /// Put an arm in place.
    Enter(usize),
    /// Make a run, on so much of the target.
    Run(Request, Option<Bytes>),
    /// Leave the arm in place.
    Leave(usize),
    /// Undoes an arm that an earlier session left in force.
    Undo(usize),
    /// There is nothing more to do.
    End,
}

/// What a rank says that has received a word, before it does it. One that has died while it waited
/// is missed for want of this, and not only when its work should be done.
const HEARD: &[u8] = b"heard";

/// What a rank answers that was asked to get ready, or to enter or leave an arm.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answer {
    host: String,
    /// What it measures.
    target: String,
    /// How much of it is used, where workloads do not say it.
    size: Option<Bytes>,
    /// Why it cannot.
    refusal: Option<String>,
}

/// What a rank sends that has begun a run.
#[derive(Debug, Serialize, Deserialize)]
enum Came {
    Made(Box<HostOutcome>),
    Failed(String),
}

fn words(word: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(word).expect("words are always JSON")
}

/// Makes a run of a study on this rank: on addresses of its own, which are the same in each arm.
fn make_one<R: Ranks, S: Member>(
    crew: &mut Crew<'_, R>,
    terms: &Terms,
    stage: &mut S,
    request: Request,
) -> Own<S::Error> {
    let seed = match crew.rank() {
        0 => request.seed,
        rank => Rng::for_part(request.seed, u64::from(rank)).bits(),
    };
    make(crew, terms, |line| {
        let made = stage.run_from(Request { seed, ..request }, line)?;
        Ok(made.map(|made| Measured { record: slim(made.record), ..made }))
    })
}

/// The record of one host beside a total, which is kept for each run of a study: without what only
/// a run by itself is looked at for.
fn slim(record: RunRecord) -> RunRecord {
    let total = record.total.map(JobRecord::without_series);
    RunRecord { jobs: Vec::new(), total, ..record }
}
