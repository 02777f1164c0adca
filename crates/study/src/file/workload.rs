//! `[[workload]]` and `[curve]`: what every arm does.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::units::Span;
use drivelab_core::workload::{Workload, WorkloadError, WorkloadOptions};

use super::vocabulary::{Settings, Vocabulary, settings};
use crate::metric;

/// Most workloads, depths of a curve, contrasts and findings.
pub(super) const LISTED_MAX: usize = 1000;

/// One workload.
#[derive(Debug, Clone)]
pub struct NamedWorkload {
    /// Its name.
    pub name: String,
    /// What it does, in a phrase.
    pub summary: String,
    /// What it does.
    pub workload: Workload,
    /// Settings of the modelled drive that belong to the workload, such as its write cache.
    pub settings: Settings,
    /// Its place in the file, whichever workloads are left out: its seeds follow from it.
    pub number: usize,
    options: WorkloadOptions,
}

impl NamedWorkload {
    /// Gives it other times.
    pub(super) fn retime(&mut self, times: Times) -> Result<(), WorkloadError> {
        self.workload = times.of(&self.options).check()?;
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
        let workload = |depth: &u32| {
            let options = WorkloadOptions { iodepth: Some(*depth), ..options.clone() };
            Ok((*depth, options.check()?))
        };
        Ok(Self { depths: depths.iter().map(workload).collect::<Result<_, _>>()?, options })
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
    for (number, mut section) in top.sections("workload")?.into_iter().enumerate() {
        let name: String = section.require("name")?;
        if workloads.iter().any(|known| known.name == name) {
            return Err(section.error(format!("two workloads are named `{name}`")));
        }
        let summary: Option<String> = section.take("summary")?;
        let settings = settings(&mut section, vocabulary)?;
        let options = WorkloadOptions::read(&mut section)?;
        let workload = options.clone().check().map_err(|wrong| section.error(wrong.to_string()))?;
        section.finish()?;
        let summary = summary.unwrap_or_else(|| metric::summary(&workload));
        workloads.push(NamedWorkload { name, summary, workload, settings, number, options });
    }
    if matrix && !workloads.is_empty() {
        return Err(top.error("a study has either `[matrix]` or `[[workload]]` tables"));
    }
    if workloads.is_empty() && !matrix {
        return Err(top.error("the study has no workload: add a `[[workload]]` table"));
    }
    Ok(workloads)
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
    let curve = Curve::new(options, &depths).map_err(|wrong| top.error(wrong.to_string()))?;
    Ok(Some(curve))
}
