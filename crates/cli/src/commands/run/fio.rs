//! `fio`: fio's command line as it is, with results in fio's forms.

mod results;
mod status;

use std::io::IsTerminal as _;
use std::time::Duration;

use clap::Args;
use drivelab_core::{Refusal, Span};
use drivelab_formats::fio::job::{Call, Eta, OutputFormat, Program};
use drivelab_lab::archive::entries;
use drivelab_lab::interrupt;
use drivelab_lab::request::Permissions;
use drivelab_lab::request::jobs::{JobRequest, Jobs, Source};
use drivelab_report::fio::{self, Results, TerseVersion};

use crate::commands::archive::keep::KeepArgs;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::{Progress, Ui, show_failure};
use results::{Activity, State};
use status::{Reports, Status};

/// Run fio's command line as it is: `alias fio='drivelab fio'`.
///
/// Takes what fio takes: job files, --name with options of jobs, --output-format with normal, json,
/// json+ and terse, --output, --readonly, --parse-only, --showcmd and --section. The result has
/// fio's form, the exit code is fio's. What makes a figure no measurement of a disk is said on
/// stderr; options without effect here are named, and one that would change the meaning is refused.
///
/// Of drivelab: --ignore OPTION waives an option, --allow-destructive /dev/X permits writes to a
/// block device, --overwrite (without a value) to a file with foreign data, --no-archive keeps no
/// run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  drivelab fio --name=a --rw=randread --bs=4k --size=1g --ioengine=libaio --iodepth=32
  drivelab fio --output-format=json --output=result.json job.fio
  drivelab fio --ignore verify --section=write job.fio
  drivelab fio --showcmd job.fio")]
