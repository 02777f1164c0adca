//! A run on this machine, from a path to a record.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use drivelab_analysis::outcome::validity;
use drivelab_core::record::{Attached, Phase, RUN_SCHEMA, RunConfig, RunRecord, SuiteConfig};
use drivelab_core::units::Bytes;
use drivelab_core::usage::Census as _;
use drivelab_core::{Control, Refusal, path_hint};
use drivelab_engine::verify::StateError;
use drivelab_engine::{
    GuardError, IoEngineError, LaidOut, LayoutError, OpenError, Room, RunError, RunPlan,
    with_own_descriptors,
};
use drivelab_host::Linux;
use drivelab_load::LoadError;
use drivelab_simulate::{LoadPlan, Made, Together};

use crate::attached;
use crate::interrupt;

/// The machine that we are on.
pub static LINUX: LazyLock<Linux> = LazyLock::new(|| Linux::below("/"));

/// The part of a plan that its record states.
pub fn stated(plan: &RunPlan) -> LoadPlan {
    LoadPlan {
        target: plan.path.display().to_string(),
        polling: plan.polling,
        direct: plan.direct,
        numjobs: plan.numjobs,
        schedule: plan.conduct,
        seed: plan.seed,
        workload: plan.workload.clone(),
    }
}

/// The record of a benchmark on this machine that is no load.
pub fn benchmark(target: &str, config: RunConfig, phases: Vec<Phase>) -> RunRecord {
    RunRecord {
        schema: RUN_SCHEMA.into(),
        target: target.to_owned(),
        label: None,
        ended_unix_s: None,
        config,
        jobs: Vec::new(),
        total: None,
        phases,
        marks: Vec::new(),
        host: Some(LINUX.host()),
        attached: None,
        served: None,
        guest: None,
        specimen: None,
        flash: None,
        verification: None,
        hosts: None,
    }
}

/// Runs a suite of files in a new folder below `dir`.
pub fn suite(
    suite: &drivelab_suites::Suite,
    dir: &Path,
    seed: u64,
    control: &Control<'_>,
) -> Result<RunRecord, Refusal> {
    let attached = attached::to_path(dir);
    let file_system = attached.machine.get("file_system").map(ToString::to_string);
    let setting = drivelab_suites::Setting {
        dir,
        seed,
        memory: LINUX.machine().memory,
        in_memory: file_system.is_some_and(|name| matches!(&*name, "tmpfs" | "ramfs")),
    };
    // It looks at the flag at each step; then it needs the time to remove what it made.
    let whole = interrupt::shield();
    // As in the original tools: the thread that waits for signals shares none of its files.
    let outcome = with_own_descriptors(|| drivelab_suites::run(suite, setting, *control));
    drop(whole);
    let outcome = outcome?;
    let config = RunConfig {
        drivelab: env!("CARGO_PKG_VERSION").into(),
        ioengine: "psync".into(),
        numjobs: 1,
        seed,
        suite: Some(SuiteConfig { name: suite.name().into(), options: suite.options().collect() }),
        work: suite.work(),
        ..RunConfig::default()
    };
    let record = benchmark(&dir.display().to_string(), config, outcome.phases);
    let marks = outcome.marks.into_iter().chain(attached::mark(&attached)).collect();
    Ok(RunRecord { marks, attached: Some(attached), ..record })
}

/// Measures a file or a block device.
pub fn file(plan: &RunPlan, control: &Control<'_>) -> Result<RunRecord, Refusal> {
    let mut together = together(std::slice::from_ref(plan), control)?;
    Ok(together.records.pop().expect("one record a plan"))
}

