//! Writes, cuts and verifies a modelled drive in virtual time.

use drivelab_core::Control;
use drivelab_core::verification::{Judgement, PromiseRate};
use drivelab_core::{Bytes, Device, Disk as _, Rng, Sectors, Span, Time};

use super::{Ended, Ledger, ModelledTarget, PAGE_BYTES, TargetError, Writing, verify, write};
use crate::drive::ServedDrive;
use crate::fault::Fault;
use crate::medium::Memory;
use crate::store::{Dice, Store};

/// The parameters of a trial.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Seed of the pages, the time of the cut, the faults and the survivors.
    pub seed: u64,
    /// Size of the part of the drive that is used, from its beginning.
    pub size: Bytes,
    /// Memory limit of its data.
    pub memory: Bytes,
    /// Duration of writing; the power is cut in its second half.
    pub runtime: Span,
    /// The faults of the drive.
    pub faults: Vec<Fault>,
}

/// The result for a modelled drive whose power was cut.
#[derive(Debug)]
pub struct Cut {
    /// Number of promises, and the time that they took.
    pub pace: PromiseRate,
    /// The reason why writing ended.
    pub ended: Ended,
    /// Planned time of the power cut.
    pub power_goes: Time,
    /// The result for the pages.
    pub pages: Judgement,
}

/// Writes pages to `device`, cuts its power and checks them.
pub fn try_device(
    device: impl Device + 'static,
    physical_sector: Sectors,
    trial: &Trial,
    control: &Control<'_>,
) -> Result<Cut, TargetError> {
    let medium = Memory::new(device.capacity(), trial.memory);
    let store = Store::new(Box::new(medium), physical_sector);
    let mut drive = ServedDrive::new(device, store, trial.seed);
    for fault in &trial.faults {
        drive.add_fault(Time::ZERO, fault.clone());
    }
    let runtime = trial.runtime.ns().max(2);
    // Not in the first half: a cut right at the start would find few promises to break.
    let drawn = Rng::for_part(trial.seed, 1).between(runtime / 2, runtime);
    let power_goes = Time::from_ns(drawn);
    let size = trial.size.min(drive.capacity().bytes());
    let count = size.get() / PAGE_BYTES as u64;
    let mut drive = ModelledTarget::new(drive, power_goes);
    let mut ledger = Ledger::new(trial.seed, count);
    let writing = Writing { run: trial.seed, pages: count, until: Time::MAX, control };
    let (pace, ended) = write(&mut drive, &mut ledger, writing);
    let survivors = &mut Dice::new(trial.seed);
    drive.cut(survivors).map_err(super::target::failed("the drive's memory"))?;
    // The result until it was stopped is kept, and there is little left to check.
    let pages = verify(&mut drive, &ledger, &Control::unattended())?;
    Ok(Cut { pace, ended, power_goes, pages })
}
