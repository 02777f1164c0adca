//! A run in virtual time.

use drivelab_core::Device;
use drivelab_core::Span;
use drivelab_core::record::{Mark, Stamp, Tally};
use drivelab_core::workload::Workload;

use crate::load::{self, Control, End, Job, LoadError};
use crate::marks::{self, RunFacts};
use crate::virtual_target::VirtualTarget;

/// What a run in virtual time left.
#[derive(Debug)]
pub struct Simulation {
    /// Its counts.
    pub tally: Tally,
    /// Why it ended.
    pub end: End,
    /// What the figures are, and what casts doubt on them.
    pub marks: Vec<Mark>,
}

/// Runs `workload` against a modelled drive, in virtual time.
///
/// Same device, workload and seed: the same counts, to the last one. A device that answers in no
/// time never reaches the end of a run by time; give such a run a number of requests.
///
/// # Errors
/// The workload does not fit the drive.
pub fn simulate<D: Device>(
    device: D,
    workload: &Workload,
    seed: u64,
    control: &Control<'_>,
) -> Result<Simulation, LoadError> {
    let mut watch = *control;
    let job = Job { workload, seed, stamp: Stamp::Io };
    let loaded = load::run(&mut VirtualTarget::new(device), job, &mut watch)?;
    let (tally, end) = (loaded.tally, loaded.end);
    let marks = marks::of_simulation(RunFacts {
        workload,
        numjobs: 1,
        total: &tally,
        waited: Span::ZERO,
        end,
    });
    Ok(Simulation { tally, end, marks })
}
