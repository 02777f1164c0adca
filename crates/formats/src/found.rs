//! What a reader collects from the output of a tool.

use std::collections::BTreeMap;

use drivelab_core::csv::{Line, ParseError, quote};
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark};

use crate::single_run::SINGLE_RUN;

/// Bytes a second above which no single device answered: 15.75 GB/s is all that four lanes of PCI
/// Express 5.0 carry.
const DEVICE_MAX: f64 = 15.75e9;
/// No tool measures more of anything: a larger number is a damaged file.
const NUMBER_MAX: f64 = 1e15;
/// Lines that are reported as not understood, and notes; the rest is counted.
const LISTED_MAX: usize = 100;

/// Runs of one file: two bytes of a file can be a run, which takes hundreds in memory.
const RUNS_MAX: usize = 100_000;
/// Characters of a name or unit from the file: one long name, repeated in every figure, would take
/// memory without bound.
const NAME_MAX: usize = 120;

/// A result file while it is read.
#[derive(Debug)]
pub(crate) struct Found {
    imported: Imported,
    versions: Vec<String>,
    /// Unknown lines beyond those listed.
    unlisted: usize,
    /// Runs beyond those that are kept.
    dropped: usize,
}

impl Found {
    pub(crate) fn new(tool: &str) -> Self {
        let imported = Imported { tool: tool.into(), ..Imported::default() };
        Self { imported, versions: Vec::new(), unlisted: 0, dropped: 0 }
    }

    pub(crate) fn version(&mut self, version: &str) {
        let is_known = self.versions.iter().any(|known| known == version);
        if !version.is_empty() && !is_known && self.versions.len() < LISTED_MAX {
            self.versions.push(version.to_owned());
        }
    }

    /// Keeps a line that was not understood.
    pub(crate) fn unknown(&mut self, line: usize, text: &str) {
        if self.imported.unknown.len() < LISTED_MAX {
            self.imported.unknown.push(format!("line {line}: {}", quote(text.trim())));
        } else {
            self.unlisted += 1;
        }
    }

    pub(crate) fn note(&mut self, note: String) {
        if self.imported.notes.len() < LISTED_MAX && !self.imported.notes.contains(&note) {
            self.imported.notes.push(note);
        }
    }

    /// Adds a run, unless it has no figures.
    pub(crate) fn run(&mut self, line: usize, arm: &str, phases: Vec<Phase>) {
        let phases: Vec<Phase> =
            phases.into_iter().filter(|phase| !phase.figures.is_empty()).collect();
        if self.imported.runs.len() == RUNS_MAX {
            self.dropped += usize::from(!phases.is_empty());
        } else if !phases.is_empty() {
            self.imported.runs.push(ImportedRun { line, arm: short(arm).to_owned(), phases });
        }
    }

    /// The result; without a run it is an error, which `hint` remedies.
    pub(crate) fn finish(self, hint: &str) -> Result<Imported, ParseError> {
        let Self { mut imported, versions, unlisted, dropped } = self;
        if imported.runs.is_empty() {
            let what = format!("it contains no results of {}", imported.tool);
            return Err(ParseError::new(0, what, hint));
        }
        if unlisted > 0 {
            imported.unknown.push(format!("{unlisted} more lines"));
        }
        if dropped > 0 {
            imported.unknown.push(format!("{dropped} more runs: {RUNS_MAX} are read from a file"));
        }
        imported.tool_version = versions.join(", ");
        let mut runs_of_arm: BTreeMap<String, usize> = BTreeMap::new();
        for run in &imported.runs {
            *runs_of_arm.entry(run.arm.clone()).or_default() += 1;
        }
        for run in imported.runs.iter_mut().filter(|run| runs_of_arm[&run.arm] == 1) {
            for phase in &mut run.phases {
                phase.remarks.push(Remark::new(Label::SingleRun, SINGLE_RUN));
            }
        }
        Ok(imported)
    }
}

/// A number that is compared.
pub(crate) fn figure(name: &str, value: f64, unit: &str, better: Better) -> Figure {
    Figure { unit: short(unit).into(), ..Figure::new(name, value, better) }
}

/// A number that only accompanies another one.
pub(crate) fn detail(name: &str, value: f64, unit: &str, better: Better) -> Figure {
    Figure { is_detail: true, ..figure(name, value, unit, better) }
}

