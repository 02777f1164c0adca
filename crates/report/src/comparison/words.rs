//! The answer of a comparison in words.

use drivelab_analysis::comparison::CompareResult;
use drivelab_analysis::figures::capital;
use drivelab_analysis::metric;
use drivelab_analysis::outcome::Outcome;
use drivelab_stats::Verdict;

use crate::outcome::{Sentence, by_verdict, claim, lead, sized};
use crate::specimens;
use drivelab_core::record::{Label, Nature};

/// Arms named in a title; the others are counted.
const NAMED_MAX: usize = 5;

/// The arms that are compared, the baseline last.
pub(super) fn title(arms: &[&str]) -> String {
    let (baseline, others) = arms.split_first().expect("a comparison has arms");
    let named = others[..others.len().min(NAMED_MAX)].join(", ");
    match others.len().saturating_sub(NAMED_MAX) {
        0 => format!("{named} against {baseline}"),
        more => format!("{named} and {more} more against {baseline}"),
    }
}

/// The answer first, then the other metrics, then what was no measurement of a disk.
pub(crate) fn words(result: &CompareResult) -> Vec<Sentence> {
    let mut sentences = vec![answer(result)];
    sentences.extend(withheld(result));
    sentences.extend(decides(result));
    sentences.extend(other_arms(result));
    sentences.extend(other_metrics(result));
    sentences.extend(natures(result));
    sentences
}

pub(super) fn answer(result: &CompareResult) -> Sentence {
    let outcome = result.primary();
    let series = &result.series[outcome.series];
    let verdict = outcome.verdict();
    let lead = match outcome.adjusted.comparison.n {
        1 if outcome.withheld().is_none() => "Nothing can be concluded from one run each",
        _ => lead(outcome, false),
    };
    let body = format!(
        "in {}: {}.",
        metric::label(&series.metric),
        claim(outcome, series, &result.names())
    );
    Sentence::new(lead, body, Some(verdict))
}

/// Why verdicts are withheld, and what to type next.
pub(super) fn withheld(result: &CompareResult) -> impl Iterator<Item = Sentence> {
    result
        .withheld
        .iter()
        .filter(move |it| {
            it.outcomes.iter().any(|index| !result.facts[result.outcomes[*index].series].is_detail)
        })
        .map(|it| {
            let body = format!("{}. {}.", it.message, capital(&it.hint));
            Sentence::new("Withheld:", body, None)
        })
}

/// Names the causes of the spread between drives if the verdict depends on it.
fn decides(result: &CompareResult) -> Option<Sentence> {
    let foreseen = result.primary().foreseen.as_ref().filter(|_| result.primary().depends())?;
    let parts = specimens::decides(foreseen)?;
    Some(Sentence::new("What decides:", format!("{parts}."), None))
}

pub(super) fn other_arms(result: &CompareResult) -> Option<Sentence> {
    let primary = result.primary();
    let others =
        result.outcomes.iter().filter(|o| o.series == primary.series && o.to != primary.to);
    let parts = others.map(|o| {
        let size = sized(o, &result.series[o.series]);
        format!("`{}` {} ({size})", result.arms[o.to], o.word())
    });
    Sentence::listing("The other arms:", parts, None)
}

/// The last arm in every other metric that says something of a disk, by verdict.
pub(super) fn other_metrics(result: &CompareResult) -> Vec<Sentence> {
    let primary = result.primary();
    let others: Vec<&Outcome> = result
        .outcomes
        .iter()
        .filter(|outcome| {
            let facts = &result.facts[outcome.series];
            outcome.to == primary.to
                && !result.is_withheld(outcome)
                && outcome.series != primary.series
                && !facts.is_detail
                && !facts.is(Label::NotDisk)
        })
        .collect();
    let leads = [
        (Verdict::Faster, "Better:"),
        (Verdict::Slower, "Worse:"),
        (Verdict::NoPracticalDifference, "No practical difference:"),
        (Verdict::Different, "Different, but perhaps not enough to matter:"),
        (Verdict::Inconclusive, "Inconclusive:"),
    ];
    by_verdict(&others, leads, |outcome| {
        let series = &result.series[outcome.series];
        format!("{} ({})", metric::label(&series.metric), sized(outcome, series))
    })
}

/// Explains each label once, with the metrics that have it.
pub(super) fn natures(result: &CompareResult) -> Vec<Sentence> {
    let labels = [
        (Label::NotDisk, "Not measured on a disk:"),
        (Label::Nature(Nature::Cpu), "A test of the CPU:"),
        (Label::Nature(Nature::PageCache), "Answered from memory:"),
        (Label::Nature(Nature::JournalSync), "A test of journal and sync():"),
        (Label::ToolDefect, "Wrong because of the tool itself:"),
        (Label::SetRate, "Set by the load, not a result:"),
    ];
    labels.into_iter().filter_map(|(label, lead)| nature(result, label, lead)).collect()
}

fn nature(result: &CompareResult, label: Label, lead: &str) -> Option<Sentence> {
    // Metrics that share a reason are listed together.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (series, facts) in result.series.iter().zip(&result.facts) {
        // A defect may be that of a detail alone; else details share the nature of their metric.
        if facts.is_detail && label != Label::ToolDefect {
            continue;
        }
        for remark in facts.remarks.iter().filter(|remark| remark.label == label) {
            match reasons.iter_mut().find(|(why, _)| *why == remark.why) {
                Some((_, names)) => names.push(&series.name),
                None => reasons.push((&remark.why, vec![&series.name])),
            }
        }
    }
    let parts = reasons.iter().map(|(why, names)| format!("{} ({why})", names.join(", ")));
    Sentence::listing(lead, parts, None)
}
