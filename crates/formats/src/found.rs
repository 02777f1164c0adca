//! The figures and notes that a reader collects from the output of a tool.

#[cfg(test)]
pub(crate) mod damage;

use std::collections::BTreeMap;

use drivelab_core::Span;
use drivelab_core::csv::{Line, ParseError, quote};
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark, Work};

use crate::single_run::SINGLE_RUN;

/// Bytes per second above which no single device answered: the raw rate of four lanes of PCI
/// Express 6.0, of which drives of 2026 reach 28 GB/s.
pub(crate) const DEVICE_MAX: f64 = 32e9;
/// No tool measures a larger number: beyond it the file is damaged.
const NUMBER_MAX: f64 = 1e15;
/// Maximum number of lines reported as not understood, and of notes; the rest is counted.
const LISTED_MAX: usize = 100;

/// Maximum number of figures of one file: two bytes of a file can be a figure, which takes a
/// thousand bytes in memory with all its attributes.
pub(crate) const FIGURES_MAX: usize = 50_000;
/// Maximum number of characters of a name or unit from the file: one long name, repeated in every
/// figure, would take unbounded memory.
const NAME_MAX: usize = 120;

/// Maximum number of figures or phases of one run; no tool that is read line by line prints a
/// hundred.
const RUN_MAX: usize = 1000;

/// Keys of the work of runs that count as one figure, as they take as much memory.
const KEYS_PER_FIGURE: usize = 2;
/// Maximum number of keys of the work of all runs of one file: a key takes a hundred bytes.
const WORK_MAX: usize = 500_000;
/// Maximum number of characters of the value of such a key.
const VALUE_MAX: usize = 1000;

/// A result file during reading.
#[derive(Debug)]
pub(crate) struct Found {
    imported: Imported,
    versions: Vec<String>,
    /// Number of unknown lines beyond the listed ones.
    unlisted: usize,
    /// Number of figures of the runs that are kept, and of keys of their work.
    figures: usize,
    keys: usize,
    /// Number of runs beyond those that are kept.
    dropped: usize,
    /// The first row that was left out because it is damaged.
    damage: Option<ParseError>,
}

impl Found {
    pub(crate) fn new(tool: &str) -> Self {
        let imported = Imported { tool: tool.into(), ..Imported::default() };
        let (versions, damage) = (Vec::new(), None);
        Self { imported, versions, unlisted: 0, figures: 0, keys: 0, dropped: 0, damage }
    }

    /// Names the tool that measured, if it is not the one that wrote the file.
    pub(crate) fn tool(&mut self, tool: &str) {
        short(tool).clone_into(&mut self.imported.tool);
    }

    pub(crate) fn version(&mut self, version: &str) {
        let is_known = self.versions.iter().any(|known| known == version);
        if !version.is_empty() && !is_known && self.versions.len() < LISTED_MAX {
            self.versions.push(version.to_owned());
        }
    }

    /// True if a version that was read begins with `start`.
    pub(crate) fn is_of_version(&self, start: &str) -> bool {
        self.versions.iter().any(|version| version.starts_with(start))
    }

    /// Records a line that was not understood.
    pub(crate) fn unknown(&mut self, line: usize, text: &str) {
        self.list(line, || quote(text.trim()));
    }

    /// Records the reason why a line, or part of it, contains no number.
    pub(crate) fn unread(&mut self, line: usize, why: &str) {
        self.list(line, || why.to_owned());
    }

    /// Leaves out a damaged row; where nothing else is read, it is the reason of the refusal.
    pub(crate) fn damaged(&mut self, error: ParseError) {
        // The first one is most likely the cause of the others.
        self.unread(error.line, &error.what);
        self.damage.get_or_insert(error);
    }

    /// Lines beyond the listed ones are only counted: a file may have millions of such lines.
    fn list(&mut self, line: usize, why: impl FnOnce() -> String) {
        if self.imported.unknown.len() == LISTED_MAX {
            self.unlisted += 1;
            return;
        }
        let unknown = format!("line {line}: {}", why());
        if !self.imported.unknown.contains(&unknown) {
            self.imported.unknown.push(unknown);
        }
    }

    pub(crate) fn note(&mut self, note: String) {
        if self.imported.notes.len() < LISTED_MAX && !self.imported.notes.contains(&note) {
            self.imported.notes.push(note);
        }
    }

    /// Adds a run that consists only of its figures.
    pub(crate) fn run(&mut self, line: usize, arm: &str, phases: Vec<Phase>) {
        self.add(ImportedRun { line, arm: arm.to_owned(), phases, ..ImportedRun::default() });
    }

    /// Adds a run whose settings the file states.
    pub(crate) fn run_of(&mut self, line: usize, arm: &str, work: Work, phases: Vec<Phase>) {
        self.add(ImportedRun { line, arm: arm.to_owned(), work, phases, ..ImportedRun::default() });
    }

