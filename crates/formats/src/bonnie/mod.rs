//! bonnie++: CSV formats 1.03, 1.96, 1.97 and 1.98 (program versions 1.03 to 2.00), the tables of
//! 1.96 to 2.00, and CSV of format 1.98 out.
//!
//! Facts about the tool come from its source (Debian package `bonnie++` 2.00a+nmu1 and the older
//! ones) and from runs of it. Its own header line is wrong in 1.98, and its converters refuse any
//! other version's lines, so columns are found by version and number.

mod column;
mod layout;
mod meaning;
mod row;
mod table;
mod value;
mod write;

pub use write::write;

use std::collections::BTreeMap;

use column::{Kind, PHASES};
use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Figure, Nature, Phase, Work, size};
use row::Row;
use value::Value;

use crate::found::Found;
use crate::sign::in_a_line;

const HINT: &str =
    "the CSV line is the last line of bonnie++'s output, or its only output with `-q`";

/// True if a text contains a line of bonnie++ CSV, complete or truncated, or one of its tables.
pub fn is_bonnie(text: &str) -> bool {
    in_a_line(text, ",", layout::is_csv) || has_table(text)
}

/// True if a text contains the heading of one of its tables.
pub fn has_table(text: &str) -> bool {
    in_a_line(text, "------", table::is_heading)
}

/// Reads every line of CSV of a text, and skips the tables above it, which are rounded. If there is
/// no line of CSV, it reads the tables.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("bonnie++");
    let all = lines(text)?;
    if !all.clone().any(|line| layout::is_csv(line.text)) {
        table::read(all, &mut found, add);
        return found.finish(HINT);
    }
    let mut in_table = false;
    for line in all {
        in_table |= table::is_heading(line.text);
        if layout::is_csv(line.text) {
            in_table = false;
            if found.is_full() {
                found.drop_run();
                continue;
            }
            match layout::read(line) {
                Err(error) => found.damaged(error),
                Ok((row, notes)) => {
                    for note in notes {
                        found.note(note);
                    }
                    add(row, &mut found);
                }
            }
        } else if !in_table && !layout::is_header(line.text) {
            found.unknown(line.number, line.text);
        }
    }
    found.finish(HINT)
}

/// Adds a run with the meaning of its numbers.
fn add(mut row: Row, found: &mut Found) {
    // A line of CSV in which every column is empty: the tool was called without a phase.
    if row.is_empty() {
        return found.unread(row.line, "a run without figures");
    }
    found.version(&row.tool_version);
    let too_fast = row.too_fast().join(", ");
    if !too_fast.is_empty() {
        let what =
            format!("`+++++` for {too_fast}: done in under half a second, too fast to measure");
        found.unread(row.line, &what);
        row.option(row::TOO_FAST, &too_fast);
    }
    let version = row.tool_version.clone();
    row.option("bonnie_version", &version);
    let run = meaning::Run::new(&row);
    let mut phases = Vec::with_capacity(PHASES.len());
    for (index, phase) in PHASES.iter().enumerate() {
        let mut figures = Vec::new();
        for part in column::parts(phase) {
            // If the rate is missing, so is the load.
            let Value::Number(value) = row.value(index, part.kind) else { continue };
            figures.push(Figure {
                name: part.name,
                value,
                unit: part.unit.into(),
                better: part.kind.better(),
                nature: (part.kind == Kind::Cpu).then_some(Nature::Cpu),
                is_detail: part.kind != Kind::Rate,
                remarks: run.defect(phase, part.kind).into_iter().collect(),
            });
        }
        let meaning::Meaning { nature, remarks } = run.meaning(phase, index);
        let (name, points) = (phase.name.into(), Vec::new());
        phases.push(Phase { name, nature, figures, lat_ns: None, points, remarks });
    }
    let Row { line, machine: arm, setup, .. } = row;
    let work_done = work(&setup);
    found.add(ImportedRun { line, arm, setup, work: work_done, phases, ..ImportedRun::default() });
}

/// The settings that are work, including the defaults that bonnie++ omits.
fn work(setup: &BTreeMap<String, String>) -> Work {
    const OF_FILE: [(&str, &str, &str); 4] = [
        ("file_size", "size", ""),
        ("io_chunk_size", "chunk", "8k"),
        ("seeks", "seeks", ""),
        ("seek_procs", "seek_procs", ""),
    ];
    const OF_NAMES: [(&str, &str, &str); 5] = [
        ("num_files", "num_files", ""),
        ("max_size", "max_size", "0"),
        ("min_size", "min_size", "0"),
        ("num_dirs", "num_dirs", "1"),
        ("file_chunk_size", "file_chunk_size", "8k"),
    ];
    let mut work = Work::default();
    work.set("concurrency", setup.get("concurrency").map_or("", String::as_str));
    for (given, keys) in [("file_size", &OF_FILE[..]), ("num_files", &OF_NAMES)] {
        if setup.contains_key(given) {
            for (name, key, default) in keys {
                let value = setup.get(*name).map_or(*default, String::as_str);
                let is_count = ["seeks", "num_files"].contains(key);
                work.set(key, if is_count { value.to_owned() } else { size(value) });
            }
        }
    }
    work
}

#[cfg(test)]
mod tests;
