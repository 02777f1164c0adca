//! `advise`: which traps of published comparisons apply to this machine.

use clap::Args;
use drivelab_report::text::{json_text, outline};

use super::causes;
use super::scope::{self, Scope};
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_core::Refusal;

/// Show which traps of published comparisons apply here, and the commands that settle each.
///
/// Reads what `inspect` reads, opens no disk and changes nothing. A trap applies if a setting of
/// this machine is one that misled a published comparison; others must be observed by any benchmark
/// on these disks.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab advise
  drivelab advise sda --json
  drivelab advise --root captured --strict           exit code 1 if a trap applies")]
pub(crate) struct AdviseArgs {
    #[command(flatten)]
    scope: Scope,

    /// Exit with 1 if a trap applies
    #[arg(long)]
    strict: bool,
}

/// Advises.
pub(crate) fn run(arguments: &AdviseArgs, ui: Ui) -> Outcome {
    let mut subject = arguments.scope.subject()?;
    let found = subject.inspect()?;
    scope::refuse_nothing(&found, &subject.reader)?;
    let advice = drivelab_host::advise(&found);
    let causes = causes::of(&found)?;
    if ui.json {
        let mut json = serde_json::to_value(&advice).map_err(Refusal::request_error)?;
        json["causes"] = serde_json::to_value(&causes).map_err(Refusal::request_error)?;
        ui.result(&json_text(&json))?;
    } else {
        let mut lines = drivelab_host::advised(&advice);
        // The last line is about the whole.
        let at = lines.len().saturating_sub(1);
        lines.splice(at..at, causes::lines(&causes));
        ui.result(&outline(&lines, ui.look()))?;
    }
    Ok(if arguments.strict && advice.has_trap() { Exit::No } else { Exit::Done })
}
