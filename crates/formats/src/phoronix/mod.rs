//! The Phoronix Test Suite: `composite.xml` of versions 5.8 to 10.8.
//!
//! Each system is an arm, and each trial a run. The metric's name contains the version of the test
//! profile: 1.8 of `sqlite` inserts 12,500 rows where 1.9 inserts 7,500.

mod meaning;
mod own;
mod write;

pub use write::write;

use std::collections::BTreeMap;

use drivelab_core::csv::ParseError;
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark, Work};

use crate::date;
use crate::found::{FIGURES_MAX, Found, decimal, figure, phase, slug};
use crate::xml::{Step, walk};
use own::Own;

/// True if a text is a result file of the suite.
pub fn is_phoronix(text: &str) -> bool {
    text.contains("<PhoronixTestSuite>") || text.contains("<PhoronixTestSuite ")
}

/// Maximum number of bytes of the trials of a system: thousands of numbers.
const RAW_MAX: usize = 1 << 16;

/// One test.
#[derive(Debug, Default)]
struct Test {
    identifier: String,
    title: String,
    description: String,
    scale: String,
    proportion: String,
    arguments: String,
    entries: Vec<Entry>,
    /// Number of entries beyond those that are kept.
    more: usize,
}

/// The result of a system in it.
#[derive(Debug, Default)]
struct Entry {
    line: usize,
    system: String,
    value: String,
    /// The value of each trial, separated by colons.
    raw: String,
    json: String,
}

/// The trials of one system.
#[derive(Debug)]
struct System {
    line: usize,
    name: String,
    work: Work,
    runs: Vec<Vec<Phase>>,
}

/// The systems in order of appearance.
#[derive(Debug, Default)]
struct Systems {
    all: Vec<System>,
    indices: BTreeMap<String, usize>,
    /// Time of each one's measurement, by name: all trials of one come before those of the next.
    times: BTreeMap<String, u64>,
    /// Number of figures of all.
    figures: usize,
}

impl Systems {
    fn of(&mut self, entry: &Entry) -> &mut System {
        let index = *self.indices.entry(entry.system.clone()).or_insert_with(|| {
            let (line, name) = (entry.line, entry.system.clone());
            self.all.push(System { line, name, work: Work::default(), runs: Vec::new() });
            self.all.len() - 1
        });
        &mut self.all[index]
    }
}

/// Reads every test of a file.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("Phoronix Test Suite");
    let mut current = Test::default();
    let mut names = BTreeMap::new();
    let mut systems = Systems::default();
    let mut system = String::new();
    walk(text, |path, line, step| {
        let root = path.first().copied();
        if root != Some("PhoronixTestSuite") {
            let hint = "give `composite.xml` from the folder of the result";
            return Err(ParseError::new(line, "not a result of the Phoronix Test Suite", hint));
        }
        match (&path[1..], step) {
            (["Result"], Step::Open) => current = Test::default(),
            (["Result"], Step::Close(_)) => {
                std::mem::take(&mut current).read(line, &mut names, &mut systems, &mut found);
            }
            (["Result", inner @ ..], step) => current.take(inner, line, step),
            (["System", "Identifier"], Step::Close(text)) => system = text,
            (["System", "TimeStamp"], Step::Close(text)) => {
                systems.times.extend(date::unix_s(&text).map(|time| (system.clone(), time)));
            }
            (["Generated", "TestClient"], Step::Close(text)) if text.starts_with(own::CLIENT) => {
                found.tool(&text[own::CLIENT.len()..]);
            }
            (["System", "TestClientVersion"] | ["Generated", "TestClient"], Step::Close(text)) => {
                let version = text.trim_start_matches("Phoronix Test Suite ");
                found.version(version.strip_prefix('v').unwrap_or(version));
            }
            _ => {}
        }
        Ok(())
    })?;
    for system in systems.all {
        let ended_unix_s = systems.times.get(&system.name).copied();
        for phases in system.runs {
            let (line, arm, work) = (system.line, system.name.clone(), system.work.clone());
            let run =
                ImportedRun { line, arm, ended_unix_s, work, phases, ..ImportedRun::default() };
            found.add(run);
        }
    }
    found.finish("give `composite.xml` of a test run that finished")
}

