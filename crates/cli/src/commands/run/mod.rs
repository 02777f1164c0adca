//! `run`: one measurement of a file, a device or a modelled drive.

mod finished;
pub(crate) mod fio;
mod job;
mod suite;
mod verify;
mod within;
pub(super) mod workload;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, ArgGroup, Args, FromArgMatches as _};
use drivelab_core::record::{RunRecord, Stamp};
use drivelab_core::{Invalid, IoEngine, JobSchedule, Polling, Refusal};
use drivelab_lab::archive::{entries, now_ms};
use drivelab_lab::request::jobs::{JobRequest, Source};
use drivelab_lab::request::{Environment, Load, Permissions, Request, Work};
use drivelab_lab::target::{self, Target};
use drivelab_lab::{interrupt, measure};
use drivelab_report::publish::Subject;
use drivelab_study::file::Needs;

use self::finished::Output;
use self::suite::SuiteArgs;
use self::verify::{Earlier, VerifyArgs};
use self::within::WithinArgs;
use self::workload::{WorkloadArgs, of_single_runs};
use crate::commands::archive::keep::KeepArgs;
use crate::commands::completion::{self, Offer};
use crate::commands::study::matrix::{self, MatrixRequest};
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::{Console, Progress, Ui};

/// Measure a file, a device or a modelled drive once.
///
/// TARGET is a file, a block device (only read unless --allow-destructive repeats its name), a
/// modelled drive in virtual time: `drive:NAME[,key=value...]`, or a folder for a suite of files.
/// With --size, a missing file is laid out.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("kept").args(["matrix", "suite"])))]
#[command(after_help = "\
Examples:
  drivelab run testfile --size 1G --rw randread --bs 4k --iodepth 32 --runtime 5s
  drivelab run drive:seagate-st31000333as --suite hdtune
  drivelab run /mnt/disk --suite fsmark,threads=4
  drivelab run /dev/sda --rw read --bs 1M --iodepth 4
  drivelab run drive:seagate-st31000333as,controller=ide --iodepth 32 --json
  drivelab run drive:seagate-st31000333as --iodepth 32 --in kernel
  drivelab run drive:seagate-st31000333as --suite bonnie --in kernel --filesystem xfs
  drivelab run drive:generic-5400 --in kernel --stack raid1 --disk drive:generic-5400")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct RunArgs {
    /// The target; with --job it replaces the files named in the job file.
    #[arg(required_unless_present_any = ["job", "matrix", "suite"],
        value_parser = Offer(completion::targets), hide_possible_values = true)]
    target: Option<String>,
    /// A fio job file, or a file with a fio command line; `-` for standard input.
    #[arg(long, value_name = "FILE.fio", conflicts_with_all = of_single_runs())]
    job: Option<PathBuf>,
    /// Waive an option of the job file, by its name; repeat it for several.
    #[arg(long, value_name = "OPTION", requires = "job", value_delimiter = ',')]
    ignore: Vec<String>,
    /// A matrix (TOML) of short runs over targets, read shares, orders, threads and block sizes.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["job", "target"],
        conflicts_with_all = of_single_runs())]
    matrix: Option<PathBuf>,
    #[command(flatten)]
    suite: SuiteArgs,
    /// The results folder of a matrix or a suite.
    #[arg(long, value_name = "DIR", requires = "kept")]
    out: Option<PathBuf>,
    /// Write a page with figures and plots of the run.
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["matrix", "verify_only"])]
    report: Option<PathBuf>,
    #[command(flatten)]
    workload: WorkloadArgs,
    /// I/O engine: `io_uring`, `libaio` or `psync` [default: the best one available].
    #[arg(long, value_parser = completion::choice::<IoEngine>(), hide_possible_values = true)]
    ioengine: Option<IoEngine>,
    #[command(flatten)]
    polling: PollingArgs,
    /// Requests submitted together that share a reading of the clock: eight (`io`) or all
    /// (`batch`).
    #[arg(long, default_value_t, value_parser = completion::choice::<Stamp>(),
        hide_possible_values = true)]
    stamp: Stamp,
    /// Bypass the page cache with `O_DIRECT` (1), or use it (0).
    #[arg(long, value_name = "0|1", default_value = "1", action = ArgAction::Set,
        value_parser = parse_switch)]
    direct: bool,
    /// With --direct=0: drop the target from the page cache first (1), or keep it (0).
    #[arg(long, value_name = "0|1", default_value = "1", action = ArgAction::Set,
        value_parser = parse_switch)]
    invalidate: bool,
    /// Number of concurrent jobs, each in its own thread.
    #[arg(long, value_name = "N", default_value_t = 1)]
    numjobs: u32,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A name for the run.
    #[arg(long)]
    label: Option<String>,
    /// Allow a writing workload to destroy the contents of the file.
    #[arg(long)]
    overwrite: bool,
    /// Allow a writing workload to destroy the contents of this block device: repeat its name.
    #[arg(long, value_name = "/dev/X")]
    allow_destructive: Vec<PathBuf>,
    /// Refuse everything that writes, in a job file, too.
    #[arg(long, conflicts_with_all = ["matrix", "verify", "overwrite", "allow_destructive"])]
    readonly: bool,
    #[command(flatten)]
    verify: VerifyArgs,
    #[command(flatten)]
    within: WithinArgs,
    #[command(flatten)]
    keep: KeepArgs,
}

