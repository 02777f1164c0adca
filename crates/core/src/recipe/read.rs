//! Reads the file of a recipe.

use super::test::{Reports, Test};
use crate::config::{Choice as _, ConfigError, Section};
use crate::record::Nature;
use crate::units::{Bytes, Span};
use crate::workload::{JOBS_MAX, WorkloadOptions};
use crate::{Invalid, invalid};

/// Maximum number of tests, and of runs of one: more than any tool makes.
const TESTS_MAX: usize = 1000;
const RUNS_MAX: u32 = 10_000;

/// Settings of a user that override those of a recipe for all of its tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adjust {
    /// Size of the region.
    pub size: Option<Bytes>,
    /// Time of a run.
    pub runtime: Option<Span>,
    /// Counted runs of a test.
    pub loops: Option<u32>,
    /// Idle time between tests.
    pub pause: Option<Span>,
}

impl Adjust {
    /// Takes the settings out of a table of a study.
    pub fn read(section: &mut Section) -> Result<Self, ConfigError> {
        Ok(Self {
            size: section.take("size")?,
            runtime: section.take("runtime")?,
            loops: section.take("loops")?,
            pause: section.take("pause")?,
        })
    }

    /// The settings, as names and values.
    pub fn options(&self) -> Vec<(String, String)> {
        let options = [
            ("loops", self.loops.map(|loops| loops.to_string())),
            ("pause", self.pause.map(|pause| pause.to_string())),
            ("runtime", self.runtime.map(|runtime| runtime.to_string())),
            ("size", self.size.map(|size| size.to_string())),
        ];
        let set = options.into_iter().filter_map(|(name, value)| Some((name, value?)));
        set.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The inverse of [`Self::options`].
    ///
    /// # Panics
    /// These are not options of a recipe.
    pub fn of(options: &[(String, String)]) -> Self {
        const CHECKED: &str = "it was printed by `options`";
        let mut adjust = Self::default();
        for (name, value) in options {
            match name.as_str() {
                "loops" => adjust.loops = Some(value.parse().expect(CHECKED)),
                "pause" => adjust.pause = Some(value.parse().expect(CHECKED)),
                "runtime" => adjust.runtime = Some(value.parse().expect(CHECKED)),
                "size" => adjust.size = Some(value.parse().expect(CHECKED)),
                _ => unreachable!("{CHECKED}"),
            }
        }
        adjust
    }
}

/// The content of a file.
pub(super) struct Content {
    pub(super) title: String,
    pub(super) tests: Vec<Test>,
    pub(super) pause: Span,
}

/// Settings that all tests share unless they override them.
struct Shared {
    options: WorkloadOptions,
    loops: u32,
    warm_up: u32,
    reports: Reports,
}

pub(super) fn recipe(file: &str, text: &str, adjust: &Adjust) -> Result<Content, ConfigError> {
    let mut top = Section::parse(file, text)?;
    top.at_most("test", TESTS_MAX)?;
    let title = top.require("title")?;
    let pause = top.take("pause")?.unwrap_or_default();
    let (size, runtime) = (top.take("size")?, top.take("runtime")?);
    let options = WorkloadOptions {
        size: adjust.size.or(size),
        runtime: adjust.runtime.or(runtime),
        ramp_time: top.take("ramp_time")?,
        offset: top.take("offset")?,
        ..WorkloadOptions::default()
    };
    let loops = top.take_with("loops", runs)?.unwrap_or(1);
    let shared = Shared {
        options,
        loops: adjust.loops.unwrap_or(loops),
        warm_up: top.take_with("warm_up", runs)?.unwrap_or(0),
        reports: top.take_with("reports", Reports::from_name)?.unwrap_or_default(),
    };
    let mut tests: Vec<Test> = Vec::new();
    let mut unused = adjust.options();
    for mut section in top.sections("test")? {
        let (read, takes) = test(&mut section, &shared)?;
        unused.retain(|(key, _)| !takes.contains(&key.as_str()));
        if tests.iter().any(|known| known.name == read.name) {
            return Err(section.error(format!("two tests are named `{}`", read.name)));
        }
        section.finish()?;
        tests.push(read);
    }
    if tests.is_empty() {
        return Err(top.error("the recipe has no test: add a `[[test]]` table"));
    }
    // A setting that every test overrides would otherwise be ignored silently.
    if let Some((key, _)) = unused.first() {
        let message = format!("`{key}` would change nothing: every test of it sets its own");
        let hint = format!("omit `{key}`, or write a recipe of your own");
        return Err(ConfigError { hint: Some(hint), ..top.error(message) });
    }
    top.finish()?;
    Ok(Content { title, tests, pause: adjust.pause.unwrap_or(pause) })
}

/// One test, and the keys that it takes from the settings of all tests.
fn test(section: &mut Section, shared: &Shared) -> Result<(Test, Vec<&'static str>), ConfigError> {
    let name = section.take_with("name", name)?;
    let name = name.ok_or_else(|| section.error("a test needs a `name`"))?;
    let own = WorkloadOptions::read(section)?;
    let own_loops = section.take_with("loops", runs)?;
    let takes = [
        ("size", own.size.is_none()),
        // Single requests end by their number.
        ("runtime", own.runtime.is_none() && own.number_ios != Some(1)),
        ("loops", own_loops.is_none()),
        ("pause", true),
    ];
    let options = WorkloadOptions {
        size: own.size.or(shared.options.size),
        runtime: own.runtime.or(shared.options.runtime),
        ramp_time: own.ramp_time.or(shared.options.ramp_time),
        offset: own.offset.or(shared.options.offset),
        ..own
    };
    let numjobs = section.take("numjobs")?.unwrap_or(1);
    let test = Test {
        name,
        workload: options.check().map_err(|wrong| section.error(wrong))?,
        numjobs,
        end_fsync: section.take("end_fsync")?.unwrap_or(false),
        loops: own_loops.unwrap_or(shared.loops),
        warm_up: section.take_with("warm_up", runs)?.unwrap_or(shared.warm_up),
        reports: section.take_with("reports", Reports::from_name)?.unwrap_or(shared.reports),
        points: section.take_with("points", runs)?,
        nature: section.take_with("measures", Nature::from_name)?.unwrap_or(Nature::Disk),
    };
    let wrong = |message: &str| Err(section.error(message));
    match () {
        () if !(1..=JOBS_MAX).contains(&numjobs) => {
            wrong(&format!("`numjobs` must be from 1 to {JOBS_MAX}"))
        }
        () if test.loops == 0 || test.loops > RUNS_MAX => {
            wrong(&format!("`loops` must be from 1 to {RUNS_MAX}"))
        }
        () if test.points == Some(0) => wrong("a test at 0 points measures nothing"),
        () if test.points.is_some() && numjobs > 1 => {
            wrong("a test at several `points` has one thread")
        }
        () => Ok((test, takes.iter().filter(|(_, taken)| *taken).map(|(key, _)| *key).collect())),
    }
}

/// A count of runs, warm-up runs or points.
fn runs(text: &str) -> Result<u32, Invalid> {
    let count: Option<u32> = text.parse().ok();
    let count = count.filter(|count| *count <= RUNS_MAX);
    count.ok_or_else(|| invalid!("`{text}` is not a whole number from 0 to {RUNS_MAX}"))
}

/// The name of a test is part of the names of its metrics.
fn name(text: &str) -> Result<String, Invalid> {
    if text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
        return Err(invalid!("`{text}` is not made of letters, digits, `_` and `-`"));
    }
    Ok(text.to_owned())
}
