//! From runs to conclusions.

use drivelab_core::plan::{BLOCKS_MIN, Design};
use drivelab_stats::{Provenance, Role};

use super::blocks::{Blocks, LeftOut};
use super::result::{Contrast, StudyResult};
use super::{Experiment, curve, declared, empty, marks};
use crate::attachment;
use crate::outcome::{JudgeError, Outcome, Question, Rules, Series, Together, judge, withhold};

/// An experiment from which nothing can be concluded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StudyError {
    /// Fewer than two arms.
    #[error("the study has {0} arm(s): a comparison needs two; add another `[[arm]]`")]
    TooFewArms(usize),
    /// The declared candidate is the baseline, or no arm.
    #[error(
        "the candidate is arm {0} (counted from 0), but must be any arm except the first, which is \
         the baseline"
    )]
    Candidate(usize),
    /// No block in which every arm ran every workload.
    #[error(
        "no block is complete: every arm must run every workload in each; continue with \
         `--resume`, or start again and let at least {BLOCKS_MIN} blocks finish"
    )]
    NoCompleteBlock,
    /// No block is left in which requests of every arm completed.
    #[error("no block can be compared: {0}")]
    NothingCompleted(String),
    /// The primary metric is none that was measured.
    #[error("the primary metric `{primary}` was not measured; {hint}")]
    UnknownPrimary {
        /// What the study declares.
        primary: String,
        /// The nearest metric, or all.
        hint: String,
    },
    /// The primary metric has no usable value in some run.
    #[error("the primary metric `{primary}` cannot be compared: {why}")]
    PrimaryUnusable {
        /// What the study declares.
        primary: String,
        /// The run and what is wrong with it.
        why: String,
    },
    /// The statistics refused.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}

/// Concludes what the finished blocks of an experiment allow.
///
/// The block is the unit: repeats inside one are averaged. One comparison is made for every
/// metric and arm against the baseline, plus the contrasts; the primary metric is the gate and is
/// adjusted only for the number of arms, all the rest, contrasts included, for one another. The
/// overall verdict is that of the primary metric for the candidate, which is the last arm unless
/// another is declared.
pub fn analyse(experiment: &Experiment) -> Result<StudyResult, StudyError> {
    if experiment.arms.len() < 2 {
        return Err(StudyError::TooFewArms(experiment.arms.len()));
    }
    let candidate = experiment.candidate.unwrap_or(experiment.arms.len() - 1);
    if !(1..experiment.arms.len()).contains(&candidate) {
        return Err(StudyError::Candidate(candidate));
    }
    let blocks = Blocks::new(experiment);
    refuse_nothing(experiment, &blocks)?;
    let (series, left_out) = all_series(&blocks);
    let gate = primary_series(experiment, &series, &left_out)?;
    let questions = Questions::new(experiment, &series, gate);
    // The cells of a matrix do not say which arm came first.
    let is_ordered = experiment.arms.len() == 2 && experiment.cells.is_none();
    let first = is_ordered.then(|| blocks.first_arms());
    let simulated = experiment.stage == "simulate";
    let provenance = if simulated { Provenance::Simulated } else { Provenance::OwnRuns };
    let rules = Rules { seed: experiment.seed, provenance, first: first.as_deref() };
    let mut outcomes = judge(&series, &questions.all, rules)?;
    let attached = attachment::difference(&experiment.attached);
    withhold(&mut outcomes, &attached.unchanged);
    empty::withhold(experiment, &blocks, &series, &mut outcomes);
    let together = Together::of(&outcomes);
    let (outcomes, contrasts) = questions.sort(experiment, outcomes);
    let primary = outcomes.iter().position(|o| o.series == gate && o.to == candidate);
    let (interactions, unanalysed) = declared::interactions(experiment, &series, gate);
    let mut notes = notes(experiment, &blocks, &left_out);
    notes.extend(unanalysed);
    Ok(StudyResult {
        title: experiment.title.clone(),
        stage: experiment.stage.clone(),
        seed: experiment.seed,
        blocks: experiment.blocks,
        design: experiment.design,
        margin: experiment.margin,
        candidate,
        primary: primary.expect("every arm but the baseline is compared, and the candidate is one"),
        arms: experiment.arms.clone(),
        workloads: experiment.workloads.clone(),
        latency: curve::latency(experiment, &blocks.used),
        depth: curve::depth(experiment),
        attached,
        risks: experiment.risks.clone(),
        notes,
        interactions,
        findings: declared::answers(experiment, &series),
        prices: declared::prices(experiment, &series, &outcomes),
        cells: experiment.cells.clone(),
        asks_gain: experiment.asks_gain,
        reproduce: experiment.reproduce.clone(),
        used: blocks.used,
        series,
        outcomes,
        together,
        contrasts,
    })
}

