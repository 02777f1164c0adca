//! From stored runs to the experiment that is analysed.

use drivelab_analysis::attachment::{ArmSettings, Question, Sample};
use drivelab_analysis::cells::{CellRun, Cells};
use drivelab_analysis::outcome::validity;
use drivelab_analysis::run::steady::steadiness;
use drivelab_analysis::specimens::Settle;
use drivelab_analysis::study::{
    ArmInfo, CurvePoint, Experiment, HostSample, RunSample, WorkloadInfo,
};
use drivelab_analysis::{attachment, cells};
use drivelab_core::StageName;
use drivelab_core::plan::{Plan, Step};
use drivelab_core::record::{Figure, RunRecord};
use drivelab_stats::SteadyState;
use drivelab_study::file::NamedWorkload;
use drivelab_study::{Asked, Frame, StoredRun, StudyFile, Task, repeat};

/// The runs of a study, and how they came about.
#[derive(Debug, Clone, Copy)]
pub struct Carried<'a> {
    /// The order of the runs.
    pub plan: &'a Plan,
    /// The command line.
    pub asked: Option<&'a Asked>,
    /// The stage's account of the study.
    pub frame: &'a Frame,
    /// The runs.
    pub runs: &'a [StoredRun],
}

/// The question of a study, its runs and their measurements.
pub fn experiment(study: &StudyFile, carried: Carried<'_>) -> Experiment {
    let Carried { plan, asked, frame, runs } = carried;
    let again = asked.and_then(|asked| repeat::of_own_drive(study, asked));
    let arms = study.arms.iter().zip(frame.settings.clone()).map(|(arm, settings)| ArmInfo {
        name: arm.name.clone(),
        summary: arm.summary.clone(),
        settings,
        price_usd: arm.price_usd,
        levels: arm.levels.clone(),
    });
    let workload = |named: &NamedWorkload| WorkloadInfo {
        name: named.name.clone(),
        summary: named.summary.clone(),
        headline: study.headline(named),
    };
    let cells = study.matrix.as_ref().map(|matrix| Cells::of(matrix, &cell_runs(runs)));
    let of_workloads = || study.workloads.iter().map(workload).collect();
    Experiment {
        title: study.title.clone(),
        article: study.article,
        stage: study.stage,
        scale: study.scale,
        seed: study.seed,
        blocks: plan.blocks,
        design: plan.design,
        primary: study.primary.clone(),
        candidate: Some(study.candidate),
        margin: study.margin.to_f64(),
        arms: arms.collect(),
        workloads: study.matrix.as_ref().map_or_else(of_workloads, cells::workloads),
        contrasts: study.contrasts.clone(),
        interactions: study.interactions.clone(),
        findings: study.findings.clone(),
        asks_gain: study.asks_gain,
        runs: match &cells {
            Some(cells) => cells::samples(cells),
            None => runs.iter().filter_map(|run| sample(study, run)).collect(),
        },
        cells,
        curves: runs.iter().filter_map(|run| curve_point(study, run)).collect(),
        attached: attached(study, runs),
        risks: frame.risks.clone(),
        notes: notes(study, frame, runs),
        reproduce: frame.reproduce.clone(),
        settle: again.map(|again| Settle { again }),
    }
}

/// The attachment of the arms, and the factors that the study file names.
fn attached(study: &StudyFile, runs: &[StoredRun]) -> Question {
    let baseline = (1..study.arms.len()).map(|to| (0, to));
    let contrasts = study.contrasts.iter().map(|contrast| (contrast.from, contrast.to));
    let mut pairs: Vec<(usize, usize)> = baseline.collect();
    // Contrasts from arm 0 are among the pairs already.
    pairs.extend(contrasts.filter(|(from, _)| *from > 0));
    let tasks = runs.iter().map(|run| group(study, run)).max().map_or(1, |last| last + 1);
    let samples = runs.iter().flat_map(|run| {
        let (arm, group) = (run.step.arm, group(study, run));
        // Each host is held against itself.
        let hosts = run.record.hosts.iter().flat_map(|hosts| &hosts.hosts);
        let of_hosts: Vec<Sample> = hosts
            .map(|host| {
                // Each rank has its range of groups.
                let group = group + tasks * host.rank as usize;
                Sample { arm, group, facts: attachment::facts(&host.run) }
            })
            .collect();
        if of_hosts.is_empty() {
            return vec![Sample { arm, group, facts: attachment::facts(&run.record) }];
        }
        of_hosts
    });
    let measured = target_facts(study, runs);
    let by_name = study.workloads.iter().any(|named| named.work.uses("arm"));
    let arms = study.arms.iter().map(|arm| {
        let mut declares = arm.declares(study.drive.as_deref());
        let target = arm.targets.join(", ");
        // What a command does with the name of its arm is the user's business.
        declares.extend(by_name.then(|| (String::new(), arm.name.clone())));
        declares.extend(measured.iter().map(|factor| ((*factor).into(), target.clone())));
        ArmSettings { name: arm.name.clone(), declares }
    });
    Question {
        does_other_work: false,
        arms: arms.collect(),
        factors: study.factors.clone(),
        is_study: true,
        pairs,
        samples: samples.collect(),
    }
}

