//! From runs to conclusions.

mod doubts;

use drivelab_core::plan::{BLOCKS_MIN, Design};
use drivelab_core::record::MarkId;
use drivelab_core::{Refusal, StageName, counted};
use drivelab_stats::{Provenance, Role};

use self::doubts::Doubts;
use super::blocks::{Blocks, LeftOut};
use super::hosts::{self, OnHosts};
use super::result::{ContrastResult, StudyResult};
use super::{Experiment, curve, declared, lost};
use crate::attachment;
use crate::marks;
use crate::outcome::{Outcome, Question, Rules, Series, Together, judge, withhold, withhold_all};

/// Concludes what the finished blocks of an experiment allow.
///
/// The block is the unit: repeats inside one are averaged. One comparison is made for every
/// metric and arm against the baseline, plus the contrasts; the primary metric is the gate and is
/// adjusted only for the number of arms, all the rest, contrasts included, for one another. The
/// overall verdict is that of the primary metric for the candidate, which is the last arm unless
/// another is declared.
pub fn analyse(experiment: Experiment) -> Result<StudyResult, Refusal> {
    let candidate = candidate_arm(&experiment)?;
    let blocks = Blocks::new(&experiment);
    refuse_nothing(&experiment, &blocks)?;
    let (series, left_out) = all_series(&blocks);
    let gate = primary_series(&experiment, &series, &left_out)?;
    let questions = Questions::new(&experiment, &series, gate);
    let sampled = blocks.sampled();
    // Nothing that ran before matters to a drive that is drawn for its block, nor to the cells of a
    // matrix in virtual time, which are made in any order.
    let simulated = experiment.stage == StageName::Simulate;
    let has_order = experiment.cells.is_none() || !simulated;
    let is_ordered = experiment.arms.len() == 2 && has_order && !sampled.is_any();
    let first = is_ordered.then(|| blocks.first_arms());
    let provenance = if simulated { Provenance::Simulated } else { Provenance::OwnRuns };
    let rules =
        Rules { seed: experiment.seed, provenance, first: first.as_deref(), sampled: &sampled };
    let mut outcomes = judge(&series, &questions.all, rules)?;
    let attached = attachment::difference(&experiment.attached);
    withhold(&mut outcomes, &attached.unchanged);
    lost::withhold(&experiment, &blocks, &series, &mut outcomes);
    let doubts = Doubts::of(&experiment, &blocks);
    let withheld = doubts.withheld(&series, &outcomes);
    withhold_all(&mut outcomes, &withheld);
    let shown = shown_series(&experiment, &series, gate);
    let hosts = hosts::analyse(&experiment, (&shown, &series[gate].name), &blocks.used, rules)?;
    if let Some(hosts) = &hosts {
        hosts.withhold(&series, &mut outcomes);
    }
    let together = Together::of(&outcomes);
    let (outcomes, contrasts) = questions.sort(&experiment, outcomes);
    let primary = outcomes.iter().position(|o| o.series == gate && o.to == candidate);
    let (interactions, unanalysed) =
        declared::interactions(&experiment, (&series, &sampled), gate, &|series| {
            withheld_on(series, &outcomes, &contrasts)
        });
    let mut notes = notes(&experiment, &blocks, &left_out);
    notes.extend(hosts.iter().flat_map(OnHosts::notes));
    notes.extend(unanalysed);
    notes.extend(sampled.is_median().then(|| of_median(simulated)));
    Ok(StudyResult {
        candidate,
        primary: primary.expect("every arm but the baseline is compared, and the candidate is one"),
        latency: curve::latency(&experiment, &blocks.used),
        depth: curve::depth(&experiment),
        withheld,
        notes,
        interactions,
        findings: declared::answers(&experiment, &series, &sampled, &|workload, arms| {
            let factor = attached.unchanged.iter().find(|it| it.is_of(arms));
            let factor = factor.map(|it| {
                format!("the declared factor did not differ ({} in both arms)", it.values)
            });
            factor.or_else(|| doubts.about(workload, arms))
        }),
        attached,
        prices: declared::prices(&experiment, &series, &outcomes, &|workload, arms| {
            doubts.about(workload, arms)
        }),
        left_out: blocks.finished.len() - blocks.used.len(),
        used: blocks.used,
        series,
        outcomes,
        hosts,
        together,
        contrasts,
        experiment,
    })
}

