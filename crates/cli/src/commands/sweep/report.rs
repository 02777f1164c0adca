//! `sweep report`: which factor matters, in any form.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::Refusal;
use drivelab_lab::sweep::{Modelled, document};
use drivelab_report::sweep::Swept;
use drivelab_report::text::json_text;
use drivelab_study::sweep::Kept;

use super::rows::RowsArgs;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::Ui;

/// Say which factor matters, from the points made so far.
#[derive(Debug, Args)]
pub(super) struct SweepReportArgs {
    /// The sweep file.
    file: PathBuf,
    /// Write it to a file, by its ending: html, svg, csv, json or txt; or parquet, a row a point.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    rows: RowsArgs,
}

/// Reads the rows, and says what follows.
pub(super) fn run(arguments: &SweepReportArgs, ui: Ui) -> Outcome {
    let SweepReportArgs { file, out, rows } = arguments;
    let modelled = Modelled::read(file)?;
    let kept = made(&modelled, file, rows, ui)?;
    let Some(out) = out else { return show(&modelled.swept(&kept), ui) };
    let is_table = out.extension().is_some_and(|ending| ending == "parquet");
    let kind = if is_table { &output::TABLE } else { &output::REPORT };
    output::refuse_other(out, kind)?;
    output::write(out, &document(&modelled, &kept, file, out)?, kind)?;
    ui.note(&format!("report: {}", out.display()));
    Ok(Exit::Done)
}

/// Prints what the points say.
pub(crate) fn show(swept: &Swept, ui: Ui) -> Outcome {
    if ui.json {
        return ui.result(&json_text(&swept.json()));
    }
    ui.result(swept.text(ui.look()).trim_end_matches('\n'))
}

/// The rows made so far; at least one.
pub(super) fn made(
    modelled: &Modelled,
    file: &Path,
    rows: &RowsArgs,
    ui: Ui,
) -> Result<Kept, Refusal> {
    let kept = modelled.finished(file, &rows.folder(file))?;
    if kept.foreign > 0 {
        ui.warn(&format!(
            "{} rows are damaged, or of another sweep, drive or version: they do not count",
            kept.foreign
        ));
    }
    Ok(kept)
}
