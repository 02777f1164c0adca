//! The page of a comparison of results that were there already.

use super::html::{escape, fold, scroll};
use super::picture::dots;
use super::picture::forest::Forest;
use super::{answer, attached, block_section, caveats, details, skeleton};
use crate::comparison::{CompareResult, Source, words};
use crate::figures;
use crate::metric;
use crate::outcome::{Outcome, Series, gather};

/// The page: the same result, the same bytes.
pub fn comparison(result: &CompareResult) -> String {
    let names = result.names();
    let (baseline, others) = names.split_first().expect("a comparison has arms");
    let title = format!("{} against {baseline}", others.join(", "));
    let facts = [
        match &result.source {
            Source::Runs => "stored runs".to_owned(),
            Source::Pairs { .. } => "pairs of values".to_owned(),
            Source::Foreign { tool } => format!("results of {tool}"),
        },
        format!("{} blocks", result.blocks.len()),
        format!("margin {}", figures::percent(result.margin)),
        format!("seed {}", result.seed),
    ];
    let outcomes = result.outcomes.iter().map(|o| (result.series[o.series].name.as_str(), o));
    let body = [
        answer(result.verdict(), &words(result)),
        blocks(result, &names),
        ratios(result, &names),
        attached::section(&result.attached, &names),
        caveats(&[], &gather(outcomes), &result.notes),
        every_number(result, &names),
    ];
    skeleton("compare", &title, &facts, &body.concat())
}

/// Details of other metrics are left to the table.
fn is_shown(result: &CompareResult, series: usize) -> bool {
    !result.facts[series].is_detail
}

fn blocks(result: &CompareResult, names: &[&str]) -> String {
    let figure = |series: &Series| {
        let about = format!("<b>{}</b>", escape(&metric::label(&series.metric)));
        dots::figure(series, names, &about)
    };
    let primary = result.primary().series;
    let others = (0..result.series.len()).filter(|at| *at != primary && is_shown(result, *at));
    let others: String = others.map(|at| figure(&result.series[at])).collect();
    block_section(&figure(&result.series[primary]), &others)
}

fn ratios(result: &CompareResult, names: &[&str]) -> String {
    let forest =
        Forest { series: &result.series, names, primary: result.primary(), margin: result.margin };
    let shown: Vec<&Outcome> =
        result.outcomes.iter().filter(|outcome| is_shown(result, outcome.series)).collect();
    forest.ratios(&shown, |series| format!("<b>{}</b>", escape(&series.name)), "each metric")
}

fn every_number(result: &CompareResult, names: &[&str]) -> String {
    let series: Vec<&Series> = result.series.iter().collect();
    let values = details::values(&result.blocks, names, &series);
    format!(
        "<section>\n<h2>Every number</h2>\n{}{}<p class=\"about\">Ratios are of geometric means; a \
         verdict needs the paired t and the Hodges-Lehmann interval and the sign-flip test to agree. \
         Of all comparisons, {}. drivelab {}.</p>\n</section>\n",
        details::comparisons(&result.outcomes, &result.series, names),
        fold("Values, block by block", &scroll("Values, block by block", &values)),
        escape(&result.together.words()),
        crate::VERSION,
    )
}
