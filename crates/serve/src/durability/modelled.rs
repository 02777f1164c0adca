//! Writing, cutting and verifying a modelled drive in virtual time.

use std::sync::atomic::AtomicBool;

use drivelab_core::verification::{Judgement, PromiseRate};
use drivelab_core::{Bytes, Device, Disk as _, Rng, Sectors, Span, Time};

use super::{Ended, Ledger, ModelledPlace, PAGE_BYTES, PlaceError, Writing, verify, write};
use crate::drive::ServedDrive;
use crate::fault::Fault;
use crate::medium::Memory;
use crate::store::{Dice, Store};

/// What is tried.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Governs the pages, the moment of the cut, the faults and what survives.
    pub seed: u64,
    /// How much of the drive is used, from its beginning.
    pub size: Bytes,
    /// Memory that its data may take.
    pub memory: Bytes,
    /// The power goes in the second half of it.
    pub runtime: Span,
    /// What the drive does wrong.
    pub faults: Vec<Fault>,
}

/// What became of a modelled drive whose power was cut.
#[derive(Debug)]
pub struct Cut {
    /// How much was promised.
    pub pace: PromiseRate,
    /// Why no more was written.
    pub ended: Ended,
    /// When the power was to go.
    pub power_goes: Time,
    /// What became of the pages.
    pub pages: Judgement,
}

/// Writes pages to `device`, cuts its power and looks at them again.
pub fn try_device(
    device: impl Device + 'static,
    physical_sector: Sectors,
    trial: &Trial,
    stop: &AtomicBool,
) -> Result<Cut, PlaceError> {
    let medium = Memory::new(device.capacity(), trial.memory);
    let store = Store::new(Box::new(medium), physical_sector);
    let mut drive = ServedDrive::new(device, store, trial.seed);
    for fault in &trial.faults {
        drive.add_fault(Time::ZERO, fault.clone());
    }
    let runtime = trial.runtime.ns().max(2);
    let drawn = Rng::for_part(trial.seed, 1).between(runtime / 2, runtime);
    let power_goes = Time::from_ns(drawn);
    let size = trial.size.min(drive.capacity().bytes());
    let count = size.get() / PAGE_BYTES as u64;
    let mut drive = ModelledPlace::new(drive, power_goes);
    let mut ledger = Ledger::new(trial.seed, count);
    let writing = Writing { run: trial.seed, pages: count, until: Time::MAX, stop };
    let (pace, ended) = write(&mut drive, &mut ledger, writing);
    let failed = |source| PlaceError::Io { operation: "the drive's memory", source };
    drive.cut(&mut Dice::new(trial.seed)).map_err(failed)?;
    // What was found until it was stopped is kept, and there is little of it to look at.
    let pages = verify(&mut drive, &ledger, &AtomicBool::new(false))?;
    Ok(Cut { pace, ended, power_goes, pages })
}
