//! `run --job`: a job file as fio reads it.

use drivelab_report::text::json_text;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::record::{RUN_SCHEMA, RunRecord, Tally};
use drivelab_core::units::Bytes;
use drivelab_core::usage::Census as _;
use drivelab_core::{IoEngine, Polling, Refusal};
use drivelab_engine::{LaidOut, RunPlan};
use drivelab_formats::fio::job::{self, FileJob};
use drivelab_load::seed_of;
use drivelab_report::publish::Subject;
use serde_json::{Value, json};

use super::readonly;
use crate::commands::archive::keep::KeepArgs;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::{Progress, Ui};
use drivelab_lab::archive::entries;
use drivelab_lab::measure::{self, LINUX, Together};
use drivelab_lab::target::{self, ModelledDrives};
use drivelab_lab::{input, interrupt};

/// The arguments that the command line adds to the job file.
#[derive(Debug)]
pub(crate) struct JobArgs {
    /// The job file.
    pub(crate) file: PathBuf,
    /// Instead of the files that it names.
    pub(crate) target: Option<String>,
    /// Nothing is written.
    pub(crate) readonly: bool,
    pub(crate) overwrite: bool,
    pub(crate) allow_destructive: Vec<PathBuf>,
    pub(crate) keep: KeepArgs,
    pub(crate) report: Option<PathBuf>,
}

/// Runs the file's groups one after the other, and prints what each job did.
pub(crate) fn run(arguments: &JobArgs, ui: Ui) -> Outcome {
    let name = arguments.file.display().to_string();
    let mut jobs = job::parse(&name, &input::text(&arguments.file, input::JOB)?, &variable)?;
    if arguments.readonly {
        readonly::apply(&mut jobs)?;
    }
    for job in &jobs {
        for note in &job.notes {
            ui.note(&format!("note: [{}] {note}", job.name));
        }
    }
    let mut laid_out = lay_out_for_all(&jobs, arguments)?;
    let mut drives = ModelledDrives::default();
    let mut records: Vec<RunRecord> = Vec::new();
    let mut total = Tally::default();
    while records.len() < jobs.len() && !interrupt::requested() {
        let rest = &jobs[records.len()..];
        let group: Vec<&FileJob> =
            rest.iter().take_while(|job| job.group == rest[0].group).collect();
        // Not earlier: a file may be what the group before makes.
        let sections: Result<Vec<_>, Refusal> =
            group.iter().map(|job| plans(job, arguments, &mut drives)).collect();
        let sections = sections?;
        let lengths: Vec<usize> = sections.iter().map(Vec::len).collect();
        let plans: Vec<RunPlan> = sections.into_iter().flatten().collect();
        let times = plans
            .iter()
            .map(|plan| plan.conduct.start_delay + plan.workload.ramp_time + plan.workload.runtime);
        let longest = times.max().unwrap_or_default();
        let progress = Progress::time(Duration::from_nanos(longest.ns()), &group[0].name);
        let control = progress.control();
        let made = match drives.run(&plans, &control)? {
            Some(made) => made,
            None => measure::on_this_machine(&plans, &control)?,
        };
        laid_out.iter_mut().for_each(LaidOut::keep);
        let mut done = Together::new(&plans, made, &lengths);
        for (record, job) in done.records.iter_mut().zip(group) {
            record.label = Some(job.name.clone());
        }
        records.append(&mut done.records);
        total.follow(&done.total);
    }
    let printed = document(&name, &jobs, &records, &total);
    let kept = match &records[..] {
        [only] if jobs.len() == 1 => arguments.keep.keep(vec![entries::run(only)], ui),
        records if interrupt::requested() && records.is_empty() => Exit::Done,
        records => arguments.keep.keep(entries::jobs(&name, &printed, records), ui),
    };
    output::page(
        arguments.report.as_deref(),
        &Subject::Runs(&records.iter().collect::<Vec<_>>()),
        ui,
    )?;
    if ui.json {
        ui.result(&json_text(&printed))?;
    } else {
        ui.result(&drivelab_report::run::jobs_text(&records, ui.look()))?;
    }
    if interrupt::requested() {
        ui.warn("interrupted: the figures cover the time before the interruption");
        return Ok(Exit::Interrupted);
    }
    let failed = records.iter().any(measure::mostly_failed);
    Ok(if failed { Exit::CannotHere } else { kept })
}

/// The keywords of job files, and the environment.
fn variable(name: &str) -> Option<String> {
    match name {
        "$ncpus" => std::thread::available_parallelism().ok().map(|cpus| cpus.to_string()),
        "$pagesize" => Some(drivelab_engine::page_size().to_string()),
        "$mb_memory" => Some((LINUX.machine().memory.get() >> 20).to_string()),
        name => std::env::var(name).ok(),
    }
}

/// Makes the files that do not exist and are too small as their first job would make them.
fn lay_out_for_all(jobs: &[FileJob], arguments: &JobArgs) -> Result<Vec<LaidOut>, Refusal> {
    // What the first job needs, and what any does.
    let mut ends: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for job in jobs.iter().filter(|job| job.ioengine != "null") {
        if !job.may_create {
            refuse_missing(job, arguments, &ends)?;
            continue;
        }
        // A job without a size takes the file as it is.
        let Ok(options) = job.workload(None) else { continue };
        let Some(size) = options.size else { continue };
        let step = job.conduct.offset_increment.unwrap_or_default().get();
        let behind = |copy: u32| step.saturating_mul(u64::from(copy));
        let end = options.offset.unwrap_or_default().get().saturating_add(size.get());
        let files = targets(job, arguments);
        for (copy, target) in (0..).zip(files) {
            if target.starts_with(target::PREFIX) {
                continue;
            }
            // Copies with one file begin in it one behind the other.
            let last = if files.len() == 1 { job.numjobs.saturating_sub(1) } else { copy };
            let first = end.saturating_add(behind(copy));
            let (_, largest) = ends.entry(target).or_insert((first, first));
            *largest = end.saturating_add(behind(last)).max(*largest);
        }
    }
    let mut laid_out = Vec::new();
    for (target, (_, largest)) in ends.into_iter().filter(|(_, (first, all))| all > first) {
        let (path, size) = (Path::new(target), Bytes::new(largest));
        let of_file =
            jobs.iter().filter(|job| targets(job, arguments).iter().any(|it| it == target));
        let direct = of_file.into_iter().any(|job| job.direct);
        laid_out.extend(measure::lay_out_if_missing(path, size, jobs[0].seed, direct)?);
    }
    Ok(laid_out)
}