/// The same from where a start line says; nothing where that refuses. Also the counts of all jobs,
/// and how much later than it said the last of them began.
#[cfg(feature = "mpi")]
pub fn file_from(
    plan: &RunPlan,
    control: &Control<'_>,
    line: &mut dyn drivelab_engine::StartLine,
) -> Result<Option<(RunRecord, drivelab_core::record::Tally, drivelab_core::Span)>, Refusal> {
    fits(std::slice::from_ref(plan))?;
    let attached = attached::to_path(&plan.path);
    let begun = drivelab_engine::run_from(plan, &*LINUX, control, line).map_err(failure)?;
    Ok(begun.map(|(outcome, late)| {
        let made = Made {
            jobs: outcome.jobs,
            total: outcome.total.clone(),
            marks: outcome.marks.into_iter().chain(attached::mark(&attached)).collect(),
            ioengine: outcome.ioengine.to_string(),
            attached,
            specimen: None,
            host: Some(LINUX.host()),
            flash: None,
        };
        (drivelab_simulate::record::record(&stated(plan), made), outcome.total, late)
    }))
}

/// Makes several measurements at the same time, started together.
pub fn together(plans: &[RunPlan], control: &Control<'_>) -> Result<Together, Refusal> {
    let stated: Vec<LoadPlan> = plans.iter().map(stated).collect();
    Ok(Together::new(&stated, on_this_machine(plans, control)?, &vec![1; plans.len()]))
}

/// Carries plans out at the same time, started together.
pub fn on_this_machine(plans: &[RunPlan], control: &Control<'_>) -> Result<Vec<Made>, Refusal> {
    // What takes no look at the targets comes first: a look takes some milliseconds.
    fits(plans)?;
    // Before the run: during it, the run itself is what keeps the disk busy. One look a target.
    let mut seen: BTreeMap<&Path, Attached> = BTreeMap::new();
    for plan in plans {
        seen.entry(&plan.path).or_insert_with(|| attached::to_path(&plan.path));
    }
    let outcomes = drivelab_engine::run_together(plans, &*LINUX, control).map_err(failure)?;
    let host = LINUX.host();
    let made = plans.iter().zip(outcomes).map(|(plan, outcome)| Made {
        jobs: outcome.jobs,
        total: outcome.total,
        marks: outcome.marks.into_iter().chain(attached::mark(&seen[&*plan.path])).collect(),
        ioengine: outcome.ioengine.to_string(),
        attached: seen[&*plan.path].clone(),
        specimen: None,
        host: Some(host.clone()),
        flash: None,
    });
    Ok(made.collect())
}

/// Refuses measurements whose buffers do not fit the memory together.
pub fn fits(plans: &[RunPlan]) -> Result<(), Refusal> {
    drivelab_engine::fits(plans, LINUX.machine().memory).map_err(failure)
}

/// Refuses measurements that would be refused when their turn comes; lays out what is missing.
pub fn try_out(plans: &[RunPlan]) -> Result<(), Refusal> {
    let control = interrupt::silent();
    drivelab_engine::try_out(plans, &*LINUX, &control).map_err(failure)
}

/// Makes a file of `size` bytes at `path` where there is nothing. It is removed with the value that
/// is returned, unless it is kept: what is refused later leaves no file.
pub fn lay_out_if_missing(
    path: &Path,
    size: Bytes,
    seed: u64,
    direct: bool,
) -> Result<Option<LaidOut>, Refusal> {
    let control = interrupt::silent();
    drivelab_engine::lay_out(path, size, seed, direct, &control)
        .map_err(|error| failure(error.into()))
}

/// The warning that the guard cannot see every program that may use the `allowed` devices.
pub fn unseen_warning(allowed: &[PathBuf]) -> Option<&'static str> {
    (!allowed.is_empty() && !drivelab_engine::sees_all_processes()).then_some(
        "processes of other users are visible to root only: one of them may have the device open",
    )
}

/// Opens the target of pages that are kept account of, with room for them.
pub fn make_room(room: Room<'_>, control: &Control<'_>) -> Result<(File, Bytes), Refusal> {
    drivelab_engine::make_room(room, control).map_err(|error| refused(room.path, error))
}

