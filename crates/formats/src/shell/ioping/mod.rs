//! ioping's statistics, versions 0.5 to 1.3.
//!
//! `iops` is one divided by the mean time of a request: ioping sends one request at a time and, by
//! default, one a second, so this is no load. Version 1.0 and later also print the rate that was
//! generated.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Phase, Work};

use crate::found::{Found, detail, figure, labelled, phase};
use crate::quantity::{Comma, bytes_per_s, count, ns_of, split};
use crate::sign::in_a_line;

const STATISTICS: &str = " ioping statistics ---";
const COMPLETED: &str = " requests completed in ";
const TIMES: &str = "min/avg/max/mdev = ";

/// True if a text contains such statistics.
pub fn is_ioping(text: &str) -> bool {
    in_a_line(text, STATISTICS, |line| target(line).is_some())
        || in_a_line(text, COMPLETED, is_rates)
}

/// `10 requests completed in 9.0 s, 233 iops, 233.1 MiB/s`, which may be all that was pasted.
fn is_rates(line: &str) -> bool {
    line.trim().split_once(COMPLETED).is_some_and(|(count, rest)| {
        count.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(" iops")
    })
}

/// `--- PATH (ext4 /dev/sda3) ioping statistics ---`.
fn target(line: &str) -> Option<&str> {
    line.trim().strip_prefix("--- ")?.strip_suffix(STATISTICS)
}

/// Reads every statistics of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("ioping");
    let mut run: Option<Run> = None;
    let mut options = String::new();
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(target) = target(text) {
            finish(run.take(), &mut found);
            let options = std::mem::take(&mut options);
            run = Some(Run { line: line.number, target, options, figures: Vec::new() });
        } else if let Some((_, given)) = text.split_once("ioping ").filter(|_| !is_rates(text)) {
            finish(run.take(), &mut found);
            given.clone_into(&mut options);
        } else if is_rates(text) && run.as_ref().is_none_or(Run::has_rates) {
            // The line above it, which names the target, was not pasted.
            finish(run.take(), &mut found);
            let options = std::mem::take(&mut options);
            let mut headless = Run { line: line.number, target: "", options, figures: Vec::new() };
            headless.take(line, text, &mut found);
            run = Some(headless);
        } else if let Some(run) = &mut run {
            run.take(line, text, &mut found);
        }
    }
    finish(run, &mut found);
    found.finish("give the complete output of an `ioping` that was not killed")
}

struct Run<'a> {
    line: usize,
    target: &'a str,
    /// The command line, if the text has it.
    options: String,
    figures: Vec<Figure>,
}

impl Run<'_> {
    fn take(&mut self, line: Line, text: &str, found: &mut Found) {
        let figures = if let Some(times) = text.strip_prefix(TIMES) {
            times_of(times)
        } else if text.contains(COMPLETED) {
            rates(text, "")
        } else if text.starts_with("generated ") {
            rates(text, "generated_")
        } else {
            return;
        };
        match figures {
            // A second line of the same kind is of something else.
            Some(more) if self.figures.len() < 10 => self.figures.extend(more),
            _ => found.unknown(line.number, text),
        }
    }

    fn has_rates(&self) -> bool {
        self.figures.iter().any(|figure| figure.name == "iops")
    }

    fn has(&self, option: char) -> bool {
        let mut words = self.options.split_whitespace().filter_map(|word| word.strip_prefix('-'));
        // Short options are joined: `-RD`.
        words.any(|letters| !letters.starts_with('-') && letters.contains(option))
    }
}

fn finish(run: Option<Run>, found: &mut Found) {
    let Some(run) = run else { return };
    let mut work = Work::default();
    if run.has('D') {
        work.set_switch("direct", true);
    }
    if run.has('W') {
        work.set("rw", "write");
    }
    let phase = run.phase();
    if phase.figures.iter().any(|figure| figure.name == "iops") {
        let note = "ioping sends one request at a time: its IOPS are one divided by the mean time, \
                    not what the device can do.";
        found.note(note.to_owned());
    }
    found.run_of(run.line, run.target, work, vec![phase]);
}

impl Run<'_> {
    fn phase(&self) -> Phase {
        let figures = self.figures.clone();
        if self.has('C') {
            let why = "`-C` reads through the page cache, which may have answered";
            return labelled("", Nature::PageCache, why, figures);
        }
        phase("", Nature::Disk, figures)
    }
}

/// A time in nanoseconds; before version 0.7 only the last of a line has a unit.
fn time(text: &str, last: &str) -> Option<f64> {
    let (value, unit) = split(text, Comma::Decimal)?;
    Some(value * ns_of(if unit.is_empty() { last } else { unit })?)
}

/// `296 us / 14.9 ms / 600.3 ms / 75.3 ms`, or before version 0.7 `0.2/2.8/12.7/5.0 ms`.
pub(super) fn times_of(text: &str) -> Option<Vec<Figure>> {
    let parts: Vec<&str> = text.split('/').collect();
    let [min, avg, max, mdev] = parts[..] else { return None };
    let last = split(mdev, Comma::Decimal)?.1;
    Some(vec![
        figure("lat_mean_ns", time(avg, last)?, "", Better::Less),
        detail("lat_min_ns", time(min, last)?, "", Better::Less),
        detail("lat_max_ns", time(max, last)?, "", Better::Less),
        detail("lat_mdev_ns", time(mdev, last)?, "ns", Better::Less),
    ])
}

/// `..., 1.8 k iops, 7.1 MiB/s`, with what was read before them since version 1.0.
pub(super) fn rates(text: &str, prefix: &str) -> Option<Vec<Figure>> {
    let mut figures = Vec::new();
    for part in text.split(", ") {
        if let Some(iops) = part.strip_suffix(" iops") {
            figures.push(rate(&format!("{prefix}iops"), count(iops)?, "1/s", prefix));
        } else if part.ends_with("/s") {
            // Before version 0.7 MiB are `mb`.
            let spelled = part.strip_suffix("mb/s").map(|value| format!("{value}MiB/s"));
            let value = bytes_per_s(spelled.as_deref().unwrap_or(part), 1000.0, Comma::Decimal)?;
            figures.push(rate(&format!("{prefix}bytes_per_s"), value, "B/s", prefix));
        }
    }
    (!figures.is_empty()).then_some(figures)
}

/// The generated rate is a setting.
fn rate(name: &str, value: f64, unit: &str, prefix: &str) -> Figure {
    if prefix.is_empty() {
        figure(name, value, unit, Better::More)
    } else {
        detail(name, value, unit, Better::Neither)
    }
}

#[cfg(test)]
mod tests;