fn refuse_nothing(experiment: &Experiment, blocks: &Blocks) -> Result<(), StudyError> {
    let is_primary = |workload: usize| {
        let rest = experiment.primary.strip_prefix(experiment.workloads[workload].name.as_str());
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let is_lost = |w: usize| is_primary(w) && !blocks.workloads.contains(&w);
    let mut lost = blocks.empty.iter().chain(&blocks.void);
    if lost.any(|cell| blocks.used.is_empty() || is_lost(cell.0)) {
        return Err(StudyError::NothingCompleted(empty::notes(experiment, blocks).join(" ")));
    }
    if blocks.used.is_empty() { Err(StudyError::NoCompleteBlock) } else { Ok(()) }
}

fn all_series(blocks: &Blocks) -> (Vec<Series>, Vec<LeftOut>) {
    let (mut series, mut left_out) = (Vec::new(), Vec::new());
    for workload in &blocks.workloads {
        let (found, missing) = blocks.series(*workload);
        series.extend(found);
        left_out.extend(missing);
    }
    (series, left_out)
}

fn primary_series(
    experiment: &Experiment,
    series: &[Series],
    left_out: &[LeftOut],
) -> Result<usize, StudyError> {
    let primary = &experiment.primary;
    if let Some(place) = series.iter().position(|s| s.name == *primary) {
        return Ok(place);
    }
    if let Some(out) = left_out.iter().find(|out| out.name == *primary) {
        let why = out.why.clone();
        return Err(StudyError::PrimaryUnusable { primary: primary.clone(), why });
    }
    let names: Vec<&str> = series.iter().map(|s| s.name.as_str()).collect();
    let hint = crate::suggest::among(primary, &names);
    Err(StudyError::UnknownPrimary { primary: primary.clone(), hint })
}

/// Everything asked of the statistics, in one family.
struct Questions {
    all: Vec<Question>,
    /// How many are about an arm against the baseline; they come first.
    plain: usize,
    /// For each contrast, its outcomes by place.
    contrasts: Vec<Vec<usize>>,
}

impl Questions {
    fn new(experiment: &Experiment, series: &[Series], gate: usize) -> Self {
        let role = |place| if place == gate { Role::Gate } else { Role::Other };
        let mut all = Vec::new();
        for place in 0..series.len() {
            for to in 1..experiment.arms.len() {
                all.push(Question { series: place, from: 0, to, role: role(place) });
            }
        }
        let plain = all.len();
        let mut contrasts = Vec::new();
        for contrast in &experiment.contrasts {
            let (from, to) = (contrast.from, contrast.to);
            let headlines = series.iter().enumerate().filter(|(_, series)| {
                experiment.workloads[series.workload].headline == series.metric
            });
            // What is already asked is not asked again: each question costs all others power.
            let places = headlines.map(|(place, _)| {
                let known = all
                    .iter()
                    .position(|q: &Question| (q.series, q.from, q.to) == (place, from, to));
                known.unwrap_or_else(|| {
                    all.push(Question { series: place, from, to, role: Role::Other });
                    all.len() - 1
                })
            });
            contrasts.push(places.collect());
        }
        Self { all, plain, contrasts }
    }

    /// Takes the answers apart again.
    fn sort(
        &self,
        experiment: &Experiment,
        mut outcomes: Vec<Outcome>,
    ) -> (Vec<Outcome>, Vec<Contrast>) {
        let contrasts = experiment.contrasts.iter().zip(&self.contrasts).map(|(info, places)| {
            let outcomes = places.iter().map(|place| outcomes[*place].clone()).collect();
            Contrast { name: info.name.clone(), from: info.from, to: info.to, outcomes }
        });
        let contrasts = contrasts.collect();
        outcomes.truncate(self.plain);
        (outcomes, contrasts)
    }
}

/// The experiment's notes, and what the analysis had to leave out.
fn notes(experiment: &Experiment, blocks: &Blocks, left_out: &[LeftOut]) -> Vec<String> {
    let mut notes = marks::notes(experiment);
    notes.extend(experiment.notes.iter().cloned());
    let used = u32::try_from(blocks.used.len()).expect("blocks are counted in 32 bits");
    let planned = match experiment.design {
        Design::Interleaved => experiment.blocks,
        Design::Grouped => experiment.blocks.min(BLOCKS_MIN),
    };
    if used < planned {
        let is_finished = blocks.finished >= planned as usize;
        let rest = if is_finished { "" } else { "; `--resume` finishes the rest" };
        notes.push(format!("{used} of {planned} blocks are complete; only these count{rest}."));
    }
    notes.extend(empty::notes(experiment, blocks));
    if experiment.design == Design::Grouped {
        notes.push(format!(
            "Switching arms takes effort (a reboot, for example), so all runs of an arm in a block \
             were made in one stay and averaged: n is {used} blocks, {} such stays, not {} runs. \
             Every block switched to every arm again.",
            blocks.used.len() * experiment.arms.len(),
            experiment.runs.iter().filter(|run| run.workload == blocks.workloads[0]).count(),
        ));
    }
    for (workload, info) in experiment.workloads.iter().enumerate() {
        if !blocks.workloads.contains(&workload) {
            let why = if blocks.has_lost(workload) {
                "some arm has no valid run of it"
            } else {
                "some arm did not run it"
            };
            notes.push(format!("`{}` is not compared: {why}.", info.name));
        }
    }
    let missing =
        left_out.iter().map(|out| format!("`{}` is not compared: {}.", out.name, out.why));
    notes.extend(missing);
    notes
}
