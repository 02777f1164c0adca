//! bonnie++ CSV lines: formats 1.03, 1.96, 1.97 and 1.98 (program versions 1.03 to 2.00).
//!
//! Facts about the tool come from its source (Debian package `bonnie++` 2.00a+nmu1 and the older
//! ones) and from runs of it. Its own header line is wrong in 1.98, and its converters refuse any
//! other version's lines, so columns are found by version and number.

mod column;
mod layout;
mod meaning;
mod value;

use column::{Kind, PHASES};
use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Figure, Nature, Phase};
use layout::Layout;
use value::Value;

/// Whether a text holds a line of bonnie++ CSV, whole or cut off.
pub fn is_bonnie(text: &str) -> bool {
    lines(text).is_ok_and(|lines| lines.iter().any(|line| layout::is_csv(line.text)))
}

/// Reads every CSV line of a text; the tables that bonnie++ prints above it are passed over.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut imported = Imported { tool: "bonnie++".into(), ..Imported::default() };
    let mut versions: Vec<String> = Vec::new();
    let mut found = false;
    for line in lines(text)? {
        if layout::is_header(line.text) {
            continue;
        }
        if !layout::is_csv(line.text) {
            imported.unknown.push(format!("line {}: text, not CSV", line.number));
            continue;
        }
        found = true;
        let layout = Layout::new(line)?;
        if !versions.contains(&layout.tool_version) {
            versions.push(layout.tool_version.clone());
        }
        read_line(line, &layout, &mut imported)?;
    }
    if !found {
        let hint = "the CSV line is the last line of bonnie++'s output, or its only output with \
                    `-q`";
        return Err(ParseError::new(0, "it contains no bonnie++ CSV line", hint));
    }
    imported.tool_version = versions.join(", ");
    Ok(imported)
}

fn read_line(line: Line, layout: &Layout, imported: &mut Imported) -> Result<(), ParseError> {
    imported.notes.extend(layout.notes(line.number));
    let run = meaning::Run::new(line, layout)?;
    let mut too_fast: Vec<String> = Vec::new();
    let mut phases = Vec::new();
    for (place, phase) in PHASES.iter().enumerate() {
        let mut figures = Vec::new();
        for part in column::parts(phase) {
            let Some(column) = layout.column(place, part.kind) else { continue };
            let read = value::read(&layout.fields[column], part.kind).map_err(|what| {
                let hint = format!("bonnie++ writes {} here", part.kind.expected());
                let what = format!("{what} ({})", part.name);
                // Columns are counted as they stand in the file.
                ParseError::new(line.number, what, hint).at(layout.in_file(column))
            })?;
            match read {
                // Where the rate is missing, so is the load.
                Value::TooFast if part.kind == Kind::Rate => too_fast.push(part.name),
                Value::TooFast | Value::NotRun => {}
                Value::Number(value) => figures.push(Figure {
                    name: part.name,
                    value,
                    unit: part.unit.into(),
                    better: part.kind.better(),
                    nature: (part.kind == Kind::Cpu).then_some(Nature::Cpu),
                    is_detail: part.kind != Kind::Rate,
                    remarks: run.defect(phase, part.kind).into_iter().collect(),
                }),
            }
        }
        if !figures.is_empty() {
            let meaning::Meaning { nature, remarks } = run.meaning(phase, place);
            let (name, points) = (phase.name.into(), Vec::new());
            phases.push(Phase { name, nature, figures, lat_ns: None, points, remarks });
        }
    }
    if !phases.is_empty() {
        let arm = layout.machine.clone();
        imported.runs.push(ImportedRun { line: line.number, arm, phases });
    }
    if !too_fast.is_empty() {
        imported.unknown.push(format!(
            "line {}: `+++++` for {}: done in under half a second, too fast to measure",
            line.number,
            too_fast.join(", ")
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