/// Refuses options of a run that would be refused where it is made, or that must not be given to
/// many disks at once.
pub(crate) fn check_options(target: &str, options: &[String]) -> Result<(), Refusal> {
    let words = ["run", target].into_iter().chain(options.iter().map(String::as_str));
    let command = RunArgs::augment_args(clap::Command::new("run")).no_binary_name(false);
    let matches = command.try_get_matches_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Refusal::request(first.strip_prefix("error: ").unwrap_or(first))
            .hint("behind `--` stand options of `drivelab run`, without a target")
    })?;
    let arguments = RunArgs::from_arg_matches(&matches).map_err(Refusal::request_error)?;
    if !arguments.allow_destructive.is_empty() {
        return Err(Refusal::request("no disk of a fleet is overwritten")
            .hint("leave --allow-destructive out, or write to a file: --target FILE"));
    }
    let several = arguments.job.is_some() || arguments.matrix.is_some();
    if several || arguments.out.is_some() || arguments.report.is_some() {
        return Err(Refusal::request("each disk gets one load or one suite, without files")
            .hint("leave --job, --matrix, --out and --report out"));
    }
    Ok(())
}

/// The events that a ring polls for.
#[derive(Debug, Clone, Copy, Args)]
struct PollingArgs {
    /// Poll for completions instead of waiting for interrupts (needs poll queues in the device).
    #[arg(long)]
    hipri: bool,
    /// Let a kernel thread poll for submissions (takes one CPU).
    #[arg(long, alias = "sqthread_poll")]
    sqthread_poll: bool,
}

impl From<PollingArgs> for Polling {
    fn from(arguments: PollingArgs) -> Self {
        Self { completions: arguments.hipri, submissions: arguments.sqthread_poll }
    }
}

fn parse_switch(text: &str) -> Result<bool, Invalid> {
    drivelab_core::config::Value::read(text)
}

/// The request that the arguments make.
enum Asked {
    /// The jobs of a job file.
    Jobs(JobRequest),
    /// The cells of a matrix.
    Matrix(MatrixRequest),
    /// The list of suites.
    Suites,
    /// The verification of an earlier run.
    Verification(Earlier),
    /// One run.
    Run(Box<Request>),
}

impl TryFrom<RunArgs> for Asked {
    type Error = Refusal;

