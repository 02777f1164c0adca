//! A target of this machine lent to someone who sends requests of its own.

use drivelab_core::record::{Mark, Tally};
use drivelab_core::target::{Rejected, TargetError};
use drivelab_core::units::{Bytes, Span, Time};
use drivelab_core::usage::Census;
use drivelab_core::{Completion, IoEngine, Request, Target};

use crate::conditions::{self, CounterLog};
use crate::error::RunError;
use crate::file::{Clock, Null, Psync, TargetSetup};
use crate::load::{Control, End};
use crate::marks::{self, RunFacts};
use crate::plan::RunPlan;
use crate::run::prepare;
use crate::sys::ring::Ring;

/// Opens the target of `plan` behind the guard, with room for requests as its workload has them,
/// and lends it to `user`; gives what it made of it, and what the figures are.
///
/// `user` also says how many bytes he moved, so that those of others are seen.
///
/// # Errors
/// As [`RunError`].
pub fn lend<T>(
    plan: &RunPlan,
    census: &dyn Census,
    control: &Control<'_>,
    user: impl FnOnce(&mut Lent) -> (T, u64),
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
        complete_min: 1,
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
    let mut lent = match group.ioengine {
        IoEngine::IoUring => {
            let what = group.ioengine.to_string();
            Lent::Ring(Ring::new(setup).map_err(|source| RunError::Setup { what, source })?)
        }
        IoEngine::Psync => Lent::Psync(Psync::new(setup)),
        IoEngine::Null => {
            Lent::Null(Null::new(setup.clock, setup.stamp, setup.capacity, setup.iodepth))
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

/// A target in any of the ways of doing I/O.
#[derive(Debug)]
pub enum Lent {
    /// Through a ring.
    Ring(Ring),
    /// One system call a request.
    Psync(Psync),
    /// Nothing behind it.
    Null(Null),
}

/// Does the same with whichever target it is.
macro_rules! whichever {
    ($lent:expr, $target:ident => $action:expr) => {
        match $lent {
            Lent::Ring($target) => $action,
            Lent::Psync($target) => $action,
            Lent::Null($target) => $action,
        }
    };
}

impl Target for Lent {
    fn now(&mut self) -> Time {
        whichever!(self, target => target.now())
    }

    fn capacity(&self) -> Bytes {
        whichever!(self, target => target.capacity())
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        whichever!(self, target => target.submit(request))
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        whichever!(self, target => target.wait(until, completed))
    }
}
