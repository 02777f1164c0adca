//! A run in virtual time.

use drivelab_core::Device;
use drivelab_core::record::Stamp;
use drivelab_core::workload::Workload;

use crate::load::{self, Control, Job, LoadError, Loaded};
use crate::virtual_target::VirtualTarget;

/// Runs `workload` against a modelled drive, in virtual time.
///
/// Same device, workload and seed: the same counts, to the last one.
///
/// # Errors
/// The workload does not fit the drive.
pub fn simulate<D: Device>(
    device: D,
    workload: &Workload,
    seed: u64,
    control: Control<'_>,
) -> Result<Loaded, LoadError> {
    let mut control = control;
    let job = Job { workload, seed, stamp: Stamp::Io };
    load::run(&mut VirtualTarget::new(device), job, &mut control)
}
