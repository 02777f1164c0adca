//! The suites by name, and how one is chosen: `NAME[,key=value...]`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use drivelab_core::Control;
use drivelab_core::config::{Value as _, nearest};
use drivelab_core::outline::{Line, Tone};
use drivelab_core::record::{Mark, MarkId, Phase, SUITE, Work, metric_name, size};
use drivelab_core::{Bytes, Invalid, Refusal, Span, invalid};

use crate::bench::{Bench, CacheDrop, Halt, SuiteOption, Workspace, drops_everything, has_space};
use crate::blogbench::Blogbench;
use crate::bonnie::Bonnie;
use crate::copy::Copy;
use crate::fsmark::FsMark;
use crate::metadata::Metadata;
use crate::plan::Plan;
use crate::scan::Scan;
use crate::sqlite::Sqlite;
use crate::tiobench::Tiobench;

/// A suite: its name, options and constructor.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// Its work, in a phrase.
    pub summary: &'static str,
    /// The options that may be set.
    pub options: &'static [SuiteOption],
    make: fn() -> Box<dyn Plan>,
}

macro_rules! suites {
    ($($name:literal: $type:ident, $summary:literal;)+) => {
        /// Every suite, in the order of the help.
        pub static SUITES: &[About] = &[$(About {
            name: $name,
            summary: $summary,
            options: $type::OPTIONS,
            make: || Box::new($type::default()),
        }),+];
    };
}

suites! {
    "bonnie": Bonnie, "bonnie++: one large file, then many small ones";
    "fsmark": FsMark, "fs_mark: files created, written and synced";
    "tiobench": Tiobench, "tiotest: threads that write and read, each its own file";
    "sqlite": Sqlite, "insertions into SQLite, each a transaction";
    "blogbench": Blogbench, "Blogbench: writers, rewriters, commenters and readers of blogs";
    "copy": Copy, "five sets of files copied between two folders";
    "scan": Scan, "a virus scanner's read of a tree, alone and beside a copy";
    "metadata": Metadata, "a source tree unpacked, walked and removed";
}

/// A suite with its options; displays as it was given.
#[derive(Debug, Clone)]
pub struct Suite {
    about: &'static About,
    given: Vec<(String, String)>,
    plan: Arc<dyn Plan>,
}

/// Every suite with its options, for people.
pub fn help() -> Vec<Line> {
    let first = "drivelab run DIR --suite NAME[,KEY=VALUE...] runs a suite in the folder DIR.";
    let mut lines = vec![Line::new(first, 0)];
    for about in SUITES {
        let name = format!("{:<11}", about.name);
        lines.push(Line::default());
        lines.push(Line::new(about.summary, 2).part(Tone::Bold, name));
        lines.extend(about.options.iter().map(help_of));
    }
    lines
}

fn help_of(option: &SuiteOption) -> Line {
    let default = match option.default {
        "" => String::new(),
        default => format!(" [{default}]"),
    };
    let help = option.help.trim().trim_end_matches('.');
    let key = format!("  {:<11}", option.key);
    Line::new(format!("{help}{default}"), 13).part(Tone::Plain, key)
}

impl Suite {
    /// The suite called `name`, with values for some of its options.
    ///
    /// # Errors
    /// Says which suites or options there are.
    pub fn new(name: &str, given: &[(String, String)]) -> Result<Self, Invalid> {
        let Some(about) = SUITES.iter().find(|about| about.name == name) else {
            return Err(unknown("suite", name, SUITES.iter().map(|about| about.name)).into());
        };
        // All defaults first; what is given overrides them in order.
        let mut plan = (about.make)();
        for (index, (key, value)) in given.iter().enumerate() {
            if given[..index].iter().any(|(earlier, _)| earlier == key) {
                return Err(invalid!("`{key}` is given twice"));
            }
            if !plan.set(key, value).map_err(|wrong| format!("`{key}`: {wrong}"))? {
                let what = format!("option of suite `{name}`");
                return Err(
                    unknown(&what, key, about.options.iter().map(|option| option.key)).into()
                );
            }
        }
        plan.check()?;
        Ok(Self { about, given: given.to_vec(), plan: plan.into() })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.about.name
    }

