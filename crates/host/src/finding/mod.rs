//! What is wrong: each finding with its evidence and what to do about it.
//!
//! One file a family. A check is a pure function from what was read to findings; it claims nothing
//! it has no evidence for. The page on each is `docs/findings/<id>.md`.

mod array;
mod busy;
mod cache;
mod emulation;
mod forced;
mod link;
mod pcie;
mod queue;
mod tuning;

use std::collections::BTreeMap;

use drivelab_core::outline::Severity;

use crate::device::{Device, Machine};
use crate::found::{Finding, FindingId};

pub(crate) struct Context<'a> {
    pub(crate) device: &'a Device,
    pub(crate) all: &'a BTreeMap<String, Device>,
    pub(crate) machine: &'a Machine,
}

/// Collects findings.
#[derive(Debug, Default)]
struct Findings {
    found: Vec<Finding>,
}

impl Findings {
    /// Adds a finding, whose words are then added.
    fn add(&mut self, id: FindingId, severity: Severity) -> &mut Finding {
        let (message, evidence, fix) = Default::default();
        self.found.push(Finding { id, severity, message, evidence, fix });
        self.found.last_mut().expect("it was just added")
    }
}

impl Finding {
    /// Says what it is, in a sentence.
    fn says(&mut self, message: impl Into<String>) -> &mut Self {
        self.message = message.into();
        self
    }

    /// Says where it was read, and what stood there; empty parts are left out.
    fn seen(&mut self, evidence: Vec<String>) -> &mut Self {
        let parts: Vec<String> = evidence.into_iter().filter(|part| !part.is_empty()).collect();
        self.evidence = parts.join("; ");
        self
    }

    /// Says what to do about it.
    fn fix(&mut self, fix: impl Into<String>) {
        self.fix = fix.into();
    }
}

/// All findings of one device, worst first.
pub(crate) fn check(context: &Context<'_>) -> Vec<Finding> {
    let checks: [fn(&Context<'_>, &mut Findings); 9] = [
        emulation::check,
        link::check,
        queue::check,
        pcie::check,
        cache::check,
        tuning::check,
        array::check,
        forced::check,
        busy::check,
    ];
    let mut findings = Findings::default();
    for check in checks {
        check(context, &mut findings);
    }
    findings.found.sort_by_key(|finding| (finding.severity, finding.id));
    findings.found
}

/// `` `echo 128 | sudo tee /sys/block/sda/queue/read_ahead_kb` ``, to be pasted.
fn write(context: &Context<'_>, name: &str, value: &str) -> String {
    format!("`echo {value} | sudo tee /sys/block/{}/{name}`", context.device.name)
}

/// `/sys/block/sda/queue/scheduler: none`, for evidence.
fn attribute(context: &Context<'_>, name: &str, value: &str) -> String {
    format!("/sys/block/{}/{name}: {value}", context.device.name)
}
