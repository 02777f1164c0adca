//! An experiment's result, from its runs.

mod analyse;
mod blocks;
mod curve;
mod declared;
mod experiment;
mod figures;
pub mod hosts;
mod lost;
mod result;

pub use analyse::analyse;
pub use curve::{DepthCurve, DepthPoint, LatencyCurve};
pub use declared::{Answer, ArmPrice, FindingResult, FoundEffect, InteractionResult, Price};
pub use experiment::{ArmInfo, CurvePoint, Experiment, HostSample, RunSample, WorkloadInfo};
pub use figures::figures;
pub use result::{ContrastResult, StudyResult};