    /// Adds a run, unless it has no figures.
    pub(crate) fn add(&mut self, mut run: ImportedRun) {
        run.phases.retain(|phase| !phase.figures.is_empty());
        // A name is repeated in every figure of a run: a long one would multiply.
        run.arm.truncate(short(&run.arm).len());
        run.work = self.bounded(&run.work);
        if run.phases.is_empty() {
        } else if self.is_full() {
            self.drop_run();
        } else {
            self.figures += run.phases.iter().map(|phase| phase.figures.len()).sum::<usize>();
            self.imported.runs.push(run);
        }
    }

    /// The work without values that are too long; nothing where the file has too many keys.
    fn bounded(&mut self, work: &Work) -> Work {
        let mut kept = Work::default();
        for (key, value) in work.iter() {
            if self.keys < WORK_MAX {
                self.keys += 1;
                kept.set(short(key), value.chars().take(VALUE_MAX).collect::<String>());
            }
        }
        kept
    }

    /// True if no further runs are kept: a reader may then only count them.
    pub(crate) fn is_full(&self) -> bool {
        self.figures + self.keys / KEYS_PER_FIGURE >= FIGURES_MAX
    }

    pub(crate) fn drop_run(&mut self) {
        self.drop_runs(1);
    }

    pub(crate) fn drop_runs(&mut self, count: usize) {
        self.dropped += count;
    }

    /// The result; without a run it is an error, with the remedy `hint`.
    pub(crate) fn finish(self, hint: &str) -> Result<Imported, ParseError> {
        let Self { mut imported, versions, unlisted, dropped, damage, .. } = self;
        if let Some(damage) = damage.filter(|_| imported.runs.is_empty()) {
            return Err(damage);
        }
        if imported.runs.is_empty() {
            let why = imported.unknown.iter().find(|it| quoted_line(it).is_none());
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let what = format!("it contains no results of {}{why}", imported.tool);
            return Err(ParseError::new(0, what, hint));
        }
        if unlisted > 0 {
            imported.unknown.push(format!("{unlisted} more lines"));
        }
        if dropped > 0 {
            let read = imported.runs.len();
            imported.unknown.push(format!("{dropped} more runs: only the first {read} are read"));
        }
        imported.tool_version = versions.join(", ");
        label_single_runs(&mut imported.runs);
        Ok(imported)
    }
}

/// The line that an entry of [`Imported::unknown`] quotes; `None` for a reason.
pub(crate) fn quoted_line(unknown: &str) -> Option<usize> {
    let (line, text) = unknown.strip_prefix("line ")?.split_once(": ")?;
    (text.len() > 1 && text.starts_with('`') && text.ends_with('`')).then(|| line.parse().ok())?
}

/// Labels runs that are not one of several that the file groups together: two lines of one name may
/// be two configurations.
fn label_single_runs(runs: &mut [ImportedRun]) {
    let mut trials: BTreeMap<(String, usize), usize> = BTreeMap::new();
    for run in runs.iter() {
        // Trials of one call have its name and its line in common.
        *trials.entry((run.arm.clone(), run.line)).or_default() += 1;
    }
    for run in runs {
        if trials[&(run.arm.clone(), run.line)] == 1 {
            // A reader may have said it already, with a reason of the tool.
            for phase in &mut run.phases {
                if phase.remarks.iter().all(|remark| remark.label != Label::SingleRun) {
                    phase.remarks.push(Remark::new(Label::SingleRun, SINGLE_RUN));
                }
            }
        }
    }
}

/// Adds to the figures or phases of one run, unless it has more than any tool prints.
pub(crate) fn put<T>(list: &mut Vec<T>, item: T, line: usize) -> Result<(), ParseError> {
    if list.len() == RUN_MAX {
        let what = format!("more than {RUN_MAX} figures in one run");
        let hint = "check whether the file is damaged: each run begins with the line that the tool \
                    prints first";
        return Err(ParseError::new(line, what, hint));
    }
    list.push(item);
    Ok(())
}

/// A number that is compared.
pub(crate) fn figure(name: &str, value: f64, unit: &str, better: Better) -> Figure {
    Figure { unit: short(unit).into(), ..Figure::new(name, value, better) }
}

/// A number that only accompanies another one.
pub(crate) fn detail(name: &str, value: f64, unit: &str, better: Better) -> Figure {
    Figure { is_detail: true, ..figure(name, value, unit, better) }
}

/// A time of a tool that counts seconds, in the spelling of drivelab: `10` and `10 s` are `10s`.
pub(crate) fn seconds(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    // `10 sec` without its blank: the unit of a `Span` is `s`.
    let text = text.strip_suffix("ec").unwrap_or(&text).to_owned();
    let with_unit =
        if text.ends_with(|c: char| c.is_ascii_digit()) { format!("{text}s") } else { text };
    with_unit.parse::<Span>().map_or(with_unit, |span| span.to_string())
}

