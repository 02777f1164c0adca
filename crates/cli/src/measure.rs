//! A run on this machine, from a path to a record.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use drivelab_core::record::{
    Attached, Host, MarkId, RUN_SCHEMA, RunConfig, RunRecord, Stamp, Tally,
};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::{Workload, WorkloadOptions};
use drivelab_core::{Conduct, IoEngine, Polling};
use drivelab_engine::verify::StateError;
use drivelab_engine::{
    Control, GuardError, IoEngineError, LayoutError, LoadError, OpenError, Progress, Room,
    RunError, RunOutcome, RunPlan,
};

use crate::attached;
use crate::failure::Failure;
use crate::interrupt;
use crate::ui::Ui;

/// What is measured, and how.
#[derive(Debug, Clone)]
pub(crate) struct Measurement {
    pub(crate) path: PathBuf,
    pub(crate) workload: Workload,
    pub(crate) numjobs: u32,
    pub(crate) conduct: Conduct,
    pub(crate) seed: u64,
    pub(crate) ioengine: Option<IoEngine>,
    pub(crate) polling: Polling,
    pub(crate) stamp: Stamp,
    pub(crate) direct: bool,
    pub(crate) overwrite: bool,
    pub(crate) allow_destructive: Vec<PathBuf>,
    pub(crate) verify_state: Option<PathBuf>,
}

impl Measurement {
    /// As the engine takes it.
    pub(crate) fn plan(&self) -> RunPlan {
        RunPlan {
            path: self.path.clone(),
            workload: self.workload.clone(),
            numjobs: self.numjobs,
            conduct: self.conduct,
            seed: self.seed,
            ioengine: self.ioengine,
            polling: self.polling,
            direct: self.direct,
            allow_overwrite: self.overwrite,
            allow_destructive: self.allow_destructive.clone(),
            stamp: self.stamp,
            verify_state: self.verify_state.clone(),
        }
    }

    fn record(&self, outcome: RunOutcome, (attached, host): (Attached, &Host)) -> RunRecord {
        RunRecord {
            schema: RUN_SCHEMA.into(),
            target: self.path.display().to_string(),
            label: None,
            config: RunConfig {
                drivelab: env!("CARGO_PKG_VERSION").into(),
                ioengine: outcome.ioengine.to_string(),
                polling: self.polling.names(),
                direct: self.direct,
                numjobs: self.numjobs,
                conduct: self.conduct,
                seed: self.seed,
                workload: self.workload.clone(),
            },
            jobs: outcome.jobs.iter().map(|job| job.record().without_series()).collect(),
            total: outcome.total.record(),
            marks: outcome.marks,
            host: Some(host.clone()),
            attached: Some(attached),
            served: None,
            verification: None,
        }
    }
}

/// Measures a file or a block device.
pub(crate) fn file(
    measurement: &Measurement,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<RunRecord, Failure> {
    let mut records = together(std::slice::from_ref(measurement), progress)?.records;
    Ok(records.pop().expect("one record a measurement"))
}

/// Measurements that were made at the same time.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// One record a measurement.
    pub(crate) records: Vec<RunRecord>,
    /// All of them together.
    pub(crate) total: Tally,
}

