//! From stored runs to the experiment that is analysed.

use drivelab_core::plan::Plan;
use drivelab_report::study::{
    ArmInfo, ContrastInfo, CurvePoint, Experiment, RunSample, WorkloadInfo,
};

use super::{Bench, StoredRun, StudyFile, Task, metrics};

/// What was asked, what was done, and what it measured.
pub(crate) fn experiment(
    study: &StudyFile,
    plan: &Plan,
    bench: &dyn Bench,
    runs: &[StoredRun],
    reproduce: String,
) -> Experiment {
    let arm = |(arm, settings): (&super::file::Arm, Vec<(String, String)>)| ArmInfo {
        name: arm.name.clone(),
        summary: arm.summary.clone(),
        settings,
    };
    let workload = |named: &super::file::NamedWorkload| WorkloadInfo {
        name: named.name.clone(),
        summary: named.summary.clone(),
        headline: metrics::headline(&named.workload).into(),
    };
    let contrast = |contrast: &super::file::Contrast| ContrastInfo {
        name: contrast.name.clone(),
        from: contrast.from,
        to: contrast.to,
    };
    Experiment {
        title: study.title.clone(),
        stage: study.stage.to_string(),
        seed: study.seed,
        blocks: plan.blocks,
        design: plan.design,
        primary: study.primary.clone(),
        candidate: Some(study.candidate),
        mei: study.mei.to_f64(),
        arms: study.arms.iter().zip(bench.settings()).map(arm).collect(),
        workloads: study.workloads.iter().map(workload).collect(),
        contrasts: study.contrasts.iter().map(contrast).collect(),
        runs: runs.iter().filter_map(sample).collect(),
        curves: runs.iter().filter_map(|run| curve_point(study, run)).collect(),
        risks: bench.risks(),
        notes: bench.notes().into_iter().chain(study.notes.clone()).collect(),
        reproduce,
    }
}

fn sample(run: &StoredRun) -> Option<RunSample> {
    let Task::Workload(workload) = run.task else { return None };
    Some(RunSample {
        arm: run.step.arm,
        workload,
        block: run.step.block,
        repeat: run.step.repeat,
        position: run.step.position,
        metrics: metrics::of(&run.record.total),
        latency: run.record.total.lat_histogram.clone(),
    })
}

fn curve_point(study: &StudyFile, run: &StoredRun) -> Option<CurvePoint> {
    let Task::Curve(place) = run.task else { return None };
    Some(CurvePoint {
        arm: run.step.arm,
        block: run.step.block,
        iodepth: study.curve.as_ref()?.depths.get(place)?.0,
        iops: run.record.total.iops,
    })
}
