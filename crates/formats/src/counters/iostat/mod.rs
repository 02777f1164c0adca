//! sysstat's `iostat -x` and `-d`: text of versions 5 to 12, and JSON (`-o JSON`).
//!
//! Each device is an arm; its figures are means over the reports, without the first where there
//! are others: that one is the mean since the boot, which `-y` omits. kB are 1024 bytes and MB 2²⁰
//! (a sector is half a kB). `svctm` is left out: it is not measured, and newer versions dropped it.

use std::collections::BTreeMap;

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature};

use crate::found::{Found, decimal, decimals, detail, figure, phase};
use crate::quantity::MIB;
use crate::sign::in_a_line;

/// Maximum number of columns of a heading; iostat has 23.
const COLUMNS_MAX: usize = 100;
/// Maximum number of devices of a file.
const DEVICES_MAX: usize = 10_000;
const KIB: f64 = 1024.0;
/// The reason why a row is left out.
const CUT: &str = "a row that is cut off";

/// The weights of the mean of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Reports,
    /// The requests of this column.
    Requests(&'static str),
}

struct Column {
    printed: &'static str,
    name: &'static str,
    factor: f64,
    unit: &'static str,
    over: Over,
}

const fn column(
    printed: &'static str,
    name: &'static str,
    factor: f64,
    unit: &'static str,
    over: Over,
) -> Column {
    Column { printed, name, factor, unit, over }
}

const COLUMNS: [Column; 27] = [
    column("r/s", "read_iops", 1.0, "1/s", Over::Reports),
    column("w/s", "write_iops", 1.0, "1/s", Over::Reports),
    column("d/s", "trim_iops", 1.0, "1/s", Over::Reports),
    column("f/s", "flush_iops", 1.0, "1/s", Over::Reports),
    column("tps", "iops", 1.0, "1/s", Over::Reports),
    column("rkB/s", "read_bytes_per_s", KIB, "B/s", Over::Reports),
    column("wkB/s", "write_bytes_per_s", KIB, "B/s", Over::Reports),
    column("dkB/s", "trim_bytes_per_s", KIB, "B/s", Over::Reports),
    column("rMB/s", "read_bytes_per_s", MIB, "B/s", Over::Reports),
    column("wMB/s", "write_bytes_per_s", MIB, "B/s", Over::Reports),
    column("dMB/s", "trim_bytes_per_s", MIB, "B/s", Over::Reports),
    column("kB_read/s", "read_bytes_per_s", KIB, "B/s", Over::Reports),
    column("kB_wrtn/s", "write_bytes_per_s", KIB, "B/s", Over::Reports),
    column("MB_read/s", "read_bytes_per_s", MIB, "B/s", Over::Reports),
    column("MB_wrtn/s", "write_bytes_per_s", MIB, "B/s", Over::Reports),
    column("Blk_read/s", "read_bytes_per_s", 512.0, "B/s", Over::Reports),
    column("Blk_wrtn/s", "write_bytes_per_s", 512.0, "B/s", Over::Reports),
    // Old versions print sectors, some of them together with kB.
    column("rsec/s", "read_bytes_per_s", 512.0, "B/s", Over::Reports),
    column("wsec/s", "write_bytes_per_s", 512.0, "B/s", Over::Reports),
    column("await", "await", 1.0, "ms", Over::Requests("r/s")),
    column("r_await", "read_await", 1.0, "ms", Over::Requests("r/s")),
    column("w_await", "write_await", 1.0, "ms", Over::Requests("w/s")),
    column("d_await", "trim_await", 1.0, "ms", Over::Requests("d/s")),
    column("f_await", "flush_await", 1.0, "ms", Over::Requests("f/s")),
    column("avgqu-sz", "queue", 1.0, "", Over::Reports),
    column("aqu-sz", "queue", 1.0, "", Over::Reports),
    column("%util", "util", 1.0, "%", Over::Reports),
];

/// The columns of a heading by position; `None` for one that is left out.
fn heading(line: &str) -> Option<Vec<Option<usize>>> {
    // Nearly every line is a row: only a heading is divided into columns here.
    let from = line.trim_ascii_start();
    if !from.starts_with("Device") {
        return None;
    }
    let mut words = from.split_ascii_whitespace();
    let first = words.next()?;
    let columns: Vec<_> = words.take(COLUMNS_MAX).map(index).collect();
    let is_heading =
        first.trim_end_matches(':') == "Device" && columns.iter().flatten().count() > 1;
    is_heading.then_some(columns)
}