impl Test {
    /// Processes an element below `Result`.
    fn take(&mut self, path: &[&str], line: usize, step: Step) {
        let text = match step {
            Step::Open if path == ["Data", "Entry"] && self.entries.len() == FIGURES_MAX => {
                return self.more += 1;
            }
            Step::Open if path == ["Data", "Entry"] => {
                return self.entries.push(Entry { line, ..Entry::default() });
            }
            Step::Open => return,
            Step::Close(text) => text,
        };
        let entry = self.entries.last_mut();
        match (path, entry) {
            (["Identifier"], _) => self.identifier = text,
            (["Title"], _) => self.title = text,
            (["Description"], _) => self.description = text,
            (["Scale"], _) => self.scale = text,
            (["Proportion"], _) => self.proportion = text,
            (["Arguments"], _) => self.arguments = text,
            (["Data", "Entry", "Identifier"], Some(entry)) => entry.system = text,
            (["Data", "Entry", "Value"], Some(entry)) => entry.value = text,
            (["Data", "Entry", "RawString"], Some(entry)) => entry.raw = text,
            (["Data", "Entry", "JSON"], Some(entry)) => entry.json = text,
            _ => {}
        }
    }

    /// Its name among the metrics: the profile without its origin, and the chosen options.
    fn metric(&self, names: &mut BTreeMap<String, usize>) -> String {
        if let Some(own) = self.identifier.strip_prefix(own::ORIGIN) {
            return own.to_owned();
        }
        let profile = self.identifier.rsplit('/').next().unwrap_or("");
        let profile = if profile.is_empty() { &self.title } else { profile };
        // fio's test has two results with one description: the unit distinguishes them, also in
        // files that hold only one or have the other first.
        let unit = if profile.starts_with("fio-") && self.scale == "IOPS" { "IOPS" } else { "" };
        let mut name = slug(&format!("{profile} {} {unit}", self.description));
        if name.is_empty() {
            name = "test".into();
        }
        // Two tests may have the same profile and description: the later ones are numbered.
        let count = names.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 { format!("{name}-{count}") } else { name }
    }

    /// Adds the trials of each system to its runs.
    fn read(
        &self,
        line: usize,
        names: &mut BTreeMap<String, usize>,
        systems: &mut Systems,
        found: &mut Found,
    ) {
        if systems.figures >= FIGURES_MAX || self.more > 0 {
            let what = format!("more than {FIGURES_MAX} values: this result is not read");
            return found.unread(line, &what);
        }
        let name = self.metric(names);
        let better = match self.proportion.as_str() {
            "LIB" => Better::Less,
            "HIB" => Better::More,
            _ => Better::Neither,
        };
        let meaning = meaning::of(&self.identifier, &self.description);
        let is_own = self.identifier.starts_with(own::ORIGIN);
        if meaning.is_none() && !is_own {
            found.note(format!("What `{name}` measures is unknown: it may not be a disk."));
        }
        for entry in &self.entries {
            let Some((trials, is_mean)) = entry.trials() else {
                found.unknown(entry.line, &format!("{name}: {}", entry.value));
                continue;
            };
            systems.figures += trials.len();
            let own = Own::read(&entry.json).filter(|_| is_own);
            let System { runs, work, .. } = systems.of(entry);
            // Tests may have different numbers of trials: later runs then lack some figures.
            runs.resize_with(runs.len().max(trials.len()), Vec::new);
            match &own {
                Some(own) => work.add("", own.work()),
                None => work.set(&format!("{name}.arguments"), &self.arguments),
            }
            for (run, value) in runs.iter_mut().zip(trials) {
                let trial = figure(&name, value, &self.scale, better);
                let mut phase = match (&own, &meaning) {
                    (Some(own), _) => own_phase(trial, own),
                    (None, Some(meaning)) => meaning.phase(&name, value, vec![trial]),
                    (None, None) => phase(&name, Nature::Disk, vec![trial]),
                };
                if is_mean {
                    let why = "the file holds only the mean: the number of trials and their \
                               variation are unknown";
                    phase.remarks.push(Remark::new(Label::SingleRun, why));
                }
                run.push(phase);
            }
        }
    }
}

/// A figure that drivelab exported, with its attributes.
fn own_phase(mut figure: Figure, own: &Own) -> Phase {
    own.restore(&mut figure);
    phase("", own.nature().unwrap_or(Nature::Disk), vec![figure])
}

impl Entry {
    /// The value of each trial; or the single value, which is their mean, and a flag that says so.
    fn trials(&self) -> Option<(Vec<f64>, bool)> {
        if self.raw.len() > RAW_MAX {
            return None;
        }
        let trials: Option<Vec<f64>> = self.raw.split(':').map(decimal).collect();
        match trials {
            Some(trials) => Some((trials, false)),
            None if self.raw.is_empty() => Some((vec![decimal(&self.value)?], true)),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests;
