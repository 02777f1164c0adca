//! From stored runs to the experiment that is analysed.

use drivelab_core::plan::Plan;
use drivelab_report::attachment::{self, Question, Sample};
use drivelab_report::run::steadiness;
use drivelab_report::study::{
    ArmInfo, ContrastInfo, CurvePoint, Experiment, RunSample, WorkloadInfo,
};
use drivelab_stats::SteadyState;

use super::file::Arm;
use super::{Bench, StoredRun, StudyFile, Task, metrics};

/// What was asked, what was done, and what it measured.
pub(crate) fn experiment(
    study: &StudyFile,
    plan: &Plan,
    bench: &dyn Bench,
    runs: &[StoredRun],
    reproduce: String,
) -> Experiment {
    let arm = |(arm, settings): (&Arm, Vec<(String, String)>)| ArmInfo {
        name: arm.name.clone(),
        summary: arm.summary.clone(),
        settings,
        price_usd: arm.price_usd,
        levels: Vec::new(),
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
        margin: study.margin.to_f64(),
        arms: study.arms.iter().zip(bench.settings()).map(arm).collect(),
        workloads: study.workloads.iter().map(workload).collect(),
        contrasts: study.contrasts.iter().map(contrast).collect(),
        interactions: Vec::new(),
        findings: Vec::new(),
        asks_gain: study.asks_gain,
        cells: None,
        runs: runs.iter().filter_map(sample).collect(),
        curves: runs.iter().filter_map(|run| curve_point(study, run)).collect(),
        attached: attached(study, runs),
        risks: bench.risks(runs),
        notes: notes(study, bench, runs),
        reproduce,
    }
}

/// How the arms were attached, and what the study file says they differ in.
fn attached(study: &StudyFile, runs: &[StoredRun]) -> Question {
    let baseline = (1..study.arms.len()).map(|to| (0, to));
    let contrasts = study.contrasts.iter().map(|contrast| (contrast.from, contrast.to));
    let mut pairs: Vec<(usize, usize)> = baseline.collect();
    pairs.extend(contrasts.filter(|(from, _)| *from > 0));
    let sample = |run: &StoredRun| Sample {
        arm: run.step.arm,
        group: match run.task {
            Task::Workload(place) => place,
            Task::Curve(place) => study.workloads.len() + place,
        },
        facts: attachment::facts(&run.record),
    };
    let arm = |arm: &Arm| attachment::Arm { name: arm.name.clone(), declares: arm.declares() };
    Question {
        arms: study.arms.iter().map(arm).collect(),
        factors: study.factors.clone(),
        is_study: true,
        pairs,
        samples: runs.iter().map(sample).collect(),
    }
}

fn notes(study: &StudyFile, bench: &dyn Bench, runs: &[StoredRun]) -> Vec<String> {
    let mut notes = bench.notes(runs);
    notes.extend(study.notes.iter().cloned());
    for (place, workload) in study.workloads.iter().enumerate() {
        let of_workload = runs.iter().filter(|run| run.task == Task::Workload(place));
        let states: Vec<SteadyState> = of_workload
            .map(|run| steadiness(&run.record.total, study.margin.to_f64()).state)
            .collect();
        let unsteady = states.iter().filter(|state| **state == SteadyState::Unsteady).count();
        // The test turns away one steady run in ten; a third is no accident.
        if unsteady * 3 > states.len() {
            notes.push(format!(
                "{unsteady} of {} runs of `{}` had not settled: give it a longer `ramp_time`.",
                states.len(),
                workload.name
            ));
        }
    }
    notes
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
