//! What a foreign number is, where it is no plain measurement of a disk.

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
    pub(crate) fn new(label: Label, why: impl Into<String>) -> Self {
        Self { label, why: why.into() }
    }
}

/// The labels alone, each once, in order.
pub(crate) fn names(remarks: &[Remark]) -> Vec<&'static str> {
    let mut labels: Vec<Label> = remarks.iter().map(|remark| remark.label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels.into_iter().map(Label::as_str).collect()
}
