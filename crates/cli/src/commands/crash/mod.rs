//! `crash`: does a program keep its promises when the power goes?

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use drivelab_core::crash::{Cut, FileSystem, FileSystemKind, Finding};
use drivelab_core::{Refusal, Span, counted};
use drivelab_report::crash::{CrashTest, Failure as Found, Workload};
use drivelab_report::text::json_text;
use drivelab_study::crash::{CrashFile, CutPoint, Plan, plan};

use crate::commands::completion;
use crate::exit::{Exit, Outcome};
use crate::ui::{Progress, Ui};
use drivelab_lab::crash::{self, Campaign, Test, Worked};
use drivelab_lab::{input, interrupt};

/// Test whether a program keeps what it promised when the power goes.
///
/// The workload of the file runs once under a real Linux kernel, in virtual time, on a modelled
/// drive. Its power is cut at many instants; after each a guest boots on what is left, mounts the
/// file system and runs the check of the file: exit code 0 whole, 1 a promise was lost, 2 corrupt.
///
/// The keys of the file are listed below.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  drivelab crash studies/crash/sqlite-wal-full.toml --cuts 1000
  drivelab crash studies/crash/sqlite-wal-full.toml --filesystem xfs
  drivelab crash my-test.toml --replay 7@12.5s --explain

Keys of the file (required: title, drive, workload, check):
  title            what is tested, in a line
  drive            NAME[,key=value...], as for `drivelab run drive:NAME`
  workload         shell commands; each line that they print is a promise
  check            shell commands that find out what a cut left
  prepare          shell commands before the workload; what they do is durable
  programs         programs of this machine to have in the guest
  [files]          files to have in the guest: \"/check.sh\" = \"check.sh\"
  cuts, seed       the number of cuts [100], and the seed of all that is random [1]
  outcomes         the number of cuts at one instant, each with another outcome [4]
  at, every        where cuts are made: lines, flushes, writes (every k-th), random [all of these];
                   or exhaustive, alone
  fault            faults of the drive, as in POST /faults of `drivelab serve`
  [[disk]]         each with a name, and a drive if it is another: two to eight disks
  stack            md over them: \"raid5,chunk=64k\"; or [assembly] with make, again, end, device
  dead, stale      the disk that does not come back after a cut, or as it was before
  assemble         options of mdadm after a cut, as in \"--force\"
  memory, strace   memory of a guest [256M]; record the system calls for --explain [false]
  [file_system]    type [ext4], size [512M], mkfs, mount, fsck [after]
  [limits]         processor time of the guest: workload [10m], check [60s]

Exit codes: 0 every promise was kept, 1 one was broken, 2 the file or its commands are wrong,
3 no kernel (drivelab guest setup), 4 no cut was made or some could not be checked,
130 interrupted.")]
pub(crate) struct CrashArgs {
    /// The crash test, a TOML file.
    file: PathBuf,

    /// The number of cuts [default: that of the file].
    #[arg(long, value_name = "N")]
    cuts: Option<NonZeroUsize>,

    /// Repeat this cut alone.
    #[arg(long, value_name = "SEED@INSTANT", conflicts_with = "cuts")]
    replay: Option<Cut>,

    /// Show which writes the worst failure lost, and which of them matter.
    #[arg(long)]
    explain: bool,

    /// The file system instead of that of the file: ext4, xfs, btrfs or none.
    #[arg(long, value_name = "TYPE", value_parser = completion::choice::<FileSystemKind>(),
        hide_possible_values = true)]
    filesystem: Option<FileSystemKind>,

    /// The number of guests that run at once [default: one for each processor].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Check up to N cuts in each guest, one after another. A cut that breaks a promise is checked
    /// again in a new guest [default: 50].
    #[arg(long, value_name = "N")]
    per_guest: Option<NonZeroUsize>,
}

/// A boot takes as long as a few checks.
const PER_GUEST: usize = 50;