/// A phase of which nothing is doubted.
pub(crate) fn phase(name: &str, nature: Nature, figures: Vec<Figure>) -> Phase {
    let (points, remarks) = (Vec::new(), Vec::new());
    Phase { name: name.into(), nature, figures, lat_ns: None, points, remarks }
}

/// A phase that measures something other than a disk, and why.
pub(crate) fn labelled(name: &str, nature: Nature, why: &str, figures: Vec<Figure>) -> Phase {
    let remarks = vec![Remark::new(Label::Nature(nature), why)];
    Phase { remarks, ..phase(name, nature, figures) }
}

/// A phase that reads or writes a disk at a rate that a device can reach, or else memory.
pub(crate) fn transfer(name: &str, bytes_per_s: f64, figures: Vec<Figure>) -> Phase {
    if bytes_per_s <= DEVICE_MAX {
        return phase(name, Nature::Disk, figures);
    }
    let why = "no device is this fast: memory answered";
    let mut phase = labelled(name, Nature::PageCache, why, figures);
    phase.remarks.push(Remark::new(Label::NotDisk, "no device is this fast"));
    phase
}

/// As much of a name as is kept.
fn short(name: &str) -> &str {
    name.char_indices().nth(NAME_MAX).map_or(name, |(end, _)| &name[..end])
}

/// A plain decimal number; Rust's parser also takes `inf`, `nan` and `-1`.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse::<f64>().ok().filter(|value| is_plain && *value <= NUMBER_MAX)
}

/// The number that a tool writes at this place.
pub(crate) fn number(line: Line, text: &str) -> Result<f64, ParseError> {
    decimal(text).ok_or_else(|| {
        let what = format!("{} is not a number", quote(text.trim()));
        let hint = "check whether the file is damaged or edited: the tool writes a decimal number \
                    such as `52686` or `228.9` here";
        ParseError::new(line.number, what, hint)
    })
}

/// A text as part of the name of a metric: `1000 Files, 1MB Size` is `1000-files-1mb-size`.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for sign in short(text).chars() {
        if sign.is_alphanumeric() || sign == '.' {
            slug.extend(sign.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_plain_decimals() {
        let check = |text, expected| assert_eq!(decimal(text), expected, "{text}");
        check(" 52686 ", Some(52_686.0));
        check("228.9", Some(228.9));
        check("inf", None);
        check("-1", None);
        check("1e5", None);
        check(".", None);
        check("", None);
        check("9999999999999999", None);
    }

    #[test]
    fn names_are_in_lower_case_with_hyphens() {
        let check = |text, expected| assert_eq!(slug(text), expected);
        check("fs-mark-1.0.1", "fs-mark-1.0.1");
        check("Test: 1000 Files, 1MB Size", "test-1000-files-1mb-size");
        check(" - ", "");
        check(&"ä".repeat(500), &"ä".repeat(120));
    }

    #[test]
    fn what_is_not_understood_is_listed_up_to_a_limit() {
        let mut found = Found::new("a tool");
        (1..=150).for_each(|line| found.unknown(line, " text "));
        found.run(1, "a", vec![phase("", Nature::Disk, Vec::new())]);
        let figures = vec![figure("seeks", 1.0, "1/s", Better::More)];
        found.run(1, "a", vec![phase("seeks", Nature::Disk, figures)]);
        let imported = found.finish("give it").unwrap();
        assert_eq!(imported.unknown[0], "line 1: `text`");
        assert_eq!((imported.unknown.len(), imported.runs.len()), (101, 1));
        assert_eq!(imported.unknown[100], "50 more lines");
        assert_eq!(imported.runs[0].phases[0].remarks[0].label, Label::SingleRun);
        let error = Found::new("a tool").finish("give it").unwrap_err().to_string();
        assert_eq!(error, "it contains no results of a tool; give it");
    }

    #[test]
    fn runs_beyond_the_limit_are_counted() {
        let mut found = Found::new("a tool");
        for line in 0..RUNS_MAX + 3 {
            let figures = vec![figure("seeks", 1.0, "1/s", Better::More)];
            found.run(line, "a", vec![phase("seeks", Nature::Disk, figures)]);
        }
        let imported = found.finish("give it").unwrap();
        assert_eq!(imported.runs.len(), RUNS_MAX);
        assert_eq!(imported.unknown, ["3 more runs: 100000 are read from a file"]);
    }
}
