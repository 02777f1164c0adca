//! elbencho's result table, and its file of results (`--csvfile`), versions 1 to 3.
//!
//! `LAST DONE` counts until the last thread finished, as other tools do; `FIRST DONE`, until the
//! first one did, is left out.

use drivelab_core::csv::{Line, ParseError, fields, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Phase, Work};

use crate::found::{Found, decimal, figure, labelled, phase, put, slug, transfer};
use crate::quantity::MIB;
use crate::sign::in_a_line;

/// The beginning of a table's title: the columns are as wide as the names in them.
const TITLE: [&str; 4] = ["OPERATION", "RESULT", "TYPE", "FIRST"];
/// Words of a line that may be a title.
const TITLE_WORDS_MAX: usize = 20;
/// Maximum number of columns of a file of results; elbencho 3 has a hundred.
const COLUMNS_MAX: usize = 300;

fn is_title(line: &str) -> bool {
    // A log has a time or a host before it.
    let words: Vec<&str> = line.split_whitespace().take(TITLE_WORDS_MAX).collect();
    words.windows(TITLE.len()).any(|title| title == TITLE)
}

/// The columns of a file of results.
fn is_header(line: &str) -> bool {
    line.contains("ISO date,") && line.contains(",operation,") && line.contains("[last]")
}

/// True if a text contains a table or such a file.
pub fn is_elbencho(text: &str) -> bool {
    in_a_line(text, TITLE[0], is_title) || in_a_line(text, "ISO date,", is_header)
}

/// Reads every table of a text, each as a run, or every line of a file of results.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("elbencho");
    let (mut begin, mut phases, mut columns) = (0, Vec::<Phase>::new(), Vec::new());
    let (mut command, mut width) = (Command::default(), 0);
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(given) = text.strip_prefix("COMMAND LINE:") {
            command.finish(begin, std::mem::take(&mut phases), &mut found);
            (begin, command) = (0, Command::read(given));
        } else if is_title(text) {
            command.finish(begin, std::mem::take(&mut phases), &mut found);
            begin = line.number;
            // Its last column is that of the value which is read.
            let is_aligned = line.text.contains("DONE  LAST DONE");
            width = if is_aligned { line.text.trim_end().chars().count() } else { 0 };
        } else if is_header(text) {
            columns = fields(line)?;
            // Every line is compared with all of them.
            columns.truncate(COLUMNS_MAX);
        } else if !columns.is_empty() {
            csv(line, &columns, &mut found)?;
        } else if begin > 0 {
            row(line, width, &mut phases, &mut found)?;
        }
    }
    command.finish(begin, phases, &mut found);
    found.finish("give the complete output of a call of `elbencho` that finished")
}

/// The command line that elbencho writes above its table.
#[derive(Debug, Default)]
struct Command {
    is_known: bool,
    is_direct: bool,
    work: Work,
}

impl Command {
    fn read(text: &str) -> Self {
        let mut command = Self { is_known: true, ..Self::default() };
        let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches('"')).collect();
        command.is_direct = words.contains(&"--direct");
        for pair in words.windows(2) {
            match pair[0] {
                "-t" | "--threads" => command.work.set("threads", pair[1]),
                "--iodepth" => command.work.set("iodepth", pair[1]),
                "-s" | "--size" => command.work.set_size("size", pair[1]),
                "-b" | "--block" => command.work.set_size("bs", pair[1]),
                _ => {}
            }
        }
        command.work.set_switch("direct", command.is_direct);
        command
    }

    fn finish(&self, line: usize, phases: Vec<Phase>, found: &mut Found) {
        if !self.is_known && !phases.is_empty() {
            let note = "elbencho's table does not say whether the page cache was bypassed \
                        (`--direct`).";
            found.note(note.to_owned());
        }
        let phases = phases.into_iter().map(|phase| {
            phase_of(&phase.name, phase.figures, self.is_known.then_some(self.is_direct))
        });
        found.run_of(line, "", self.work.clone(), phases.collect());
    }
}

