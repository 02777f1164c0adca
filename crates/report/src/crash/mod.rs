//! The result of a crash test, in words and as JSON.

mod disagreement;
mod explanation;
mod stores;
mod text;

use std::cmp::Reverse;

use drivelab_core::Span;
use drivelab_core::crash::{Cut, Finding};
use serde_json::{Value, json};

pub use disagreement::Disagreement;
pub use explanation::{Explanation, LostWrite, Moment};
pub use stores::stores_page;

/// A crash test, as far as it came.
#[derive(Debug, Clone, Default)]
pub struct CrashTest {
    /// The system under test.
    pub title: String,
    /// The file, as the user named it.
    pub file: String,
    /// Options that repeat the test as it was carried out, each after a space.
    pub options: String,
    /// File system, drive and kernel.
    pub scene: String,
    /// The work that was done.
    pub workload: Workload,
    /// Cuts that were to be made, and those that the file asks for beyond them.
    pub planned: usize,
    /// See `planned`.
    pub left_out: u64,
    /// Cuts after which everything was whole.
    pub whole: usize,
    /// The others, in order of time.
    pub failures: Vec<Failure>,
    /// Cuts that were checked in a guest shared with others and in a separate one.
    pub twice: usize,
    /// The cuts for which the two findings differ; the finding of the separate guest counts.
    pub disagreements: Vec<Disagreement>,
    /// Cuts whose check did not end in real time, on a machine too busy for it: nothing is known of
    /// them.
    pub too_slow: Vec<Cut>,
    /// Cuts of which a shared guest found something that no separate guest confirmed.
    pub unconfirmed: usize,
    /// Real time that it took.
    pub took: Span,
    /// The explanation of one of the failures, if it was asked for.
    pub explanation: Option<Explanation>,
}

/// A workload that was carried out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workload {
    /// The duration in virtual time.
    pub took: Span,
    /// Writes that it caused.
    pub writes: usize,
    /// Flushes that it caused.
    pub flushes: usize,
    /// Lines that it printed.
    pub lines: usize,
}

/// A cut after which something was wrong.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The cut.
    pub cut: Cut,
    /// The finding of the check.
    pub finding: Finding,
    /// Why, in the words of the check.
    pub reason: String,
}

impl CrashTest {
    /// True if it was ended before its last cut.
    pub fn is_partial(&self) -> bool {
        self.cuts() + self.too_slow.len() < self.planned
    }

    /// Cuts that were made and checked.
    pub fn cuts(&self) -> usize {
        self.whole + self.failures.len()
    }

    /// Cuts with a finding.
    pub fn found(&self, finding: Finding) -> usize {
        match finding {
            Finding::Whole => self.whole,
            other => self.failures.iter().filter(|failure| failure.finding == other).count(),
        }
    }

    /// The first of the worst failures.
    pub fn worst(&self) -> Option<&Failure> {
        // The first of the worst: `max_by_key` gives the last of them.
        self.failures.iter().min_by_key(|failure| Reverse(failure.finding))
    }

    /// The document of schema `drivelab.crash/1`.
    pub fn to_json(&self) -> Value {
        let failures = self.failures.iter().map(|failure| {
            json!({
                "seed": failure.cut.outcome.seed(),
                "at_ns": failure.cut.at.ns(),
                "replay": failure.cut.to_string(),
                "finding": failure.finding,
                "reason": failure.reason,
            })
        });
        let disagreements = self.disagreements.iter().copied().map(Disagreement::to_json);
        let mut document = json!({
            "schema": "drivelab.crash/1",
            "title": self.title,
            "scene": self.scene,
            "workload": {
                "took_ns": self.workload.took.ns(),
                "writes": self.workload.writes,
                "flushes": self.workload.flushes,
                "lines": self.workload.lines,
            },
            "planned": self.planned,
            "left_out": self.left_out,
            "cuts": self.cuts(),
            "whole": self.whole,
            "lost": self.found(Finding::Lost),
            "corrupt": self.found(Finding::Corrupt),
            "checked_twice": self.twice,
            "disagreements": disagreements.collect::<Vec<_>>(),
            "too_slow": self.too_slow.iter().map(Cut::to_string).collect::<Vec<_>>(),
            "unconfirmed": self.unconfirmed,
            "took_s": seconds(self.took),
            "failures": failures.collect::<Vec<_>>(),
        });
        if let Some(explanation) = &self.explanation {
            document["explanation"] = explanation.to_json();
        }
        document
    }
}

/// Seconds to the hundredth.
#[expect(clippy::cast_precision_loss, reason = "hundredths of seconds of real time")]
fn seconds(span: Span) -> f64 {
    (span.ns() / 10_000_000) as f64 / 100.0
}

#[cfg(test)]
mod tests;
