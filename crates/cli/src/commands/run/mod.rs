//! `run`: one measurement of a file, a device or a modelled drive.

mod job;
mod verify;
pub(super) mod workload;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args};
use drivelab_core::record::{RunRecord, Stamp};
use drivelab_core::{IoEngine, JobSchedule, Polling};
use drivelab_engine::{Progress as Step, RunPlan};

use self::job::JobArgs;
use self::verify::VerifyArgs;
use self::workload::WorkloadArgs;
use crate::commands::study::matrix::{self, MatrixRequest};
use crate::failure::{Exit, Failure, Outcome};
use crate::interrupt;
use crate::measure;
use crate::target::{self, Target};
use crate::ui::{Progress, Show, Ui};

/// What a job file or a matrix says itself, besides the workload.
const ELSEWHERE: [&str; 13] = [
    "ioengine",
    "hipri",
    "sqthread_poll",
    "stamp",
    "direct",
    "invalidate",
    "numjobs",
    "seed",
    "label",
    "verify",
    "verify_only",
    "verify_state",
    "power_was_cut",
];

/// The options that would do nothing beside a job file or a matrix.
fn of_single_runs() -> impl Iterator<Item = &'static str> {
    workload::flags().map(|option| option.name).chain(ELSEWHERE)
}

/// Measure a file, a device or a modelled drive once.
///
/// TARGET is a file, a block device (read only unless --allow-destructive repeats its name), or a
/// drive in virtual time: `drive:NAME[,key=value...]`. A file that does not exist is laid out when
/// --size is given.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab run testfile --size 1G --rw randread --bs 4k --iodepth 32 --runtime 5s
  drivelab run /dev/sda --rw read --bs 1M --iodepth 4
  drivelab run drive:seagate-st31000333as,controller=ide --iodepth 32 --json")]
pub(crate) struct RunArgs {
    /// What is measured; with --job instead of the files that the job file names.
    #[arg(required_unless_present_any = ["job", "matrix"])]
    target: Option<String>,
    /// A job file as fio reads it, or fio's command line in a file; `-` for what comes in.
    #[arg(long, value_name = "FILE.fio", conflicts_with_all = of_single_runs())]
    job: Option<PathBuf>,
    /// A matrix of short runs over targets, read shares, orders, threads and block sizes (TOML).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["job", "target"],
        conflicts_with_all = of_single_runs())]
    matrix: Option<PathBuf>,
    /// Where a matrix keeps its cells and its report.
    #[arg(long, value_name = "DIR", requires = "matrix")]
    out: Option<PathBuf>,
    /// How a matrix shows progress: a bar on a terminal, a line for each finished cell, nothing.
    #[arg(long, value_name = "HOW", default_value = "bar", requires = "matrix")]
    progress: Show,
    #[command(flatten)]
    workload: WorkloadArgs,
    /// How I/O is done: `io_uring` or `psync`; the best there is where absent.
    #[arg(long)]
    ioengine: Option<IoEngine>,
    #[command(flatten)]
    polling: PollingArgs,
    /// Read the clock for each request (`io`) or for each batch that goes to the kernel (`batch`).
    #[arg(long, default_value_t)]
    stamp: Stamp,
    /// Past the page cache (1) or through it (0).
    #[arg(long, value_name = "0|1", default_value = "1", action = ArgAction::Set,
        value_parser = parse_switch)]
    direct: bool,
    /// Begin without what the page cache holds of the target (1), or keep it (0); with --direct=0.
    #[arg(long, value_name = "0|1", default_value = "1", action = ArgAction::Set,
        value_parser = parse_switch)]
    invalidate: bool,
    /// Jobs that run together, each in a thread of its own.
    #[arg(long, value_name = "N", default_value_t = 1)]
    numjobs: u32,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Your name for the run.
    #[arg(long)]
    label: Option<String>,
    /// A writing workload may destroy what the file holds.
    #[arg(long)]
    overwrite: bool,
    /// A writing workload may destroy what this block device holds: repeat its name.
    #[arg(long, value_name = "/dev/X")]
    allow_destructive: Vec<PathBuf>,
    #[command(flatten)]
    verify: VerifyArgs,
}

/// What a ring looks for instead of being told.
#[derive(Debug, Clone, Copy, Args)]
struct PollingArgs {
    /// Look for completions instead of waiting for interrupts; the device needs queues for it.
    #[arg(long)]
    hipri: bool,
    /// A kernel thread looks for requests; it takes a processor of its own.
    #[arg(long, alias = "sqthread_poll")]
    sqthread_poll: bool,
}

