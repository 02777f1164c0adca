//! `delete`: removes kept runs.

use clap::Args;
use drivelab_report::text::json_text;

use super::keep::ArchiveArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::{self, Ui};
use drivelab_archive::{Archive, Filter, RunId};
use drivelab_core::{Refusal, counted};
use drivelab_lab::archive;

/// Delete kept runs from the archive, after confirmation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab delete 01KA9Z
  drivelab delete 01KA9Z 01KA9X --yes
  drivelab delete label:scratch                 all runs with this label or tag")]
pub(crate) struct DeleteArgs {
    /// The runs: the beginning of an id, label:NAME, or @WHEN[,key=value...].
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    archive: ArchiveArgs,
}

/// Deletes the runs.
pub(crate) fn run(arguments: &DeleteArgs, ui: Ui) -> Outcome {
    let mut archive = arguments.archive.open_to_read()?;
    let mut ids = Vec::new();
    for run in &arguments.runs {
        ids.extend(archive::ids(&archive, run)?);
    }
    // Two words may name the same run, which counts once in the question.
    ids.sort_unstable();
    ids.dedup();
    if !arguments.yes {
        let runs = if ids.len() == 1 { "run" } else { "runs" };
        match ui::confirm(&format!("delete {} {runs} for good?", ids.len())) {
            Some(true) => {}
            Some(false) => return Ok(Exit::Done),
            None => {
                let message = format!("no terminal to ask on before deleting {} {runs}", ids.len());
                return Err(Refusal::request(message).hint("delete without being asked: --yes"));
            }
        }
    }
    let deleted = words(&archive, &ids)?;
    archive.delete(&ids)?;
    if ui.json {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        return ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.delete/1",
            "deleted": ids,
        })));
    }
    ui.result(&deleted)?;
    Ok(Exit::Done)
}

/// Deleted runs that are listed.
const LISTED_MAX: usize = 20;

/// The runs in words, a line each; read while they are there.
fn words(archive: &Archive, ids: &[RunId]) -> Result<String, Refusal> {
    let listed: Vec<String> = ids.iter().take(LISTED_MAX).map(ToString::to_string).collect();
    let mut text = String::new();
    for run in archive.listed(&Filter::default(), &listed)?.runs {
        let label = run.label.map_or_else(String::new, |label| format!("  {label}"));
        text.push_str(&format!("deleted {}  {}{label}\n", run.id, run.target));
    }
    let more = ids.len().saturating_sub(LISTED_MAX) as u64;
    if more > 0 {
        text.push_str(&format!("deleted {} more\n", counted(more, "run")));
    }
    Ok(text)
}
