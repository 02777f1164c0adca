//! IOR's table of results, versions 3 and 4: a row for each access of each repetition.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Phase, Work};

use crate::found::{Found, decimal, figure, labelled, phase};
use crate::quantity::MIB;
use crate::sign::in_a_line;

const TITLE: &str = "bw(MiB/s)";

/// The columns of `access    bw(MiB/s)  IOPS ... iter`.
fn header(line: &str) -> Option<Vec<&str>> {
    let columns: Vec<&str> = line.split_whitespace().take(20).collect();
    let is_header = columns.first() == Some(&"access") && columns.last() == Some(&"iter");
    (is_header && columns.contains(&TITLE)).then_some(columns)
}

/// True if a text contains such a header.
pub fn is_ior(text: &str) -> bool {
    in_a_line(text, TITLE, |line| header(line).is_some())
}

/// Reads every row of a text; the repetitions of a table are trials of one another.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("IOR");
    let mut run = Test::default();
    let (mut begin, mut columns) = (0, Vec::new());
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(read) = header(text) {
            (begin, columns) = (line.number, read);
        } else if let Some(rest) = text.strip_prefix("IOR-") {
            (begin, run) = (0, Test::default());
            found.version(rest.split(':').next().unwrap_or_default());
        } else if begin > 0 && (text.starts_with("write ") || text.starts_with("read ")) {
            row(line, &columns, begin, &run, &mut found);
        } else if text.starts_with("Max Write:") || text.starts_with("Summary of all tests:") {
            // The rows below repeat the ones above.
            begin = if text.starts_with("Summary") { 0 } else { begin };
        } else if let Some((key, value)) = text.split_once(" : ") {
            run.take(key.trim(), value.trim());
        }
    }
    found.finish("give the complete output of a call of `ior` that finished")
}

/// The settings above a table.
#[derive(Debug, Default)]
struct Test {
    work: Work,
    is_direct: bool,
    is_synced: bool,
}

impl Test {
    fn take(&mut self, key: &str, value: &str) {
        match key {
            "Command line" | "Command line used" => {
                let mut words = value.split_whitespace();
                self.is_synced = words.clone().any(|word| word == "-e");
                self.is_direct = words.any(|word| word == "-B" || word.contains("odirect"));
                if self.is_direct {
                    self.work.set_switch("direct", true);
                }
            }
            "api" | "access" | "nodes" | "tasks" | "segments" => self.work.set(key, value),
            // One transfer is one request.
            "xfersize" => self.work.set_size("bs", &size(value)),
            "blocksize" => self.work.set_size("size", &size(value)),
            _ => {}
        }
    }

    fn phase(&self, name: &str, figures: Vec<Figure>) -> Phase {
        // A parallel file system may be faster than any single device.
        if self.is_direct || name == "write" && self.is_synced {
            return phase(name, Nature::Disk, figures);
        }
        // IOR reads what it wrote before, from another node only with `-C`.
        let why = match name {
            "write" => "without `-e` or direct I/O the page cache of the clients may hold the data",
            _ => "the page cache of the clients or of the servers may have answered",
        };
        labelled(name, Nature::PageCache, why, figures)
    }
}

/// `262144 bytes`, `1 MiB`.
fn size(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    text.trim_end_matches("bytes").trim_end_matches("iB").to_owned()
}

/// `write     912.40     4282       0.001868 ...`.
fn row(line: Line, columns: &[&str], begin: usize, test: &Test, found: &mut Found) {
    let words: Vec<&str> = line.text.split_whitespace().take(columns.len()).collect();
    let of = columns.iter().position(|column| *column == TITLE);
    let rate = of.and_then(|at| decimal(words.get(at)?)).map(|mib| mib * MIB);
    let Some(rate) = rate.filter(|_| words.len() == columns.len()) else {
        return found.unknown(line.number, line.text);
    };
    let mut figures = vec![figure("bytes_per_s", rate, "B/s", Better::More)];
    // Versions before 3.3 have no such column.
    let of = columns.iter().position(|column| *column == "IOPS");
    if let Some(iops) = of.and_then(|at| decimal(words[at])).filter(|iops| *iops > 0.0) {
        figures.push(figure("iops", iops, "1/s", Better::More));
    }
    let name = words[0];
    let phase = test.phase(name, figures);
    if rate > 0.0 {
        found.run_of(begin, "", test.work.clone(), vec![phase]);
    }
}

#[cfg(test)]
mod tests;