/// Why a verdict on a series is withheld, for any of its arms.
fn withheld_on(
    series: usize,
    outcomes: &[Outcome],
    contrasts: &[ContrastResult],
) -> Option<String> {
    let all = outcomes.iter().chain(contrasts.iter().flat_map(|contrast| &contrast.outcomes));
    let warning = all.filter(|it| it.series == series).find_map(Outcome::withheld);
    warning.map(|warning| warning.advice.clone())
}

/// The series compared host by host: the primary metric and the headline of each workload.
fn shown_series(experiment: &Experiment, series: &[Series], gate: usize) -> Vec<Series> {
    let shown = series.iter().filter(|it| {
        *it == &series[gate] || experiment.workloads[it.workload].headline == it.metric
    });
    shown.cloned().collect()
}

/// The limit of an interval where all blocks simulate one drive.
const MEDIAN: &str = "All runs simulate the median drive: the intervals are about its addresses and \
                      not about other drives of the kind;";

/// The note on intervals that are about one drive.
fn of_median(simulated: bool) -> String {
    let others = if simulated { "--specimens 20" } else { "--stage simulate" };
    format!("{MEDIAN} `{others}` draws such drives, one a block.")
}

/// The arm that the overall verdict is about.
fn candidate_arm(experiment: &Experiment) -> Result<usize, Refusal> {
    let arms = experiment.arms.len();
    if arms < 2 {
        return Err(Refusal::request(format!(
            "the study has {}: a comparison needs two; add another `[[arm]]`",
            counted(arms as u64, "arm")
        )));
    }
    let candidate = experiment.candidate.unwrap_or(arms - 1);
    if !(1..arms).contains(&candidate) {
        return Err(Refusal::request(format!(
            "the candidate is arm number {candidate} of the study (from 0), but it must be one \
             that is compared: any but the first, which is the baseline"
        )));
    }
    Ok(candidate)
}

fn refuse_nothing(experiment: &Experiment, blocks: &Blocks) -> Result<(), Refusal> {
    let is_decisive = blocks.lost().any(|(workload, ..)| {
        let is_lost = is_primary(experiment, *workload) && !blocks.workloads.contains(workload);
        blocks.used.is_empty() || is_lost
    });
    if is_decisive {
        let why = lost::reasons(experiment, blocks).join("; ");
        return Err(Refusal::request(format!("no block can be compared: {why}")));
    }
    if blocks.used.is_empty() {
        return Err(Refusal::request(format!(
            "no block is complete: every arm must run every workload in each; continue with \
         `--resume`, or start again and let at least {BLOCKS_MIN} blocks finish"
        )));
    }
    Ok(())
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
) -> Result<usize, Refusal> {
    let primary = &experiment.primary;
    if let Some(index) = series.iter().position(|s| s.name == *primary) {
        return Ok(index);
    }
    if let Some(out) = left_out.iter().find(|out| out.name == *primary) {
        let message = format!("the primary metric `{primary}` cannot be compared: {}", out.why);
        return Err(Refusal::request(message));
    }
    let names: Vec<&str> = series.iter().map(|s| s.name.as_str()).collect();
    let hint = crate::suggest::among(primary, &names);
    Err(Refusal::request(format!("the primary metric `{primary}` was not measured; {hint}")))
}

/// Everything asked of the statistics, in one family.
struct Questions {
    all: Vec<Question>,
    /// The number of questions about an arm against the baseline; they come first.
    plain: usize,
    /// For each contrast, its outcomes by index.
    contrasts: Vec<Vec<usize>>,
}