/// Makes several measurements at the same time, started together.
pub(crate) fn together(
    measurements: &[Measurement],
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Together, Failure> {
    sections(measurements, &vec![1; measurements.len()], progress)
}

/// The same where `lengths` says how many measurements, one after the other in the list, are copies
/// of one that has but one record.
pub(crate) fn sections(
    measurements: &[Measurement],
    lengths: &[usize],
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Together, Failure> {
    let plans: Vec<RunPlan> = measurements.iter().map(Measurement::plan).collect();
    // What takes no look at the targets comes first: a look takes some milliseconds.
    drivelab_engine::fits(&plans).map_err(failure)?;
    let control = Control { stop: interrupt::flag(), progress };
    // Before the run: during it, the run itself is what keeps the disk busy. One look a target.
    let mut seen: BTreeMap<&Path, Attached> = BTreeMap::new();
    let attached: Vec<Attached> = measurements
        .iter()
        .map(|it| seen.entry(&it.path).or_insert_with(|| attached::to_path(&it.path)).clone())
        .collect();
    let outcomes = drivelab_engine::run_together(&plans, &control).map_err(failure)?;
    let mut total = Tally::default();
    for outcome in &outcomes {
        total.merge(&outcome.total);
    }
    if let [only] = &outcomes[..] {
        total.cpu = only.total.cpu;
    }
    let host = drivelab_engine::host(Path::new("/"));
    let mut made = measurements.iter().zip(outcomes).zip(attached);
    let mut records = Vec::new();
    for &length in lengths {
        let copies: Vec<_> = made.by_ref().take(length).collect();
        records.extend(one_record(copies, &host));
    }
    Ok(Together { records, total })
}

/// The record of all copies of a measurement.
fn one_record(
    copies: Vec<((&Measurement, RunOutcome), Attached)>,
    host: &Host,
) -> Option<RunRecord> {
    let targets: Vec<String> =
        copies.iter().map(|((it, _), _)| it.path.display().to_string()).collect();
    let mut copies = copies.into_iter();
    let ((measurement, mut all), attached) = copies.next()?;
    for ((_, outcome), _) in copies {
        all.total.merge(&outcome.total);
        all.jobs.extend(outcome.jobs);
        let news =
            outcome.marks.into_iter().filter(|mark| all.marks.iter().all(|it| it.id != mark.id));
        let news: Vec<_> = news.collect();
        all.marks.extend(news);
    }
    // Each copy said how few its own requests were.
    all.marks.retain(|mark| mark.id != MarkId::FewRequests);
    all.marks.extend(drivelab_engine::few_requests(&all.total));
    let mut record = measurement.record(all, (attached, host));
    record.config.numjobs = u32::try_from(record.jobs.len()).expect("at most NUMJOBS_MAX");
    record.target = targets.join(", ");
    Some(record)
}

/// Refuses measurements whose buffers do not fit the memory together.
pub(crate) fn fits(measurements: &[Measurement]) -> Result<(), Failure> {
    let plans: Vec<RunPlan> = measurements.iter().map(Measurement::plan).collect();
    drivelab_engine::fits(&plans).map_err(failure)
}

/// Refuses measurements that would be refused when their turn comes; lays out what is missing.
pub(crate) fn try_out(measurements: &[Measurement]) -> Result<(), Failure> {
    let plans: Vec<RunPlan> = measurements.iter().map(Measurement::plan).collect();
    let control = Control { stop: interrupt::flag(), progress: &|_| () };
    drivelab_engine::try_out(&plans, &control).map_err(failure)
}

/// Lays out `path` at `size` where it does not exist, by reading one block of it.
pub(crate) fn lay_out_if_missing(path: &Path, size: Bytes, seed: u64) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let options = WorkloadOptions {
        size: Some(size),
        number_ios: Some(1),
        runtime: Some(Span::from_secs(60)),
        ..WorkloadOptions::default()
    };
    let workload = options.check().map_err(Failure::bad_request)?;
    let measurement = Measurement {
        path: path.to_owned(),
        workload,
        numjobs: 1,
        conduct: Conduct::default(),
        seed,
        ioengine: None,
        polling: Polling::default(),
        stamp: Stamp::Io,
        direct: false,
        overwrite: false,
        allow_destructive: Vec::new(),
        verify_state: None,
    };
    file(&measurement, &|_| ())?;
    Ok(())
}

/// Says what the guard in front of `allowed` cannot see.
pub(crate) fn warn_of_unseen(allowed: &[PathBuf], ui: Ui) {
    if !allowed.is_empty() && !drivelab_engine::sees_all_processes() {
        ui.warn(
            "processes of other users are seen only as root: whether one of them has the device \
             open is not known",
        );
    }
}

/// Opens the target of pages that are kept account of, with room for them.
pub(crate) fn make_room(room: Room<'_>, control: &Control<'_>) -> Result<(File, Bytes), Failure> {
    drivelab_engine::make_room(room, control).map_err(|error| refused(room.path, error))
}

/// Opens a file or block device that others will write through us: a device only past the guard.
pub(crate) fn open_for_writing(path: &Path, allowed: &[PathBuf]) -> Result<File, Failure> {
    drivelab_engine::open_for_writing(path, allowed).map_err(|error| refused(path, error))
}

/// Refuses a file that something on this machine uses.
pub(crate) fn refuse_used(path: &Path) -> Result<(), Failure> {
    drivelab_engine::may_be_opened_for_writing(path).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: OpenError) -> Failure {
    let again = format!("if all that it holds may go: --allow-destructive {}", path.display());
    match &error {
        OpenError::Guard(GuardError::BlockDevice { .. }) => Failure::bad_request(error).hint(again),
        OpenError::System { source, .. } if source.kind() == ErrorKind::NotFound => {
            let make = format!("truncate -s 1G {} makes a file of that size", path.display());
            Failure::bad_request(error).hint(make)
        }
        _ => failure(RunError::Open(error)),
    }
}

/// Whether a path is at fault, and not what it leads to.
fn names_nothing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

/// What the machine refuses has exit code 3, what was asked wrongly 2.
fn failure(error: RunError) -> Failure {
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
        ) => Failure::cannot_here(error),
        // Its name may be wrong; a full disk is the machine's.
        RunError::Verify(StateError::System { source, .. } | StateError::Target { source, .. })
            if !names_nothing(source.kind()) =>
        {
            Failure::cannot_here(error)
        }
        _ => Failure::bad_request(error),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::failure::Exit;

    #[test]
    fn what_the_machine_refuses_is_told_from_what_was_asked_wrongly() {
        let check = |error: RunError, exit| {
            let message = error.to_string();
            assert_eq!(failure(error).exit, exit, "{message}");
        };
        let path = || PathBuf::from("f");
        let system = |errno| io::Error::from_raw_os_error(errno);
        let (no_space, no_entry, denied) = (system(28), system(2), system(13));
        let unknown = GuardError::Unknown { path: path(), source: no_entry };
        check(RunError::Open(OpenError::Guard(unknown)), Exit::CannotHere);
        let state = |source| StateError::System { operation: "write", path: path(), source };
        check(RunError::Verify(state(no_space)), Exit::CannotHere);
        check(RunError::Verify(state(denied)), Exit::CannotHere);
        check(RunError::Verify(state(system(2))), Exit::BadRequest);
        check(RunError::Verify(StateError::Foreign { path: path() }), Exit::BadRequest);
        let (why, instead) = ("no discard".into(), "none".into());
        let no_discard = OpenError::NoDiscard { path: path(), why, instead };
        check(RunError::Open(no_discard), Exit::CannotHere);
        check(RunError::Numjobs { numjobs: 2000 }, Exit::BadRequest);
    }
}
