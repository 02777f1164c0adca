//! Terms of other tools that two crates share: figures of results, lines and fields of text,
//! recorded requests.

pub mod csv;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Flaw, Phase, Work};
use crate::{Request, Span, Time};

/// The content of one result file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The tool, `bonnie++`.
    pub tool: String,
    /// Its version as it reports it; several, if runs differ.
    pub tool_version: String,
    /// Every run, in the order of the file.
    pub runs: Vec<ImportedRun>,
    /// Parts that were not understood, or contain no number.
    pub unknown: Vec<String>,
    /// Corrections, and remarks on the whole file.
    pub notes: Vec<String>,
}

impl Imported {
    /// Appends other results.
    pub fn add(&mut self, other: Self) {
        for (all, one) in
            [(&mut self.tool, other.tool), (&mut self.tool_version, other.tool_version)]
        {
            // Files of several versions of a tool may be read together: each version is named once.
            if !all.split(", ").any(|known| *known == one) {
                *all = format!("{all}, {one}");
            }
        }
        self.runs.extend(other.runs);
        add_new(&mut self.unknown, other.unknown);
        add_new(&mut self.notes, other.notes);
    }
}

/// Appends the entries of `more` that are not in `all` yet.
fn add_new(all: &mut Vec<String>, more: Vec<String>) {
    for entry in more {
        if !all.contains(&entry) {
            all.push(entry);
        }
    }
}

/// One run of another tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedRun {
    /// The line where it begins.
    pub line: usize,
    /// The file's name for the machine or configuration.
    pub arm: String,
    /// End of the run, in seconds since 1970 (UTC), if the file states it.
    pub ended_unix_s: Option<u64>,
    /// The machine that it ran on, as records of drivelab name it; no other tool's do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its settings, under the tool's own names (`file_size`), as its own format needs them again.
    pub setup: BTreeMap<String, String>,
    /// The work it did, as far as the file states it.
    #[serde(default, skip_serializing_if = "Work::is_empty")]
    pub work: Work,
    /// Its numbers.
    pub phases: Vec<Phase>,
    /// Reasons, reported by the tool itself, why its numbers are not what they claim to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
}

/// A recorded request: an entry of a trace, and what a replay sends. Its id counts from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceEntry {
    /// The request.
    pub request: Request,
    /// Time of arrival since the beginning of the trace, if recorded.
    pub at: Option<Time>,
    /// The pause between its completion and the next request, if that was recorded.
    pub think: Option<Span>,
    /// Service time of the recorded drive, if recorded.
    pub measured: Option<Span>,
}
