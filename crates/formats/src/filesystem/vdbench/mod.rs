//! vdbench's averages, version 5: of its reports (`summary.html`, `logfile.html`, terminal), and of
//! `flatfile.html`.
//!
//! Its MB are 2²⁰ bytes and its times milliseconds. The line `avg_2-60` leaves the first interval
//! out, as vdbench does. Columns have the names of their heading of two lines: versions, and loads
//! of file systems, differ in them.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Phase, Remark, Work};

use crate::found::{Found, decimal, detail, figure, transfer};
use crate::quantity::MIB;
use crate::sign::in_a_line;

const AVERAGE: &str = "avg_";
const STARTING: &str = "Starting RD=";
/// The first values of every version for block devices.
const FIRST: [&str; 5] = ["i/o rate", "mb/sec 1024**2", "bytes i/o", "read pct", "resp time"];
/// The reason why a line is left out.
const CUT: &str = "a line of averages that is cut off";
/// Maximum number of columns of a line.
const COLUMNS_MAX: usize = 100;

/// The words after `avg_2-60` in a line that begins with a time of day.
fn average(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (before, rest) = line.split_once(AVERAGE)?;
    let (interval, values) = rest.split_once(' ')?;
    let is_interval = interval.split_once('-').is_some_and(|(from, to)| {
        [from, to].iter().all(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
    });
    let time = before.as_bytes();
    let is_time = time.len() >= 8 && time[2] == b':' && time[5] == b':';
    (is_interval && is_time).then_some((before, values))
}

/// The columns of a flat file.
fn header(line: &str) -> Option<Vec<&str>> {
    let columns: Vec<&str> = line.split_whitespace().take(COLUMNS_MAX).collect();
    let is_header = columns.first() == Some(&"tod") && columns.contains(&"Interval");
    is_header.then_some(columns)
}

/// A word with the columns of characters that it covers.
type Spanned<'a> = (std::ops::Range<usize>, &'a str);

fn spanned(line: &str) -> Vec<Spanned<'_>> {
    let mut at = 0;
    let mut words = Vec::new();
    for word in line.split(char::is_whitespace) {
        let end = at + word.chars().count();
        if !word.is_empty() && words.len() < COLUMNS_MAX {
            words.push((at..end, word));
        }
        at = end + 1;
    }
    words
}

/// The words after `interval` in the first line of a heading.
fn heading(line: &str) -> Option<Vec<Spanned<'_>>> {
    let words = spanned(line);
    let at = words
        .iter()
        .position(|(_, word)| word.trim_matches('.').eq_ignore_ascii_case("interval"))?;
    (words.len() - at > FIRST.len()).then(|| words[at + 1..].to_vec())
}

/// The word that is above most of a span.
fn above_of<'a, 'b>(
    above: &'a [Spanned<'b>],
    span: &std::ops::Range<usize>,
) -> Option<&'a Spanned<'b>> {
    above.iter().max_by_key(|(it, _)| it.end.min(span.end).saturating_sub(it.start.max(span.start)))
}

/// The names of the columns: each word of the second line with the one above it.
fn named(above: &[Spanned], below: &str) -> Vec<String> {
    let words = spanned(below);
    let is_each = words.len() == above.len();
    let names = words.iter().enumerate().map(|(index, (span, word))| {
        // Each has its own word, or a group of two columns has one, between dots.
        let group = if is_each { above.get(index) } else { above_of(above, span) };
        let group = group.map_or("", |it| it.1).trim_matches('.').to_ascii_lowercase();
        format!("{group} {word}")
    });
    names.collect()
}

/// True if a text contains averages of vdbench.
pub fn is_vdbench(text: &str) -> bool {
    in_a_line(text, AVERAGE, |line| {
        average(line).is_some_and(|(_, rest)| {
            let values = rest.split_whitespace().take(FIRST.len()).filter_map(decimal);
            values.count() == FIRST.len()
        })
    })
}

/// Reads every average of a text, each as a run of its run definition.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("vdbench");
    let (mut columns, mut definition) = (Vec::new(), Definition::default());
    let (mut above, mut names): (Option<Vec<Spanned>>, _) = (None, Vec::new());
    for line in lines(text)? {
        let text = line.text.trim();
        let is_below = text.split_whitespace().take(COLUMNS_MAX).any(|word| word == "rate");
        if let Some(above) = above.take().filter(|_| is_below) {
            names = named(&above, line.text);
        } else if let Some(read) = header(text) {
            columns = read;
        } else if let Some(read) = heading(line.text) {
            above = Some(read);
        } else if let Some((_, rest)) = text.split_once(STARTING) {
            definition = Definition::read(rest);
        } else if let Some((before, rest)) = average(text) {
            let name = before.split_whitespace().nth(1);
            match name.filter(|_| !columns.is_empty()) {
                Some(name) => flat(line, name, rest, &columns, &mut found),
                None => report(line, rest, (&names, &definition), &mut found),
            }
        }
    }
    found.finish("give the summary or the flat file of a run of vdbench that finished")
}

/// A run definition, as its first line states it.
#[derive(Debug, Default)]
struct Definition {
    name: String,
    work: Work,
}

impl Definition {
    /// `rd1; I/O rate: 50; elapsed=60; For loops: threads=2`.
    fn read(text: &str) -> Self {
        let text = text.split('<').next().unwrap_or_default();
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_owned();
        let mut work = Work::default();
        for part in parts {
            if let Some(rate) = part.strip_prefix("I/O rate:") {
                // `Uncontrolled MAX` is no rate.
                work.set("rate", decimal(rate).map(|_| rate.trim()).unwrap_or_default());
            }
            for word in part.split_whitespace() {
                if let Some(threads) = word.strip_prefix("threads=") {
                    work.set("threads", threads);
                }
            }
        }
        Self { name, work }
    }
}

