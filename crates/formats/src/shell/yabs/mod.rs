//! The disk tests of yabs.sh: its tables, and its JSON (`-j`, `-w`), of 2019 on.
//!
//! The script divides fio's KiB/s by 1000 and calls the result MB/s; the figures here are in bytes.
//! Its fio reads and writes half and half at random, `direct=1`, with two jobs of 64 requests each.

use drivelab_core::csv::{Line, ParseError, lines, quote};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Phase, Work};
use serde::Deserialize;

use crate::found::{Found, figure, phase, put, slug};
use crate::quantity::{Comma, count, split};
use crate::sign::in_a_line;

const TABLE: &str = "fio Disk Speed Tests";
/// The bytes of its MB.
const MB: f64 = 1_024_000.0;
/// Maximum number of block sizes of a file: the script tests four.
const SIZES_MAX: usize = 1000;

/// True if a text contains such a table or document.
pub fn is_yabs(text: &str) -> bool {
    in_a_line(text, TABLE, |line| line.trim().starts_with(TABLE))
        || text.contains("\"fio\"") && text.contains("\"speed_units\"")
}

/// Reads every table of a text, or the document.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("yabs.sh");
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        document(text, &mut found)?;
    } else {
        tables(text, &mut found)?;
    }
    // The correction is not silent: other pages quote the printed MB/s.
    let note = "yabs.sh calls 1000 KiB/s one MB/s: the rates here are in bytes, 2.4 % more than its \
                MB/s read as 10⁶ bytes.";
    found.note(note.to_owned());
    found.finish("give the complete output of a `yabs.sh` that ran its disk test")
}

/// The settings of the script's fio.
fn work() -> Work {
    Work::default()
        .with("rw", "randrw")
        .with("direct", 1)
        .with("iodepth", 64)
        .with("numjobs", 2)
        .with("ioengine", "libaio")
}

fn tables(text: &str, found: &mut Found) -> Result<(), ParseError> {
    let (mut begin, mut phases, mut sizes) = (0, Vec::<Phase>::new(), Vec::new());
    let mut is_mixed = false;
    for line in lines(text)? {
        let text = line.text.trim();
        let end = if is_mixed { work() } else { Work::default() };
        if text.starts_with(TABLE) {
            found.run_of(begin, "", end, std::mem::take(&mut phases));
            begin = line.number;
            is_mixed = text.contains("Mixed R/W 50/50");
        } else if let Some(version) = text.strip_prefix("v20") {
            let version = version.trim_end_matches([' ', '#']);
            found.version(&format!("v20{version}"));
        } else if let Some(version) = text.strip_prefix("# ").map(str::trim_start)
            && version.starts_with("v20")
        {
            found.version(version.trim_end_matches([' ', '#']));
        } else if begin > 0 && text.contains('|') {
            // Tables of the network come later and have another title.
            row(line, &mut sizes, &mut phases, found)?;
        } else if begin > 0 && text.starts_with(|c: char| c.is_alphabetic()) {
            // The next part of the report.
            found.run_of(begin, "", end, std::mem::take(&mut phases));
            (begin, sizes) = (0, Vec::new());
        }
    }
    let end = if is_mixed { work() } else { Work::default() };
    found.run_of(begin, "", end, phases);
    Ok(())
}

/// `Block Size | 4k  (IOPS) | 64k  (IOPS)`, or `Read | 5.28 MB/s  (1.3k) | 63.83 MB/s  (997)`.
fn row(
    line: Line,
    sizes: &mut Vec<String>,
    phases: &mut Vec<Phase>,
    found: &mut Found,
) -> Result<(), ParseError> {
    let mut cells = line.text.trim().split('|').map(str::trim);
    let name = cells.next().unwrap_or_default();
    if name == "Block Size" {
        let words = cells.map(|cell| cell.split_whitespace().next().unwrap_or_default());
        *sizes = words.map(slug).collect();
        return Ok(());
    }
    if name.is_empty() || name.starts_with('-') {
        return Ok(());
    }
    let kind = if name == "Total" { String::new() } else { format!("{}_", slug(name)) };
    for (size, cell) in sizes.iter().zip(cells) {
        match figures(cell, &kind) {
            Some(figures) if figures.iter().all(|figure| figure.value > 0.0) => {
                add(phases, size, figures, line.number)?;
            }
            // The script prints a sum of zero where fio did not run.
            Some(_) => found.unread(line.number, "no requests: fio did not run"),
            // A size that was not tested has an empty cell.
            None if cell.is_empty() => {}
            None => found.unread(line.number, &format!("{} is not a rate", quote(cell))),
        }
    }
    Ok(())
}

/// `63.83 MB/s  (997)`.
fn figures(cell: &str, kind: &str) -> Option<[Figure; 2]> {
    let (rate, iops) = cell.split_once('(')?;
    let (value, unit) = split(rate, Comma::Decimal)?;
    let unit = match unit {
        "GB/s" => MB * 1e3,
        "MB/s" => MB,
        "KB/s" => MB / 1e3,
        _ => return None,
    };
    Some(rates(kind, count(iops.trim().strip_suffix(')')?)?, value * unit))
}

fn rates(kind: &str, iops: f64, bytes_per_s: f64) -> [Figure; 2] {
    [
        figure(&format!("{kind}iops"), iops, "1/s", Better::More),
        figure(&format!("{kind}bytes_per_s"), bytes_per_s, "B/s", Better::More),
    ]
}

fn add(
    phases: &mut Vec<Phase>,
    size: &str,
    more: [Figure; 2],
    line: usize,
) -> Result<(), ParseError> {
    let known = phases.iter().position(|phase| phase.name == size);
    let at = known.unwrap_or(phases.len());
    if known.is_none() {
        put(phases, phase(size, Nature::Disk, Vec::new()), line)?;
    }
    assert!(at < phases.len(), "the phase was added above");
    for figure in more {
        put(&mut phases[at].figures, figure, line)?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    version: String,
    #[serde(default, deserialize_with = "crate::json::first::<SIZES_MAX, _, _>")]
    fio: crate::json::First<Size>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Size {
    bs: String,
    speed_r: f64,
    iops_r: f64,
    speed_w: f64,
    iops_w: f64,
    speed_rw: f64,
    iops_rw: f64,
}

fn document(text: &str, found: &mut Found) -> Result<(), ParseError> {
    let text = text.trim_start_matches('\u{feff}');
    let document: Document = serde_json::from_str(text).map_err(|error| {
        let hint = "give the complete JSON that `yabs.sh -j` prints";
        ParseError::new(error.line(), "not a result of yabs.sh", hint)
    })?;
    found.version(&document.version);
    let mut phases = Vec::new();
    for size in &document.fio.kept {
        // `_rw` is the sum of both, as in the table's `Total`.
        let sides = [
            ("read_", size.iops_r, size.speed_r),
            ("write_", size.iops_w, size.speed_w),
            ("", size.iops_rw, size.speed_rw),
        ];
        for (kind, iops, kib) in sides {
            // KBps are those of fio: KiB/s.
            let is_number = [iops, kib].iter().all(|it| it.is_finite() && (0.0..1e15).contains(it));
            if is_number && iops > 0.0 {
                add(&mut phases, &slug(&size.bs), rates(kind, iops, kib * 1024.0), 1)?;
            }
        }
    }
    found.run_of(1, "", work(), phases);
    Ok(())
}

#[cfg(test)]
mod tests;
