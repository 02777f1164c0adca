//! The performance of a run.

use std::path::{Path, PathBuf};

use drivelab_core::record::RunRecord;
use drivelab_core::{Control, Refusal};
use drivelab_engine::RunPlan;
use drivelab_engine::verify::Promise;
use drivelab_model::options::DriveSpec;
use drivelab_study::file::Needs;

use super::verification;
use super::{Environment, Request, Work};
use crate::measure;
use crate::stage::kernel::Inside;
use crate::stage::{cell_loads, suite};
use crate::target::{self, Target};

/// Performs a run.
///
/// # Errors
/// It cannot be made on this target or this machine; a run whose requests fail is a record.
pub fn run(request: &Request, control: &Control<'_>) -> Result<RunRecord, Refusal> {
    request.check_permitted()?;
    match (&request.environment, &request.target) {
        // A guest can be stopped, and reports nothing on its way: its end is not known before.
        (Environment::Guest(_), _) => Inside::new(request)?.run(control),
        (Environment::Here, Target::Drive(spec)) => on_model(request, spec, control),
        (Environment::Here, Target::Path(path)) => on_path(request, path, control),
    }
}

/// Performs a run on a modelled drive that nothing was asked of before.
fn on_model(
    request: &Request,
    spec: &DriveSpec,
    control: &Control<'_>,
) -> Result<RunRecord, Refusal> {
    match &request.work {
        Work::Load(load) => {
            // A model has no page cache, no engine and no contents: only these two apply to it.
            let (numjobs, seed) = (load.numjobs, request.seed);
            let plan = RunPlan::new(PathBuf::new(), load.workload.clone());
            let plan = RunPlan { numjobs, seed, ..plan };
            target::simulate(spec, &request.profile(spec)?, &plan, control)
        }
        Work::Suite(suite) if suite.needs == Needs::Tree => {
            let message = format!("`{spec}` is a modelled drive, and `{}` needs files", suite.name);
            Err(Refusal::request(message)
                .hint("name a folder")
                .hint("on a file system of a guest: --in kernel --filesystem ext4"))
        }
        Work::Suite(suite) => {
            suite::on_model(suite, spec, &request.profile(spec)?, request.seed, control)
        }
        Work::Cell(_) | Work::Commands { .. } => Err(Refusal::bug(
            "cells and commands on a bare model are made by the stage of their study",
        )),
    }
}

/// Performs a run on a file, a device or a folder of this machine.
fn on_path(request: &Request, path: &Path, control: &Control<'_>) -> Result<RunRecord, Refusal> {
    let Request { seed, permissions, .. } = request;
    match &request.work {
        Work::Load(load) => {
            let mut record = measure::file(&load.plan(path.into(), *seed, permissions), control)?;
            // After an interruption there is no time to read everything back: the state is kept.
            if let Some(state) = load.verify.as_ref().filter(|_| !control.stopped()) {
                let verified = verification::check(path, state, Promise::Acknowledged)?;
                record.verification = Some(verified);
            }
            Ok(record)
        }
        Work::Suite(suite) => suite::on_path(suite, path, *seed, permissions, control),
        Work::Cell(loads) => Ok(cell_loads::record(measure::together(
            &cell_loads::plans(loads, permissions),
            control,
        )?)),
        Work::Commands { .. } => {
            Err(Refusal::bug("commands are judged by the stage of their study"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use drivelab_core::RefusalKind;
    use drivelab_core::recipe::Adjust;

    use super::*;

    #[test]
    fn a_suite_on_a_model_ends_when_its_control_says_so() {
        let stop = AtomicBool::new(true);
        let of = |name: &str| {
            let work = Work::Suite(Box::new(suite::find(name, &Adjust::default()).unwrap()));
            let request = Request::on_drive("generic-5400".parse().unwrap(), work, 1);
            run(&request, &Control::silent(&stop))
        };
        assert_eq!(of("shape:scan").unwrap_err().kind, RefusalKind::Interrupted);
        assert!(of("hdtune").unwrap().phases.iter().all(|phase| phase.figures.is_empty()));
    }
}
