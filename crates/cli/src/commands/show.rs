//! `show`: a result in words.

use clap::Args;
use drivelab_archive::Detail;
use drivelab_report::cost::CostReport;
use drivelab_report::text::{json_text, outline};
use drivelab_report::{article, cells, imported, run, study};

use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::study::again::{self, Again};
use crate::exit::Outcome;
use crate::ui::Ui;
use drivelab_core::Refusal;
use drivelab_lab::results::{self, Content};

/// Show a result: kept runs, another tool's file, or the figures of a published comparison.
///
/// article:0 to article:4 are five published comparisons of storage settings, with what may and
/// what may not be concluded from their figures.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab show 01KA9Z                 a kept run, by the beginning of its id
  drivelab show label:before
  drivelab show drivelab-results/ahci-or-ide
  drivelab show article:1
  drivelab show run.json")]
pub(crate) struct ShowArgs {
    /// A kept run, label:NAME, @WHEN, a file of stored runs or of another tool, a results folder,
    /// or article:N.
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
    let archive = arguments.archive.location();
    let found = results::find(arguments.what.as_ref(), None, (&archive, Detail::All))?;
    if !ui.json {
        let texts: Result<Vec<String>, Refusal> = found.iter().map(|it| text(it, ui)).collect();
        return ui.result(&texts?.join("\n"));
    }
    match &found[..] {
        [Content::Runs(runs)] if runs.len() > 1 => Err(several(&arguments.what, runs.len())),
        [one] => ui.result(&json(one)?),
        several => Err(self::several(&arguments.what, several.len())),
    }
}

fn several(what: &str, count: usize) -> Refusal {
    let message = format!("`{what}` holds {count} runs");
    Refusal::request(message).hint("show it without --json")
}

fn text(content: &Content, ui: Ui) -> Result<String, Refusal> {
    let look = ui.look();
    Ok(match content {
        Content::Runs(runs) => {
            let texts: Vec<String> = runs.iter().map(|it| run::text(&it.record, look)).collect();
            texts.join("\n")
        }
        Content::Results(results) => imported::text(results, look),
        Content::Study(kept, _) => match again::analysed(kept)? {
            Again::Study(result) => study::text(&result, look),
            Again::Matrix(matrix) => cells::text(&matrix, &again::cell_runs(&kept.runs), look),
        },
        Content::Jobs(_, records) => run::jobs_text(records, look),
        Content::Measurement(file, _) => file.clone(),
        Content::Bill(bill) => CostReport::of((**bill).clone()).to_text(look),
        Content::Collection(collected) => {
            let inspection = outline(&drivelab_host::outline(&collected.inspection), look);
            let runs = run::jobs_text(&collected.records(), look);
            format!("{}\n{inspection}\n{runs}", collected.host)
        }
    })
}

fn json(content: &Content) -> Result<String, Refusal> {
    Ok(match content {
        Content::Runs(runs) => {
            serde_json::to_string_pretty(&runs[0].record).expect("plain data is always JSON")
        }
        Content::Results(results) => imported::json(results),
        Content::Study(kept, _) => match again::analysed(kept)? {
            Again::Study(result) => study::json(&result),
            Again::Matrix(matrix) => cells::json(&matrix, &again::cell_runs(&kept.runs)),
        },
        Content::Jobs(printed, _) | Content::Measurement(_, printed) => json_text(printed),
        Content::Bill(bill) => json_text(&CostReport::of((**bill).clone()).to_json()),
        Content::Collection(collected) => {
            let document = serde_json::from_str(&collected.document());
            json_text(&document.expect("plain data is always JSON"))
        }
    })
}