/// Opens a file or block device that others will write through us: a device only past the guard.
pub fn open_for_writing(path: &Path, allowed: &[PathBuf]) -> Result<File, Refusal> {
    drivelab_engine::open_for_writing(path, allowed, &*LINUX).map_err(|error| refused(path, error))
}

/// Refuses a file that something on this machine uses.
pub fn refuse_used(path: &Path, file: &File) -> Result<(), Refusal> {
    drivelab_engine::may_be_written(path, file, &*LINUX).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: OpenError) -> Refusal {
    let again = format!("to destroy everything on it: --allow-destructive {}", path.display());
    match &error {
        OpenError::Guard(GuardError::BlockDevice { .. }) => {
            Refusal::request_error(error).hint(again)
        }
        OpenError::System { source, .. } if source.kind() == ErrorKind::NotFound => {
            let make = format!("truncate -s 1G {} makes a file of that size", path.display());
            Refusal::request_error(error).hint(make)
        }
        _ => failure(RunError::Open(error)),
    }
}

/// True if a path itself is at fault, and not the file behind it.
fn names_nothing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

/// Maps errors to exit codes: 3 if the machine refuses, 2 if the request was wrong.
pub fn failure(error: RunError) -> Refusal {
    if let RunError::Open(OpenError::Layout(LayoutError::System { path, source })) = &error
        && names_nothing(source.kind())
    {
        let hint = path_hint(source.kind(), "write", path);
        return hint.into_iter().fold(Refusal::request_error(error), Refusal::hint);
    }
    let hint = error.hint();
    let failure = match &error {
        RunError::Setup { .. }
        | RunError::Memory { .. }
        | RunError::IoEngine(
            IoEngineError::NoRing { .. }
            | IoEngineError::NoDiscards { .. }
            | IoEngineError::OneAtATime { source: Some(_), .. },
        )
        | RunError::Load(LoadError::Target(_))
        | RunError::Open(
            OpenError::System { .. }
            | OpenError::Layout(
                LayoutError::Full { .. } | LayoutError::Stopped { .. } | LayoutError::System { .. },
            )
            | OpenError::Guard(GuardError::ReadOnly { .. } | GuardError::Unknown { .. })
            | OpenError::NoDirect { .. }
            | OpenError::NoPolling { .. }
            | OpenError::NoDiscard { .. },
        ) => Refusal::machine_error(error),
        // Its name may be wrong; a full disk is the machine's.
        RunError::Verify(StateError::System { source, .. } | StateError::Target { source, .. })
            if !names_nothing(source.kind()) =>
        {
            Refusal::machine_error(error)
        }
        _ => Refusal::request_error(error),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// True if most requests failed: the figures are not those of the target.
pub fn mostly_failed(record: &RunRecord) -> bool {
    record.total.as_ref().is_some_and(validity::mostly_failed)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use drivelab_core::RefusalKind;

    #[test]
    fn what_the_machine_refuses_is_told_from_what_was_asked_wrongly() {
        let check = |error: RunError, kind| {
            let message = error.to_string();
            assert_eq!(failure(error).kind, kind, "{message}");
        };
        let path = || PathBuf::from("f");
        let system = |errno| io::Error::from_raw_os_error(errno);
        let (no_space, no_entry, denied) = (system(28), system(2), system(13));
        let unknown = GuardError::Unknown { path: path(), source: no_entry };
        check(RunError::Open(OpenError::Guard(unknown)), RefusalKind::Machine);
        let state = |source| StateError::System { operation: "write", path: path(), source };
        check(RunError::Verify(state(no_space)), RefusalKind::Machine);
        check(RunError::Verify(state(denied)), RefusalKind::Machine);
        check(RunError::Verify(state(system(2))), RefusalKind::Request);
        check(RunError::Verify(StateError::Foreign { path: path() }), RefusalKind::Request);
        check(RunError::Open(OpenError::NoDiscard { path: path() }), RefusalKind::Machine);
        check(RunError::Numjobs { numjobs: 2000 }, RefusalKind::Request);
    }
}
