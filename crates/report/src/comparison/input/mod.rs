//! Named arms with their runs, whatever they come from.

mod foreign;
mod pairs;
mod runs;

pub use foreign::{from_foreign, from_lines};
pub use pairs::{Choice, from_pairs};
pub use runs::from_runs;

use drivelab_stats::{Better, Provenance};

use crate::attachment::Question;
use crate::foreign::Remark;

/// Everything that is to be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// What it comes from.
    pub source: Source,
    /// The arms; the first is the baseline.
    pub arms: Vec<ArmRuns>,
    /// What a reader must know of how it was put together.
    pub notes: Vec<String>,
    /// What is known of how the runs were made.
    pub provenance: Provenance,
    /// How the arms were attached, and what they are meant to differ in.
    pub attached: Question,
}

impl Input {
    /// Figures of which nothing else is known.
    fn new(source: Source, arms: Vec<ArmRuns>, notes: Vec<String>) -> Self {
        let (provenance, attached) = (Provenance::Unknown, Question::default());
        Self { source, arms, notes, provenance, attached }
    }
}

/// Where figures come from.
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
    pub runs: Vec<Run>,
}

/// One run: what is compared is compared within a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its block.
    pub block: String,
    /// One number a metric.
    pub figures: Vec<Figure>,
}

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its metric.
    pub metric: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty where the metric's name says it.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// It only accompanies another number.
    pub is_detail: bool,
    /// What it is, where it is no plain measurement.
    pub remarks: Vec<Remark>,
}

/// Results that cannot be put side by side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// Fewer than two arms.
    #[error("there is one arm, `{0}`: a comparison needs two")]
    OneArm(String),
    /// Nothing at all.
    #[error("there are no runs to compare")]
    Nothing,
    /// An arm that was asked for is not there.
    #[error("there is no arm `{name}`; {hint}")]
    UnknownArm {
        /// The name asked for.
        name: String,
        /// The nearest, or all.
        hint: String,
    },
    /// An arm without runs.
    #[error("there are no runs of `{0}`; run it at least six times")]
    NoRuns(String),
    /// Nobody said which arm is the baseline.
    #[error(
        "no baseline is named, and the order of the lines does not decide it: add {}",
        options(.0)
    )]
    NoBaseline(Vec<String>),
    /// Nobody said which of many arms is the baseline, and which decides.
    #[error(
        "there are {} arms, and the order of the lines does not rank them: name them, the baseline \
         first and the candidate last, for example: {}",
        .0.len(),
        .0.join(" ")
    )]
    NoOrder(Vec<String>),
    /// A name that does not say whether more or less is better.
    #[error(
        "the name `{0}` does not say whether more or less is better: add --better less or --better \
         more, or a column `better` to the file"
    )]
    NoDirection(String),
    /// Lines of one metric that contradict each other.
    #[error("line {line} contradicts an earlier line on which direction of `{metric}` is better")]
    TwoDirections {
        /// The metric.
        metric: String,
        /// The later line.
        line: usize,
    },
    /// Runs of different machines.
    #[error(
        "`{first}` and `{second}` ran on different machines, which may cause the difference; run \
         both on one machine"
    )]
    OtherHost {
        /// An arm.
        first: String,
        /// An arm from elsewhere.
        second: String,
    },
    /// Several lines that nothing tells apart.
    #[error(
        "all {count} lines are named `{name}`: put the lines of each arm into a separate file and \
         compare the files"
    )]
    Ambiguous {
        /// What they are all called.
        name: String,
        /// How many there are.
        count: usize,
    },
}

/// `--baseline one or --baseline other`.
fn options(arms: &[String]) -> String {
    let options: Vec<String> = arms.iter().map(|arm| format!("--baseline {arm}")).collect();
    options.join(" or ")
}

/// Refuses what is too little to compare.
fn checked(input: Input) -> Result<Input, InputError> {
    if let Some(empty) = input.arms.iter().find(|arm| arm.runs.is_empty()) {
        return Err(InputError::NoRuns(empty.name.clone()));
    }
    match input.arms.as_slice() {
        [] => Err(InputError::Nothing),
        [arm] => Err(InputError::OneArm(arm.name.clone())),
        _ => Ok(input),
    }
}

/// Names blocks by order: the i-th run of one arm is held against the i-th of the other.
fn in_order(runs: Vec<Vec<Figure>>) -> Vec<Run> {
    let named = (1_usize..).zip(runs);
    named.map(|(place, figures)| Run { block: place.to_string(), figures }).collect()
}

/// What to know where blocks follow from the order of the runs.
fn order_note(arms: &[ArmRuns]) -> Option<String> {
    let counts: Vec<usize> = arms.iter().map(|arm| arm.runs.len()).collect();
    let most = counts.iter().copied().max().filter(|most| *most > 1)?;
    let least = counts.iter().copied().min()?;
    let unequal = if least < most {
        format!(" Only the first {least} of each arm are used: one arm has no more.")
    } else {
        String::new()
    };
    Some(format!(
        "Runs are paired in the given order, the first of one arm with the first of the other: \
         this is valid if the arms alternated, not if all runs of one arm came first.{unequal}"
    ))
}