/// The columns of the second line of a heading that a mail program broke.
fn continued(line: &str) -> Option<Vec<Option<usize>>> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(COLUMNS_MAX).collect();
    let is_heading = words.iter().all(|word| number(word).is_none());
    let columns: Vec<_> = words.into_iter().map(index).collect();
    (is_heading && columns.iter().flatten().next().is_some()).then_some(columns)
}

/// True for the first line of a call: `Linux 5.17.11 (host) ...`.
fn is_banner(line: &str) -> bool {
    line.trim_ascii_start().starts_with("Linux ") && line.contains('(')
}

/// True for words between reports, as notes have them: what follows is another call, or another
/// part of one. The time of a report, a number and a name alone are none.
fn is_prose(line: &str) -> bool {
    let line = line.trim_ascii_start();
    let has_time = line
        .as_bytes()
        .windows(3)
        .any(|three| three[1] == b':' && three[0].is_ascii_digit() && three[2].is_ascii_digit());
    if line.starts_with("avg-cpu") || has_time || heading(line).is_some() {
        return false;
    }
    line.split_ascii_whitespace().filter(|word| number(word).is_none()).nth(1).is_some()
}

/// The options of a command line, `-xy 1 10`.
fn command(line: &str) -> Option<&str> {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    line.strip_prefix("iostat ").filter(|options| options.starts_with(['-', '1', '2', '5']))
}

/// The value of a column in a row; 0 for a column that it does not have.
fn value_of(row: &[(usize, f64)], printed: &str) -> f64 {
    let at = index(printed);
    row.iter().find(|(it, _)| Some(*it) == at).map_or(0.0, |(_, value)| *value)
}

fn index(printed: &str) -> Option<usize> {
    COLUMNS.iter().position(|column| column.printed == printed)
}

/// A number, with the comma that some languages write.
fn number(word: &str) -> Option<f64> {
    if word.contains(',') { decimal(&word.replace(',', ".")) } else { decimal(word) }
}

/// True if a text contains such a heading, or the JSON.
pub fn is_iostat(text: &str) -> bool {
    text.contains("\"disk_device\"") || in_a_line(text, "Device", |line| heading(line).is_some())
}

/// Reads every report of a text.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("iostat");
    let mut watch = Watch::default();
    if text.contains("\"disk_device\"") {
        watch.document(text, &mut found);
    } else {
        watch.text(text, &mut found)?;
    }
    watch.end(&mut found);
    found.finish("give the complete output of `iostat -x`, with its headings")
}

/// The sums of a column over the reports of a device.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    weighted: f64,
    weight: f64,
    /// The value of the first report, which counts only where it is the only one.
    first: Option<f64>,
}

#[derive(Debug, Default)]
struct Device {
    line: usize,
    reports: u64,
    sums: [Sum; COLUMNS.len()],
}

/// One call of iostat.
#[derive(Debug, Default)]
struct Watch {
    devices: BTreeMap<String, Device>,
    /// The first report is one of an interval (`-y`).
    omits_boot: bool,
    /// Words of a note precede it, which do not say how it was called.
    is_part: bool,
    /// Words of a note follow the last report.
    is_over: bool,
}

/// A table during reading.
#[derive(Debug, Default)]
struct Rows<'a> {
    columns: Vec<Option<usize>>,
    /// The words of a row, which a mail program may have broken into two lines.
    words: Vec<&'a str>,
    /// The line where the row begins, and the last line that was taken.
    begin: usize,
    last: usize,
    /// The last line was the heading, or its second part.
    is_headed: bool,
    /// The line where a row begins that is shorter than the heading.
    cut: Option<usize>,
}

