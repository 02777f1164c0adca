//! Lends a target of this machine to a caller that sends its own requests.

use std::time::Instant;

use drivelab_core::Control;
use drivelab_core::record::{Mark, Tally};
use drivelab_core::units::Span;
use drivelab_core::usage::Census;
use drivelab_core::{IoEngine, Target};
use drivelab_load::End;
use drivelab_load::marks::{self, RunFacts};

use super::prepare;
use crate::conditions::{self, CounterLog, OwnTime};
use crate::error::RunError;
use crate::file::{Calls, Clock, Null, Psync, TargetSetup};
use crate::jobs::{process_cpu, waited};
use crate::plan::RunPlan;
use crate::sys::aio::Aio;
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
        lock: None,
    };
    let mut lent: Box<dyn Target> = match group.ioengine {
        IoEngine::IoUring => {
            let what = group.ioengine.to_string();
            Box::new(Ring::new(setup).map_err(|source| RunError::Setup { what, source })?)
        }
        IoEngine::Libaio => {
            let what = group.ioengine.to_string();
            Box::new(Aio::new(setup).map_err(|source| RunError::Setup { what, source })?)
        }
        IoEngine::Psync | IoEngine::Pvsync | IoEngine::Pvsync2 => {
            Box::new(Psync::with(setup, Calls::of(group.ioengine)))
        }
        IoEngine::Null => Box::new(Null::new(setup.clock, setup.capacity, setup.iodepth)),
    };
    let mut log = CounterLog::new(1);
    log.note(census, 0, target.number(), true);
    let (cpu, waits, begin) = (process_cpu(), waited(), Instant::now());
    let (made, moved) = user(&mut lent);
    let own = OwnTime {
        used: process_cpu().saturating_sub(cpu),
        waited: waited().saturating_sub(waits),
        elapsed: Span::from_ns(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)),
    };
    log.note(census, 0, target.number(), false);
    let around = log.around().pop().flatten();
    let around = around.map(|around| {
        let marks = conditions::marks(around, plan.direct.then_some(moved));
        marks.into_iter().chain(conditions::contended(around, own))
    });
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
