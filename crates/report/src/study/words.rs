//! The answer in words: what a reader should know who reads nothing else.

use drivelab_analysis::metric;
use drivelab_analysis::outcome::Outcome;
use drivelab_analysis::study::{InteractionResult, StudyResult};
use drivelab_stats::{Interacts, Verdict};

use super::hosts;
use crate::outcome::{Sentence, by_verdict, claim, lead, sized};
use crate::specimens;

/// The answer first, then what else follows from the study, most important first.
pub fn words(result: &StudyResult) -> Vec<Sentence> {
    let mut sentences = vec![answer(result)];
    sentences.extend(withheld(result));
    sentences.extend(hosts::sentence(result));
    sentences.extend(decides(result));
    sentences.extend(shares(result));
    sentences.extend(other_arms(result));
    sentences.extend(other_workloads(result));
    sentences.extend(got_worse(result));
    sentences.extend(got_better(result));
    sentences.extend(of_primary(result).map(interaction));
    let risks = result.experiment.risks.iter();
    sentences.extend(risks.map(|risk| Sentence::new("Risk:", risk.sentence.clone(), None)));
    sentences
}

pub(super) fn answer(result: &StudyResult) -> Sentence {
    let outcome = result.primary();
    let verdict = outcome.verdict();
    let workload = &result.experiment.workloads[result.series_of(outcome).workload].summary;
    let claim = claim(outcome, result.series_of(outcome), &result.names());
    Sentence::new(
        lead(outcome, result.experiment.asks_gain),
        format!("for {workload}: {claim}{}.", left_out(result)),
        Some(verdict),
    )
}

/// Why the verdict is withheld, and what to do about it.
pub(super) fn withheld(result: &StudyResult) -> impl Iterator<Item = Sentence> {
    let warnings = &result.primary().adjusted.comparison.warnings;
    let reasons = warnings.iter().filter(|warning| warning.id.withholds());
    reasons.map(|reason| Sentence::new("Withheld:", format!("{}.", reason.advice), None))
}

/// States the number of blocks that the answer does not rest on.
fn left_out(result: &StudyResult) -> String {
    let are = if result.left_out == 1 { "is" } else { "are" };
    let all = result.used.len() + result.left_out;
    match result.left_out {
        0 => String::new(),
        lost => format!("; {lost} of {all} blocks {are} left out (see the notes)"),
    }
}

/// Names the causes of the spread between drives if a verdict depends on it.
fn decides(result: &StudyResult) -> Option<Sentence> {
    let outcome = result.open()?;
    let parts = specimens::decides(outcome.foreseen.as_ref()?)?;
    let about = if outcome == result.primary() {
        String::new()
    } else {
        let (names, series) = (result.names(), result.series_of(outcome));
        let workload = &result.experiment.workloads[series.workload].summary;
        format!("for `{}` against `{}`, {workload}: ", names[outcome.to], names[outcome.from])
    };
    Some(Sentence::new("What decides:", format!("{about}{parts}."), None))
}

/// The contributions of single causes to the primary metric's workload.
fn shares(result: &StudyResult) -> Option<Sentence> {
    let workload = result.series_of(result.primary()).workload;
    let names = result.names();
    let shares = result.contrasts.iter().filter_map(|contrast| {
        let mut outcomes = contrast.outcomes.iter();
        let outcome = outcomes.find(|o| result.series_of(o).workload == workload)?;
        let what = match outcome.verdict() {
            Verdict::Faster => "gives",
            Verdict::Slower => "makes it slower,",
            Verdict::NoPracticalDifference => "makes no practical difference,",
            Verdict::Different => "makes a difference, perhaps a small one,",
            Verdict::Inconclusive if outcome.depends() => "depends on the drive:",
            Verdict::Inconclusive => "is not settled,",
        };
        let numbers = sized(outcome, result.series_of(outcome));
        let (from, to) = (names[outcome.from], names[outcome.to]);
        Some(format!("{} alone {what} {numbers} (`{to}` against `{from}`)", contrast.name))
    });
    // Causes need not add up to the whole: one may even undo part of another.
    Sentence::listing("Cause by cause:", shares, None)
}

