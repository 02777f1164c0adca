//! `[[workload]]` and `[curve]`: the work of every arm, a load, a command or a suite.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::units::Span;
use drivelab_core::workload::{Workload, WorkloadError, WorkloadOptions};

use super::command;
use super::suite::Suite;
use super::vocabulary::{Settings, Vocabulary, settings};
use crate::command::{Command, Template};
use crate::metric;

/// Most workloads, depths of a curve, contrasts and findings.
pub(super) const LISTED_MAX: usize = 1000;

/// Characters of a command that stand for it in sentences.
const SUMMARY_MAX: usize = 60;

/// One workload.
#[derive(Debug, Clone)]
pub struct NamedWorkload {
    /// Its name.
    pub name: String,
    /// Its description, in a phrase.
    pub summary: String,
    /// The work.
    pub work: Work,
    /// Settings of the modelled drive that belong to the workload, such as its write cache.
    pub settings: Settings,
    /// Its index in the file, regardless of workloads left out: its seeds follow from it.
    pub number: usize,
    /// The options that a load was made from.
    options: Option<WorkloadOptions>,
}

/// The work of a run.
#[derive(Debug, Clone)]
pub enum Work {
    /// Requests that the load loop sends.
    Load(Box<Workload>),
    /// A command.
    Command(Box<Command>),
    /// A suite.
    Suite(Box<Suite>),
}

impl Work {
    /// The requests, where it is a load.
    pub fn load(&self) -> Option<&Workload> {
        match self {
            Self::Load(workload) => Some(workload),
            Self::Command(_) | Self::Suite(_) => None,
        }
    }

    /// The command, where it is one.
    pub fn command(&self) -> Option<&Command> {
        match self {
            Self::Command(command) => Some(command),
            Self::Load(_) | Self::Suite(_) => None,
        }
    }

    /// True if it writes to the target; a command is the user's business.
    pub fn writes(&self) -> bool {
        match self {
            Self::Load(workload) => workload.rw.writes(),
            Self::Suite(suite) => suite.writes,
            Self::Command(_) => false,
        }
    }

    /// True if it needs a target.
    pub fn needs_target(&self) -> bool {
        self.command().is_none_or(|command| command.templates().any(Template::has_target))
    }

    /// True if a command of it has this placeholder.
    pub fn uses(&self, placeholder: &str) -> bool {
        let mut commands = self.command().into_iter().flat_map(Command::templates);
        commands.any(|command| command.has(placeholder))
    }

    /// The metric shown first.
    pub fn headline(&self) -> String {
        match self {
            Self::Load(workload) => metric::headline(workload).to_owned(),
            Self::Command(command) => command.headline().to_owned(),
            Self::Suite(suite) => suite.headline.clone(),
        }
    }

    /// The names of its metrics; `None` where only a run has them.
    pub(super) fn metrics(&self) -> Option<Vec<String>> {
        match self {
            Self::Load(_) => Some(metric::NAMES.iter().map(ToString::to_string).collect()),
            Self::Command(command) => command.metric_names(),
            Self::Suite(suite) => Some(suite.metrics.clone()),
        }
    }

    fn summary(&self) -> String {
        match self {
            Self::Load(workload) => metric::summary(workload),
            Self::Command(command) if command.run.is_own() => "the arm's command".into(),
            Self::Command(command) => shortened(&command.run.to_string()),
            Self::Suite(suite) => suite.summary.clone(),
        }
    }
}

/// A command in a phrase: the beginning of its first line, by which a reader recognises it.
fn shortened(command: &str) -> String {
    let first = command.lines().next().unwrap_or_default();
    if first == command && first.chars().count() <= SUMMARY_MAX {
        return command.to_owned();
    }
    // The ` ...` behind it counts, too.
    let start: String = first.chars().take(SUMMARY_MAX - 4).collect();
    format!("{} ...", start.trim_end())
}

impl NamedWorkload {
    /// Gives it other times.
    pub(super) fn retime(&mut self, times: Times) -> Result<(), WorkloadError> {
        if let Some(options) = &self.options {
            self.work = Work::Load(Box::new(times.of(options).check()?));
        }
        Ok(())
    }
}

/// A picture of IOPS against depth; compared nowhere.
#[derive(Debug, Clone)]
pub struct Curve {
    /// One workload a depth.
    pub depths: Vec<(u32, Workload)>,
    options: WorkloadOptions,
}

