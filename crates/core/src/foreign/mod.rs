//! Words of other tools that two crates share: figures of results, lines and fields of text,
//! recorded requests.

pub mod csv;

use std::collections::BTreeMap;

use crate::record::Phase;
use crate::{Request, Span, Time};

/// The content of one result file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// The tool, `bonnie++`.
    pub tool: String,
    /// Its version as it says itself; several, where runs differ.
    pub tool_version: String,
    /// Every run, in the order of the file.
    pub runs: Vec<ImportedRun>,
    /// What was not understood, or holds no number.
    pub unknown: Vec<String>,
    /// What was corrected, and what a reader must know of the whole.
    pub notes: Vec<String>,
}

/// One run of another tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedRun {
    /// The line where it begins.
    pub line: usize,
    /// What the file calls the machine or configuration.
    pub arm: String,
    /// When it ended, in seconds since 1970 (UTC), where the file says so.
    pub ended_unix_s: Option<u64>,
    /// How it was made, under the tool's own names (`file_size`): what its own format needs again.
    pub setup: BTreeMap<String, String>,
    /// Its numbers.
    pub phases: Vec<Phase>,
}

/// A recorded request: what a trace holds, and what a replay sends. Its id counts from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceEntry {
    /// What was asked.
    pub request: Request,
    /// When it came, from the beginning of the trace, where that was recorded.
    pub at: Option<Time>,
    /// The pause between its completion and the next request, where that was recorded.
    pub think: Option<Span>,
    /// How long the recorded drive took, where that was recorded.
    pub measured: Option<Span>,
}
