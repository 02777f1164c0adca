//! Lends a target of this machine to a caller that sends its own requests.

use drivelab_core::record::{Mark, Tally};
use drivelab_core::units::Span;
use drivelab_core::usage::Census;
use drivelab_core::{IoEngine, Target};

use super::prepare;
use crate::conditions::{self, CounterLog};
use crate::error::RunError;
use crate::file::{Clock, Null, Psync, TargetSetup};
use crate::load::{Control, End};
use crate::marks::{self, RunFacts};
use crate::plan::RunPlan;
use crate::sys::ring::Ring;

/// Opens the target of `plan` after the guard's checks, with buffers for requests of its workload,
/// and lends it to `user`; returns the user's result, and the marks of the figures.
///
/// `user` also returns how many bytes it moved, so that other I/O is detected.
///
/// # Errors
/// As [`RunError`].
pub fn lend<T>(
    plan: &RunPlan,
    census: &dyn Census,
    control: &Control<'_>,
    user: impl FnOnce(&mut Box<dyn Target>) -> (T, u64),
) -> Result<(T, Vec<Mark>), RunError> {
    let machine = census.machine();
    let group = prepare(plan, census, control)?;
    let target = &group.target;
    let setup = TargetSetup {
        file: target.file.clone(),
        capacity: target.capacity,
        clock: Clock::start(),
        stamp: plan.stamp,
        polling: plan.polling,
        iodepth: plan.workload.pace.iodepth(),
        complete_min: plan.workload.batches.complete_min,
        largest: plan.workload.blocks.largest(),
        memory_align: target.memory_align,
        reads: true,
        writes: plan.workload.rw.sends(),
        trim: target.trim,
        flush_data_only: plan.workload.fdatasync,
        seed: plan.seed,
        account: None,
    };
    let mut lent: Box<dyn Target> = match group.ioengine {
        IoEngine::IoUring => {
            let what = group.ioengine.to_string();
            Box::new(Ring::new(setup).map_err(|source| RunError::Setup { what, source })?)
        }
        IoEngine::Psync => Box::new(Psync::new(setup)),
        IoEngine::Null => {
            Box::new(Null::new(setup.clock, setup.stamp, setup.capacity, setup.iodepth))
        }
    };
    let mut log = CounterLog::new(1);
    log.note(census, 0, target.number(), true);
    let (made, moved) = user(&mut lent);
    log.note(census, 0, target.number(), false);
    let around = log.around().pop().flatten();
    let around = around.map(|around| conditions::marks(around, plan.direct.then_some(moved)));
    let governor = machine.cpu_governor.as_deref().and_then(conditions::governed);
    let total = Tally::default();
    let run = RunFacts {
        workload: &plan.workload,
        numjobs: 1,
        total: &total,
        waited: Span::ZERO,
        end: End::Runtime,
    };
    let marks = marks::of_target(run, group.facts(machine.memory))
        .into_iter()
        .chain(group.fallback.clone());
    Ok((made, marks.chain(around.into_iter().flatten()).chain(governor).collect()))
}
