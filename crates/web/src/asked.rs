//! The questions of a page, and their limits.

use std::collections::BTreeMap;

use drivelab_core::Refusal;
use serde::Deserialize;

/// The longest question, in bytes: one holds the records of a comparison.
const QUESTION_MAX: usize = 64 << 20;

/// A question.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Asked {
    /// The drives, and the keys of their options.
    Drives,
    /// The included studies, with their texts.
    Studies,
    /// A load on a drive.
    Run(Load),
    /// The same, as a film of `ms` milliseconds.
    Watch {
        /// The load.
        #[serde(flatten)]
        load: Load,
        /// Its length in virtual time, in microseconds.
        us: u64,
    },
    /// A study.
    Study(Study),
    /// A comparison of records.
    Compare(Compare),
    /// A prediction.
    Predict(Predict),
}

/// A load on a drive.
#[derive(Debug, Clone, Deserialize)]
pub struct Load {
    /// `drive:NAME,key=value...`.
    pub target: String,
    /// Options of the workload, under the names of the command line.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Seed of all random choices.
    #[serde(default = "one")]
    pub seed: u64,
}

/// A study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The name of an included study, or of the file that `text` is in.
    pub name: String,
    /// The text of a study that is not included.
    #[serde(default)]
    pub text: Option<String>,
    /// Number of blocks.
    #[serde(default)]
    pub blocks: Option<u32>,
    /// Number of drives drawn.
    #[serde(default)]
    pub specimens: Option<u32>,
    /// Seed of all random choices.
    #[serde(default)]
    pub seed: Option<u64>,
    /// The only workloads.
    #[serde(default)]
    pub only: Vec<String>,
    /// The modelled drive, instead of the study's.
    #[serde(default)]
    pub drive: Option<String>,
}

/// A comparison of records.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Name and records of each arm, the baseline first; records as `run` returned them.
    pub arms: Vec<(String, Vec<String>)>,
    /// The metric that decides.
    #[serde(default)]
    pub primary: Option<String>,
    /// The smallest effect worth acting on, as `3%`.
    #[serde(default)]
    pub margin: Option<String>,
    /// Seed of the sign flips.
    #[serde(default = "one")]
    pub seed: u64,
    /// The factors in which the arms differ on purpose.
    #[serde(default)]
    pub factors: Vec<String>,
}

/// A prediction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predict {
    /// `NAME,key=value...`.
    pub drive: String,
    /// Options of the workload.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Specimens of the drive.
    #[serde(default = "forty")]
    pub specimens: u32,
    /// Seed of all random choices.
    #[serde(default = "one")]
    pub seed: u64,
}

const fn one() -> u64 {
    1
}

const fn forty() -> u32 {
    40
}

impl Asked {
    /// Reads a question.
    ///
    /// # Errors
    /// It is too long, or no question.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        if text.len() > QUESTION_MAX {
            let message =
                format!("the question has {} bytes, more than {QUESTION_MAX}", text.len());
            return Err(Refusal::request(message).hint("compare fewer runs"));
        }
        serde_json::from_str(text).map_err(|error| {
            Refusal::request(format!("this is no question that the laboratory knows: {error}"))
        })
    }
}
