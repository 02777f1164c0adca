//! An experiment's result: from runs to words, table, JSON and page.

mod experiment;

pub use experiment::{
    ArmInfo, ContrastInfo, CurvePoint, Experiment, MetricValue, RunSample, WorkloadInfo,
};
