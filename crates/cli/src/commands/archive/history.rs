//! `history`: the runs that were kept.

use clap::Args;
use drivelab_archive::{Archive, Filter, RunId, since};
use drivelab_core::config::nearest;
use drivelab_core::record::Kept;
use drivelab_report::history;
use drivelab_report::text::json_text;

use super::keep::{self, ArchiveArgs, now_ms};
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

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
        text.map(|text| since(&text, now_ms()).map_err(Failure::bad_words)).transpose()
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
    let runs = listed(&archive, &filter)?;
    if ui.json {
        return ui.result(&json_text(&history::json(&runs)));
    }
    ui.result(&history::text(&runs, ui.look()))
}

/// Figures that are named where none is near the one that was asked for.
const NAMED_MAX: usize = 8;

/// The runs that a filter means. A figure that no run has at all is a mistake of the request.
pub(crate) fn listed(archive: &Archive, filter: &Filter) -> Result<Vec<Kept>, Failure> {
    let runs = archive.list(filter)?;
    let Some(metric) = filter.metric.as_deref().filter(|_| runs.is_empty()) else {
        return Ok(runs);
    };
    let names = archive.figure_names()?;
    if names.is_empty() || names.iter().any(|name| name == metric) {
        return Ok(runs);
    }
    let nearest = nearest(metric, names.iter().map(String::as_str));
    let hint = nearest.map_or_else(|| usual(&names), |meant| format!("did you mean `{meant}`?"));
    Err(Failure::bad_words(format!("no kept run has a figure `{metric}`")).hint(hint))
}

/// The figures that most runs have.
fn usual(names: &[String]) -> String {
    let shown = names.iter().take(NAMED_MAX).map(|name| format!("`{name}`"));
    let shown: Vec<String> = shown.collect();
    let more = if names.len() > NAMED_MAX { ", ..." } else { "" };
    format!("figures of kept runs: {}{more}", shown.join(", "))
}

/// The one run that was typed.
fn one(archive: &Archive, typed: &str) -> Result<RunId, Failure> {
    match keep::ids(archive, typed)?[..] {
        [id] => Ok(id),
        ref several => {
            let count = several.len();
            let message = format!("`{typed}` means {count} runs, each with its own parts");
            Err(Failure::bad_words(message)
                .hint("name one of them by the beginning of its id: drivelab history"))
        }
    }
}
