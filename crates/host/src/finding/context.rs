//! The input of a check, and how it reports a finding.

use std::collections::BTreeMap;

use drivelab_core::outline::Severity;

use crate::device::{Device, Machine};
use crate::found::{Finding, FindingId};

/// The facts about a device and the machine around it.
pub(crate) struct Context<'a> {
    pub(crate) device: &'a Device,
    pub(crate) all: &'a BTreeMap<String, Device>,
    pub(crate) machine: &'a Machine,
}

/// Collects findings.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) found: Vec<Finding>,
}

impl Findings {
    /// Adds a finding, whose texts are then added.
    pub(super) fn add(&mut self, id: FindingId, severity: Severity) -> &mut Finding {
        let (message, evidence, fix) = Default::default();
        self.found.push(Finding { id, severity, message, evidence, fix });
        self.found.last_mut().expect("it was just added")
    }
}

impl Finding {
    /// Sets its description, in a sentence.
    pub(super) fn says(&mut self, message: impl Into<String>) -> &mut Self {
        self.message = message.into();
        self
    }

    /// Sets its evidence: sources, and the text found there. Empty parts are omitted.
    pub(super) fn seen(&mut self, evidence: Vec<String>) -> &mut Self {
        let parts: Vec<String> = evidence.into_iter().filter(|part| !part.is_empty()).collect();
        self.evidence = parts.join("; ");
        self
    }

    /// Sets its remedy.
    pub(super) fn fix(&mut self, fix: impl Into<String>) {
        self.fix = fix.into();
    }
}

/// `` `echo 128 | sudo tee /sys/block/sda/queue/read_ahead_kb` ``, for pasting.
pub(super) fn write(context: &Context<'_>, name: &str, value: &str) -> String {
    format!("`echo {value} | sudo tee /sys/block/{}/{name}`", context.device.name)
}

/// `/sys/block/sda/queue/scheduler: none`, for evidence.
pub(super) fn attribute(context: &Context<'_>, name: &str, value: &str) -> String {
    // A tree that was made from the output of tools has no such file.
    if context.machine.described {
        return format!("{}: {name}: {value}", context.device.sources.join(", "));
    }
    format!("/sys/block/{}/{name}: {value}", context.device.name)
}
