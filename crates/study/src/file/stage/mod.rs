//! `[stage.NAME]`: the overrides of one stage, and what the stage and the command line choose.

pub(in crate::file) mod choose;
pub(in crate::file) mod variant;

use drivelab_core::config::{Choice as _, ConfigError, Section};

use crate::file::workload::Times;
use drivelab_core::StageName;

/// The overrides of a study at one stage; absent values are those of the file.
#[derive(Debug, Clone)]
pub(in crate::file) struct Override {
    pub(in crate::file) stage: StageName,
    /// `workload.metric`.
    pub(in crate::file) primary: Option<String>,
    pub(in crate::file) blocks: Option<u32>,
    pub(in crate::file) times: Times,
    pub(in crate::file) workloads: Option<Vec<String>>,
    pub(in crate::file) notes: Option<Vec<String>>,
    pub(in crate::file) curve: bool,
}

/// The default stage of a study, and the overrides of each.
pub(in crate::file) struct Stages {
    pub(in crate::file) default: Option<StageName>,
    pub(in crate::file) overrides: Vec<Override>,
}

/// Takes `stage = "NAME"`; or, with overrides, `[stage]` with `default = "NAME"` and a table for
/// each stage, since a TOML key cannot be both.
pub(in crate::file) fn stages(top: &mut Section) -> Result<Stages, ConfigError> {
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
            primary: own.take("primary")?,
            blocks: own.take("blocks")?,
            times: Times { runtime: own.take("runtime")?, ramp_time: own.take("ramp_time")? },
            workloads: own.list("workloads")?,
            notes: own.list("notes")?,
            curve: own.take("curve")?.unwrap_or(true),
        });
        own.finish()?;
    }
    section.finish()?;
    Ok(Stages { default, overrides })
}
