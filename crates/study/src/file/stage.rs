//! `[stage.NAME]`: what is otherwise at one stage.

use drivelab_core::config::{Choice as _, ConfigError, Section};
use drivelab_core::workload::WorkloadError;

use super::StudyFile;
use super::workload::Times;
use crate::stage::StageName;

/// What a study does otherwise at one stage; as everywhere where absent.
#[derive(Debug, Clone)]
pub(super) struct Override {
    pub(super) stage: StageName,
    pub(super) blocks: Option<u32>,
    times: Times,
    workloads: Option<Vec<String>>,
    curve: bool,
}

/// Where a study runs by default, and what is otherwise where.
pub(super) struct Stages {
    pub(super) default: Option<StageName>,
    pub(super) overrides: Vec<Override>,
}

/// Takes `stage = "NAME"`; or, with overrides, `[stage]` with `default = "NAME"` and a table for
/// each stage, since a TOML key cannot be both.
pub(super) fn stages(top: &mut Section) -> Result<Stages, ConfigError> {
    if !top.is_table("stage") {
        return Ok(Stages { default: top.take("stage")?, overrides: Vec::new() });
    }
    let Some(mut section) = top.section("stage")? else {
        return Ok(Stages { default: None, overrides: Vec::new() });
    };
    let default = section.take("default")?;
    let mut overrides = Vec::new();
    for (name, stage) in StageName::NAMES {
        let Some(mut own) = section.section(name)? else { continue };
        overrides.push(Override {
            stage: *stage,
            blocks: own.take("blocks")?,
            times: Times { runtime: own.take("runtime")?, ramp_time: own.take("ramp_time")? },
            workloads: own.list("workloads")?,
            curve: own.take("curve")?.unwrap_or(true),
        });
        own.finish()?;
    }
    section.finish()?;
    Ok(Stages { default, overrides })
}

impl Override {
    /// Changes the study into what it is at this stage.
    pub(super) fn apply(&self, study: &mut StudyFile) -> Result<(), String> {
        if let Some(names) = &self.workloads {
            study.keep_only(names)?;
        }
        study.blocks = self.blocks.unwrap_or(study.blocks);
        study.curve = study.curve.take().filter(|_| self.curve);
        if let Some(matrix) = &mut study.matrix {
            matrix.runtime = self.times.runtime.unwrap_or(matrix.runtime);
            matrix.ramp_time = self.times.ramp_time.unwrap_or(matrix.ramp_time);
        }
        let retimed: Result<(), WorkloadError> = (|| {
            for workload in &mut study.workloads {
                workload.retime(self.times)?;
            }
            study.curve.as_mut().map_or(Ok(()), |curve| curve.retime(self.times))
        })();
        retimed.map_err(|wrong| wrong.to_string())
    }
}