impl<'a> Rows<'a> {
    /// Takes a line; true if it completes a row.
    fn take(&mut self, line: Line<'a>) -> bool {
        // A blank line, or the CPU's own table, ends a table.
        let is_apart =
            line.number > self.last + 1 || line.text.trim_ascii_start().starts_with("avg-cpu");
        self.last = line.number;
        if let Some(columns) = heading(line.text) {
            let cut = self.cut_off();
            *self = Self { columns, last: line.number, is_headed: true, cut, ..Self::default() };
            return false;
        }
        let is_headed = std::mem::take(&mut self.is_headed);
        if is_apart {
            *self = Self { last: line.number, cut: self.cut_off(), ..Self::default() };
        }
        if self.columns.is_empty() {
            return false;
        }
        if let Some(more) = continued(line.text).filter(|_| is_headed && !is_apart) {
            self.columns.extend(more);
            self.columns.truncate(COLUMNS_MAX);
            self.is_headed = true;
            return false;
        }
        let mut words = line.text.split_ascii_whitespace().take(COLUMNS_MAX + 2).peekable();
        // No device has a number for its name: such a line continues the one above.
        if words.peek().is_some_and(|word| number(word).is_none()) {
            self.cut = self.cut_off();
            self.words.clear();
            self.begin = line.number;
        } else if self.words.is_empty() {
            return false;
        }
        self.words.extend(words);
        let is_row = self.words.len() == self.columns.len() + 1;
        if self.words.len() > self.columns.len() {
            // A row of another table has other columns, and none of them is guessed.
            return is_row || std::mem::take(&mut self.words).is_empty();
        }
        false
    }
}

impl Rows<'_> {
    /// The beginning of a row that does not go on.
    fn cut_off(&self) -> Option<usize> {
        // Words below a table are not reported: only numbers make a row.
        let is_row = self.words.len() > 1 && self.words[1..].iter().all(|it| number(it).is_some());
        self.cut.or(is_row.then_some(self.begin))
    }
}

/// True if the last value of a row is cut off: iostat prints all of a kind with as many decimals.
fn is_cut(words: &[&str]) -> bool {
    match words {
        [.., before, last] => decimals(last) < decimals(before),
        _ => false,
    }
}

impl Watch {
    fn text(&mut self, text: &str, found: &mut Found) -> Result<(), ParseError> {
        let (mut rows, mut omits_boot) = (Rows::default(), false);
        for line in lines(text)? {
            if let Some(begin) = rows.cut.take() {
                found.unread(begin, CUT);
            }
            if let Some(options) = command(line.text) {
                self.end(found);
                let mut words = options.split_ascii_whitespace();
                omits_boot = words.any(|it| it.starts_with('-') && it.contains('y'));
                self.omits_boot = omits_boot;
            } else if is_banner(line.text) {
                self.end(found);
                self.omits_boot = std::mem::take(&mut omits_boot);
                rows = Rows { last: line.number, ..Rows::default() };
            } else if rows.take(line) {
                if self.is_over {
                    debug_assert!(!self.devices.is_empty(), "words follow a report");
                    self.end(found);
                    self.is_part = true;
                }
                let words = std::mem::take(&mut rows.words);
                if is_cut(&words[1..]) {
                    found.unread(rows.begin, CUT);
                    continue;
                }
                let values: Option<Vec<f64>> = words[1..].iter().map(|word| number(word)).collect();
                let Some(values) = values else {
                    found.unknown(rows.begin, line.text);
                    continue;
                };
                let row = rows.columns.iter().zip(values).filter_map(|(at, it)| Some(((*at)?, it)));
                self.row(rows.begin, words[0], &row.collect::<Vec<_>>(), found);
            } else if !self.devices.is_empty() && is_prose(line.text) && !rows.is_headed {
                self.is_over = true;
            }
        }
        if let Some(begin) = rows.cut_off() {
            found.unread(begin, CUT);
        }
        Ok(())
    }