fn other_arms(result: &StudyResult) -> Option<Sentence> {
    let gate = result.primary().series;
    let told = |arm: usize| {
        arm == result.candidate || result.contrasts.iter().any(|c| c.from == 0 && c.to == arm)
    };
    let others = result.outcomes.iter().filter(|o| o.series == gate && !told(o.to));
    let parts = others.map(|o| {
        let size = sized(o, result.series_of(o));
        format!("`{}` {} ({size})", result.experiment.arms[o.to].name, o.word())
    });
    Sentence::listing("The other arms:", parts, None)
}

/// The candidate in every other workload, by verdict.
fn other_workloads(result: &StudyResult) -> Vec<Sentence> {
    let primary = result.series_of(result.primary()).workload;
    let others = (0..result.experiment.workloads.len()).filter(|workload| *workload != primary);
    let outcomes: Vec<&Outcome> =
        others.filter_map(|workload| result.headline(workload, result.candidate)).collect();
    let is_faster = result.verdict() == Verdict::Faster;
    let leads = [
        (Verdict::Faster, if is_faster { "Faster too:" } else { "Faster:" }),
        (Verdict::Slower, "Slower:"),
        (Verdict::NoPracticalDifference, "No practical difference:"),
        (Verdict::Different, "Different, but perhaps not enough to matter:"),
        (Verdict::Inconclusive, "Not settled:"),
    ];
    by_verdict(&outcomes, leads, |outcome| {
        let series = result.series_of(outcome);
        let workload = &result.experiment.workloads[series.workload];
        format!("{} ({})", workload.summary, sized(outcome, series))
    })
}

/// Other figures of a command or a suite that got better though the headline did not: they are
/// tests of their own. Latencies of a phase say what its figure says.
fn got_better(result: &StudyResult) -> Option<Sentence> {
    let better = result.outcomes.iter().filter(|outcome| {
        let series = result.series_of(outcome);
        let headline = result.headline(series.workload, outcome.to).map(Outcome::verdict);
        outcome.to == result.candidate
            && outcome.verdict() == Verdict::Faster
            && headline != Some(Verdict::Faster)
            && !result.experiment.workloads[series.workload].is_load()
            && !series.metric.contains('.')
    });
    let parts = better.map(|outcome| {
        let series = result.series_of(outcome);
        let workload = &result.experiment.workloads[series.workload].name;
        format!("{} of {workload} ({})", metric::label(&series.metric), sized(outcome, series))
    });
    Sentence::listing("But better:", parts, Some(Verdict::Faster))
}

/// Metrics of the candidate that got worse though the headline of their workload did not.
pub(super) fn worse(result: &StudyResult) -> impl Iterator<Item = &Outcome> {
    result.outcomes.iter().filter(|outcome| {
        let workload = result.series_of(outcome).workload;
        let headline = result.headline(workload, outcome.to).map(Outcome::verdict);
        outcome.to == result.candidate
            && outcome.verdict() == Verdict::Slower
            && headline != Some(Verdict::Slower)
    })
}

fn got_worse(result: &StudyResult) -> Option<Sentence> {
    let parts = worse(result).map(|outcome| {
        let series = result.series_of(outcome);
        let workload = &result.experiment.workloads[series.workload].summary;
        format!("{} for {workload} ({})", metric::label(&series.metric), sized(outcome, series))
    });
    Sentence::listing(&but_worse(result), parts, Some(Verdict::Slower))
}

/// The lead of what got worse though the answer is another.
pub(super) fn but_worse(result: &StudyResult) -> String {
    format!("But `{}` is worse in:", result.names()[result.candidate])
}

/// The interactions of factors in the primary metric.
fn of_primary(result: &StudyResult) -> impl Iterator<Item = &InteractionResult> {
    let gate = result.primary().series;
    result.interactions.iter().filter(move |one| one.series == gate)
}

fn interaction(one: &InteractionResult) -> Sentence {
    let lead = match one.verdict {
        _ if one.withheld.is_some() => "Interaction withheld:",
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
        let workload = &result.experiment.workloads[result.series[one.series].workload].summary;
        Sentence { lead, body: format!("{workload}: {body}"), verdict }
    });
    told.collect()
}

pub(super) fn findings(result: &StudyResult) -> Vec<Sentence> {
    result
        .findings
        .iter()
        .map(|one| Sentence::new(&format!("{}:", one.answer.words()), one.sentence(), None))
        .collect()
}
