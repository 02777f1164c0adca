//! diskspd's text, as versions 2.0 to 2.2 print it without `-Rxml`.
//!
//! Its MB are 2²⁰ bytes, which version 2.1 calls MiB. The figures have the names of the XML.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark, Work};

use crate::found::{Found, decimal, decimals, detail, figure, put, transfer};
use crate::sign::in_a_line;

const RESULTS: &str = "Results for timespan";
const TOTAL: &str = "total:";
const MIB: f64 = 1_048_576.0;
/// Rows of percentiles that are read, and their names.
const PERCENTILES: [(&str, &str); 4] =
    [("50th", "p50"), ("99th", "p99"), ("3-nines", "p99_9"), ("max", "max")];
/// The tables, and the prefix of their figures.
const TABLES: [(&str, &str); 3] = [("Total IO", ""), ("Read IO", "read_"), ("Write IO", "write_")];

/// True if a text contains such results, or a table of them alone.
pub fn is_diskspd_text(text: &str) -> bool {
    text.contains(TOTAL)
        && (in_a_line(text, RESULTS, |line| line.trim().starts_with(RESULTS))
            || in_a_line(text, "I/O per s", is_head))
}

/// `thread |  bytes  |  I/Os  |  MiB/s  |  I/O per s |  file`.
fn is_head(line: &str) -> bool {
    line.trim().starts_with("thread |") && line.contains("I/O per s")
}

/// Reads every time span of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("diskspd");
    let (mut setup, mut span) = (Setup::default(), Span::default());
    for line in lines(text)? {
        let text = line.text.trim();
        if text.starts_with(RESULTS) {
            std::mem::take(&mut span).finish(&setup, &mut found);
            span.line = line.number;
        } else if text.starts_with("Command Line:") {
            std::mem::take(&mut span).finish(&setup, &mut found);
            setup = Setup::default();
        } else if text == TABLES[0].0 && (span.line == 0 || span.has_total()) {
            // People copy the table alone.
            std::mem::take(&mut span).finish(&setup, &mut found);
            span = Span { line: line.number, table: Some(0), ..Span::default() };
        } else if span.line == 0 {
            setup.take(text);
        } else {
            span.take(line, text, &mut found)?;
        }
    }
    span.finish(&setup, &mut found);
    found.finish("give the complete output of a call of `diskspd` that finished")
}

/// The settings above the results.
#[derive(Debug, Default)]
struct Setup {
    work: Work,
    is_cached: bool,
    is_direct: bool,
}

impl Setup {
    fn take(&mut self, text: &str) {
        self.is_direct |= text == "software cache disabled";
        self.is_cached |= text == "using software cache";
        let Some((key, value)) = text.split_once(": ") else { return };
        match key {
            // `65536`, or `64KiB` since version 2.1.
            "block size" => self.work.set_size("bs", value.trim_end_matches("iB")),
            "number of outstanding I/O operations"
            | "number of outstanding I/O operations per thread" => self.work.set("iodepth", value),
            "threads per file" | "total threads" => self.work.set("threads", value),
            "duration" => self.work.set("runtime", value),
            _ => {}
        }
        if key.starts_with("performing mix test (read/write ratio") {
            let share = value.trim_end_matches(')').split('/').next().unwrap_or_default();
            self.work.set("rwmixread", share);
        }
    }
}

/// The reason why a row is left out.
const CUT: &str = "a row that is cut off";

/// One time span.
#[derive(Debug, Default)]
struct Span {
    line: usize,
    seconds: f64,
    table: Option<usize>,
    /// The columns of the current table.
    columns: Vec<String>,
    figures: Vec<Figure>,
    details: Vec<Figure>,
    bytes_per_s: f64,
}

impl Span {
    fn take(&mut self, line: Line, text: &str, found: &mut Found) -> Result<(), ParseError> {
        if let Some(table) = TABLES.iter().position(|(title, _)| *title == text) {
            (self.table, self.columns) = (Some(table), Vec::new());
        } else if let Some(time) = text.strip_prefix("actual test time:") {
            self.seconds = decimal(time.trim().trim_end_matches('s')).unwrap_or(0.0);
        } else if text.starts_with("thread |") {
            self.columns = cells(text).map(str::to_owned).collect();
        } else if let Some(row) = text.strip_prefix(TOTAL) {
            return self.total(line, row, found);
        } else if let Some(row) = text.strip_prefix("avg.|") {
            let usage = row.split('%').next().and_then(decimal);
            let load = usage.map(|usage| detail("cpu", usage, "%", Better::Less));
            let load = load.map(|load| Figure { nature: Some(Nature::Cpu), ..load });
            self.details.extend(load.filter(|_| self.details.is_empty()));
        } else if text.starts_with("%-ile |") {
            self.table = None;
            self.columns = cells(text).map(str::to_owned).collect();
        } else if self.table.is_none() && text.contains('|') {
            self.percentile(line, text, found)?;
        }
        Ok(())
    }

