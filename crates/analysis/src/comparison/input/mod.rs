//! Named arms with their runs, from any source.

mod figures;
mod foreign;
mod hosts;
mod own;
mod pairs;
mod runs;
mod sequence;

pub use figures::Figures;
pub use foreign::{ArmResults, from_foreign, from_lines};
pub use own::OwnRuns;
pub use pairs::{Choice, from_pairs};
pub use runs::{from_own, from_runs};

use std::sync::Arc;

use drivelab_core::Refusal;
use drivelab_core::record::{Figure, Flaw, Specimen, Work};
use drivelab_stats::Provenance;

use crate::attachment::Question;

/// Everything that is to be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The kind of data it comes from.
    pub source: Source,
    /// The arms; the first is the baseline.
    pub arms: Vec<ArmRuns>,
    /// Notes for the reader on how it was put together.
    pub notes: Vec<String>,
    /// The known circumstances of the runs.
    pub provenance: Provenance,
    /// The attachment of the arms, and the factors they are meant to differ in.
    pub attached: Question,
    /// Why runs of the arms are no pairs, where the times of the runs say so.
    pub not_alternated: Option<String>,
    /// The note on the pairs, where blocks follow from the order of the runs.
    pub order_note: Option<String>,
    /// True if the blocks are of machines, each of which ran every arm: only within them may runs
    /// be compared.
    pub by_host: bool,
    /// True if the arms are meant to differ in all that their work differs in: a study says so.
    pub work_is_declared: bool,
}

impl Input {
    /// Figures of which nothing else is known.
    fn new(source: Source, arms: Vec<ArmRuns>, notes: Vec<String>) -> Self {
        let (provenance, attached) = (Provenance::Unknown, Question::default());
        Self {
            source,
            arms,
            notes,
            provenance,
            attached,
            not_alternated: None,
            order_note: None,
            by_host: false,
            work_is_declared: false,
        }
    }
}

/// The source of figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Stored runs.
    Runs,
    /// A CSV file of pairs.
    Pairs {
        /// The metric that each run begins with, where that is one and the same.
        leading: Option<String>,
    },
    /// Another tool's results.
    Foreign {
        /// The tool, `bonnie++`.
        tool: String,
    },
}

/// One arm.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmRuns {
    /// Its name.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunFigures>,
}

/// One run: what is compared is compared within a block.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFigures {
    /// Its block.
    pub block: String,
    /// One number a metric.
    pub figures: Figures,
    /// The end of the run, in seconds since 1970, where that is known.
    pub ended_unix_s: Option<u64>,
    /// The drive that was simulated, and what was asked of it as the run's record spells it.
    pub simulated: Option<Arc<(String, Specimen)>>,
    /// The work it did, as far as that is known; runs that did the same may share it.
    pub work: Arc<Work>,
    /// Why its figures are not what they claim to be.
    pub flaws: Vec<Flaw>,
    /// A hash of all that is known of it, where no other run has the same by chance.
    pub content: Option<u128>,
}

fn checked(input: Input) -> Result<Input, Refusal> {
    if let Some(empty) = input.arms.iter().find(|arm| arm.runs.is_empty()) {
        let name = &empty.name;
        let message = format!("there are no runs of `{name}`; run it at least six times");
        return Err(Refusal::request(message));
    }
    match input.arms.as_slice() {
        [] => Err(Refusal::request("there are no runs to compare")),
        [arm] => Err(one_arm(&arm.name)),
        _ => Ok(input),
    }
}

fn one_arm(name: &str) -> Refusal {
    Refusal::request(format!("there is one arm, `{name}`: a comparison needs two"))
}

/// Names blocks by order: the i-th run of one arm is held against the i-th of the other.
fn in_order(runs: Vec<Vec<Figure>>) -> Vec<RunFigures> {
    let named = (1_usize..).zip(runs);
    named
        .map(|(index, figures)| RunFigures {
            block: index.to_string(),
            figures: figures.into(),
            ended_unix_s: None,
            simulated: None,
            work: Arc::default(),
            flaws: Vec::new(),
            content: None,
        })
        .collect()
}

/// The note where blocks follow from the order of the runs.
fn order_note(arms: &[ArmRuns]) -> Option<String> {
    let counts: Vec<usize> = arms.iter().map(|arm| arm.runs.len()).collect();
    // A single run of each arm has no order.
    let most = counts.iter().copied().max().filter(|most| *most > 1)?;
    let least = counts.iter().copied().min()?;
    let unequal = if least < most {
        format!(" Only the first {least} of each arm are used: one arm has no more.")
    } else {
        String::new()
    };
    Some(format!(
        "Runs are paired in the given order, the first of one arm with the first of the other: \
         this is valid if the arms alternated, not if all runs of one arm came first: then \
         give --unpaired, before any `--`.{unequal}"
    ))
}
