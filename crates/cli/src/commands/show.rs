//! `show`: a result in words.

use clap::Args;
use drivelab_report::{article, imported, run};

use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::results::{self, Content};
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// Show a result: kept runs, another tool's file, or the figures of a published comparison.
///
/// article:0 to article:4 are five published comparisons of storage settings, with what may and
/// what may not be concluded from their figures.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab show 01KA9Z                 a kept run, by the beginning of its id
  drivelab show label:before
  drivelab show article:1
  drivelab show run.json")]
pub(crate) struct ShowArgs {
    /// A kept run, label:NAME, a file of stored runs or of another tool, a results folder, or
    /// article:N.
    #[arg(value_name = "RUN|article:N")]
    what: String,
    #[command(flatten)]
    archive: ArchiveArgs,
}

/// Shows it.
pub(crate) fn run(arguments: &ShowArgs, ui: Ui) -> Outcome {
    if let Some(number) = arguments.what.strip_prefix("article:") {
        let article = article::article(number)?;
        let text =
            if ui.json { article::json(&article) } else { article::text(&article, ui.look()) };
        return ui.result(&text);
    }
    match results::find(arguments.what.as_ref(), None, &arguments.archive)? {
        Content::Runs(runs) if ui.json => {
            let [run] = &runs[..] else {
                let message = format!("`{}` holds {} runs", arguments.what, runs.len());
                return Err(Failure::bad_words(message).hint("show it without --json"));
            };
            let json = serde_json::to_string_pretty(run).expect("plain data is always JSON");
            ui.result(&json)
        }
        Content::Runs(runs) => {
            let texts: Vec<String> = runs.iter().map(|it| run::text(it, ui.look())).collect();
            ui.result(&texts.join("\n"))
        }
        Content::Results(results) if ui.json => ui.result(&imported::json(&results)),
        Content::Results(results) => ui.result(&imported::text(&results, ui.look())),
    }
}
