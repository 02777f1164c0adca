//! `label`: names for kept runs.

use std::collections::BTreeMap;

use clap::Args;
use drivelab_archive::{AT_ONCE, Archive, Filter, RunId};
use drivelab_report::text::json_text;

use super::keep::ArchiveArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_core::Refusal;
use drivelab_lab::archive;

/// Give kept runs a label, or remove it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab label before 01KA9Z 01KA9X
  drivelab label before label:tmp               another name for all runs of a label
  drivelab label --remove 01KA9Z")]
pub(crate) struct LabelArgs {
    /// The label, then the runs: the beginning of an id, label:NAME, or @WHEN[,key=value...]; with
    /// --remove the runs alone.
    #[arg(required = true, value_name = "LABEL RUN")]
    words: Vec<String>,
    /// Take the label away.
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    archive: ArchiveArgs,
}

/// Labels the runs.
pub(crate) fn run(arguments: &LabelArgs, ui: Ui) -> Outcome {
    let (label, runs) = match arguments.words.split_first() {
        Some((label, runs)) if !arguments.remove => (Some(label.as_str()), runs),
        _ => (None, &arguments.words[..]),
    };
    if runs.is_empty() {
        return Err(Refusal::request("no run given")
            .hint("give the label first and then the runs: drivelab label before 01KA9Z"));
    }
    let mut archive = arguments.archive.open_to_read()?;
    let mut ids = Vec::new();
    for run in runs {
        ids.extend(archive::ids(&archive, run)?);
    }
    // Looked up first: afterwards nothing says what the labels were.
    let lost = replaced(&archive, &ids, label)?;
    archive.label(&ids, label)?;
    for (old, count) in &lost {
        let runs = if *count == 1 { "run" } else { "runs" };
        ui.note(&format!("replaced the label `{old}` of {count} {runs}"));
    }
    if ui.json {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        return ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.label/1",
            "label": label,
            "runs": ids,
            "replaced": lost,
        })));
    }
    Ok(Exit::Done)
}

/// The labels that runs lose, each with the number of runs.
fn replaced(
    archive: &Archive,
    ids: &[RunId],
    label: Option<&str>,
) -> Result<BTreeMap<String, usize>, Refusal> {
    let mut replaced = BTreeMap::new();
    for ids in ids.chunks(AT_ONCE) {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        for run in archive.listed(&Filter::default(), &ids)?.runs {
            if let Some(old) = run.label.filter(|old| Some(old.as_str()) != label) {
                *replaced.entry(old).or_insert(0) += 1;
            }
        }
    }
    Ok(replaced)
}