impl Curve {
    fn new(options: WorkloadOptions, depths: &[u32]) -> Result<Self, WorkloadError> {
        let mut checked = Vec::with_capacity(depths.len());
        for depth in depths {
            let options = WorkloadOptions { iodepth: Some(*depth), ..options.clone() };
            checked.push((*depth, options.check()?));
        }
        Ok(Self { depths: checked, options })
    }

    /// Gives it other times.
    pub(super) fn retime(&mut self, times: Times) -> Result<(), WorkloadError> {
        let depths: Vec<u32> = self.depths.iter().map(|(depth, _)| *depth).collect();
        *self = Self::new(times.of(&self.options), &depths)?;
        Ok(())
    }
}

/// Times that a stage gives all workloads, each as in the file where absent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    pub(super) runtime: Option<Span>,
    pub(super) ramp_time: Option<Span>,
}

impl Times {
    fn of(self, options: &WorkloadOptions) -> WorkloadOptions {
        WorkloadOptions {
            runtime: self.runtime.or(options.runtime),
            ramp_time: self.ramp_time.or(options.ramp_time),
            ..options.clone()
        }
    }
}

/// Takes the workloads; a study has some, or a matrix.
pub(super) fn workloads(
    top: &mut Section,
    vocabulary: &dyn Vocabulary,
    matrix: bool,
) -> Result<Vec<NamedWorkload>, ConfigError> {
    let mut workloads: Vec<NamedWorkload> = Vec::new();
    // Seeds follow from the index in the file, so that `--only` does not change them.
    for (number, mut section) in top.sections("workload")?.into_iter().enumerate() {
        let name: String = section.require("name")?;
        if workloads.iter().any(|known| known.name == name) {
            return Err(section.error(format!("two workloads are named `{name}`")));
        }
        let summary: Option<String> = section.take("summary")?;
        // The load first: `offset` is a key of it here, and of a drive in an arm.
        let (work, options) = work(&mut section, vocabulary)?;
        let of_drive = settings(&mut section, vocabulary)?;
        section.finish()?;
        let summary = summary.unwrap_or_else(|| work.summary());
        let settings = of_drive;
        workloads.push(NamedWorkload { name, summary, work, settings, number, options });
    }
    if matrix && !workloads.is_empty() {
        return Err(top.error("a study has either `[matrix]` or `[[workload]]` tables"));
    }
    if workloads.is_empty() && !matrix {
        return Err(top.error("the study has no workload: add a `[[workload]]` table"));
    }
    Ok(workloads)
}

/// A command, a suite, or else a load with the options that it was made from.
fn work(
    section: &mut Section,
    vocabulary: &dyn Vocabulary,
) -> Result<(Work, Option<WorkloadOptions>), ConfigError> {
    let command = command::read(section, vocabulary)?;
    let suite = match section.take::<String>("suite")? {
        None => None,
        Some(name) => Some(vocabulary.suite(&name, section)?),
    };
    match (command, suite) {
        (Some(_), Some(_)) => {
            Err(section.error("a workload is either a `command` or a `suite`, not both"))
        }
        (Some(command), None) => Ok((Work::Command(Box::new(command)), None)),
        (None, Some(suite)) => Ok((Work::Suite(Box::new(suite)), None)),
        (None, None) => {
            let options = WorkloadOptions::read(section)?;
            let load = options.clone().check();
            let load = load.map_err(|wrong| section.error(wrong))?;
            Ok((Work::Load(Box::new(load)), Some(options)))
        }
    }
}

pub(super) fn curve(top: &mut Section) -> Result<Option<Curve>, ConfigError> {
    let Some(mut section) = top.section("curve")? else { return Ok(None) };
    section.at_most("iodepth", LISTED_MAX)?;
    let depths: Vec<u32> = section.list("iodepth")?.unwrap_or_default();
    if depths.is_empty() {
        return Err(section.error("a curve needs depths: `iodepth = [1, 2, 4, 8, 16, 32]`"));
    }
    let options = WorkloadOptions::read(&mut section)?;
    section.finish()?;
    let curve = Curve::new(options, &depths).map_err(|wrong| top.error(wrong))?;
    Ok(Some(curve))
}