/// The nature of an operation, if the command states whether it bypassed the page cache.
fn phase_of(name: &str, figures: Vec<Figure>, direct: Option<bool>) -> Phase {
    let rate = figures.iter().find(|figure| figure.name == "bytes_per_s").map(|it| it.value);
    match (rate, direct) {
        // Many hosts, or many devices of one, may be faster than any single device.
        (Some(_), Some(true)) => phase(name, Nature::Disk, figures),
        (Some(rate), None) => transfer(name, rate, figures),
        (Some(_), Some(false)) => {
            let why = "without `--direct` the page cache may have answered";
            labelled(name, Nature::PageCache, why, figures)
        }
        (None, _) => labelled(name, Nature::PageCache, super::METADATA, figures),
    }
}

/// `WRITE     Elapsed ms       :      84135     110109`; the lines below it have no operation.
fn row(
    line: Line,
    width: usize,
    phases: &mut Vec<Phase>,
    found: &mut Found,
) -> Result<(), ParseError> {
    let Some((key, value)) = line.text.trim_end().split_once(" : ") else { return Ok(()) };
    // Lines that belong to the operation above are indented.
    let is_operation = !line.text.starts_with(' ');
    let (operation, what) = match key.trim().split_once(' ').filter(|_| is_operation) {
        Some((operation, what)) => (operation, what.trim()),
        None => ("", key.trim()),
    };
    if !operation.is_empty() {
        let name = slug(operation);
        put(phases, phase_of(&name, Vec::new(), None), line.number)?;
    }
    let Some(phase) = phases.last_mut() else { return Ok(()) };
    let Some((name, factor, unit)) = meaning(what) else { return Ok(()) };
    // Each row has two values, of which the last one counts.
    if line.text.trim_end().chars().count() < width || value.split_whitespace().count() < 2 {
        found.unread(line.number, "a row that is cut off");
        return Ok(());
    }
    match value.split_whitespace().next_back().and_then(decimal) {
        Some(value) if value > 0.0 => {
            put(&mut phase.figures, figure(name, value * factor, unit, Better::More), line.number)
        }
        Some(_) => Ok(()),
        None => {
            found.unknown(line.number, line.text);
            Ok(())
        }
    }
}

/// The name, factor and unit of a rate.
fn meaning(what: &str) -> Option<(&'static str, f64, &'static str)> {
    Some(match what {
        "IOPS" => ("iops", 1.0, "1/s"),
        "Throughput MiB/s" | "MiB/s" => ("bytes_per_s", MIB, "B/s"),
        "Files/s" => ("files", 1.0, "1/s"),
        "Objects/s" => ("objects", 1.0, "1/s"),
        "Dirs/s" => ("directories", 1.0, "1/s"),
        "entries/s" => ("entries", 1.0, "1/s"),
        _ => return None,
    })
}

/// A line of a file of results: one operation.
fn csv(line: Line, columns: &[String], found: &mut Found) -> Result<(), ParseError> {
    // The command, which is last, has quotation marks around each word, and no comma.
    let values: Vec<String> =
        fields(line).unwrap_or_else(|_| line.text.split(',').map(str::to_owned).collect());
    let of = columns.iter().position(|column| column == "operation");
    let operation = of.and_then(|at| values.get(at)).map_or("", String::as_str);
    if values.len() < 10 || operation.is_empty() {
        found.unknown(line.number, line.text);
        return Ok(());
    }
    let (mut figures, mut work, mut direct) = (Vec::new(), Work::default(), None);
    for (column, value) in columns.iter().zip(&values) {
        let last = column.strip_suffix(" [last]").and_then(meaning).zip(decimal(value));
        if let Some(((name, factor, unit), value)) = last.filter(|(_, value)| *value > 0.0) {
            put(&mut figures, figure(name, value * factor, unit, Better::More), line.number)?;
        }
        match column.as_str() {
            "threads" => work.set("threads", value),
            "IO depth" => work.set("iodepth", value),
            "file size" => work.set_size("size", value),
            "block size" => work.set_size("bs", value),
            "direct IO" => direct = Some(value == "1"),
            _ => {}
        }
    }
    found.run_of(line.number, "", work, vec![phase_of(&slug(operation), figures, direct)]);
    Ok(())
}

#[cfg(test)]
mod tests;
