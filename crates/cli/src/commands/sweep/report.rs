//! `sweep report`: which factor matters, in any form.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::config::Choice as _;
use drivelab_formats::export::table::{self, Column, Values};
use drivelab_report::publish::Format;
use drivelab_report::sweep::{Swept, page, picture};
use drivelab_report::text::{Look, for_terminal, json_text};
use drivelab_study::sweep::{Figures, Kept};

use super::modelled::Modelled;
use super::rows::RowsArgs;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::Ui;
use drivelab_core::Refusal;

/// The look of text in a file.
const LOOK: Look = Look { width: 100, colour: false };

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
    let modelled = Modelled::read(&arguments.file)?;
    let kept = made(&modelled, &arguments.file, &arguments.rows, ui)?;
    let Some(out) = &arguments.out else { return show(&modelled.swept(&kept), ui) };
    if ending(out) == "parquet" {
        output::refuse_other(out, &output::TABLE)?;
        let bytes = table::parquet(&columns(&modelled, &kept))?;
        output::write(out, &bytes, &output::TABLE)?;
    } else {
        output::refuse_other(out, &output::REPORT)?;
        let text = rendered(&modelled.swept(&kept), &arguments.file, out)?;
        output::write(out, &text, &output::REPORT)?;
    }
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
    let kept = modelled.kept(&rows.folder(file), &modelled.points()?)?;
    if kept.rows.is_empty() {
        let file = file.display();
        return Err(Refusal::request(format!("no point of `{file}` has been made"))
            .hint(format!("make them: drivelab sweep {file}")));
    }
    if kept.foreign > 0 {
        ui.warn(&format!(
            "{} rows are damaged, or of another sweep, drive or version: they do not count",
            kept.foreign
        ));
    }
    Ok(kept)
}

fn ending(out: &Path) -> &str {
    out.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

fn rendered(swept: &Swept, file: &Path, out: &Path) -> Result<String, Refusal> {
    Ok(match Format::from_name(ending(out)) {
        Ok(Format::Html) => page(swept, &format!("drivelab sweep {}", file.display())),
        Ok(Format::Svg) => picture(swept).ok_or_else(|| {
            Refusal::machine("there is nothing to draw yet")
                .hint("make more points: `drivelab sweep report FILE` says what is missing")
        })?,
        Ok(Format::Csv) => swept.csv(),
        Ok(Format::Json) => json_text(&swept.json()),
        Ok(Format::Txt) => for_terminal(&swept.text(LOOK), false),
        _ => {
            let message = format!("`{}` is no format of a sweep", out.display());
            return Err(Refusal::request(message)
                .hint("end the name in .html, .svg, .csv, .json, .txt or .parquet"));
        }
    })
}

/// All rows by columns, under the names that they have in the files of rows.
fn columns(modelled: &Modelled, kept: &Kept) -> Vec<Column> {
    let rows = || kept.rows.values();
    let points = rows().map(|row| i64::from(row.point)).collect();
    let keys = rows().map(|row| row.key.clone()).collect();
    let mut columns: Vec<Column> = Vec::new();
    let mut add = |name: &str, values| {
        // An unknown of a profile may have the name of an option.
        let mut name = name.to_owned();
        while columns.iter().any(|column| column.name == name) {
            name.push('_');
        }
        columns.push(Column { name, values });
    };
    add("point", Values::Counts(points));
    add("key", Values::Texts(keys));
    for parameter in &modelled.sweep.parameters {
        let words = || rows().map(|row| &row.parameters[&parameter.name]);
        add(
            &parameter.name,
            if parameter.is_number() {
                Values::Numbers(words().map(|word| word.parse().unwrap_or(f64::NAN)).collect())
            } else {
                Values::Texts(words().cloned().collect())
            },
        );
    }
    let unknowns = rows().next().map(|row| row.unknowns.keys()).into_iter().flatten();
    for name in unknowns {
        let values = rows().map(|row| row.unknowns.get(name).copied().unwrap_or(f64::NAN));
        add(name, Values::Numbers(values.collect()));
    }
    for name in Figures::NAMES {
        add(name, Values::Numbers(rows().map(|row| row.figures.get(name)).collect()));
    }
    columns
}
