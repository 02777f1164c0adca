//! The command line of a study, as far as its results depend on it.

use drivelab_core::plan::Scale;
use drivelab_core::units::Bytes;
use serde::{Deserialize, Serialize};

/// The command line, for `--resume`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The study's file or name.
    pub study: String,
    /// The commands that are compared, where no file states them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The command before each run of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<String>,
    /// Blocks, as asked for: a grouped plan gathers them into fewer.
    pub blocks: u32,
    /// Specimens, as typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specimens: Option<u32>,
    /// The target, as typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The target's absolute path, for a session in another folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The absolute path of each arm's own target; empty where an arm has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The only workloads; all where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// The drive that is modelled instead of the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// The size of the target that is used, as typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Writing workloads may destroy what the target holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
    /// Each run is made twice and compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check_determinism: bool,
    /// The scale of the work.
    #[serde(default, skip_serializing_if = "is_stated")]
    pub scale: Scale,
    /// The number of ranks that make each run at the same time, where it is more than one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_stated(scale: &Scale) -> bool {
    *scale == Scale::Stated
}
