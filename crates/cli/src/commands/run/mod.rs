//! `run`: one measurement of a file, a device or a modelled drive.

mod job;
mod readonly;
mod suite;
mod tree;
mod verify;
mod within;
pub(super) mod workload;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, ArgGroup, Args, FromArgMatches as _};
use drivelab_core::record::{RunRecord, Stamp};
use drivelab_core::workload::Workload;
use drivelab_core::{IoEngine, JobSchedule, Polling, Refusal};
use drivelab_engine::RunPlan;
use drivelab_report::publish::Subject;

use self::job::JobArgs;
use self::suite::SuiteArgs;
use self::verify::VerifyArgs;
use self::within::WithinArgs;
use self::workload::{WorkloadArgs, of_single_runs};
use crate::commands::archive::keep::KeepArgs;
use crate::commands::completion::{self, Offer};
use crate::commands::study::matrix::{self, MatrixRequest};
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::{Progress, Ui};
use drivelab_lab::archive::entries;
use drivelab_lab::archive::now_ms;
use drivelab_lab::stage::kernel::Job;
use drivelab_lab::stage::suite::tree as tree_suite;
use drivelab_lab::target::{self, Target};
use drivelab_lab::{interrupt, measure};

/// Measure a file, a device or a modelled drive once.
///
/// TARGET is a file, a block device (only read unless --allow-destructive repeats its name), a
/// modelled drive in virtual time: `drive:NAME[,key=value...]`, or a folder for a suite of files.
/// With --size, a missing file is laid out.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("kept").args(["matrix", "suite"])))]
#[command(after_help = "\
Examples:
  drivelab run testfile --size 1G --rw randread --bs 4k --iodepth 32 --runtime 5s
  drivelab run drive:seagate-st31000333as --suite hdtune
  drivelab run /mnt/disk --suite fsmark,threads=4
  drivelab run /dev/sda --rw read --bs 1M --iodepth 4
  drivelab run drive:seagate-st31000333as,controller=ide --iodepth 32 --json
  drivelab run drive:seagate-st31000333as --iodepth 32 --in kernel
  drivelab run drive:seagate-st31000333as --suite bonnie --in kernel --filesystem xfs")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct RunArgs {
    /// The target; with --job it replaces the files named in the job file.
    #[arg(required_unless_present_any = ["job", "matrix", "suite"],
        value_parser = Offer(completion::targets), hide_possible_values = true)]
    target: Option<String>,
    /// A fio job file, or a file with a fio command line; `-` for standard input.
    #[arg(long, value_name = "FILE.fio", conflicts_with_all = of_single_runs())]
    job: Option<PathBuf>,
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
    /// I/O engine: `io_uring` or `psync` [default: the best one available].
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

/// What a ring looks for instead of being told.
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

fn parse_switch(text: &str) -> Result<bool, String> {
    drivelab_core::config::Value::read(text)
}

/// Makes the run and prints its figures.
pub(crate) fn run(arguments: RunArgs, ui: Ui) -> Outcome {
    if let Some(warning) = measure::unseen_warning(&arguments.allow_destructive) {
        ui.warn(warning);
    }
    let overwrite = arguments.overwrite;
    if let Some(path) = &arguments.report {
        output::refuse_other(path, &output::REPORT)?;
    }
    arguments.keep.check(arguments.label.as_ref())?;
    if let Some(file) = arguments.job {
        let RunArgs { target, readonly, allow_destructive, keep, report, .. } = arguments;
        let job = JobArgs { file, target, readonly, overwrite, allow_destructive, keep, report };
        return job::run(&job, ui);
    }
    if let Some(file) = arguments.matrix {
        let RunArgs { out, allow_destructive, keep, .. } = arguments;
        let matrix = MatrixRequest { file, out, overwrite, allow_destructive, keep };
        return matrix::run(matrix, ui);
    }
    if let Some(name) = arguments.suite.suite.clone() {
        return one_suite(&name, arguments, ui);
    }
    let target = arguments.target.clone().expect("it is required without a job file");
    if arguments.readonly {
        readonly::check(&target, arguments.workload.0.clone().check()?.rw)?;
    }
    if arguments.within.place.is_some() {
        let workload = arguments.workload.0.clone().check()?;
        let options = passed_on(&arguments);
        let job = Job::Load(&workload, &options);
        let record = within::run(&target, arguments.seed, job, &arguments.within)?;
        let record = RunRecord { label: arguments.label, ..record };
        let kept = arguments.keep.keep(vec![entries::run(&record)], ui);
        output::page(arguments.report.as_deref(), &Subject::Run(&record), ui)?;
        return Ok(finish(&record, false, ui)?.or(kept));
    }
    one_load(target, arguments, ui)
}

