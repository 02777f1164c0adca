//! A cut of which two guests found something else.

use drivelab_core::crash::{Cut, Finding};
use serde_json::{Value, json};

/// A cut on which a guest that had checked other cuts disagrees with a guest that checked only it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement {
    /// The cut.
    pub cut: Cut,
    /// The finding of the shared guest.
    pub shared: Finding,
    /// The finding of the guest that checked this cut alone.
    pub alone: Finding,
}

impl Disagreement {
    /// The disagreement about a cut, if there is one.
    pub fn between(cut: Cut, shared: Finding, alone: Finding) -> Option<Self> {
        (shared != alone).then_some(Self { cut, shared, alone })
    }

    pub(super) fn to_json(self) -> Value {
        json!({
            "seed": self.cut.outcome.seed(),
            "at_ns": self.cut.at.ns(),
            "replay": self.cut.to_string(),
            "shared": self.shared,
            "alone": self.alone,
        })
    }
}
