//! The traps of published comparisons of storage settings into which this machine would fall.
//!
//! Everything is derived from an [`Inspection`]: nothing else is read, and nothing is changed.

mod outline;
mod rules;
mod step;
mod trap;

pub use outline::advised;
pub use step::Step;
pub use trap::{State, Trap, TrapId};

use serde::{Deserialize, Serialize};

use crate::found::Finding;
use crate::inspection::Inspection;
use crate::outline::setting;

/// The schema that this version writes.
pub const ADVICE_SCHEMA: &str = "drivelab.advise/1";

/// The advice: the JSON of `drivelab advise`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// Always [`ADVICE_SCHEMA`].
    pub schema: String,
    /// The drives and their settings.
    pub disks: Vec<Disk>,
    /// The findings of `inspect` for which a run on these disks carries a mark.
    #[serde(default)]
    pub findings: Vec<Disturbance>,
    /// Every known trap, in the order of [`TrapId`].
    pub traps: Vec<Trap>,
    /// True if a kernel log was read; without one, a link that was slowed down may go unnoticed.
    pub kernel_log: bool,
}

/// A drive and its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// The kernel's name.
    pub name: String,
    /// Its device file.
    pub path: Option<String>,
    /// Its settings in one line.
    pub setting: String,
}

/// A finding that changes what a benchmark measures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbance {
    /// The kernel's name of the disk or volume.
    pub disk: String,
    /// The finding, as `inspect` reports it.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Derives the traps on this machine, with the commands that settle each.
pub fn advise(inspection: &Inspection) -> Advice {
    let drives: Vec<_> = inspection.devices.iter().filter(|device| device.is_drive()).collect();
    let disks = drives.iter().map(|device| Disk {
        name: device.name.clone(),
        path: device.path.clone(),
        setting: setting(device),
    });
    let findings = inspection.devices.iter().flat_map(|device| {
        let disturbing = device.findings.iter().filter(|it| it.id.changes_measurements());
        disturbing.map(|it| Disturbance { disk: device.name.clone(), finding: it.clone() })
    });
    let traps = TrapId::ALL.iter().map(|id| rules::trap(*id, &drives, inspection));
    Advice {
        schema: ADVICE_SCHEMA.to_owned(),
        disks: disks.collect(),
        findings: findings.collect(),
        traps: traps.collect(),
        kernel_log: inspection.environment.kernel_log,
    }
}

impl Advice {
    /// Returns whether a setting of this machine is one of the traps.
    pub fn has_trap(&self) -> bool {
        self.traps.iter().any(|trap| trap.state == State::Applies)
    }

    /// The traps in one state.
    pub(crate) fn in_state(&self, state: State) -> impl Iterator<Item = &Trap> {
        self.traps.iter().filter(move |trap| trap.state == state)
    }
}
