//! fio's logs (`--write_bw_log`, `--write_iops_log`, `--write_lat_log`): one line per interval, or
//! one per request.
//!
//! A line contains milliseconds, value, direction, block size and offset. Only the name of the file
//! shows the meaning of the value. Versions up to 2.21 write latencies in microseconds, later ones
//! in nanoseconds; a line of four fields may be of either.

use drivelab_core::csv::{Line, ParseError, lines, quote};
use drivelab_core::foreign::Imported;
use drivelab_core::histogram::Histogram;
use drivelab_core::record::{Better, Figure, Nature};
use drivelab_core::units::{Ratio, Span};

use super::histogram_log;
use crate::found::{Found, figure, phase};
use crate::quantity::PERCENTILES;

/// The kind of values in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// KiB/s.
    Bandwidth,
    /// Requests per second.
    Iops,
    /// A latency by its name, and its unit if that is known.
    Latency(&'static str, Option<Unit>),
}

/// The unit of a latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Of fio up to 2.21.
    Microseconds,
    /// Of fio from 2.99 on.
    Nanoseconds,
}

impl Unit {
    const fn ns(self) -> f64 {
        match self {
            Self::Microseconds => 1e3,
            Self::Nanoseconds => 1.0,
        }
    }
}

/// The names of files by their content: `NAME_bw.1.log`, or `NAME_bw.log`.
const NAMES: [(&str, Kind); 5] = [
    ("_bw", Kind::Bandwidth),
    ("_iops", Kind::Iops),
    ("_clat", Kind::Latency("clat", None)),
    ("_slat", Kind::Latency("slat", None)),
    ("_lat", Kind::Latency("lat", None)),
];
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// Milliseconds, value, direction and block size; fio 3 adds offset, priority and issue time.
const FIELDS_MIN: usize = 4;

/// The content of a file with this name.
pub fn kind_of(name: &str) -> Option<Kind> {
    let name = name.strip_suffix(".log")?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.');
    NAMES.iter().find_map(|(end, kind)| name.ends_with(end).then_some(*kind))
}

/// True if a text begins like a log.
pub fn is_log(text: &str) -> bool {
    let first = text.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|text| Entry::read(Line { number: 1, text }).is_ok())
}

/// Reads a log as one run.
pub fn parse(text: &str, kind: Kind) -> Result<Imported, ParseError> {
    if histogram_log::is_histogram_log(text) {
        return histogram_log::parse(text);
    }
    let mut found = Found::new("fio");
    let mut sides: [Side; 3] = Default::default();
    let mut is_of_fio_3 = true;
    for line in lines(text)? {
        let entry = Entry::read(line)?;
        is_of_fio_3 &= entry.is_of_fio_3;
        sides[entry.direction].add(&entry);
    }
    let kind = match kind {
        Kind::Latency(name, None) if is_of_fio_3 => Kind::Latency(name, Some(Unit::Nanoseconds)),
        other => other,
    };
    let mut figures = Vec::new();
    // A log of one direction needs no prefix: its figures then compare with those of a plain run.
    let used = sides.iter().filter(|side| side.count > 0).count();
    for (name, side) in DIRECTIONS.iter().zip(&sides).filter(|(_, side)| side.count > 0) {
        let prefix = if used > 1 { format!("{name}_") } else { String::new() };
        figures.extend(side.figures(&prefix, kind));
    }
    let why = "A log does not say how it was made: whether the page cache was bypassed is unknown.";
    found.note(why.to_owned());
    if let Kind::Latency(name, unit) = kind {
        if unit.is_none() {
            found.note(format!(
                "The log does not show its unit: fio writes microseconds up to 2.21, nanoseconds \
                 later. Name it: `--format fio-{name}-us` or `--format fio-{name}-ns`."
            ));
        }
        if sides.iter().any(|side| side.is_averaged) {
            let windows = "Each line is the mean of a window (`log_avg_msec`), and windows count \
                           alike, with however many requests: the mean of the requests differs.";
            found.note(windows.to_owned());
        }
    }
    found.run(1, "", vec![phase("", Nature::Disk, figures)]);
    found.finish("give a log that fio finished")
}

/// One line.
struct Entry {
    at_ms: u64,
    value: u64,
    direction: usize,
    /// Size of the request; 0 if the line is the mean of an interval.
    bytes: u64,
    /// Only fio 3 writes such a line.
    is_of_fio_3: bool,
}

