//! The answer in words: what a reader should know who reads nothing else.

use drivelab_stats::{Interacts, Verdict};

use super::declared::FindingResult;
use super::declared::InteractionResult;
use super::result::StudyResult;
use crate::metric;
use crate::outcome::{Outcome, Sentence, claim, join, lead, sized};

/// The answer first, then what else follows from the study, most important first.
pub fn words(result: &StudyResult) -> Vec<Sentence> {
    let mut sentences = vec![answer(result)];
    sentences.extend(shares(result));
    sentences.extend(other_arms(result));
    sentences.extend(other_workloads(result));
    sentences.extend(got_worse(result));
    sentences.extend(of_primary(result).map(interaction));
    let risks = result.risks.iter();
    sentences.extend(risks.map(|risk| Sentence::new("Risk:", risk.clone(), None)));
    sentences
}

fn answer(result: &StudyResult) -> Sentence {
    let outcome = result.primary();
    let verdict = outcome.verdict();
    let lead = lead(verdict, result.asks_gain);
    let workload = &result.workloads[result.series_of(outcome).workload].summary;
    let body =
        format!("for {workload}: {}.", claim(outcome, result.series_of(outcome), &result.names()));
    Sentence::new(lead, body, Some(verdict))
}

/// What single causes contribute to the primary metric's workload.
fn shares(result: &StudyResult) -> Option<Sentence> {
    let workload = result.series_of(result.primary()).workload;
    let shares: Vec<String> = result
        .contrasts
        .iter()
        .filter_map(|contrast| {
            let outcomes = contrast.outcomes.iter();
            let outcome = outcomes.clone().find(|o| result.series_of(o).workload == workload)?;
            let (from, to) = (&result.arms[outcome.from].name, &result.arms[outcome.to].name);
            let numbers = sized(outcome, result.series_of(outcome));
            let what = match outcome.verdict() {
                Verdict::Faster => format!("gives {numbers}"),
                Verdict::Slower => format!("makes it slower, {numbers}"),
                Verdict::NoPracticalDifference => {
                    format!("makes no practical difference, {numbers}")
                }
                Verdict::Different => format!(
                    "makes a difference, perhaps smaller than the \
                                               margin, {numbers}"
                ),
                Verdict::Inconclusive => format!("is inconclusive, {numbers}"),
            };
            Some(format!("{} alone {what} (`{to}` against `{from}`)", contrast.name))
        })
        .collect();
    // Causes need not add up to the whole: one may even undo part of another.
    let body = format!("{}.", join(&shares));
    (!shares.is_empty()).then(|| Sentence::new("Cause by cause:", body, None))
}

/// The arms that neither the answer nor a share speaks of.
fn other_arms(result: &StudyResult) -> Option<Sentence> {
    let gate = result.primary().series;
    let told = |arm: usize| {
        arm == result.candidate || result.contrasts.iter().any(|c| c.from == 0 && c.to == arm)
    };
    let others = result.outcomes.iter().filter(|o| o.series == gate && !told(o.to));
    let others: Vec<String> = others
        .map(|o| {
            format!(
                "`{}` {} ({})",
                result.arms[o.to].name,
                o.verdict(),
                sized(o, result.series_of(o))
            )
        })
        .collect();
    (!others.is_empty())
        .then(|| Sentence::new("The other arms:", format!("{}.", join(&others)), None))
}

/// The candidate in every other workload, by verdict.
fn other_workloads(result: &StudyResult) -> Vec<Sentence> {
    let primary = result.series_of(result.primary()).workload;
    let others = (0..result.workloads.len()).filter(|workload| *workload != primary);
    let outcomes: Vec<&Outcome> =
        others.filter_map(|workload| result.headline(workload, result.candidate)).collect();
    let leads = [
        (Verdict::Faster, "Faster:"),
        (Verdict::Slower, "Slower:"),
        (Verdict::NoPracticalDifference, "No practical difference:"),
        (Verdict::Different, "Different, but perhaps not enough to matter:"),
        (Verdict::Inconclusive, "Not settled:"),
    ];
    let sentence = |(verdict, lead): (Verdict, &str)| {
        let of_verdict = outcomes.iter().filter(|o| o.verdict() == verdict);
        let named: Vec<String> = of_verdict
            .map(|o| {
                let workload = &result.workloads[result.series_of(o).workload];
                format!("{} ({})", workload.summary, sized(o, result.series_of(o)))
            })
            .collect();
        let also = verdict == result.verdict() && verdict == Verdict::Faster;
        let lead = if also { "Faster too:" } else { lead };
        (!named.is_empty())
            .then(|| Sentence::new(lead, format!("{}.", join(&named)), Some(verdict)))
    };
    leads.into_iter().filter_map(sentence).collect()
}

/// Metrics that got worse though the headline of their workload did not.
fn got_worse(result: &StudyResult) -> Option<Sentence> {
    let worse = result.outcomes.iter().filter(|outcome| {
        let series = result.series_of(outcome);
        let headline = result.headline(series.workload, outcome.to).map(Outcome::verdict);
        outcome.to == result.candidate
            && outcome.verdict() == Verdict::Slower
            && headline != Some(Verdict::Slower)
    });
    let worse: Vec<String> = worse
        .map(|outcome| {
            let series = result.series_of(outcome);
            let workload = &result.workloads[series.workload].summary;
            let label = metric::label(&series.metric);
            format!("{label} for {workload} ({})", sized(outcome, series))
        })
        .collect();
    (!worse.is_empty())
        .then(|| Sentence::new("But worse:", format!("{}.", join(&worse)), Some(Verdict::Slower)))
}

/// Whether factors depend on each other, in the primary metric.
fn of_primary(result: &StudyResult) -> impl Iterator<Item = &InteractionResult> {
    let gate = result.primary().series;
    result.interactions.iter().filter(move |one| one.series == gate)
}

fn interaction(one: &InteractionResult) -> Sentence {
    let lead = match one.verdict {
        Interacts::Interact => "The factors interact:",
        Interacts::Independent => "No practical interaction:",
        Interacts::NotShown => "No interaction shown:",
    };
    Sentence::new(lead, format!("{}.", one.sentence()), None)
}

/// The same in the other headline metrics.
pub(super) fn interactions(result: &StudyResult) -> Vec<Sentence> {
    let gate = result.primary().series;
    let others = result.interactions.iter().filter(|one| one.series != gate);
    let told = others.map(|one| {
        let Sentence { lead, body, verdict } = interaction(one);
        let workload = &result.workloads[result.series[one.series].workload].summary;
        Sentence { lead, body: format!("{workload}: {body}"), verdict }
    });
    told.collect()
}

/// What was stated, and whether it holds.
pub(super) fn findings(result: &StudyResult) -> Vec<Sentence> {
    let sentence = |one: &FindingResult| {
        Sentence::new(&format!("{}:", one.answer.words()), one.sentence(), None)
    };
    result.findings.iter().map(sentence).collect()
}
