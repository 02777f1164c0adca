//! The summary of `dd`: GNU, `BusyBox`, BSD and macOS, in any language of the terminal.
//!
//! The rate is the bytes divided by the seconds of the same line: the printed one is rounded, and
//! its MB are 10⁶ bytes in GNU's and 2²⁰ in `BusyBox`'s. The command above the summary, if the text
//! has it, decides whether a disk was measured.

use std::ops::RangeInclusive;

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Nature, Phase, Work};

use crate::found::{Found, decimal, figure, labelled, transfer};
use crate::quantity::{Comma, ns_of, split};
use crate::sign::in_a_line;

/// Maximum number of flags of an operand; dd knows twenty.
const FLAGS_MAX: usize = 50;

/// Parts of a rate, one of which each summary has: `2 kB/s`, `2 kB/秒`, `4000 bytes/sec`.
const RATES: [&str; 2] = ["B/", "/sec"];

/// True if a text contains a summary.
pub fn is_dd(text: &str) -> bool {
    RATES.iter().any(|part| in_a_line(text, part, |line| Summary::read(line).is_some()))
}

/// Reads every summary of a text, each as a run; lines of progress are left out.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("dd");
    let (mut command, mut progress) = (Command::default(), None);
    // The first line of the records that precede a summary.
    let (mut records, mut wraps) = (None, false);
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(read) = Command::read(text) {
            add(progress.take(), &command, &mut found);
            (command, records, wraps) = (read, None, true);
            continue;
        }
        // A terminal or a mail breaks a long command.
        if std::mem::take(&mut wraps) && is_operand(text.split(' ').next().unwrap_or_default()) {
            command.operands(text);
            wraps = true;
        } else if is_records(text) {
            // Sums so far (`status=progress`) precede the records.
            progress = None;
            records.get_or_insert(line.number);
        } else if let Some(summary) = Summary::read(text) {
            let begin = records.unwrap_or(line.number);
            let is_later = progress.as_ref().is_some_and(|(_, earlier)| summary.follows(earlier));
            if !is_later {
                // A script printed this line of each call alone.
                add(progress.take(), &command, &mut found);
            }
            progress = Some((begin..=line.number, summary));
            if records.take().is_some() {
                add(progress.take(), &command, &mut found);
            }
        } else if !text.is_empty() {
            // Nothing comes between two lines of progress.
            add(progress.take(), &command, &mut found);
        }
    }
    add(progress, &command, &mut found);
    found.finish("give the complete output of `dd`, with the command")
}

/// Adds a summary with its lines, which include the records above it.
fn add(summary: Option<(RangeInclusive<usize>, Summary)>, command: &Command, found: &mut Found) {
    let Some((lines, summary)) = summary else { return };
    if summary.seconds <= 0.0 || summary.bytes <= 0.0 {
        return found.unread(*lines.end(), "nothing was copied, or in no time");
    }
    let rate = summary.bytes / summary.seconds;
    assert!(rate.is_sign_positive(), "bytes and seconds are positive");
    found.run_of(*lines.start(), "", command.work.clone(), vec![command.phase(rate)]);
    if command.input.starts_with("/dev/zero") && !command.output.starts_with("/dev/null") {
        let note =
            "`if=/dev/zero`: zeros that a drive or a file system may compress, or not store.";
        found.note(note.to_owned());
    }
}

fn is_count(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_digit)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// `1024+0 records in`, in any language: the counts are first, last or in the middle.
fn is_records(text: &str) -> bool {
    let mut words = text.split(|c: char| !(c.is_ascii_digit() || c == '+'));
    words.any(|word| {
        word.split_once('+').is_some_and(|(whole, part)| is_count(whole) && is_count(part))
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Summary {
    bytes: f64,
    seconds: f64,
}

impl Summary {
    /// True for a sum of the same call: more bytes in more time.
    fn follows(&self, earlier: &Self) -> bool {
        self.bytes > earlier.bytes && self.seconds > earlier.seconds
    }

    /// `1048576 bytes (1.0 MB) copied, 2.4 s, 442 MB/s`, or `1048576 bytes transferred in 1.2 secs
    /// (869731 bytes/sec)`.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some((before, after)) = text.split_once(" transferred in ") {
            let (seconds, rate) = after.split_once(' ')?;
            let is_rate = rate.starts_with("sec") && rate.contains("/s");
            let bytes = amount(before)?;
            return Some(Self { bytes, seconds: decimal(seconds).filter(|_| is_rate)? });
        }
        // Chinese and Japanese translations have other commas.
        let text = text.replace(['\u{ff0c}', '\u{3001}'], ", ");
        // Notes add the rate of a second run behind the line.
        let shorter = text.rsplit_once(", ").map(|(begin, _)| begin);
        Self::copied(&text).or_else(|| Self::copied(shorter?))
    }

    fn copied(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(3, ", ");
        let (rate, time, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let (_, unit) = split(rate, Comma::Decimal)?;
        // Notes follow the line: `211 MB/s  (!!)`.
        let (amount, per) = unit.split_whitespace().next()?.split_once('/')?;
        let (value, unit) = seconds(time)?;
        let seconds = value * seconds_of(unit)?;
        seconds_of(per).filter(|_| amount.ends_with('B'))?;
        let summary = Self { bytes: bytes(rest)?, seconds };
        Some(summary)
    }
}

/// The bytes that a summary begins with: `1048576 bytes (1.0 MB) copied`.
///
/// Notes have a label before them, `raid: 1048576 bytes (1.0 MB)`, and some languages a verb.
fn bytes(text: &str) -> Option<f64> {
    match text.split_once('(') {
        Some((before, _)) => amount(before),
        None => decimal(text.split_once(' ')?.0).filter(|_| text.starts_with(is_digit)),
    }
}

/// The last number of a text that ends with a unit.
fn amount(text: &str) -> Option<f64> {
    // Chinese has no blank between the number and its unit.
    let unit = text.trim_end().rsplit(is_digit).next()?;
    let number = text.trim_end().strip_suffix(unit)?;
    let digits = number.rsplit(|c| !is_digit(c)).next()?;
    let is_unit = unit.trim_start().starts_with(char::is_alphabetic);
    decimal(digits).filter(|_| is_unit && is_count(digits))
}

/// The seconds of a unit of time, in the languages of coreutils that translate it.
fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        // Older Russian translations mix the Latin letter with the Cyrillic one.
        "с" | "c" | "秒" | "초" => Some(1.0),
        _ => Some(ns_of(unit)? / 1e9),
    }
}