/// Runs the workload, cuts, checks.
pub(crate) fn run(arguments: &CrashArgs, ui: Ui) -> Outcome {
    let begun = Instant::now();
    let name = arguments.file.display().to_string();
    let mut file = CrashFile::parse(&name, &input::text(&arguments.file, input::CRASH)?)?;
    let options = arguments.filesystem.map_or(Ok(String::new()), |kind| switch(&mut file, kind))?;
    let jobs = arguments.jobs.or_else(|| thread::available_parallelism().ok());
    let test = Test::new(&file, &arguments.file, jobs.map_or(1, NonZeroUsize::get))?;
    let waiting = Progress::waiting("the workload, once");
    let Some(worked) = test.work(&file)? else { return Ok(interrupted(ui)) };
    // A spinner must be gone before the next one is drawn.
    drop(waiting);
    let waiting = Progress::waiting("the check, without a power cut");
    if !test.is_whole_at_the_end(&worked)? {
        return Ok(interrupted(ui));
    }
    drop(waiting);
    let plan = planned(arguments, &file, &test, &worked)?;
    let per_guest = arguments.per_guest.map_or(PER_GUEST, NonZeroUsize::get);
    // Of several disks a guest cannot exchange one: the array over them is running.
    let per_guest = if test.can_share_guests() { per_guest } else { 1 };
    let campaign = Campaign { test: &test, worked: &worked, plan: &plan.cuts, per_guest };
    let progress = Progress::steps(plan.cuts.len() as u64, "cuts");
    let made = campaign.carry_out(&progress.control())?;
    drop(progress);
    if let Some(left) = &made.left_behind {
        ui.warn(&format!("the check leaves {left} behind: each cut had a guest of its own"));
    }
    let mut report = CrashTest {
        title: file.title.clone(),
        file: name,
        options,
        scene: test.words(&file),
        workload: summary(&worked),
        planned: plan.cuts.len(),
        left_out: plan.left_out,
        twice: made.twice,
        disagreements: made.disagreements,
        too_slow: made.too_slow,
        unconfirmed: made.unconfirmed,
        ..CrashTest::default()
    };
    for (cut, checked) in plan.cuts.iter().zip(made.checked) {
        match checked {
            Some(checked) if checked.finding == Finding::Whole => report.whole += 1,
            Some(checked) => {
                let (cut, finding, reason) = (*cut, checked.finding, checked.reason);
                report.failures.push(Found { cut, finding, reason });
            }
            None => {}
        }
    }
    if let Some(worst) = report.worst().filter(|_| arguments.explain && !interrupt::requested()) {
        let progress = Progress::steps(crash::TRIALS as u64, "trials");
        report.explanation = Some(crash::explain(&test, &worked, worst, &progress.control())?);
    }
    report.took = span(begun.elapsed());
    conclude(&report, ui)
}

/// Changes the file system of a test; the option that repeats this.
fn switch(file: &mut CrashFile, kind: FileSystemKind) -> Result<String, Refusal> {
    let FileSystem { kind: before, mkfs, mount, .. } = &mut file.file_system;
    if *before != kind && !(mkfs.is_empty() && mount.is_empty()) {
        let message = format!("`mkfs` and `mount` of the file are options of {before}");
        return Err(Refusal::request(message).hint("remove them, or leave `--filesystem` out"));
    }
    *before = kind;
    Ok(format!(" --filesystem {kind}"))
}

/// The cuts to make.
fn planned(
    arguments: &CrashArgs,
    file: &CrashFile,
    test: &Test,
    worked: &Worked,
) -> Result<Plan, Refusal> {
    let (begin, end) = worked.moments.window;
    let Some(cut) = arguments.replay else {
        let mut moments = worked.moments.clone();
        if file.points.contains(&CutPoint::Exhaustive) {
            moments.changes = test.changes(worked)?;
        }
        let cuts = arguments.cuts.map_or(file.cuts, NonZeroUsize::get);
        return Ok(plan(file, &moments, cuts));
    };
    if cut.at <= begin || cut.at > end {
        let message =
            format!("the workload runs from {begin} to {end}, and {} is not within", cut.at);
        return Err(
            Refusal::request(message).hint("give a cut as the report of this file names it")
        );
    }
    Ok(Plan { cuts: vec![cut], left_out: 0 })
}

fn interrupted(ui: Ui) -> Exit {
    ui.warn("interrupted before the first cut: no result");
    Exit::Interrupted
}

fn conclude(report: &CrashTest, ui: Ui) -> Outcome {
    let text = if ui.json { json_text(&report.to_json()) } else { report.to_text(ui.look()) };
    ui.result(&text)?;
    if report.is_partial() {
        ui.warn(&format!(
            "interrupted after {} of {}",
            report.cuts(),
            counted(report.planned as u64, "cut")
        ));
        return Ok(Exit::Interrupted);
    }
    // If some cuts have no certain answer, no failure does not mean that all is well.
    let is_sure = report.disagreements.is_empty() && report.too_slow.is_empty();
    Ok(match (report.cuts(), report.failures.is_empty()) {
        (0, _) => Exit::Inconclusive,
        (_, false) => Exit::No,
        (_, true) if is_sure => Exit::Done,
        (_, true) => Exit::Inconclusive,
    })
}

fn span(time: Duration) -> Span {
    Span::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn summary(worked: &Worked) -> Workload {
    let (begin, end) = worked.moments.window;
    Workload {
        took: end.since(begin),
        writes: worked.moments.writes.len(),
        flushes: worked.moments.flushes.len(),
        lines: worked.moments.lines.len(),
    }
}
