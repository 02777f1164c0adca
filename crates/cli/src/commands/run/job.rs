//! `run --job`: a job file as fio reads it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::jobfile::{self, FileJob};
use drivelab_core::record::RunRecord;
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
    while records.len() < jobs.len() && !interrupt::requested() {
        let first = records.len();
        let group = jobs[first..].iter().take_while(|job| job.group == jobs[first].group).count();
        let measurements = &measurements[first..first + group];
        let longest = measurements.iter().map(|it| it.workload.ramp_time + it.workload.runtime);
        let longest = Duration::from_nanos(longest.max().unwrap_or_default().ns());
        let progress = Progress::time(longest, &jobs[first].name);
        let mut done = measure::together(measurements, &|step: &Step| progress.step(step))?;
        for (record, job) in done.iter_mut().zip(&jobs[first..]) {
            record.label = Some(job.name.clone());
        }
        records.append(&mut done);
    }
    finish(&name, &jobs, &records, ui)
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
        direct: job.direct,
        overwrite: arguments.overwrite,
        allow_destructive: arguments.allow_destructive.clone(),
        verify_state: None,
    })
}

fn finish(file: &str, jobs: &[FileJob], records: &[RunRecord], ui: Ui) -> Outcome {
    if ui.json {
        let runs = jobs.iter().zip(records).map(|(job, record)| {
            json!({"name": job.name, "group": job.group, "notes": job.notes, "run": record})
        });
        let jobs = runs.collect::<Vec<_>>();
        let document = json!({"schema": "drivelab.job/1", "file": file, "jobs": jobs});
        ui.result(&crate::commands::json_text(&document))?;
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
