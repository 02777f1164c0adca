//! Words of other tools that two crates share: figures of results, lines and fields of text,
//! recorded requests.

pub mod csv;
pub mod trace;

/// Which direction of a metric is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Throughput: more is better.
    More,
    /// Latency: less is better.
    Less,
}

/// The content of one result file.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The tool, `bonnie++`.
    pub tool: String,
    /// Its version as it says itself; several, where lines differ.
    pub tool_version: String,
    /// Every number, run by run.
    pub results: Vec<ImportedResult>,
    /// What was not understood, or holds no number.
    pub unknown: Vec<String>,
    /// What was corrected, and what a reader must know of the whole.
    pub notes: Vec<String>,
}

impl Imported {
    /// A file of `tool` of which nothing is read yet.
    pub fn of(tool: &str) -> Self {
        Self {
            tool: tool.to_owned(),
            tool_version: String::new(),
            results: Vec::new(),
            unknown: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedResult {
    /// The line where its run begins: numbers of one line are of one run.
    pub line: usize,
    /// What the file calls the machine or configuration.
    pub arm: String,
    /// What was measured.
    pub metric: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// It only accompanies another number (processor load, longest wait).
    pub is_detail: bool,
    /// What it is, and why.
    pub remarks: Vec<Remark>,
}

/// A kind of doubt. The names are a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// The host's page cache answered.
    PageCache,
    /// The processor was the limit.
    CpuTest,
    /// The journal and the closing flush were timed.
    JournalSync,
    /// Whatever it is, no disk was measured.
    NotDisk,
    /// Made once: nothing is known of its variation.
    SingleRun,
    /// The tool itself gets it wrong.
    ToolDefect,
}

impl Label {
    /// The name that scripts see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PageCache => "page-cache",
            Self::CpuTest => "cpu-test",
            Self::JournalSync => "journal-sync",
            Self::NotDisk => "not-disk",
            Self::SingleRun => "single-run",
            Self::ToolDefect => "tool-defect",
        }
    }
}

/// A label with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The kind.
    pub label: Label,
    /// Why, in a sentence.
    pub why: String,
}

impl Remark {
    /// A label and its reason.
    pub fn new(label: Label, why: impl Into<String>) -> Self {
        Self { label, why: why.into() }
    }
}

/// The labels alone, each once, in order.
pub fn label_names(remarks: &[Remark]) -> Vec<&'static str> {
    let mut labels: Vec<Label> = remarks.iter().map(|remark| remark.label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels.into_iter().map(Label::as_str).collect()
}
