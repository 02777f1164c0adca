//! An experiment's result: from runs to words, table, JSON and page.

mod analyse;
mod blocks;
mod curve;
mod declared;
mod experiment;
mod figures;
pub(crate) mod hosts;
mod json;
mod lost;
mod result;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod words;

pub use analyse::analyse;
pub use curve::{DepthCurve, DepthPoint, LatencyCurve};
pub use declared::{Answer, ArmPrice, FindingResult, FoundEffect, InteractionResult, Price};
pub use experiment::{ArmInfo, CurvePoint, Experiment, HostSample, RunSample, WorkloadInfo};
pub use figures::figures;
pub use json::{STUDY_SCHEMA, json};
pub use result::{ContrastResult, StudyResult};
pub use text::{short, text};
pub use words::words;