    fn try_from(arguments: RunArgs) -> Result<Self, Refusal> {
        let RunArgs { overwrite, readonly, .. } = arguments;
        if let Some(file) = arguments.job {
            let RunArgs { target, allow_destructive, .. } = arguments;
            let permissions = Permissions { overwrite, allow_destructive, readonly };
            let source = Source::File(file, arguments.ignore);
            return Ok(Self::Jobs(JobRequest { source, target, permissions }));
        }
        if let Some(file) = arguments.matrix {
            let RunArgs { out, allow_destructive, keep, .. } = arguments;
            let permissions = Permissions { overwrite, allow_destructive, readonly };
            return Ok(Self::Matrix(MatrixRequest { file, out, permissions, keep }));
        }
        if arguments.suite.is_help() {
            return Ok(Self::Suites);
        }
        let Some(typed) = arguments.target.clone() else {
            let name = arguments.suite.suite.unwrap_or_default();
            let hint = format!("name it: drivelab run TARGET --suite {name}");
            return Err(Refusal::request("no target was given").hint(hint));
        };
        // It writes nothing, with `--readonly` or without, and its workload means nothing.
        if let Some(earlier) = arguments.verify.earlier(&typed) {
            return Ok(Self::Verification(earlier));
        }
        arguments.run_on(&typed).map(Box::new).map(Self::Run)
    }
}

impl RunArgs {
    fn record_options(&self) -> Output {
        let Self { target, label, out, report, keep, .. } = self;
        let target = target.clone().unwrap_or_default();
        let (label, keep) = (label.clone(), keep.clone());
        Output { target, label, folder: out.clone(), report: report.clone(), keep }
    }

    /// The run on a target.
    fn run_on(self, typed: &str) -> Result<Request, Refusal> {
        let Self { overwrite, readonly, .. } = self;
        let target;
        let work = if self.suite.suite.is_some() {
            let suite = self.suite.find(&self.workload)?;
            target = target::parse(typed)?;
            Work::Suite(Box::new(suite))
        } else {
            let workload = self.workload.0.check()?;
            target = target::parse(typed)?;
            let verify = self.verify.state(&target, &workload)?;
            Work::Load(Box::new(Load {
                numjobs: self.numjobs,
                schedule: JobSchedule { keep_cache: !self.invalidate, ..JobSchedule::default() },
                ioengine: self.ioengine,
                polling: self.polling.into(),
                stamp: self.stamp,
                direct: self.direct,
                verify,
                ..Load::new(workload)
            }))
        };
        let permissions =
            Permissions { overwrite, allow_destructive: self.allow_destructive, readonly };
        // The target is already read: it may be a drive.
        let request = Request { target, ..Request::on_path(PathBuf::new(), work, self.seed) };
        let request = request.permitting(permissions);
        Ok(match self.within.guest()? {
            Some(guest) => request.in_guest(guest),
            None => request,
        })
    }
}

/// True for a single load in this process, without verification.
#[cfg(feature = "mpi")]
fn is_single(request: &Request) -> bool {
    let is_here = matches!(request.environment, Environment::Here);
    is_here && request.load().is_some_and(|load| load.verify.is_none())
}

/// Makes the run and prints its figures.
pub(crate) fn run(arguments: RunArgs, ui: Ui) -> Outcome {
    if let Some(warning) = measure::unseen_warning(&arguments.allow_destructive) {
        ui.warn(warning);
    }
    if let Some(path) = &arguments.report {
        output::refuse_other(path, &output::REPORT)?;
    }
    arguments.keep.check(arguments.label.as_ref())?;
    let output = arguments.record_options();
    match Asked::try_from(arguments)? {
        Asked::Jobs(request) => job::run(request, &output, ui),
        Asked::Matrix(matrix) => matrix::run(matrix, ui),
        Asked::Suites => suite::help(ui),
        Asked::Verification(earlier) => verify::run(&earlier, ui),
        Asked::Run(request) => one(&request, output, ui),
    }
}

