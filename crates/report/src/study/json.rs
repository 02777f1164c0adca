//! A study's result for scripts: schema `drivelab.study/1`.

use serde::Serialize;

use super::result::StudyResult;
use crate::attachment::AttachedJson;
use crate::outcome::{MetricJson, document};

/// The schema that this version writes.
pub const STUDY_SCHEMA: &str = "drivelab.study/1";

#[derive(Serialize)]
struct StudyJson<'a> {
    schema: &'static str,
    title: &'a str,
    stage: &'a str,
    seed: u64,
    blocks: u32,
    blocks_used: usize,
    design: drivelab_core::plan::Design,
    primary: &'a str,
    candidate: &'a str,
    margin: f64,
    verdict: drivelab_stats::Verdict,
    arms: Vec<ArmJson<'a>>,
    workloads: Vec<WorkloadJson<'a>>,
    metrics: Vec<MetricJson<'a>>,
    contrasts: Vec<ContrastJson<'a>>,
    depth: Vec<DepthJson<'a>>,
    attached: AttachedJson<'a>,
    risks: &'a [String],
    notes: &'a [String],
    reproduce: &'a str,
    drivelab: &'static str,
}

#[derive(Serialize)]
struct ArmJson<'a> {
    name: &'a str,
    summary: &'a str,
    settings: std::collections::BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct WorkloadJson<'a> {
    name: &'a str,
    summary: &'a str,
    headline: &'a str,
}

#[derive(Serialize)]
struct ContrastJson<'a> {
    name: &'a str,
    arms: [&'a str; 2],
    metrics: Vec<MetricJson<'a>>,
}

#[derive(Serialize)]
struct DepthJson<'a> {
    arm: &'a str,
    iodepth: u32,
    iops: f64,
    iops_min: f64,
    iops_max: f64,
}

/// The result as one JSON document: the same result, the same bytes.
pub fn json(result: &StudyResult) -> String {
    let names = result.names();
    let metric = |outcome| MetricJson::new(outcome, result.series_of(outcome), &names);
    let contrasts = result.contrasts.iter().map(|contrast| ContrastJson {
        name: &contrast.name,
        arms: [names[contrast.from], names[contrast.to]],
        metrics: contrast.outcomes.iter().map(metric).collect(),
    });
    document(&StudyJson {
        schema: STUDY_SCHEMA,
        title: &result.title,
        stage: &result.stage,
        seed: result.seed,
        blocks: result.blocks,
        blocks_used: result.used.len(),
        design: result.design,
        primary: &result.series_of(result.primary()).name,
        candidate: names[result.candidate],
        margin: result.margin,
        verdict: result.verdict(),
        arms: arms(result),
        workloads: workloads(result),
        metrics: result.outcomes.iter().map(metric).collect(),
        contrasts: contrasts.collect(),
        depth: depth(result, &names),
        attached: AttachedJson::from(&result.attached),
        risks: &result.risks,
        notes: &result.notes,
        reproduce: &result.reproduce,
        drivelab: crate::VERSION,
    })
}

fn arms(result: &StudyResult) -> Vec<ArmJson<'_>> {
    let arms = result.arms.iter().map(|arm| ArmJson {
        name: &arm.name,
        summary: &arm.summary,
        settings: arm.settings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
    });
    arms.collect()
}

fn workloads(result: &StudyResult) -> Vec<WorkloadJson<'_>> {
    let workloads = result.workloads.iter().map(|workload| WorkloadJson {
        name: &workload.name,
        summary: &workload.summary,
        headline: &workload.headline,
    });
    workloads.collect()
}

fn depth<'a>(result: &StudyResult, names: &[&'a str]) -> Vec<DepthJson<'a>> {
    let points = result.depth.iter().flat_map(|curve| {
        curve.points.iter().map(|point| DepthJson {
            arm: names[curve.arm],
            iodepth: point.iodepth,
            iops: point.iops,
            iops_min: point.least,
            iops_max: point.greatest,
        })
    });
    points.collect()
}