impl Entry {
    fn read(line: Line) -> Result<Self, ParseError> {
        let mut fields = line.text.split(',').map(str::trim);
        let at_ms = number(line, fields.next(), "a time in ms")?;
        let value = number(line, fields.next(), "a value")?;
        let direction = number(line, fields.next(), "a direction")?;
        let bytes = number(line, fields.next(), "a block size")?;
        let direction = usize::try_from(direction).unwrap_or(usize::MAX);
        if direction >= DIRECTIONS.len() {
            let what = format!("{direction} is not a direction");
            let hint = "fio writes 0 for reads, 1 for writes and 2 for trims";
            return Err(ParseError::new(line.number, what, hint));
        }
        let (fifth, sixth) = (fields.next(), fields.next());
        Ok(Self { at_ms, value, direction, bytes, is_of_fio_3: is_of_fio_3(fifth, sixth) })
    }
}

fn number(line: Line, field: Option<&str>, what: &str) -> Result<u64, ParseError> {
    let field = field.unwrap_or("");
    field.parse().map_err(|_| {
        let what = format!("{} is not {what}", quote(field));
        let hint = format!(
            "a log of fio has at least {FIELDS_MIN} whole numbers a line, such as \
             `1000, 48211, 0, 0, 0`"
        );
        ParseError::new(line.number, what, hint)
    })
}

/// True if only fio 3 writes these fields after the block size.
///
/// fio 2 and the first versions of fio 3 write none, or with `log_offset` the offset, a multiple of
/// the sector; later versions end each line with the priority.
fn is_of_fio_3(fifth: Option<&str>, sixth: Option<&str>) -> bool {
    sixth.is_some() || fifth.is_some_and(is_priority)
}

/// True if a field is a priority and cannot be an offset; 0 may be either, but offsets are rarely
/// all 0.
fn is_priority(field: &str) -> bool {
    const SECTOR: u64 = 512;
    field.starts_with("0x")
        || field.parse().is_ok_and(|it: u64| it == 0 || !it.is_multiple_of(SECTOR))
}

/// One number of a latency, in nanoseconds if its unit is known.
fn latency((metric, which): (&str, &str), value: f64, unit: Option<Unit>) -> Figure {
    match unit {
        Some(unit) => {
            figure(&format!("{metric}_{which}_ns"), value * unit.ns(), "ns", Better::Less)
        }
        // Under another name: it must not be compared with a number of known unit.
        None => figure(&format!("{metric}_{which}"), value, "us or ns", Better::Less),
    }
}

/// The entries of one direction.
#[derive(Debug, Default)]
struct Side {
    count: u64,
    sum: f64,
    bytes: u64,
    last_ms: u64,
    is_averaged: bool,
    values: Histogram,
}

#[expect(clippy::cast_precision_loss, reason = "sums below 2^53 are exact, larger ones rounded")]
impl Side {
    fn add(&mut self, entry: &Entry) {
        self.count += 1;
        self.sum += entry.value as f64;
        self.bytes = self.bytes.saturating_add(entry.bytes);
        self.last_ms = self.last_ms.max(entry.at_ms);
        self.is_averaged |= entry.bytes == 0;
        self.values.record(Span::from_ns(entry.value));
    }

    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    fn figures(&self, prefix: &str, kind: Kind) -> Vec<Figure> {
        let seconds = self.last_ms as f64 / 1e3;
        let rates = match kind {
            Kind::Latency(name, unit) => return self.latencies(&format!("{prefix}{name}"), unit),
            // Lines of single requests contain the rate of each, whose mean is not the rate of all.
            Kind::Bandwidth | Kind::Iops if !self.is_averaged => vec![
                ("iops", self.count as f64 / seconds),
                ("bytes_per_s", self.bytes as f64 / seconds),
            ],
            Kind::Bandwidth => vec![("bytes_per_s", 1024.0 * self.mean())],
            Kind::Iops => vec![("iops", self.mean())],
        };
        // A log of the first millisecond has no duration, so no rate.
        let rates = rates.into_iter().filter(|(_, value)| value.is_finite());
        rates
            .map(|(name, value)| figure(&format!("{prefix}{name}"), value, "", Better::More))
            .collect()
    }

