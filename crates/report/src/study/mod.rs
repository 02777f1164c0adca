//! An experiment's result: from runs to words, table, JSON and page.

mod analyse;
mod blocks;
mod curve;
mod declared;
mod empty;
mod experiment;
mod json;
mod marks;
mod result;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod words;

pub use analyse::{StudyError, analyse};
pub use curve::{DepthCurve, DepthPoint, LatencyCurve};
pub use declared::{Answer, ArmPrice, Figure, FindingResult, InteractionResult, Price};
pub use experiment::{
    ArmInfo, ContrastInfo, CurvePoint, Experiment, Finding, Interaction, RunSample, WorkloadInfo,
};
pub use json::{STUDY_SCHEMA, json};
pub use result::{Contrast, StudyResult};
pub use text::text;
pub use words::words;