    /// Its work, in a phrase.
    pub fn summary(&self) -> &'static str {
        self.about.summary
    }

    /// Returns true if it drops the page cache of the whole machine, which this process may.
    pub fn drops_everything(&self) -> bool {
        self.plan.drop_when() != CacheDrop::Never && drops_everything()
    }

    /// The options that were given.
    pub fn options(&self) -> impl Iterator<Item = (String, String)> {
        self.given.iter().cloned()
    }

    /// Every option with the value in force, in one spelling: a value that is given and equals the
    /// default is the same work as none.
    pub fn work(&self) -> Work {
        let mut work = Work::default();
        work.set("suite", self.about.name);
        for option in self.about.options {
            // Options that were not given are part of the work too.
            let given = self.given.iter().find(|(key, _)| key == option.key);
            let text = given.map_or(option.default, |(_, value)| value);
            work.set(&format!("{SUITE}{}", option.key), spelled(option.default, text));
        }
        work
    }

    /// Returns the settings that the original tool writes into its results, under its names; of a
    /// run on a machine with so much memory, if that is known.
    pub fn setup(&self, seed: u64, memory: Option<Bytes>) -> BTreeMap<String, String> {
        self.plan.setup(seed, memory)
    }

    /// The names of its numbers among all of a run; the first speaks for it.
    pub fn metrics(&self) -> Vec<String> {
        let mut metrics = Vec::new();
        for (phase, figures) in self.plan.measures() {
            let load = format!("{phase}_cpu");
            let all = figures.iter().map(String::as_str).chain([&*load]).chain(LATENCIES);
            metrics.extend(all.map(|figure| metric_name(&phase, figure)));
        }
        debug_assert!(!metrics.is_empty(), "{} measures something", self.about.name);
        metrics
    }
}

/// The latencies of the steps of a phase.
const LATENCIES: [&str; 3] = ["lat_mean_ns", "lat_p50_ns", "lat_p99_ns"];

/// A value in the one spelling of its kind, which the default shows.
fn spelled(default: &str, text: &str) -> String {
    if matches!(default, "on" | "off") {
        // A switch is 0 or 1, as in the records of loads.
        return bool::read(text)
            .map_or_else(|_| text.to_owned(), |is_on| u8::from(is_on).to_string());
    }
    // `auto` stands for a size that the suite chooses.
    if default == "auto" || (!ends_in_digit(default) && Bytes::read(default).is_ok()) {
        return size(text);
    }
    if !ends_in_digit(default) && Span::read(default).is_ok() {
        return Span::read(text).map_or_else(|_| text.to_owned(), |span| span.to_string());
    }
    // A plain number may be grouped.
    let digits = text.replace('_', "");
    digits.parse::<u64>().map_or_else(|_| text.to_owned(), |count| count.to_string())
}

/// Numbers end so; sizes and times end in a unit.
fn ends_in_digit(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_digit())
}

fn unknown(what: &str, word: &str, known: impl Iterator<Item = &'static str> + Clone) -> String {
    let list = known.clone().collect::<Vec<_>>().join("`, `");
    match nearest(word, known) {
        Some(meant) => {
            format!("`{word}` is not a valid {what}; did you mean `{meant}`? (known: `{list}`)")
        }
        None => format!("`{word}` is not a valid {what}; known: `{list}`"),
    }
}

impl FromStr for Suite {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let given = parts.map(|part| match part.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(invalid!("`{part}` is not `key=value`")),
        });
        let given = given.collect::<Result<Vec<_>, Invalid>>()?;
        Self::new(name, &given)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)?;
        self.given.iter().try_for_each(|(key, value)| write!(f, ",{key}={value}"))
    }
}

/// The setting of a run: folder, seed and machine.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The folder in which it makes one.
    pub dir: &'a Path,
    /// Seed of all random choices.
    pub seed: u64,
    /// Memory of the machine.
    pub memory: Bytes,
    /// The folder's file system is nowhere but in memory.
    pub in_memory: bool,
}

/// The result of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The phases that ended.
    pub phases: Vec<Phase>,
    /// The marks of the whole run.
    pub marks: Vec<Mark>,
}

/// Runs a suite in a new folder, and removes that.
///
/// # Errors
/// It cannot be carried out there: the folder is as it was.
pub fn run(suite: &Suite, setting: Setting<'_>, control: Control<'_>) -> Result<Outcome, Refusal> {
    let workspace = Workspace::enter(setting.dir)?;
    // Before anything is written; what is refused here leaves nothing.
    has_space(&workspace, suite.plan.needs(setting.memory))?;
    let mut bench = Bench {
        workspace,
        control,
        seed: setting.seed,
        memory: setting.memory,
        in_memory: setting.in_memory,
        drop: suite.plan.drop_when(),
        dropped: None,
        phases: Vec::new(),
    };
    // Phases that ended before the user asked to stop are measured as well as ever.
    let interrupted = match suite.plan.run(&mut bench) {
        Ok(()) => None,
        Err(Halt::Interrupted) => Some(interrupted(bench.phases.len())),
        Err(Halt::Refused(refusal)) => return Err(refusal),
    };
    let marks = bench.marks().into_iter().chain(interrupted).collect();
    let phases = std::mem::take(&mut bench.phases);
    bench.workspace.leave()?;
    Ok(Outcome { phases, marks })
}

fn interrupted(phases: usize) -> Mark {
    let message = format!("stopped by the user after {phases} phases; only those are shown");
    Mark { id: MarkId::Interrupted, message }
}