/// A phase without remarks.
pub(crate) fn phase(name: &str, nature: Nature, figures: Vec<Figure>) -> Phase {
    let (points, remarks) = (Vec::new(), Vec::new());
    Phase { name: name.into(), nature, figures, lat_ns: None, points, remarks }
}

/// A phase that measures something other than a disk, with the reason.
pub(crate) fn labelled(name: &str, nature: Nature, why: &str, figures: Vec<Figure>) -> Phase {
    let remarks = vec![Remark::new(Label::Nature(nature), why)];
    Phase { remarks, ..phase(name, nature, figures) }
}

/// A phase that reads or writes a disk if its rate is possible for a device, otherwise memory.
pub(crate) fn transfer(name: &str, bytes_per_s: f64, figures: Vec<Figure>) -> Phase {
    if bytes_per_s <= DEVICE_MAX {
        return phase(name, Nature::Disk, figures);
    }
    let why = "no device is this fast: memory answered";
    let mut phase = labelled(name, Nature::PageCache, why, figures);
    phase.remarks.push(Remark::new(Label::NotDisk, "no device is this fast"));
    phase
}

/// The part of a name that is kept.
fn short(name: &str) -> &str {
    name.char_indices().nth(NAME_MAX).map_or(name, |(end, _)| &name[..end])
}

/// The number of decimals of a number, also behind the comma that some languages write.
pub(crate) fn decimals(number: &str) -> usize {
    number.split_once(['.', ',']).map_or(0, |(_, rest)| rest.len())
}

/// The ends of the words of a line, in characters.
pub(crate) fn word_ends(line: &str) -> impl Iterator<Item = usize> {
    let ends = line.char_indices().zip(line.chars().skip(1).chain([' '])).enumerate();
    ends.filter(|(_, ((_, one), next))| !one.is_whitespace() && next.is_whitespace())
        .map(|(at, _)| at + 1)
}

/// A plain decimal number; Rust's parser also accepts `inf`, `nan` and `-1`.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    // No tool writes exponents, signs or `inf` where this is used.
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse::<f64>().ok().filter(|value| is_plain && *value <= NUMBER_MAX)
}

/// The number that a tool writes in this format.
pub(crate) fn number(line: Line, text: &str) -> Result<f64, ParseError> {
    decimal(text).ok_or_else(|| {
        let what = format!("{} is not a number", quote(text.trim()));
        let hint = "check whether the file is damaged or edited: the tool writes a decimal number \
                    such as `52686` or `228.9` here";
        ParseError::new(line.number, what, hint)
    })
}

/// A text as part of the name of a metric: `1000 Files, 1MB Size` is `1000-files-1mb-size`. What is
/// too long keeps its beginning and its end, and a number of the whole, so that it stays one name.
pub(crate) fn slug(text: &str) -> String {
    let count = text.chars().count();
    if count > NAME_MAX {
        let end = text.char_indices().nth(count - END_OF_NAME).map_or("", |(at, _)| &text[at..]);
        let begin: String = text.chars().take(NAME_MAX - END_OF_NAME - 10).collect();
        return format!("{}-{:08x}-{}", whole_slug(&begin), checksum(text), whole_slug(end));
    }
    whole_slug(text)
}

/// Characters of the end of a long name that are kept.
const END_OF_NAME: usize = 30;

/// FNV-1a with 32 bits (RFC 9923): the same text has the same number everywhere.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn whole_slug(text: &str) -> String {
    let mut slug = String::new();
    for sign in text.chars() {
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
        let long = |end: &str| slug(&format!("{} {end}", "ä".repeat(500)));
        assert!(long("a").chars().count() <= NAME_MAX);
        assert_ne!(slug(&format!("a{}", "ä".repeat(500))), slug(&"ä".repeat(500)));
        assert!(long("Target: b").ends_with("-target-b"), "{}", long("Target: b"));
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
    fn a_run_of_more_figures_than_any_tool_prints_is_refused() {
        let mut list = Vec::new();
        for number in 1..=RUN_MAX {
            put(&mut list, number, number).unwrap();
        }
        let error = put(&mut list, 0, 1001).unwrap_err().to_string();
        assert!(error.starts_with("line 1001: more than 1000 figures in one run; "), "{error}");
    }

    #[test]
    fn runs_beyond_the_limit_are_counted() {
        let mut found = Found::new("a tool");
        for line in 0..FIGURES_MAX + 3 {
            let figures = vec![figure("seeks", 1.0, "1/s", Better::More)];
            found.run(line, "a", vec![phase("seeks", Nature::Disk, figures)]);
        }
        let imported = found.finish("give it").unwrap();
        assert_eq!(imported.runs.len(), FIGURES_MAX);
        assert_eq!(imported.unknown, ["3 more runs: only the first 50000 are read"]);
    }
}