impl From<PollingArgs> for Polling {
    fn from(arguments: PollingArgs) -> Self {
        Self { completions: arguments.hipri, submissions: arguments.sqthread_poll }
    }
}

fn parse_switch(text: &str) -> Result<bool, String> {
    drivelab_core::config::Value::read(text)
}

/// Makes the run and prints its figures.
pub(crate) fn run(arguments: RunArgs, ui: Ui) -> Outcome {
    let RunArgs { overwrite, allow_destructive, .. } = arguments;
    measure::warn_of_unseen(&allow_destructive, ui);
    if let Some(file) = arguments.job {
        let target = arguments.target;
        return job::run(&JobArgs { file, target, overwrite, allow_destructive }, ui);
    }
    if let Some(file) = arguments.matrix {
        let (out, progress) = (arguments.out, arguments.progress);
        let matrix = MatrixRequest { file, out, overwrite, allow_destructive, progress };
        return matrix::run(matrix, ui);
    }
    let target = arguments.target.expect("it is required without a job file");
    if arguments.verify.only() {
        return verify::only(&arguments.verify, Path::new(&target), ui);
    }
    let workload = arguments.workload.0.check().map_err(Failure::bad_request)?;
    let modelled = matches!(target::parse(&target)?, Target::Drive(_));
    arguments.verify.possible(&workload, modelled)?;
    let runtime = Duration::from_nanos((workload.runtime + workload.ramp_time).ns());
    let progress = Progress::time(runtime, &target);
    let show = |step: &Step| progress.step(step);
    let mut unverified = false;
    let mut record = match target::parse(&target)? {
        Target::Drive(spec) => {
            if arguments.numjobs != 1 {
                return Err(Failure::bad_words("a modelled drive is asked by one job")
                    .hint("raise --iodepth instead of --numjobs"));
            }
            let profile = target::profile(&spec)?;
            target::simulate(&spec, &profile, &workload, arguments.seed, &show)?
        }
        Target::Path(path) => {
            let plan = RunPlan {
                numjobs: arguments.numjobs,
                conduct: JobSchedule {
                    keep_cache: !arguments.invalidate,
                    ..JobSchedule::default()
                },
                seed: arguments.seed,
                ioengine: arguments.ioengine,
                polling: arguments.polling.into(),
                stamp: arguments.stamp,
                direct: arguments.direct,
                allow_overwrite: overwrite,
                allow_destructive,
                verify_state: arguments.verify.state(Path::new(&target)),
                ..RunPlan::new(path, workload)
            };
            let mut record = measure::file(&plan, &show)?;
            // After an interruption there is no time to read everything back: the account is kept.
            unverified = plan.verify_state.is_some() && interrupt::requested();
            if plan.verify_state.is_some() && !unverified {
                record.verification = Some(arguments.verify.check(&plan.path)?);
            }
            record
        }
    };
    record.label = arguments.label;
    drop(progress);
    finish(&record, unverified, ui)
}

fn finish(record: &RunRecord, unverified: bool, ui: Ui) -> Outcome {
    if ui.json {
        let json = serde_json::to_string_pretty(record).expect("plain data is always JSON");
        ui.result(&json)?;
    } else {
        ui.result(&drivelab_report::run::text(record, ui.look()))?;
    }
    if interrupt::requested() {
        ui.warn("interrupted: the figures are those of the time until then");
        if unverified {
            ui.warn(
                "nothing was read back; `--verify-only` does that with the account that is kept",
            );
        }
        return Ok(Exit::Interrupted);
    }
    if nothing_worked(record) {
        return Ok(Exit::CannotHere);
    }
    Ok(record.verification.as_ref().map_or(Exit::Done, verify::exit))
}

/// Whether every request failed: whatever was to be measured was not.
fn nothing_worked(record: &RunRecord) -> bool {
    record.total.ios == 0 && record.total.errors > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_single_run_is_refused_beside_a_job_file() {
        let single: Vec<&str> = of_single_runs().collect();
        let command = RunArgs::augment_args(clap::Command::new("run"));
        let job: Vec<&str> =
            ["target", "job", "matrix", "out", "progress", "overwrite", "allow_destructive"].into();
        let options = command.get_arguments().map(|option| option.get_id().as_str());
        let missing: Vec<&str> =
            options.filter(|id| !single.contains(id) && !job.contains(id)).collect();
        assert!(missing.is_empty(), "neither a job file's own nor refused beside one: {missing:?}");
    }
}