/// The arguments of a run in a guest, besides its workload.
fn passed_on(arguments: &RunArgs) -> Vec<String> {
    let engine = arguments.ioengine.map(|engine| format!("--ioengine={engine}"));
    let others = [
        format!("--numjobs={}", arguments.numjobs),
        format!("--stamp={}", arguments.stamp),
        format!("--direct={}", u8::from(arguments.direct)),
        format!("--invalidate={}", u8::from(arguments.invalidate)),
    ];
    engine.into_iter().chain(others).collect()
}

/// Makes the run of a suite.
fn one_suite(name: &str, arguments: RunArgs, ui: Ui) -> Outcome {
    if name == tree::HELP {
        return tree::help(ui);
    }
    let Some(target) = arguments.target else {
        let hint = format!("name it: drivelab run TARGET --suite {name}");
        return Err(Refusal::request("no target was given").hint(hint));
    };
    let around = suite::Around {
        target,
        workload: arguments.workload,
        seed: arguments.seed,
        label: arguments.label,
        overwrite: arguments.overwrite,
        allow_destructive: arguments.allow_destructive,
    };
    if arguments.readonly {
        let writes = tree::is_named(name) || suite::parse(name, &arguments.suite, &around)?.writes;
        readonly::check_suite(name, &around.target, writes)?;
    }
    let mut record = if arguments.within.place.is_some() {
        let suite = if tree::is_named(name) {
            tree_suite(&tree::parse(name, arguments.suite.has_own(), &around)?)
        } else {
            suite::parse(name, &arguments.suite, &around)?
        };
        let job = Job::Suite(&suite);
        let record = within::run(&around.target, around.seed, job, &arguments.within)?;
        RunRecord { label: around.label, ..record }
    } else if tree::is_named(name) {
        tree::run(name, arguments.suite.has_own(), around, ui)?
    } else {
        suite::run(name, &arguments.suite, around, ui)?
    };
    record.ended_unix_s = ended(&record);
    if let Some(folder) = &arguments.out {
        suite::keep_in(folder, &record, ui)?;
    }
    let kept = arguments.keep.keep(vec![entries::run(&record)], ui);
    output::page(arguments.report.as_deref(), &Subject::Run(&record), ui)?;
    Ok(finish(&record, false, ui)?.or(kept))
}

/// Makes the run of a single load.
fn one_load(target: String, arguments: RunArgs, ui: Ui) -> Outcome {
    if arguments.verify.only() {
        return verify::only(&arguments.verify, Path::new(&target), ui);
    }
    let workload = arguments.workload.0.clone().check()?;
    let modelled = matches!(target::parse(&target)?, Target::Drive(_));
    arguments.verify.possible(&workload, modelled)?;
    let runtime = Duration::from_nanos((workload.runtime + workload.ramp_time).ns());
    let progress = Progress::time(runtime, &target);
    let mut unverified = false;
    let mut record = match target::parse(&target)? {
        Target::Drive(spec) => {
            let plan = RunPlan {
                numjobs: arguments.numjobs,
                seed: arguments.seed,
                ..RunPlan::new(target.into(), workload)
            };
            target::simulate(&spec, &target::profile(&spec)?, &plan, &progress.control())?
        }
        Target::Path(path) => {
            let plan = on_path(&arguments, path, workload);
            let mut record = measure::file(&plan, &progress.control())?;
            // After an interruption there is no time to read everything back: the account is kept.
            unverified = plan.verify_state.is_some() && interrupt::requested();
            if plan.verify_state.is_some() && !unverified {
                record.verification = Some(arguments.verify.check(&plan.path)?);
            }
            record
        }
    };
    record.label = arguments.label;
    record.ended_unix_s = ended(&record);
    drop(progress);
    let kept = arguments.keep.keep(vec![entries::run(&record)], ui);
    output::page(arguments.report.as_deref(), &Subject::Run(&record), ui)?;
    Ok(finish(&record, unverified, ui)?.or(kept))
}