/// Refuses a job whose file is missing and must not be created, unless an earlier job creates it.
fn refuse_missing(
    job: &FileJob,
    arguments: &JobArgs,
    created: &BTreeMap<&str, (u64, u64)>,
) -> Result<(), Refusal> {
    let is_missing = |target: &&String| {
        !target.starts_with(target::PREFIX)
            && !created.contains_key(target.as_str())
            && !Path::new(target).exists()
    };
    let Some(missing) = targets(job, arguments).iter().find(is_missing) else { return Ok(()) };
    let name = &job.name;
    let wrong = format!("[{name}] {missing} does not exist, and the job must not create it");
    Err(Refusal::request(wrong)
        .hint("create it first, or omit `allow_file_create=0` and `readonly`"))
}

/// The files of a job, or the one that is taken instead.
fn targets<'a>(job: &'a FileJob, arguments: &'a JobArgs) -> &'a [String] {
    match &arguments.target {
        Some(target) => std::slice::from_ref(target),
        None => &job.targets,
    }
}

/// One plan for each file of the job's copies, or for each copy if each has a separate region, or
/// one for all.
fn plans(
    job: &FileJob,
    arguments: &JobArgs,
    drives: &mut ModelledDrives,
) -> Result<Vec<RunPlan>, Refusal> {
    let targets = targets(job, arguments);
    let has_regions = job.conduct.offset_increment.is_some_and(|step| step > Bytes::ZERO);
    let is_divided = targets.len() > 1 || has_regions;
    let copies = if is_divided { job.numjobs } else { 1 };
    let numjobs = if is_divided { 1 } else { job.numjobs };
    let ioengine: IoEngine = job.ioengine.parse().map_err(Refusal::request)?;
    let of = |(copy, target): (u32, &String)| {
        let drive = drives.find(target, job.seed)?;
        let is_modelled = drive.is_some();
        let (path, length) = match drive {
            Some((name, capacity)) => (name, Some(capacity)),
            None if ioengine == IoEngine::Null => (target.into(), None),
            None => (target.into(), length(Path::new(target))),
        };
        let options = job.workload_of(copy, length).map_err(|error| {
            let hint = error.hint();
            let failure = Refusal::request(format!("[{}] {target}: {error}", job.name));
            match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
        let workload = options.check().map_err(Refusal::request_error)?;
        Ok(RunPlan {
            numjobs,
            conduct: job.conduct,
            seed: seed_of(job.seed, job.number + copy),
            ioengine: Some(ioengine),
            polling: if is_modelled { Polling::default() } else { job.polling },
            direct: job.direct || is_modelled,
            allow_overwrite: arguments.overwrite,
            allow_destructive: arguments.allow_destructive.clone(),
            ..RunPlan::new(path, workload)
        })
    };
    (0..copies).zip(targets.iter().cycle()).map(of).collect()
}

/// Bytes of a file or block device; nothing where there is none, or none to be seen.
fn length(target: &Path) -> Option<Bytes> {
    let kind = target.metadata().ok()?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return None;
    }
    let end = File::open(target).ok()?.seek(SeekFrom::End(0)).ok()?;
    Some(Bytes::new(end)).filter(|length| *length > Bytes::ZERO)
}

/// The entry of one job: its figures and its configuration.
fn entry_of((job, record): (&FileJob, &RunRecord)) -> Value {
    let mut entry = json!(record.total);
    entry["name"] = json!(job.name);
    entry["group"] = json!(job.group);
    entry["notes"] = json!(job.notes);
    entry["target"] = json!(record.target);
    entry["config"] = json!(record.config);
    entry["marks"] = json!(record.marks);
    entry["attached"] = json!(record.attached);
    entry["threads"] = json!(record.jobs);
    if let Some(specimen) = &record.specimen {
        entry["specimen"] = json!(specimen);
    }
    if let Some(written) = &record.flash {
        entry["flash"] = json!(written);
    }
    entry
}

/// A file of one job gives what that run gives. Of several jobs each entry has a job's figures and
/// configuration, and `total` is all of them, groups one after the other.
fn document(file: &str, jobs: &[FileJob], records: &[RunRecord], total: &Tally) -> Value {
    if let ([_], [only]) = (jobs, records) {
        return json!(only);
    }
    let mut targets: Vec<&str> = records.iter().map(|record| record.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let marks = records.iter().zip(jobs).flat_map(|(record, job)| {
        let marks = record.marks.iter();
        marks.map(|mark| json!({"id": mark.id, "message": mark.message, "job": job.name}))
    });
    json!({
        "schema": RUN_SCHEMA,
        "target": targets.join(", "),
        "config": {"drivelab": env!("CARGO_PKG_VERSION"), "file": file},
        "jobs": jobs.iter().zip(records).map(entry_of).collect::<Vec<_>>(),
        "total": total.record(),
        "marks": marks.collect::<Vec<_>>(),
        "host": records.first().map(|record| &record.host),
    })
}