    /// Percentiles are those of requests: the means of intervals have none.
    fn latencies(&self, metric: &str, unit: Option<Unit>) -> Vec<Figure> {
        let mean = if self.is_averaged { "window_mean" } else { "mean" };
        let mut figures = vec![latency((metric, mean), self.mean(), unit)];
        for ((which, _, needed), thousandths) in PERCENTILES.into_iter().zip([500, 990, 999]) {
            let share = Ratio::from_billionths(thousandths * 1_000_000);
            let value = self.values.quantile(share).map(|span| span.ns() as f64);
            let is_known = !self.is_averaged && self.count as f64 >= needed;
            figures.extend(
                value.filter(|_| is_known).map(|value| latency((metric, which), value, unit)),
            );
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(text: &str, kind: Kind) -> Vec<(String, f64)> {
        let imported = parse(text, kind).unwrap();
        let figures = imported.runs[0].phases[0].figures.iter();
        figures.map(|figure| (figure.name.clone(), figure.value)).collect()
    }

    #[test]
    fn the_name_of_the_file_says_what_is_in_it() {
        let check = |name, expected| assert_eq!(kind_of(name), expected, "{name}");
        check("t_bw.1.log", Some(Kind::Bandwidth));
        check("t_iops.log", Some(Kind::Iops));
        check("t_clat.12.log", Some(Kind::Latency("clat", None)));
        check("t_lat.1.log", Some(Kind::Latency("lat", None)));
        check("t.log", None);
        check("t_bw.json", None);
    }

    #[test]
    fn intervals_are_averaged() {
        let text = "129, 30821, 0, 0, 0\n129, 10, 1, 0, 0\n229, 39921, 0, 0, 0\n";
        let expected = [
            ("read_bytes_per_s".to_owned(), 35_371.0 * 1024.0),
            ("write_bytes_per_s".to_owned(), 10_240.0),
        ];
        assert_eq!(figures(text, Kind::Bandwidth), expected);
        assert_eq!(figures("5, 100, 0, 0\n", Kind::Iops), [("iops".to_owned(), 100.0)]);
    }

    #[test]
    fn latencies_of_which_the_unit_is_unknown_are_noted() {
        let check = |text: &str, kind, expected: bool| {
            let notes = parse(text, kind).unwrap().notes;
            let is_noted = notes.iter().any(|note| note.contains("microseconds up to 2.21"));
            assert_eq!(is_noted, expected, "{text}: {notes:?}");
        };
        let latency = Kind::Latency("clat", None);
        check("1, 120, 0, 4096\n", latency, true);
        check("1, 120, 0, 4096, 8192\n2, 130, 0, 4096, 0\n", latency, true);
        check("1, 120000, 0, 4096, 0\n", latency, false);
        check("1, 120000, 0, 4096, 0x2004\n", latency, false);
        check("1, 120000, 0, 4096, 8192, 0\n", latency, false);
        check("1, 500, 0, 4096\n", Kind::Iops, false);
    }

    #[test]
    fn a_latency_has_the_unit_that_is_named() {
        let text = "1000, 1900, 0, 4096\n2000, 1950, 0, 4096\n";
        let check = |unit, name: &str, value: f64| {
            assert_eq!(figures(text, Kind::Latency("lat", unit)), [(name.to_owned(), value)]);
        };
        check(Some(Unit::Microseconds), "lat_mean_ns", 1_925_000.0);
        check(Some(Unit::Nanoseconds), "lat_mean_ns", 1925.0);
        check(None, "lat_mean", 1925.0);
    }

    #[test]
    fn a_log_of_histograms_is_read_by_any_name() {
        let text = format!("1000, 0, 4096, 0, 9{}\n", ", 0".repeat(27));
        let kind = Kind::Latency("clat", None);
        assert_eq!(figures(&text, kind)[0].0, "clat_coarse_bin_mean_ns");
    }

    #[test]
    fn rates_of_single_requests_are_counted_again() {
        let text = "500, 9999, 0, 4096, 0\n2000, 9999, 0, 4096, 4096\n";
        let expected = [("iops".to_owned(), 1.0), ("bytes_per_s".to_owned(), 4096.0)];
        assert_eq!(figures(text, Kind::Bandwidth), expected);
        assert_eq!(figures(text, Kind::Iops), expected);
    }

    #[test]
    fn percentiles_need_requests() {
        let line = |at: u32| format!("{at}, 1000, 0, 4096, 0");
        let single = (0..200).map(line).collect::<Vec<_>>().join("\n");
        let names = |text: &str, kind| -> Vec<String> {
            figures(text, kind).into_iter().map(|(name, _)| name).collect()
        };
        let kind = |name| Kind::Latency(name, Some(Unit::Nanoseconds));
        assert_eq!(names(&single, kind("lat")), ["lat_mean_ns", "lat_p50_ns"]);
        let averaged = single.replace("4096", "0");
        assert_eq!(names(&averaged, kind("clat")), ["clat_window_mean_ns"]);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let check = |text: &str, expected: &str| {
            let error = parse(text, Kind::Iops).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("1, 2, 0, 0\n1, x, 0, 0\n", "line 2: `x` is not a value; a log of fio");
        check("1, 2, 7, 0\n", "line 1: 7 is not a direction; fio writes");
        check("", "it contains no results of fio");
        assert!(is_log("1, 2, 0, 0\n") && !is_log("1, 2\n") && !is_log("block,arm,value\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[-0-9, x\n]{0,80}") {
            for (_, kind) in NAMES {
                let _ = parse(&text, kind);
            }
        }
    }
}