/// The end of a run that has just been made; virtual time has no date.
fn ended(record: &RunRecord) -> Option<u64> {
    record.host.is_some().then(|| now_ms() / 1000)
}

/// The run of a file or a device.
fn on_path(arguments: &RunArgs, path: PathBuf, workload: Workload) -> RunPlan {
    let target = arguments.target.as_deref().unwrap_or_default();
    RunPlan {
        numjobs: arguments.numjobs,
        conduct: JobSchedule { keep_cache: !arguments.invalidate, ..JobSchedule::default() },
        seed: arguments.seed,
        ioengine: arguments.ioengine,
        polling: arguments.polling.into(),
        stamp: arguments.stamp,
        direct: arguments.direct,
        allow_overwrite: arguments.overwrite,
        allow_destructive: arguments.allow_destructive.clone(),
        verify_state: arguments.verify.state(Path::new(target)),
        ..RunPlan::new(path, workload)
    }
}

#[cfg(feature = "mpi")]
impl RunArgs {
    /// The run of one rank: on the target that `name` makes of the one that was given.
    pub(crate) fn of_rank(&self, name: impl Fn(&str) -> String) -> Result<RunPlan, Refusal> {
        let workload = self.workload.0.clone().check()?;
        let is_other = self.job.is_some() || self.matrix.is_some() || self.suite.suite.is_some();
        let is_verified = self.verify.only() || self.verify.state(Path::new("")).is_some();
        if is_other || is_verified || self.within.place.is_some() || self.report.is_some() {
            return Err(Refusal::request("many hosts share a single load, without --verify")
                .hint("leave out --job, --matrix, --suite, --verify, --in and --report"));
        }
        let target = name(self.target.as_deref().unwrap_or_default());
        match target::parse(&target)? {
            Target::Path(path) => Ok(on_path(self, path, workload)),
            Target::Drive(_) => {
                Err(Refusal::request(format!("`{target}` is a modelled drive, which no host has"))
                    .hint("name a file or a device"))
            }
        }
    }

    /// The user's name for it.
    pub(crate) fn label(&self) -> Option<String> {
        self.label.clone()
    }

    /// Keeps what came of it.
    pub(crate) fn keep(&self, records: &[RunRecord], ui: Ui) -> Exit {
        self.keep.keep(records.iter().map(entries::run).collect(), ui)
    }
}

fn finish(record: &RunRecord, unverified: bool, ui: Ui) -> Outcome {
    if ui.json {
        let json = serde_json::to_string_pretty(record).expect("plain data is always JSON");
        ui.result(&json)?;
    } else {
        ui.result(&drivelab_report::run::text(record, ui.look()))?;
    }
    if interrupt::requested() {
        ui.warn("interrupted: the figures cover the time before the interruption");
        if unverified {
            ui.warn("nothing was read back; `--verify-only` does so from the state file");
        }
        return Ok(Exit::Interrupted);
    }
    if measure::mostly_failed(record) {
        return Ok(Exit::CannotHere);
    }
    Ok(record.verification.as_ref().map_or(Exit::Done, verify::exit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_single_run_is_refused_beside_a_job_file() {
        let single: Vec<&str> = of_single_runs().collect();
        let command = RunArgs::augment_args(clap::Command::new("run"));
        let job: Vec<&str> =
            ["target", "job", "matrix", "out", "overwrite", "allow_destructive", "readonly"].into();
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
