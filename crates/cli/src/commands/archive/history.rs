//! `history`: the runs that were kept.

use clap::Args;
use drivelab_archive::{AT_ONCE, Archive, Filter, Listed, RunId, since};
use drivelab_core::config::nearest;
use drivelab_report::history;

use super::keep::ArchiveArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_core::Refusal;
use drivelab_lab::archive::{self, now_ms};

/// List the runs that were kept.
///
/// Every finished run, study, job file, matrix and measurement is kept in the archive. Filters
/// hold together. Times are UTC.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab history                              the latest runs
  drivelab history --label nightly --since 7d
  drivelab history --drive st31000333as --metric lat_p99_ns
  drivelab history --since 2026-11-01 --until 2026-12-01 --json")]
pub(crate) struct HistoryArgs {
    /// Runs of this machine, by the beginning of the `host.id` of their records.
    #[arg(long, value_name = "ID")]
    host: Option<String>,
    /// Runs whose target, or a device under it, contains this text.
    #[arg(long, value_name = "TEXT")]
    device: Option<String>,
    /// Runs whose drive contains this text.
    #[arg(long, value_name = "TEXT")]
    drive: Option<String>,
    /// Runs of this benchmark.
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
    /// Runs with this label or tag.
    #[arg(long)]
    label: Option<String>,
    /// Runs that tested this commit, by the beginning of its name.
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// The runs that this one is made of: those of a study, the jobs of a job file.
    #[arg(long, value_name = "RUN")]
    parts: Option<String>,
    /// Runs that have this figure, which is then the one shown: `iops`, `lat_p99_ns`, ...
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Runs kept at or after this time: `2026-11-23`, `7d`, `12h`, `today`, `yesterday`,
    /// `last-week`.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Runs kept before this time.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// The latest of them, this many; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    last: u64,
    #[command(flatten)]
    archive: ArchiveArgs,
}

/// Prints the list.
pub(crate) fn run(arguments: HistoryArgs, ui: Ui) -> Outcome {
    let when = |text: Option<String>| {
        text.map(|text| since(&text, now_ms()).map_err(Refusal::request)).transpose()
    };
    let archive = arguments.archive.open_to_read()?;
    let filter = Filter {
        origin: None,
        host: arguments.host,
        target: arguments.device,
        drive: arguments.drive,
        suite: arguments.suite,
        label: arguments.label,
        commit: arguments.commit,
        parts_of: arguments.parts.map(|run| one(&archive, &run)).transpose()?,
        metric: arguments.metric,
        since_ms: when(arguments.since)?,
        until_ms: when(arguments.until)?,
        latest: Some(arguments.last).filter(|last| *last > 0),
    };
    if ui.json {
        return stream(&archive, &filter, ui);
    }
    let Listed { runs, damage } = listed(&archive, &filter)?;
    ui.result(&history::text(&runs, ui.look()))?;
    Ok(say_damage(&damage, ui))
}

/// Prints the list as JSON, part by part: of an archive of years it is longer than memory.
fn stream(archive: &Archive, filter: &Filter, ui: Ui) -> Outcome {
    let ids = archive.ids(filter)?;
    if ids.is_empty() {
        refuse_unknown(archive, filter)?;
    }
    let (mut damage, mut is_first) = (Vec::new(), true);
    let [begin, between, end] = history::json_frame();
    ui.part(begin)?;
    for ids in ids.chunks(AT_ONCE) {
        let listed = archive.listed(filter, ids)?;
        for run in &listed.runs {
            let before = if is_first { "" } else { between };
            ui.part(&format!("{before}{}", history::json_run(run)))?;
            is_first = false;
        }
        damage.extend(listed.damage);
    }
    // An empty list has no line break between its brackets.
    ui.result(end.strip_prefix("\n  ").filter(|_| is_first).unwrap_or(end))?;
    Ok(say_damage(&damage, ui))
}

/// Names the runs that a list leaves out.
fn say_damage(damage: &[String], ui: Ui) -> Exit {
    for damage in damage {
        ui.warn(&format!("not listed: {damage}; see: drivelab archive check"));
    }
    Exit::Done
}

/// Names of the archive that are mentioned where none is near the one that was asked for.
const NAMED_MAX: usize = 8;

/// The runs that a filter means. A figure or a benchmark that no run has at all is a mistake of the
/// request.
pub(crate) fn listed(archive: &Archive, filter: &Filter) -> Result<Listed, Refusal> {
    let listed = archive.list(filter)?;
    if listed.runs.is_empty() {
        refuse_unknown(archive, filter)?;
    }
    Ok(listed)
}

fn refuse_unknown(archive: &Archive, filter: &Filter) -> Result<(), Refusal> {
    if let Some(metric) = &filter.metric {
        let names = archive.figure_names()?;
        // In an empty archive no name is a mistake.
        if !names.is_empty() && !names.contains(metric) {
            let message = format!("no kept run has a figure `{metric}`");
            return Err(Refusal::request(message).hint(meant("figures", metric, &names)));
        }
    }
    if let Some(suite) = &filter.suite {
        let names = archive.suite_names()?;
        if !names.is_empty() && !names.iter().any(|name| name.eq_ignore_ascii_case(suite)) {
            let message = format!("no kept run is of a benchmark `{suite}`");
            return Err(Refusal::request(message).hint(meant("benchmarks", suite, &names)));
        }
    }
    Ok(())
}

/// The name that may have been meant, or those that most runs have.
fn meant(what: &str, typed: &str, names: &[String]) -> String {
    if let Some(meant) = nearest(typed, names.iter().map(String::as_str)) {
        return format!("did you mean `{meant}`?");
    }
    let shown = names.iter().take(NAMED_MAX).map(|name| format!("`{name}`"));
    let shown: Vec<String> = shown.collect();
    let more = if names.len() > NAMED_MAX { ", ..." } else { "" };
    format!("{what} of kept runs: {}{more}", shown.join(", "))
}

/// The one run that was typed.
fn one(archive: &Archive, typed: &str) -> Result<RunId, Refusal> {
    match archive::ids(archive, typed)?[..] {
        [id] => Ok(id),
        ref several => {
            let count = several.len();
            let message = format!("`{typed}` means {count} runs, each with its own parts");
            Err(Refusal::request(message)
                .hint("name one of them by the beginning of its id: drivelab history"))
        }
    }
}
