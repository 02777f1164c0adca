//! pgbench's summary, `PostgreSQL` 8 to 17.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Work};

use crate::found::{Found, detail, figure, number, phase, put, seconds, slug};

/// The first line of a summary.
const BEGIN: &str = "transaction type:";
/// Lines that describe the settings.
const SETTINGS: [&str; 12] = [
    "scaling factor:",
    "partition method:",
    "number of partitions:",
    "query mode:",
    "number of clients:",
    "number of threads:",
    "maximum number of tries:",
    "duration:",
    "number of transactions per client:",
    "starting vacuum",
    "progress:",
    "number of transactions actually processed:",
];

/// The settings that are work, and their names as options.
const WORK: [(&str, &str); 8] = [
    ("scaling factor:", "scale"),
    ("partition method:", "partition_method"),
    ("number of partitions:", "partitions"),
    ("query mode:", "protocol"),
    ("number of clients:", "clients"),
    ("number of threads:", "threads"),
    ("maximum number of tries:", "max_tries"),
    ("number of transactions per client:", "transactions"),
];

/// True if a text contains a summary of pgbench.
pub fn is_pgbench(text: &str) -> bool {
    text.contains(BEGIN) && text.contains("\ntps = ")
}

/// Reads every summary of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("pgbench");
    let mut run = Run::default();
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(kind) = text.strip_prefix(BEGIN) {
            std::mem::take(&mut run).finish(&mut found);
            run = Run::new(line.number, kind.trim());
        } else if let Some(version) = text.strip_prefix("pgbench (") {
            found.version(version.split([' ', ')']).next().unwrap_or(""));
        } else if SETTINGS.iter().any(|start| text.starts_with(start)) {
            run.setting(text);
        } else if let Some(failed) = text.strip_prefix("number of failed transactions:") {
            if !failed.trim_start().starts_with("0 ") {
                found.note(format!("Line {}: transactions failed:{failed}.", line.number));
            }
        } else if run.line == 0 || !run.take(line)? {
            found.unknown(line.number, text);
        }
    }
    run.finish(&mut found);
    found.finish("give the complete output of a call of pgbench that finished")
}

/// One summary during reading.
#[derive(Debug, Default)]
struct Run {
    line: usize,
    /// `<builtin: TPC-B (sort of)>`, or the file of the script.
    kind: String,
    /// Figures named without their phase.
    figures: Vec<Figure>,
    work: Work,
}

impl Run {
    fn new(line: usize, kind: &str) -> Self {
        let work = Work::default().with("script", kind);
        Self { line, kind: kind.to_owned(), figures: Vec::new(), work }
    }

    fn setting(&mut self, text: &str) {
        if let Some(time) = text.strip_prefix("duration:") {
            self.work.set("runtime", seconds(time));
        }
        for (start, key) in WORK {
            if let Some(value) = text.strip_prefix(start) {
                self.work.set(key, value);
            }
        }
    }

    /// Takes a figure; returns whether the line is one.
    fn take(&mut self, line: Line) -> Result<bool, ParseError> {
        let text = line.text.trim();
        // 9.4 writes a colon.
        let Some((key, value)) = text.split_once(" = ").or_else(|| text.split_once(": ")) else {
            return Ok(false);
        };
        let figure = match key {
            "tps" => {
                let (value, how) = value.split_once('(').unwrap_or((value, ""));
                let value = number(line, value)?;
                // Up to version 13 there are two rates; one contains the time to connect.
                if how.starts_with("including") {
                    detail("with_connections", value, "1/s", Better::More)
                } else {
                    figure("", value, "1/s", Better::More)
                }
            }
            "latency average" => milliseconds(line, "latency_avg", value)?,
            "latency stddev" => milliseconds(line, "latency_stddev", value)?,
            "initial connection time" => milliseconds(line, "connection_time", value)?,
            _ => return Ok(false),
        };
        put(&mut self.figures, figure, line.number)?;
        Ok(true)
    }

    /// Scripts define different transactions, so the name of the metric states which script it was.
    fn finish(mut self, found: &mut Found) {
        let kind = self.kind.replace("(sort of)", "").replace("builtin:", "");
        let name = format!("tps_{}", slug(&kind));
        let name = name.trim_end_matches('_');
        for figure in &mut self.figures {
            let dash = if figure.name.is_empty() { "" } else { "_" };
            figure.name = format!("{name}{dash}{}", figure.name);
        }
        // A table that fits into memory is read from there; writes wait for the log.
        let is_read_only = self.kind.to_lowercase().contains("select only");
        let nature = if is_read_only { Nature::PageCache } else { Nature::JournalSync };
        found.run_of(self.line, "", self.work, vec![phase(name, nature, self.figures)]);
    }
}

fn milliseconds(line: Line, name: &str, value: &str) -> Result<Figure, ParseError> {
    let value = number(line, value.trim_end_matches("ms"))?;
    Ok(detail(name, value, "ms", Better::Less))
}

#[cfg(test)]
mod tests;