fn report(
    line: Line,
    rest: &str,
    (names, definition): (&[String], &Definition),
    found: &mut Found,
) {
    let words: Vec<&str> = rest.split_whitespace().take(COLUMNS_MAX).collect();
    let first = FIRST.map(str::to_owned);
    // Every version has more columns than these: a line that ends with them is cut off.
    if words.len() < names.len().max(FIRST.len() + 1) {
        return found.unread(line.number, CUT);
    }
    let names = if names.is_empty() { &first[..] } else { names };
    let of = |wanted: &[&str]| {
        let at = names.iter().position(|name| wanted.contains(&name.as_str()))?;
        decimal(words.get(at)?)
    };
    let iops = of(&["i/o rate", "reqstdops rate"]);
    let mib = of(&["mb/sec 1024**2", "mb/sec total"]);
    let all = of(&["resp time", "reqstdops resp"]);
    let (Some(iops), Some(mib), Some(all)) = (iops, mib, all) else {
        return found.unknown(line.number, line.text);
    };
    // Without a heading, a line of a load of files looks alike: its rate is not that of its size.
    let expected = iops * of(&["bytes i/o"]).unwrap_or(0.0) / MIB;
    if names.len() == FIRST.len() && (expected - mib).abs() > 0.01 + 0.02 * mib {
        return found.unknown(line.number, line.text);
    }
    let times = Times {
        all,
        reads_only: of(&["read resp"]).unwrap_or(0.0),
        writes_only: of(&["write resp"]).unwrap_or(0.0),
    };
    let reads = of(&["read pct"]).unwrap_or(0.0);
    add(line, definition, (iops, mib * MIB), reads, &times, found);
}

/// Mean times in milliseconds; 0 where there was no request.
struct Times {
    all: f64,
    reads_only: f64,
    writes_only: f64,
}

fn add(
    line: Line,
    definition: &Definition,
    (iops, bytes_per_s): (f64, f64),
    reads: f64,
    times: &Times,
    found: &mut Found,
) {
    let mut figures = Vec::new();
    assert!(iops >= 0.0 && bytes_per_s >= 0.0, "plain decimals have no sign");
    let all = [
        figure("iops", iops, "1/s", Better::More),
        figure("bytes_per_s", bytes_per_s, "B/s", Better::More),
        figure("lat_mean_ns", times.all * 1e6, "ns", Better::Less),
        figure("read_lat_mean_ns", times.reads_only * 1e6, "ns", Better::Less),
        figure("write_lat_mean_ns", times.writes_only * 1e6, "ns", Better::Less),
    ];
    figures.extend(all.into_iter().filter(|figure: &Figure| figure.value > 0.0));
    // The share of reads of no requests says nothing.
    if iops > 0.0 {
        figures.push(detail("reads", reads, "%", Better::Neither));
    }
    let mut work = definition.work.clone();
    if let Some(rate) = work.get("rate") {
        let why = format!("the run asked for {rate} requests a second");
        for figure in figures.iter_mut().filter(|it| it.better == Better::More) {
            figure.remarks.push(Remark::new(Label::SetRate, why.clone()));
        }
    }
    work.set("rwmixread", format!("{reads:.0}"));
    let phase: Phase = transfer("", bytes_per_s, figures);
    found.run_of(line.number, &definition.name, work, vec![phase]);
}

/// The words of a line after its interval, and their columns.
struct Row<'a> {
    columns: &'a [&'a str],
    words: &'a [&'a str],
}

impl Row<'_> {
    fn of(&self, column: &str) -> Option<f64> {
        let at = self.columns.iter().position(|it| *it == column)?;
        decimal(self.words.get(at)?)
    }
}

/// A line of a flat file, whose columns have names.
fn flat(line: Line, name: &str, rest: &str, columns: &[&str], found: &mut Found) {
    let Some(from) = columns.iter().position(|column| *column == "Interval") else { return };
    let words: Vec<&str> = rest.split_whitespace().take(COLUMNS_MAX).collect();
    if words.len() + from + 1 < columns.len() {
        return found.unread(line.number, CUT);
    }
    // The time of day and the run are before the interval.
    let row = Row { columns: &columns[from + 1..], words: &words };
    let (Some(iops), Some(mib), Some(all)) = (row.of("rate"), row.of("MB/sec"), row.of("resp"))
    else {
        return found.unknown(line.number, line.text);
    };
    let mut work = Work::default();
    for (column, key) in [("threads", "threads"), ("xfersize", "bs")] {
        work.set_size(key, &row.of(column).map(|it| it.to_string()).unwrap_or_default());
    }
    // 999988 and above ask for the most.
    let rate = row.of("reqrate").filter(|rate| *rate < 999_000.0);
    work.set("rate", rate.map(|it| it.to_string()).unwrap_or_default());
    let definition = Definition { name: name.to_owned(), work };
    let times = Times {
        all,
        reads_only: row.of("read_resp").unwrap_or(0.0),
        writes_only: row.of("write_resp").unwrap_or(0.0),
    };
    add(line, &definition, (iops, mib * MIB), row.of("read%").unwrap_or(0.0), &times, found);
}

#[cfg(test)]
mod tests;