    /// Each device is an object without others in it: they are read one by one, also those of a
    /// document that is damaged or cut off.
    fn document(&mut self, text: &str, found: &mut Found) {
        let mut line = 1;
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            line += rest[..open].matches('\n').count();
            rest = &rest[open..];
            let end = rest[1..].find(['{', '}']).map_or(rest.len(), |at| at + 1);
            let object = &rest[..end];
            if rest[end..].starts_with('}') && object.contains("\"disk_device\"") {
                self.object(line, &rest[..=end], found);
            }
            line += object.matches('\n').count();
            rest = &rest[end..];
            rest = rest.strip_prefix('}').unwrap_or(rest);
        }
    }

    fn object(&mut self, line: usize, text: &str, found: &mut Found) {
        let Ok(object) = serde_json::from_str::<serde_json::Map<_, _>>(text) else {
            return found.unread(line, "a device of which the figures are not JSON");
        };
        let name =
            object.get("disk_device").and_then(serde_json::Value::as_str).unwrap_or_default();
        let values = object.iter().filter_map(|(key, value)| Some((index(key)?, value.as_f64()?)));
        let row: Vec<(usize, f64)> =
            values.filter(|(_, value)| (0.0..1e15).contains(value)).collect();
        self.row(line, name.trim(), &row, found);
    }

    fn row(&mut self, line: usize, name: &str, row: &[(usize, f64)], found: &mut Found) {
        if self.devices.len() == DEVICES_MAX && !self.devices.contains_key(name) {
            return found.unread(line, "more devices than any machine has");
        }
        let device = self.devices.entry(name.to_owned()).or_default();
        device.line = if device.line == 0 { line } else { device.line };
        device.reports += 1;
        for (at, value) in row {
            // A wait counts as often as there were requests that waited.
            let weight = match COLUMNS[*at].over {
                Over::Reports => 1.0,
                Over::Requests(_) if COLUMNS[*at].printed == "await" => {
                    value_of(row, "r/s") + value_of(row, "w/s")
                }
                Over::Requests(column) => value_of(row, column),
            };
            let sum = &mut device.sums[*at];
            // The first report is kept apart: it is the mean since the boot.
            if device.reports == 1 && !self.omits_boot {
                sum.first = Some(*value);
            } else {
                sum.weighted += value * weight;
                sum.weight += weight;
            }
        }
    }

    /// Ends a call.
    fn end(&mut self, found: &mut Found) {
        std::mem::take(self).finish(found);
    }

    fn finish(self, found: &mut Found) {
        if self.devices.is_empty() {
            return;
        }
        let is_one = self.devices.values().all(|device| device.reports == 1);
        let note = match () {
            () if self.omits_boot => None,
            () if is_one && self.is_part => Some(
                "A report alone is the mean since the boot of the system, unless it was taken \
                 from among others.",
            ),
            () if is_one => Some("The one report is the mean since the boot of the system."),
            () => Some("The first report, the mean since the boot, is left out."),
        };
        if let Some(note) = note {
            found.note(note.to_owned());
        }
        let notes = [
            "`await` is the time from the arrival in the queue of the kernel to the completion: with a \
             queue it is not the time that the device takes.",
            "`%util` is the share of the time with at least one request: a device that serves several \
             at once, such as an SSD or an array, is not saturated at 100 %.",
        ];
        found.note(notes[0].to_owned());
        found.note(notes[1].to_owned());
        for (name, device) in &self.devices {
            let figures: Vec<Figure> = device.figures(is_one);
            found.run(device.line, name, vec![phase("", Nature::Disk, figures)]);
        }
    }
}

impl Device {
    fn figures(&self, is_one: bool) -> Vec<Figure> {
        let mut figures = Vec::new();
        assert!(self.reports > 0, "a device is known by its reports");
        for (column, sum) in COLUMNS.iter().zip(&self.sums) {
            // A device that came later has no report since the boot.
            let value = match sum.first {
                Some(first) if is_one || self.reports == 1 => first,
                _ if sum.weight > 0.0 => sum.weighted / sum.weight,
                _ => continue,
            };
            let value = value * column.factor;
            let better = match column.over {
                Over::Requests(_) => Better::Less,
                Over::Reports if column.name == "queue" || column.name == "util" => Better::Neither,
                Over::Reports => Better::More,
            };
            // A version that prints both has bytes in kB already.
            let is_known = figures.iter().any(|figure: &Figure| figure.name == column.name);
            if is_known {
                continue;
            }
            // What never happened has no time.
            if better != Better::Less || value > 0.0 {
                let of = if better == Better::Neither { detail } else { figure };
                figures.push(of(column.name, value, column.unit, better));
            }
        }
        figures
    }
}

#[cfg(test)]
mod tests;