impl Questions {
    fn new(experiment: &Experiment, series: &[Series], gate: usize) -> Self {
        let mut all = Vec::new();
        for index in 0..series.len() {
            let role = if index == gate { Role::Gate } else { Role::Other };
            for to in 1..experiment.arms.len() {
                all.push(Question { series: index, from: 0, to, role });
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
            let indices = headlines.map(|(index, _)| {
                let known = all
                    .iter()
                    .position(|q: &Question| (q.series, q.from, q.to) == (index, from, to));
                known.unwrap_or_else(|| {
                    all.push(Question { series: index, from, to, role: Role::Other });
                    all.len() - 1
                })
            });
            contrasts.push(indices.collect());
        }
        Self { all, plain, contrasts }
    }

    fn sort(
        &self,
        experiment: &Experiment,
        mut outcomes: Vec<Outcome>,
    ) -> (Vec<Outcome>, Vec<ContrastResult>) {
        debug_assert_eq!(outcomes.len(), self.all.len(), "one outcome for each question");
        let contrasts = experiment.contrasts.iter().zip(&self.contrasts).map(|(info, indices)| {
            let outcomes = indices.iter().map(|index| outcomes[*index].clone()).collect();
            ContrastResult { name: info.name.clone(), from: info.from, to: info.to, outcomes }
        });
        let contrasts = contrasts.collect();
        // The plain questions come first; all others are of contrasts.
        outcomes.truncate(self.plain);
        (outcomes, contrasts)
    }
}

/// The experiment's notes, and what the analysis had to leave out.
fn notes(experiment: &Experiment, blocks: &Blocks, left_out: &[LeftOut]) -> Vec<String> {
    let names: Vec<&str> = experiment.arms.iter().map(|arm| arm.name.as_str()).collect();
    let mut notes = marks::notes(&names, &marked(experiment));
    notes.extend(experiment.notes.iter().cloned());
    let used = u32::try_from(blocks.used.len()).expect("blocks are counted in 32 bits");
    let planned = match experiment.design {
        Design::Interleaved => experiment.blocks,
        // Each switch takes effort: the blocks that a verdict needs are enough.
        Design::Grouped => experiment.blocks.min(BLOCKS_MIN),
    };
    if used < planned {
        let is_finished = blocks.finished.len() >= planned as usize;
        let rest = if is_finished { "" } else { "; `--resume` finishes the rest" };
        let verb = if used == 1 { "is" } else { "are" };
        notes.push(format!("{used} of {planned} blocks {verb} complete; only these count{rest}."));
    }
    notes.extend(lost::notes(experiment, blocks));
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
    notes.extend(folded(left_out));
    notes
}

/// The marks of every run, without those that a study reports in separate notes.
fn marked(experiment: &Experiment) -> Vec<(usize, Vec<MarkId>)> {
    let told = [MarkId::Modelled, MarkId::Emulated, MarkId::FewRequests];
    experiment
        .runs
        .iter()
        .map(|run| {
            let marks = run.marks.iter().filter(|mark| !told.contains(mark));
            (run.arm, marks.copied().collect())
        })
        .collect()
}

/// A note for each reason why metrics are not compared.
fn folded(left_out: &[LeftOut]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for LeftOut { name, why } in left_out {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    reasons
        .into_iter()
        .map(|(why, names)| match &names[..] {
            [name] => format!("`{name}` is not compared: {why}."),
            names => {
                let why = why.replacen("it is", "each is", 1);
                format!("`{}` are not compared: {why}.", names.join("`, `"))
            }
        })
        .collect()
}

/// True if the primary metric is one of this workload.
fn is_primary(experiment: &Experiment, workload: usize) -> bool {
    let rest = experiment.primary.strip_prefix(experiment.workloads[workload].name.as_str());
    rest.is_some_and(|rest| rest.starts_with('.'))
}
