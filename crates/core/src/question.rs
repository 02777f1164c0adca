//! The questions of a study in addition to the primary metric, as its file states them and its
//! report answers them. Arms are given by index.

/// Two arms between which one cause differs.
#[derive(Debug, Clone)]
pub struct ContrastInfo {
    /// The cause: `the host elevator`.
    pub name: String,
    /// The arm without it.
    pub from: usize,
    /// The arm with it.
    pub to: usize,
}

/// Factors whose main effects and interaction are reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction {
    /// Each arm has a level of each of them, and every combination of levels is an arm.
    pub factors: Vec<String>,
}

/// A claim about one figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finding {
    /// Short name, or the claim itself.
    pub name: String,
    /// `WORKLOAD.METRIC of ARM` (a geometric mean) or `WORKLOAD.METRIC of ARM over ARM` (a ratio),
    /// or `WORKLOAD.METRIC relative to WORKLOAD.METRIC of` either (their ratio);
    /// empty if no workload of the study measures it.
    pub figure: String,
    /// What the source states, in its own numbers: `8,000 to 37,000 1/s`; may be empty.
    pub published: String,
    /// The published figure, as `figure` would have it: a ratio, or a value in the metric's unit.
    pub published_value: Option<f64>,
    /// The reason why the study cannot answer the claim, even if it measures the figure.
    pub cannot_tell: Option<String>,
    /// The share of the time in which the processor worked, in percent, as the source states it of
    /// the first and of the second arm.
    pub processor: Option<[f64; 2]>,
    /// A workload that repeats that of `figure`: it shows how much two runs of one arm differ.
    pub again: Option<String>,
    /// The same figure of several runs of one arm on another machine, where no stage measures it.
    pub elsewhere: Option<Elsewhere>,
    /// Its author; may be empty.
    pub source: String,
    /// The claim holds from this value on.
    pub at_least: Option<f64>,
    /// The claim holds up to this value.
    pub at_most: Option<f64>,
}

/// Runs of one arm that were measured on another machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Elsewhere {
    /// The figure of each run, in the unit of its tool.
    pub runs: Vec<f64>,
    /// The tool, the machine and the load, as a part of a sentence.
    pub of: String,
}
