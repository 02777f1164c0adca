//! The answer of a comparison in words.

use drivelab_stats::{Better, Verdict};

use super::result::CompareResult;
use crate::foreign::Label;
use crate::metric;
use crate::outcome::{Outcome, Sentence, claim, direction, join, lead, ratio_and_range};

/// The answer first, then the other metrics, then what was no measurement of a disk.
pub fn words(result: &CompareResult) -> Vec<Sentence> {
    let mut sentences = vec![answer(result)];
    sentences.extend(other_arms(result));
    sentences.extend(other_metrics(result));
    sentences.extend(natures(result));
    sentences
}

fn answer(result: &CompareResult) -> Sentence {
    let outcome = result.primary();
    let series = &result.series[outcome.series];
    let verdict = outcome.verdict();
    let lead = match outcome.adjusted.comparison.n {
        1 => "Nothing can be concluded from one run each",
        _ => lead(verdict, false),
    };
    let body = format!(
        "in {}: {}.",
        metric::label(&series.metric),
        claim(outcome, series, &result.names())
    );
    Sentence::new(lead, body, Some(verdict))
}

fn other_arms(result: &CompareResult) -> Option<Sentence> {
    let primary = result.primary();
    let others =
        result.outcomes.iter().filter(|o| o.series == primary.series && o.to != primary.to);
    let others: Vec<String> = others
        .map(|o| format!("`{}` {} ({})", result.arms[o.to], o.verdict(), ratio_and_range(o)))
        .collect();
    let all = format!("{}.", join(&others));
    (!others.is_empty()).then(|| Sentence::new("The other arms:", all, None))
}

/// The last arm in every other metric that says something of a disk, by verdict.
fn other_metrics(result: &CompareResult) -> Vec<Sentence> {
    let primary = result.primary();
    let others: Vec<&Outcome> = result
        .outcomes
        .iter()
        .filter(|outcome| {
            let facts = &result.facts[outcome.series];
            outcome.to == primary.to
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
        (Verdict::Inconclusive, "Inconclusive regardless of the ratio:"),
    ];
    let sentence = |(verdict, lead): (Verdict, &str)| {
        let named: Vec<String> = others
            .iter()
            .filter(|outcome| outcome.verdict() == verdict)
            .map(|outcome| {
                let series = &result.series[outcome.series];
                let label = metric::label(&series.metric);
                match series.better {
                    Better::More => format!("{label} ({})", ratio_and_range(outcome)),
                    less @ Better::Less => {
                        format!("{label} ({}, {})", ratio_and_range(outcome), direction(less))
                    }
                }
            })
            .collect();
        let all = format!("{}.", join(&named));
        (!named.is_empty()).then(|| Sentence::new(lead, all, Some(verdict)))
    };
    leads.into_iter().filter_map(sentence).collect()
}

/// What each label means and which metrics have it, told once.
fn natures(result: &CompareResult) -> Vec<Sentence> {
    let labels = [
        (Label::NotDisk, "Not measured on a disk:"),
        (Label::CpuTest, "A test of the CPU:"),
        (Label::PageCache, "Answered from memory:"),
        (Label::JournalSync, "A test of journal and sync():"),
        (Label::ToolDefect, "Wrong because of the tool itself:"),
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
    let parts: Vec<String> =
        reasons.iter().map(|(why, names)| format!("{} ({why})", names.join(", "))).collect();
    (!parts.is_empty()).then(|| Sentence::new(lead, format!("{}.", join(&parts)), None))
}