/// The number and the unit of a time. GNU prints it as C's `%g` does, `5.6e-05 s`.
fn seconds(text: &str) -> Option<(f64, &str)> {
    let Some((digits, rest)) = text.split_once("e-") else { return split(text, Comma::Decimal) };
    let (value, _) = split(digits, Comma::Decimal).filter(|(_, unit)| unit.is_empty())?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let exponent: u8 = rest[..end].parse().ok()?;
    Some((value / 10_f64.powi(exponent.into()), rest[end..].trim_start()))
}

/// True for an operand of dd, `bs=1M`.
fn is_operand(word: &str) -> bool {
    let keys = ["if", "of", "bs", "ibs", "obs", "count", "skip", "seek", "iflag", "oflag", "conv"];
    word.split_once('=').is_some_and(|(key, _)| keys.contains(&key) || key == "status")
}

/// The command above a summary.
#[derive(Debug, Default)]
struct Command {
    is_known: bool,
    input: String,
    output: String,
    /// Of reading, of writing, and conversions: `sync` is another thing in each.
    iflags: Vec<String>,
    oflags: Vec<String>,
    conversions: Vec<String>,
    work: Work,
}

impl Command {
    fn read(text: &str) -> Option<Self> {
        let at = text.find("dd ").filter(|at| {
            let before = text[..*at].chars().next_back();
            before.is_none_or(|c| c.is_whitespace() || "/`(;&|'\"$#>%".contains(c))
        })?;
        let mut command = Self { is_known: true, ..Self::default() };
        command.operands(text[at..].strip_prefix("dd ")?);
        let is_command = !command.input.is_empty() || !command.output.is_empty();
        is_command.then_some(command)
    }

    fn operands(&mut self, text: &str) {
        // What follows a pipe is another program.
        let own = text.split(['|', ';', '`', '&']).next().unwrap_or_default();
        for word in own.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else { continue };
            // The command may be quoted, or in brackets.
            let value = value.trim_matches(['"', '\'', ')', '*', '\u{2019}', '\u{201d}']);
            let flags = match key {
                "iflag" => &mut self.iflags,
                "oflag" => &mut self.oflags,
                "conv" => &mut self.conversions,
                "if" => {
                    value.clone_into(&mut self.input);
                    continue;
                }
                "of" => {
                    value.clone_into(&mut self.output);
                    continue;
                }
                "bs" => {
                    self.work.set_size("bs", value);
                    continue;
                }
                "count" => {
                    self.work.set("count", value);
                    continue;
                }
                _ => continue,
            };
            // An operand may be repeated: its flags add up.
            flags.extend(value.split([',', '+']).take(FLAGS_MAX).map(str::to_owned));
            flags.truncate(FLAGS_MAX);
            self.work.set(key, value);
        }
    }

    fn phase(&self, rate: f64) -> Phase {
        // Without an output file the data goes to a pipe.
        let reads = self.output.is_empty() || self.output.starts_with("/dev/null");
        let makes = ["/dev/zero", "/dev/random", "/dev/urandom"].contains(&self.input.as_str());
        let name = match () {
            () if !self.is_known => "copy",
            () if reads => "read",
            () => "write",
        };
        let figures = vec![figure("bytes_per_s", rate, "", Better::More)];
        if reads && makes {
            let why = "nothing is read from or written to a disk: it measures the processor";
            let mut phase = labelled(name, Nature::Cpu, why, figures);
            let remark = drivelab_core::record::Label::NotDisk;
            phase.remarks.push(drivelab_core::record::Remark::new(remark, "no file is used"));
            return phase;
        }
        let why = match () {
            () if !self.is_known => {
                "the command is not in the text: without `oflag=direct` or `conv=fdatasync` the page \
                 cache takes the data"
            }
            () if has(if reads { &self.iflags } else { &self.oflags }, &["direct"]) => {
                return transfer(name, rate, figures);
            }
            () if reads => "without `iflag=direct` the page cache may have answered",
            () if has(&self.oflags, &["dsync", "sync"]) => {
                let why = "every block is synced: it measures flushes, not the rate of transfer";
                return labelled(name, Nature::JournalSync, why, figures);
            }
            // The time includes the flush at the end.
            () if has(&self.conversions, &["fdatasync", "fsync"]) => {
                return transfer(name, rate, figures);
            }
            () => "without `oflag=direct` or `conv=fdatasync` the page cache takes the data",
        };
        labelled(name, Nature::PageCache, why, figures)
    }
}

fn has(flags: &[String], wanted: &[&str]) -> bool {
    flags.iter().any(|flag| wanted.contains(&flag.as_str()))
}

#[cfg(test)]
mod tests;