/// Runs of one group did the same.
fn group(study: &StudyFile, run: &StoredRun) -> usize {
    match run.task {
        Task::Workload(index) => index,
        Task::Curve(index) | Task::Cell(index) => study.workloads.len() + index,
    }
}

/// The finished cells of a matrix.
pub fn cell_runs(runs: &[StoredRun]) -> Vec<CellRun<'_>> {
    let mut cells = Vec::new();
    for StoredRun { step, task, record, .. } in runs {
        if let Task::Cell(index) = *task {
            let Step { arm, block, position, .. } = *step;
            cells.push(CellRun { arm, block, position, place: index, record });
        }
    }
    cells
}

/// The factors that distinguish arms with separate targets: file system and drive, if they were
/// seen to differ, or a factor without a name if neither was.
fn target_facts(study: &StudyFile, runs: &[StoredRun]) -> Vec<&'static str> {
    if study.stage != StageName::Hardware
        || study.arms.iter().all(|arm| arm.targets == study.arms[0].targets)
    {
        return Vec::new();
    }
    let facts: Vec<attachment::Facts> =
        runs.iter().map(|run| attachment::facts(&run.record)).collect();
    let differs = |name: &str| {
        let mut values = facts.iter().map(|facts| facts.get(name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let seen = [
        ("file-system", differs("file_system")),
        ("drive", differs("model") || differs("capacity_bytes")),
    ];
    let factors: Vec<&str> =
        seen.into_iter().filter(|(_, differs)| *differs).map(|(factor, _)| factor).collect();
    if factors.is_empty() { vec![""] } else { factors }
}

/// One number a metric for a run; a run in which nothing completed has none to make a ratio of.
///
/// Detail metrics are compared only where the study names them: each comparison costs all others
/// power.
fn metrics(record: &RunRecord, wanted: &[String]) -> Vec<Figure> {
    let mut metrics = drivelab_analysis::run::metrics(record);
    metrics.retain(|metric| metric.value > 0.0);
    metrics.retain(|metric| !metric.is_detail || wanted.contains(&metric.name));
    metrics
}

fn notes(study: &StudyFile, frame: &Frame, runs: &[StoredRun]) -> Vec<String> {
    let mut notes = frame.notes.clone();
    notes.extend(study.notes.iter().cloned());
    for (index, workload) in study.workloads.iter().enumerate() {
        let of_workload = runs.iter().filter(|run| run.task == Task::Workload(index));
        let states: Vec<SteadyState> = of_workload
            .filter_map(|run| run.record.total.as_ref())
            .map(|total| steadiness(total, study.margin.to_f64()).state)
            .collect();
        let unsteady = states.iter().filter(|state| **state == SteadyState::Unsteady).count();
        // The test turns away one steady run in ten; a third is no accident.
        if unsteady * 3 > states.len() {
            notes.push(format!(
                "{unsteady} of {} runs of `{}` did not reach steady state: set a longer \
                 `ramp_time`.",
                states.len(),
                workload.name
            ));
        }
    }
    notes
}

fn sample(study: &StudyFile, run: &StoredRun) -> Option<RunSample> {
    let Task::Workload(workload) = run.task else { return None };
    Some(RunSample {
        arm: run.step.arm,
        workload,
        block: run.step.block,
        repeat: run.step.repeat,
        position: run.step.position,
        metrics: metrics(&run.record, &study.wanted(run.task)),
        latency: run
            .record
            .total
            .as_ref()
            .map(|total| total.lat_histogram.clone())
            .unwrap_or_default(),
        marks: run.record.marks.iter().map(|mark| mark.id).collect(),
        flaws: validity::flaws(&run.record),
        target: run.record.target.clone(),
        specimen: run.record.specimen.clone(),
        hosts: hosts(study, run),
        start_skew: run.record.hosts.as_ref().and_then(|hosts| hosts.start_skew),
    })
}

/// The share of each host in a run on many hosts.
fn hosts(study: &StudyFile, run: &StoredRun) -> Vec<HostSample> {
    let Some(hosts) = &run.record.hosts else { return Vec::new() };
    let samples = hosts.hosts.iter().map(|host| HostSample {
        rank: host.rank,
        host: host.host.clone(),
        target: host.run.target.clone(),
        is_straggler: hosts.stragglers.contains(&host.rank),
        metrics: metrics(&host.run, &study.wanted(run.task)),
    });
    samples.collect()
}

fn curve_point(study: &StudyFile, run: &StoredRun) -> Option<CurvePoint> {
    let Task::Curve(index) = run.task else { return None };
    Some(CurvePoint {
        arm: run.step.arm,
        block: run.step.block,
        iodepth: study.curve.as_ref()?.depths.get(index)?.0,
        iops: run.record.total.as_ref()?.iops,
    })
}