    /// The value of a column in a row of sums, which begins with the second column.
    fn cell(&self, values: &[Option<f64>], name: &str) -> Option<f64> {
        let at = self.columns.iter().position(|column| column == name)?;
        // The first column is the thread, of which a sum has none.
        *values.get(at.checked_sub(1)?)?
    }

    /// True if the table of all requests was read.
    fn has_total(&self) -> bool {
        self.bytes_per_s > 0.0
    }

    /// True if a table of this kind has figures.
    fn has(&self, kind: &str) -> bool {
        self.figures.iter().any(|figure| figure.name.starts_with(kind))
    }

    /// `total:  2607063040 | 636490 | 4.14 | 1060.79 | 60.403 | 93.045`.
    fn total(&mut self, line: Line, row: &str, found: &mut Found) -> Result<(), ParseError> {
        let Some((_, kind)) = self.table.map(|table| TABLES[table]) else { return Ok(()) };
        let values: Vec<Option<f64>> = cells(row).map(decimal).collect();
        // A sum has a cell for each column but the thread and the file.
        let columns = self.columns.iter().filter(|column| *column != "file").count();
        if values.len() + 1 < columns || values.last().is_some_and(Option::is_none) {
            found.unread(line.number, CUT);
            return Ok(());
        }
        let bytes = self.cell(&values, "bytes");
        let (Some(bytes), Some(iops)) = (bytes, self.cell(&values, "I/O per s")) else {
            found.unknown(line.number, line.text);
            return Ok(());
        };
        let latency_ms = self.cell(&values, "AvgLat");
        let printed = ["MiB/s", "MB/s"].iter().find_map(|name| self.cell(&values, name));
        // The printed rate is rounded.
        let rate = match printed {
            Some(mib) if self.seconds <= 0.0 => mib * MIB,
            _ => bytes / self.seconds,
        };
        // A direction that was not tested is a row of zeros.
        if iops > 0.0 && rate.is_finite() {
            if kind.is_empty() {
                self.bytes_per_s = rate;
            }
            for (name, value) in [("iops", iops), ("bytes_per_s", rate)] {
                let of_all = figure(&format!("{kind}{name}"), value, "", Better::More);
                put(&mut self.figures, of_all, line.number)?;
            }
            if let Some(value) = latency_ms.filter(|value| *value > 0.0) {
                let name = format!("{kind}lat_mean_ms");
                put(&mut self.details, detail(&name, value, "ms", Better::Less), line.number)?;
            }
        }
        Ok(())
    }

    /// `   99th |     52.576 |    116.005 |    110.148`.
    fn percentile(&mut self, line: Line, text: &str, found: &mut Found) -> Result<(), ParseError> {
        let row: Vec<&str> = cells(text).collect();
        // All times have as many decimals.
        let is_short = match row[..] {
            [_, .., before, last] => decimals(last) < decimals(before),
            _ => false,
        };
        if row.len() < self.columns.len() || is_short {
            found.unread(line.number, CUT);
            return Ok(());
        }
        let known = PERCENTILES.iter().find(|(printed, _)| row.first() == Some(printed));
        let total = self.columns.iter().position(|column| column.starts_with("Total"));
        let value = total.and_then(|at| decimal(row.get(at)?));
        if let (Some((_, name)), Some(value)) = (known, value) {
            let figure = detail(&format!("lat_{name}_ms"), value, "ms", Better::Less);
            put(&mut self.details, figure, line.number)?;
        }
        Ok(())
    }

    fn finish(self, setup: &Setup, found: &mut Found) {
        if self.figures.is_empty() {
            return;
        }
        let is_mixed = self.has("read_") && self.has("write_");
        let mut figures = [&self.figures[..], &self.details[..]].concat();
        // Tables of one direction repeat that of all.
        if !is_mixed {
            figures.retain(|it| !(it.name.starts_with("read_") || it.name.starts_with("write_")));
        }
        let mut phase: Phase = transfer("", self.bytes_per_s, figures);
        if setup.is_cached && phase.nature == Nature::Disk {
            phase.nature = Nature::PageCache;
            let why = "diskspd ran without `-Sh` or `-Su`: the cache of Windows may have answered";
            phase.remarks.push(Remark::new(Label::Nature(Nature::PageCache), why));
        }
        let mut work = setup.work.clone();
        if setup.is_direct || setup.is_cached {
            work.set_switch("direct", setup.is_direct);
        }
        found.run_of(self.line, "", work, vec![phase]);
    }
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.split('|').map(str::trim).take(20)
}

#[cfg(test)]
mod tests;