/// Makes one run, keeps it and shows it.
fn one(request: &Request, output: Output, ui: Ui) -> Outcome {
    if let Environment::Guest(guest) = &request.environment {
        for path in [&guest.trace, &guest.console].into_iter().flatten() {
            output::refuse_other(path, &output::GUEST)?;
        }
    }
    let console = match progress(request, &output.target) {
        Some(progress) => Console::with_progress(ui, progress),
        None => Console::new(ui),
    };
    let mut record = drivelab_lab::run(request, &console.control())?;
    drop(console);
    record.label = output.label;
    // Virtual time has no date.
    record.ended_unix_s = record.host.is_some().then(|| now_ms() / 1000);
    let is_asked = request.load().is_some_and(|load| load.verify.is_some());
    let is_unverified = is_asked && record.verification.is_none();
    // What is printed is in the archive, also if the program is killed.
    let kept = output.keep.keep(vec![entries::run(&record)], ui);
    // The figures are not lost with a file that cannot be written.
    let shown = show(&record, ui);
    if let Some(folder) = &output.folder {
        suite::keep_in(folder, &record, ui)?;
    }
    output::page(output.report.as_deref(), &Subject::Run(&record), ui)?;
    shown?;
    Ok(conclude(&record, is_unverified, ui).or(kept))
}

/// The progress of a run whose steps or time are known; `target` is its target as typed.
fn progress(request: &Request, target: &str) -> Option<Progress> {
    match (&request.environment, &request.target, &request.work) {
        (Environment::Here, _, Work::Load(load)) => {
            let time = load.workload.runtime + load.workload.ramp_time;
            Some(Progress::time(Duration::from_nanos(time.ns()), target))
        }
        (Environment::Here, Target::Path(_), Work::Suite(suite)) if suite.needs == Needs::Tree => {
            Some(Progress::steps(1, &suite.name))
        }
        (Environment::Here, _, Work::Suite(suite)) => {
            Some(Progress::time(Duration::from_nanos(suite.time?.ns()), &suite.name))
        }
        _ => None,
    }
}

#[cfg(feature = "mpi")]
impl RunArgs {
    /// The load of each of many hosts, and how its record is kept.
    pub(crate) fn of_hosts(self) -> Result<(Request, Output), Refusal> {
        let output = self.record_options();
        match Asked::try_from(self)? {
            Asked::Run(request) if is_single(&request) && output.report.is_none() => {
                if let Target::Drive(spec) = &request.target {
                    let message = format!("`{spec}` is a modelled drive, which no host has");
                    return Err(Refusal::request(message).hint("name a file or a device"));
                }
                Ok((*request, output))
            }
            _ => Err(Refusal::request("many hosts share a single load, without --verify")
                .hint("leave out --job, --matrix, --suite, --verify, --in and --report")),
        }
    }
}

fn show(record: &RunRecord, ui: Ui) -> Outcome {
    if ui.json {
        ui.result(&serde_json::to_string_pretty(record).expect("plain data is always JSON"))
    } else {
        ui.result(&drivelab_report::run::text(record, ui.look()))
    }
}

/// The exit code of a run, of which an interruption is said last.
fn conclude(record: &RunRecord, is_unverified: bool, ui: Ui) -> Exit {
    if interrupt::requested() {
        ui.warn("interrupted: the figures cover the time before the interruption");
        if is_unverified {
            ui.warn("nothing was read back; `--verify-only` does so from the state file");
        }
        return Exit::Interrupted;
    }
    if measure::mostly_failed(record) {
        return Exit::CannotHere;
    }
    record.verification.as_ref().map_or(Exit::Done, verify::exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_single_run_is_refused_beside_a_job_file() {
        let single: Vec<&str> = of_single_runs().collect();
        let command = RunArgs::augment_args(clap::Command::new("run"));
        let job: Vec<&str> = [
            "target",
            "job",
            "ignore",
            "matrix",
            "out",
            "overwrite",
            "allow_destructive",
            "readonly",
        ]
        .into();
        // `--suite` refuses itself beside a job file, and its options need it.
        let job = [job, vec!["suite", "loops", "pause"]].concat();
        // A variable may name the archive of every verb.
        let job = [job, vec!["archive", "no_archive", "tag", "commit", "report"]].concat();
        let options = command.get_arguments().map(|option| option.get_id().as_str());
        let missing: Vec<&str> =
            options.filter(|id| !single.contains(id) && !job.contains(id)).collect();
        assert!(missing.is_empty(), "neither a job file's own nor refused beside one: {missing:?}");
    }
}