pub(crate) struct FioArgs {
    /// The words of fio's command line.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Does what fio would do, and ends as fio ends: 1 for every error.
pub(crate) fn run(arguments: &FioArgs, ui: Ui) -> Outcome {
    let call = Call::of_arguments(arguments.words.iter().map(String::as_str));
    if call.program.version {
        return ui.document(&Results::version());
    }
    if call.program.help {
        return ui.document(&help());
    }
    match carry_out(call, ui) {
        Err(refusal) if !interrupt::requested() => {
            show_failure(&refusal);
            Ok(Exit::No)
        }
        outcome => outcome,
    }
}

fn help() -> String {
    FioArgs::augment_args(clap::Command::new("drivelab fio")).render_long_help().to_string()
}

fn carry_out(call: Call, ui: Ui) -> Outcome {
    let program = call.program.clone();
    let permissions = Permissions {
        overwrite: program.overwrite,
        allow_destructive: program.allow_destructive.clone(),
        readonly: program.readonly,
    };
    let source = Source::Call(Box::new(call));
    let request = JobRequest { source, target: None, permissions };
    let mut jobs = Jobs::new(request)?;
    if program.showcmd {
        return ui.document(&jobs.command_line());
    }
    if let Some(path) = &program.output {
        output::refuse_other(path, &output::FIO)?;
    }
    notes(&jobs, &program, ui);
    if program.parse_only {
        return Ok(Exit::Done);
    }
    jobs.lay_out()?;
    let activity = Activity::begin();
    let reports = Reports::following(banner(&jobs, &program));
    let output = Output { program: &program, reports, ui };
    while !interrupt::requested()
        && let Some(group) = jobs.next_group()?
    {
        let progress = shown(group.time, &group.name, &program);
        let Some(every) = program.status_interval.filter(|_| !jobs.is_modelled()) else {
            jobs.carry_out(&group, &progress.control())?;
            continue;
        };
        let state = State::of(&jobs, &group);
        let status = Status::new(Duration::from_nanos(every.ns()), state.copies());
        let carried = status.during(
            |snapshots| jobs.carry_out(&group, &progress.control().asked_by(snapshots)),
            |running| {
                // A failure is that of the result, which follows.
                let results = state.results(running, activity.of(&state.disks));
                let _ = output.show(&results);
            },
        );
        carried?;
    }
    finish(&jobs, &activity, &output)
}

/// The progress of a group, as `--eta` and `--eta-newline` have it.
fn shown(time: Span, name: &str, program: &Program) -> Progress {
    let progress = Progress::time(Duration::from_nanos(time.ns()), name);
    let is_seen = std::io::stderr().is_terminal();
    let every = program.eta_newline.map(|every| Duration::from_nanos(every.ns()));
    match (program.eta, every) {
        (Eta::Never, _) => progress.silent(),
        (Eta::Auto, Some(every)) if is_seen => progress.in_lines(every),
        (Eta::Auto, _) => progress,
        (Eta::Always, None) if is_seen => progress,
        (Eta::Always, every) => progress.in_lines(every.unwrap_or(Duration::from_secs(1))),
    }
}

/// Options without effect; what the form of the results takes from an option is not one.
fn notes(jobs: &Jobs, program: &Program, ui: Ui) {
    const SHOWN: [&str; 4] =
        ["`group_reporting`", "`new_group`", "`percentile_list`", "`description`"];
    let of_jobs = jobs.notes().filter(|(_, note)| !SHOWN.iter().any(|key| note.starts_with(key)));
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (job, note) in of_jobs {
        match said.iter_mut().find(|(known, _)| known == note) {
            Some((_, jobs)) => jobs.push(job),
            None => said.push((note.to_owned(), vec![job])),
        }
    }
    for note in &program.notes {
        ui.note(&format!("note: {note}"));
    }
    for (note, of) in said {
        let more = if of.len() > 1 { format!(" and {} more", of.len() - 1) } else { String::new() };
        ui.note(&format!("note: [{}]{more} {note}", of[0]));
    }
}

/// Shows the results, and says what they are not.
fn finish(jobs: &Jobs, activity: &Activity, output: &Output<'_>) -> Outcome {
    let Output { program, ui, .. } = output;
    let mut said = Vec::new();
    for record in jobs.records() {
        for mark in &record.marks {
            if !said.contains(&&mark.message) {
                said.push(&mark.message);
                let name = record.label.as_deref().unwrap_or_default();
                ui.warn(&format!("[{name}] {}", mark.message));
            }
        }
    }
    // What is printed is in the archive, also if the program is killed.
    let records = jobs.records();
    let kept = match records {
        [] => Vec::new(),
        [only] if jobs.is_single() => vec![entries::run(only)],
        several => entries::jobs(jobs.name(), &jobs.document(), several),
    };
    let keep = KeepArgs::usual(program.no_archive);
    let kept = if kept.is_empty() { Exit::Done } else { keep.keep(kept, *ui) };
    output.show(&results::of_done(jobs, activity.of(&results::disks(jobs))))?;
    if interrupt::requested() {
        ui.warn("interrupted: the figures cover the time before the interruption");
        return Ok(Exit::Interrupted);
    }
    let verified = records.iter().filter_map(|record| record.verification.as_ref());
    let broken: Vec<_> = verified.filter(|found| !found.is_good()).collect();
    for found in &broken {
        ui.warn(drivelab_report::verification::text(found, ui.look()).trim_end());
    }
    let has_failed = !broken.is_empty()
        || records.iter().any(|it| it.total.as_ref().is_some_and(|it| it.errors > 0));
    Ok(if has_failed { Exit::No } else { kept })
}

/// Results of a call, one or several: with `--status-interval` one follows the other.
struct Output<'a> {
    program: &'a Program,
    reports: Reports,
    ui: Ui,
}

impl Output<'_> {
    fn show(&self, results: &Results) -> Result<(), Refusal> {
        let text = text_of(results, self.program);
        if let Some(path) = &self.program.output {
            return output::write(path, self.reports.all_with(&text), &output::FIO);
        }
        let text = self.reports.next(&text);
        self.ui.document(text.trim_end_matches('\n')).map(drop)
    }
}

/// The list of jobs that precedes a text.
fn banner(jobs: &Jobs, program: &Program) -> String {
    let is_text = program.formats.is_empty() || program.formats.contains(&OutputFormat::Normal);
    if is_text { jobs.banner() } else { String::new() }
}

fn text_of(results: &Results, program: &Program) -> String {
    let formats = match &program.formats[..] {
        [] => &[OutputFormat::Normal],
        asked => asked,
    };
    // As in fio, the text comes first and terse lines after it.
    let mut text = String::new();
    if formats.contains(&OutputFormat::Normal) {
        text += &fio::normal(results);
    }
    if formats.contains(&OutputFormat::Terse) {
        text += &fio::terse(results, terse_version(program));
    }
    if formats.contains(&OutputFormat::Json) || formats.contains(&OutputFormat::JsonPlus) {
        text += &fio::json(results, formats.contains(&OutputFormat::JsonPlus));
    }
    text
}

fn terse_version(program: &Program) -> TerseVersion {
    match program.terse_version {
        4 => TerseVersion::Four,
        5 => TerseVersion::Five,
        _ => TerseVersion::Three,
    }
}
