//! A sweep: one load on many points of a space of settings, each made once.
//!
//! A study compares a few arms; a sweep shows which of many settings, or which number that a
//! profile leaves open, matters at all. Its points follow from the file alone, so that any share of
//! them can be made on any machine: a stored point has a key of everything that its figures depend
//! on.

mod parameter;
mod point;
mod rows;
mod shard;
mod sobol;

pub use parameter::{Of, Parameter};
pub use point::{Point, Points};
pub use rows::{Figures, Kept, Row, Rows, digest};
pub use shard::{Shard, carry_out};

use drivelab_core::config::{Choice as _, ConfigError, Section};
use drivelab_core::workload::WorkloadOptions;

use crate::file::Vocabulary;
use drivelab_core::{Invalid, StageName, invalid};
use sobol::COLUMNS_MAX;

/// Most points of a sweep.
pub const POINTS_MAX: u32 = 10_000_000;
/// Points where the file names no number.
const POINTS: u32 = 1024;

/// A sweep, as its file states it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The question.
    pub title: String,
    /// The stage of its points: one of virtual time.
    pub stage: StageName,
    /// The modelled drive, with options.
    pub drive: String,
    /// The distribution of the points.
    pub design: Design,
    /// The number of points.
    pub points: u32,
    /// Seed of the points and their runs.
    pub seed: u64,
    /// True if each point has another drive of those that fit the profile.
    pub draws_specimens: bool,
    /// The figure of the question.
    pub figure: &'static str,
    /// The load that all points share.
    pub load: WorkloadOptions,
    /// The varied parameters.
    pub parameters: Vec<Parameter>,
}

/// The distribution of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// Sobol' points: evenly spread, and any number of them can follow.
    Sobol,
    /// A Latin hypercube.
    LatinHypercube,
    /// Every value with every other.
    Grid,
}

impl Design {
    const ALL: [(&'static str, Self); 3] =
        [("sobol", Self::Sobol), ("latin-hypercube", Self::LatinHypercube), ("grid", Self::Grid)];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, design)| *design == self).expect("all have names").0
    }

    fn read(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, design)| *design).ok_or_else(|| {
            invalid!("unknown design `{text}`: use `sobol`, `latin-hypercube` or `grid`")
        })
    }
}

impl Sweep {
    /// Reads a sweep file; `name` is its name in errors.
    pub fn parse(name: &str, text: &str, vocabulary: &dyn Vocabulary) -> Result<Self, ConfigError> {
        let mut top = Section::parse(name, text)?;
        let title = top.require("title")?;
        let stage = top.take_with("stage", stage)?.unwrap_or_default();
        let drive = top.require("drive")?;
        let design = top.take_with("design", Design::read)?.unwrap_or(Design::Sobol);
        let points: Option<u32> = top.take("points")?;
        let seed = top.take("seed")?.unwrap_or(1);
        let draws_specimens = top.take("specimens")?.unwrap_or(false);
        let figure = top.take_with("figure", Figures::name)?.unwrap_or(Figures::NAMES[0]);
        let mut load = top.section("load")?.ok_or_else(|| {
            let wrong = top.error("`[load]` is missing: what each point does");
            ConfigError { hint: Some("add [load] with rw = \"randread\"".into()), ..wrong }
        })?;
        let options = WorkloadOptions::read(&mut load)?;
        load.finish()?;
        let mut parameters: Vec<Parameter> = Vec::new();
        for (name, section) in top.tables("parameter")? {
            parameters.push(Parameter::read(name, section, vocabulary)?);
        }
        let points = counted(&top, design, points, &parameters)?;
        if parameters.is_empty() && !draws_specimens {
            let wrong = top.error("nothing varies in this sweep");
            let hint = "add [parameter.iodepth] with values = [1, 8, 32], or specimens = true";
            return Err(ConfigError { hint: Some(hint.into()), ..wrong });
        }
        top.finish()?;
        Ok(Self {
            title,
            stage,
            drive,
            design,
            points,
            seed,
            draws_specimens,
            figure,
            load: options,
            parameters,
        })
    }

    /// Most numbers that a profile may leave open for this sweep to draw them.
    pub fn unknowns_max(&self) -> usize {
        match self.design {
            Design::Sobol => COLUMNS_MAX.saturating_sub(self.parameters.len()),
            Design::LatinHypercube | Design::Grid => usize::MAX,
        }
    }

    /// The load of a point, as options that have not been checked against one another.
    pub fn load(&self, point: &Point) -> WorkloadOptions {
        debug_assert_eq!(self.parameters.len(), point.values.len(), "a value a parameter");
        let mut options = self.load.clone();
        for (parameter, value) in self.parameters.iter().zip(&point.values) {
            if parameter.of == Of::Load {
                options.set(&parameter.name, value).expect("the ends of its values were checked");
            }
        }
        options
    }

    /// The settings of the drive at a point.
    pub fn settings(&self, point: &Point) -> Vec<(&'static str, String)> {
        debug_assert_eq!(self.parameters.len(), point.values.len(), "a value a parameter");
        let mut settings = Vec::new();
        for (parameter, value) in self.parameters.iter().zip(&point.values) {
            if let Of::Drive(key) = parameter.of {
                settings.push((key, value.clone()));
            }
        }
        settings
    }
}

/// A stage whose runs take no time but the processor's.
fn stage(text: &str) -> Result<StageName, Invalid> {
    let stage = StageName::from_name(text)?;
    if stage.is_virtual() {
        return Ok(stage);
    }
    Err(invalid!("a sweep is made at stage simulate or kernel, not at {stage}"))
}

/// The number of points.
fn counted(
    top: &Section,
    design: Design,
    points: Option<u32>,
    parameters: &[Parameter],
) -> Result<u32, ConfigError> {
    if design == Design::Sobol && parameters.len() > COLUMNS_MAX {
        return Err(top.error(format!("`sobol` has at most {COLUMNS_MAX} parameters")));
    }
    let count = if design == Design::Grid {
        if points.is_some() {
            return Err(
                top.error("a grid has as many points as its values make: leave `points` out")
            );
        }
        let mut count = 1_usize;
        for parameter in parameters {
            let Some(values) = parameter.count() else {
                let name = &parameter.name;
                return Err(top.error(format!("`{name}` is a range, and a grid needs `values`")));
            };
            count = count.saturating_mul(values);
        }
        u32::try_from(count).unwrap_or(u32::MAX)
    } else {
        points.unwrap_or(POINTS)
    };
    // Also the product of a grid, which saturates at the largest number.
    if count == 0 || count > POINTS_MAX {
        return Err(top.error(format!("{count} points; from 1 to {POINTS_MAX} are possible")));
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
