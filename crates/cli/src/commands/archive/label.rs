//! `label`: names for kept runs.

use clap::Args;
use drivelab_report::text::json_text;

use super::keep::{self, ArchiveArgs};
use crate::failure::{Exit, Failure, Outcome};
use crate::ui::Ui;

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
        return Err(Failure::bad_words("no run given")
            .hint("give the label first and then the runs: drivelab label before 01KA9Z"));
    }
    let mut archive = arguments.archive.open_to_read()?;
    let mut ids = Vec::new();
    for run in runs {
        ids.extend(keep::ids(&archive, run)?);
    }
    archive.label(&ids, label)?;
    if ui.json {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        return ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.label/1",
            "label": label,
            "runs": ids,
        })));
    }
    Ok(Exit::Done)
}
