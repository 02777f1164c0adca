//! `run --job`: a job file as fio reads it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::jobfile::{self, FileJob};
use drivelab_core::record::{Mark, RUN_SCHEMA, RunRecord, Stamp, Tally};
use drivelab_engine::{IoEngine, Progress as Step};
use serde_json::json;

use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::interrupt;
use crate::measure::{self, Measurement};
use crate::ui::{Progress, Ui};

/// What the command line adds to the file.
#[derive(Debug)]
pub(crate) struct JobArgs {
    /// The job file.
    pub(crate) file: PathBuf,
    /// Instead of the files that it names.
    pub(crate) target: Option<String>,
    pub(crate) overwrite: bool,
    pub(crate) allow_destructive: Vec<PathBuf>,
}

/// Runs the file's groups one after the other, and prints what each job did.
pub(crate) fn run(arguments: &JobArgs, ui: Ui) -> Outcome {
    let text = std::fs::read_to_string(&arguments.file).at_path("read", &arguments.file)?;
    let name = arguments.file.display().to_string();
    let jobs = jobfile::parse(&name, &text, &|name| std::env::var(name).ok())?;
    let mut measurements = Vec::new();
    for job in &jobs {
        for note in &job.notes {
            ui.note(&format!("note: [{}] {note}", job.name));
        }
        measurements.push(measurement(job, arguments)?);
    }
    let mut records: Vec<RunRecord> = Vec::new();
    let mut total = Tally::default();
    while records.len() < jobs.len() && !interrupt::requested() {
        let first = records.len();
        let group = jobs[first..].iter().take_while(|job| job.group == jobs[first].group).count();
        let measurements = &measurements[first..first + group];
        let longest = measurements.iter().map(|it| it.workload.ramp_time + it.workload.runtime);
        let longest = Duration::from_nanos(longest.max().unwrap_or_default().ns());
        let progress = Progress::time(longest, &jobs[first].name);
        let mut done = measure::together(measurements, &|step: &Step| progress.step(step))?;
        for (record, job) in done.records.iter_mut().zip(&jobs[first..]) {
            record.label = Some(job.name.clone());
        }
        records.append(&mut done.records);
        total.follow(&done.total);
    }
    if ui.json {
        ui.result(&document(&name, &jobs, &records, &total))?;
    } else {
        let texts = records.iter().map(|record| drivelab_report::run::text(record, ui.look()));
        ui.result(&texts.collect::<Vec<_>>().join("\n"))?;
    }
    if interrupt::requested() {
        ui.warn("interrupted: the figures are those of the time until then");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

fn measurement(job: &FileJob, arguments: &JobArgs) -> Result<Measurement, Failure> {
    let target = arguments.target.as_ref().unwrap_or(&job.target);
    let mut options = job.workload.clone();
    if job.once
        && let Ok(meta) = Path::new(target).metadata()
    {
        let block = options.clone().check().map_err(Failure::bad_request)?.blocks.mean();
        options.number_ios = Some(meta.len() / block.get()).filter(|number| *number > 0);
    }
    let ioengine = job.ioengine.map(str::parse::<IoEngine>).transpose();
    Ok(Measurement {
        path: target.into(),
        workload: options.check().map_err(Failure::bad_request)?,
        numjobs: job.numjobs,
        seed: job.seed,
        ioengine: ioengine.map_err(Failure::bad_words)?,
        polling: job.polling,
        stamp: Stamp::Io,
        direct: job.direct,
        overwrite: arguments.overwrite,
        allow_destructive: arguments.allow_destructive.clone(),
        verify_state: None,
    })
}

/// A file of one job gives what that run gives. Of several jobs each entry has a job's figures and
/// configuration, and `total` is all of them, groups one after the other.
fn document(file: &str, jobs: &[FileJob], records: &[RunRecord], total: &Tally) -> String {
    if let ([_], [only]) = (jobs, records) {
        return crate::commands::json_text(&json!(only));
    }
    let entry = |(job, record): (&FileJob, &RunRecord)| {
        let mut entry = json!(record.total);
        entry["name"] = json!(job.name);
        entry["group"] = json!(job.group);
        entry["notes"] = json!(job.notes);
        entry["target"] = json!(record.target);
        entry["config"] = json!(record.config);
        entry["marks"] = json!(record.marks);
        entry["attached"] = json!(record.attached);
        entry["threads"] = json!(record.jobs);
        entry
    };
    let mut targets: Vec<&str> = records.iter().map(|record| record.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let marks = records.iter().zip(jobs).flat_map(|(record, job)| {
        let told = |mark: &Mark| json!({"id": mark.id, "message": mark.message, "job": job.name});
        record.marks.iter().map(told)
    });
    crate::commands::json_text(&json!({
        "schema": RUN_SCHEMA,
        "target": targets.join(", "),
        "config": {"drivelab": env!("CARGO_PKG_VERSION"), "file": file},
        "jobs": jobs.iter().zip(records).map(entry).collect::<Vec<_>>(),
        "total": total.record(),
        "marks": marks.collect::<Vec<_>>(),
        "host": records.first().map(|record| &record.host),
    }))
}
