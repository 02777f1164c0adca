//! The result of a sweep as a file, by the ending of its name.

use std::path::Path;

use drivelab_analysis::outcome::validity;
use drivelab_core::Refusal;
use drivelab_core::config::Choice as _;
use drivelab_formats::export::table::{self, Column, Values};
use drivelab_report::publish::Format;
use drivelab_report::sweep::{Swept, page, picture};
use drivelab_report::text::{Look, for_terminal, json_text};
use drivelab_study::sweep::{Figures, Kept};

use super::Modelled;

/// The look of text in a file.
const LOOK: Look = Look { width: 100, colour: false };

/// The content of the file `out`; `file` is the sweep file.
pub fn document(
    modelled: &Modelled,
    kept: &Kept,
    file: &Path,
    out: &Path,
) -> Result<Vec<u8>, Refusal> {
    let ending = out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if ending == "parquet" {
        return table::parquet(&columns(modelled, kept));
    }
    let format = Format::from_name(ending).ok();
    let text = rendered(&modelled.swept(kept), format, file).transpose()?;
    text.map(String::into_bytes).ok_or_else(|| {
        let message = format!("`{}` is no format of a sweep", out.display());
        Refusal::request(message).hint("end the name in .html, .svg, .csv, .json, .txt or .parquet")
    })
}

/// The result in a format; `None` in one that a sweep does not have.
fn rendered(swept: &Swept, format: Option<Format>, file: &Path) -> Option<Result<String, Refusal>> {
    Some(Ok(match format? {
        Format::Html => page(swept, &format!("drivelab sweep {}", file.display())),
        Format::Svg => {
            return Some(picture(swept).ok_or_else(|| {
                Refusal::machine("there is nothing to draw yet")
                    .hint("make more points: `drivelab sweep report FILE` says what is missing")
            }));
        }
        Format::Csv => swept.csv(),
        Format::Json => json_text(&swept.json()),
        Format::Txt => for_terminal(&swept.text(LOOK), false),
        Format::Md => return None,
    }))
}

/// The column with what is wrong with a row; empty where nothing is.
const FLAWS: &str = "flaws";

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
    add(FLAWS, Values::Texts(rows().map(|row| validity::in_words(&row.flaws)).collect()));
    columns
}
