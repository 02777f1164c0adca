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
    fn add(&mut self, id: FindingId, severity: Severity, parts: Parts) {
        let evidence: Vec<String> = parts.evidence.into_iter().filter(|e| !e.is_empty()).collect();
        self.found.push(Finding {
            id,
            severity,
            message: parts.message,
            evidence: evidence.join("; "),
            fix: parts.fix,
        });
    }
}

/// The texts of a finding.
struct Parts {
    message: String,
    evidence: Vec<String>,
    fix: String,
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
