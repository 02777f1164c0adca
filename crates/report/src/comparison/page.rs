//! A comparison as a page: the verdict, the blocks behind it, and the runs of each arm.

use drivelab_analysis::comparison::CompareResult;
use drivelab_analysis::outcome::{Outcome, Series};
use drivelab_analysis::study::LatencyCurve;
use drivelab_analysis::{figures, metric};
use drivelab_core::counted;
use drivelab_core::histogram::Histogram;
use drivelab_core::record::RunRecord;

use super::words::{title, words};
use crate::page::badge::class;
use crate::page::data::{Data, latency};
use crate::page::html::{self, escape, fold, latency_plot, legend, list, section};
use crate::page::picture::dots;
use crate::page::picture::forest::Forest;
use crate::page::time::{self, Time};
use crate::page::{answer, attached, details, scripted};
use crate::run;
use crate::specimens;

/// Further content of a comparison's page.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// The runs of each arm, where they are runs of drivelab.
    pub runs: &'a [Vec<&'a RunRecord>],
    /// The command that makes the comparison again.
    pub command: &'a str,
    /// A form above the verdict, in HTML: [`form`](super::form); nothing in a page by itself.
    pub form: &'a str,
}

/// The page: the same result, the same bytes; `more` is what else is known of when it was made.
pub(crate) fn page(result: &CompareResult, about: About<'_>, more: &[String]) -> String {
    let names = result.names();
    let title = title(&names);
    let first = about.runs.iter().flatten().next();
    let mut facts = first.map(|record| run::when_and_where(record)).unwrap_or_default();
    facts.extend_from_slice(more);
    let mut data = Data::of(names.clone());
    // Arms can be compared by eye only on the same scale.
    data.same_scale = true;
    let body = [
        about.form.to_owned(),
        answer::card(
            class(result.verdict()),
            &words(result),
            |it| it.verdict.map_or("", class),
            "",
        ),
        blocks(result, &names),
        ratios(result, &names),
        drives(result),
        distribution(about.runs, &names, &mut data),
        over_time(result, about.runs, &names, &mut data),
        attached::section(&result.attached, &names),
        caveats(result),
        numbers(result, &names),
        repeat(result, about.command),
    ]
    .concat();
    scripted("compare", &title, &facts, &body, &data)
}

/// The metrics that stand for themselves.
fn shown(result: &CompareResult) -> Vec<&Outcome> {
    result.outcomes.iter().filter(|outcome| !result.facts[outcome.series].is_detail).collect()
}

fn about(series: &Series) -> String {
    format!("<b>{}</b>", escape(&metric::label(&series.metric)))
}

fn blocks(result: &CompareResult, names: &[&str]) -> String {
    let paired = result.unpaired.is_none();
    let figure = |series: &Series| dots::figure(series, names, (paired, &about(series)));
    let primary = result.primary().series;
    let drawn = figure(&result.series[primary]);
    if drawn.is_empty() {
        return drawn;
    }
    let others = result.series.iter().zip(&result.facts).enumerate();
    let others = others.filter(|(index, (_, facts))| *index != primary && !facts.is_detail);
    let others: String = others.map(|(_, (series, _))| figure(series)).collect();
    let others = match others.as_str() {
        "" => String::new(),
        all => fold("Other metrics", &format!("<div class=\"plots\">\n{all}</div>")),
    };
    let words = if paired {
        "A dot for each run, a line for each block. Where all lines rise, or all fall, every \
                 block has the same direction; where some rise and some fall, blocks \
                 disagree. The scale is logarithmic where the largest value is at least 20 times the \
                 smallest."
    } else {
        "A dot for each run. The runs of the arms are not paired."
    };
    section("Block by block", words, &(drawn + &others))
}

fn ratios(result: &CompareResult, names: &[&str]) -> String {
    let margin = result.margin;
    let forest = Forest { series: &result.series, names, primary: result.primary(), margin };
    forest.ratios(&shown(result), about)
}

/// A dot for each simulated drive, where each block simulated another one.
fn drives(result: &CompareResult) -> String {
    let primary = result.primary();
    let series = &result.series[primary.series];
    let figure = specimens::figure(primary, series, &about(series));
    if figure.is_empty() {
        return figure;
    }
    let parts = primary.foreseen.as_ref().map_or_else(String::new, specimens::parts);
    section("Drive by drive", "A dot for each simulated drive.", &(figure + &parts))
}

fn distribution(runs: &[Vec<&RunRecord>], names: &[&str], data: &mut Data<'_>) -> String {
    let curves: Vec<LatencyCurve> = runs
        .iter()
        .enumerate()
        .filter_map(|(arm, records)| {
            let mut merged = Histogram::new();
            for total in records.iter().filter_map(|record| record.total.as_ref()) {
                merged.merge(&total.lat_histogram);
            }
            LatencyCurve::of(0, arm, &merged)
        })
        .collect();
    let drawn = latency("latency-0".to_owned(), names.len(), &curves.iter().collect::<Vec<_>>());
    let Some(drawn) = drawn else { return String::new() };
    data.latency.push(drawn);
    let about = "The share of requests that were done within a time: the farther left, the better. \
                 All runs of an arm together; time is on a logarithmic scale.";
    let plot = latency_plot("latency-0", "each arm", "");
    let body = legend(names)
        + &format!("<div class=\"plots\">\n{plot}</div>\n")
        + &details::quantiles_of(&curves, &["all requests"], names);
    section("Latency", about, &body)
}

/// Of each arm the run whose rate is the middle one.
fn over_time(
    result: &CompareResult,
    runs: &[Vec<&RunRecord>],
    names: &[&str],
    data: &mut Data<'_>,
) -> String {
    let mut drawn = String::new();
    for (arm, records) in runs.iter().enumerate() {
        let totals = records.iter().filter_map(|record| record.total.as_ref());
        let mut totals: Vec<_> = totals.collect();
        totals.sort_by(|one, other| one.iops.total_cmp(&other.iops));
        // The median run: chance makes the best and the worst of an arm.
        let Some(total) = totals.get(totals.len() / 2) else { continue };
        let id = format!("time-{arm}");
        if let Some(time) = Time::of(&id, arm, total) {
            data.time.push(time);
            let which = if totals.len() > 1 { " the run in the middle" } else { "" };
            drawn += &time::figure(&id, &format!("<b>{}</b>{which}", escape(names[arm])), total);
        }
    }
    if drawn.is_empty() || result.arms.is_empty() {
        return drawn;
    }
    section("Over time", time::ABOUT, &format!("<div class=\"plots\">\n{drawn}</div>\n"))
}

fn caveats(result: &CompareResult) -> String {
    let lists =
        list("Warnings", "warnings", &result.warnings()) + &list("Notes", "notes", &result.notes);
    if lists.is_empty() { lists } else { section("Caveats", "", &lists) }
}

fn numbers(result: &CompareResult, names: &[&str]) -> String {
    let baseline = format!("mean of {}", names[0]);
    let heads =
        ["metric", "verdict", "arm", &baseline, "mean of the arm", "ratio", "95 % interval"];
    let rows = shown(result)
        .iter()
        .map(|outcome| {
            let series = &result.series[outcome.series];
            let mean = |arm: usize| escape(&series.show(outcome.mean(series, arm)));
            let comparison = &outcome.adjusted.comparison;
            vec![
                escape(&series.name),
                crate::page::badge::badge(outcome),
                escape(names[outcome.to]),
                mean(outcome.from),
                mean(outcome.to),
                figures::ratio(comparison.ratio),
                comparison.ci95.map_or("\u{2013}".to_owned(), figures::range),
            ]
        })
        .collect::<Vec<_>>();
    let means = html::scroll("Means", &html::table(&heads, rows.into_iter()));
    let longest = result.series.iter().flat_map(|it| &it.values).map(Vec::len).max().unwrap_or(0);
    let blocks: Vec<String> = match &result.unpaired {
        None => result.blocks.clone(),
        Some(_) => (1..=longest).map(|run| run.to_string()).collect(),
    };
    let series: Vec<&Series> = result.series.iter().collect();
    let values = details::values(&blocks, names, &series);
    let body = means
        + &details::comparisons(&result.outcomes, &result.series, names)
        + &details::folded("Values, run by run", &values);
    section("Every number", "", &body)
}

fn repeat(result: &CompareResult, command: &str) -> String {
    let command = match command {
        "" => String::new(),
        command => format!("<pre><code>{}</code></pre>\n", escape(command)),
    };
    let design = match &result.unpaired {
        Some(why) => format!("Not paired: {}. Intervals are Welch's", escape(why)),
        None => format!(
            "{}. Intervals are paired t at 95 %; a verdict needs the Hodges-Lehmann interval \
             and the sign-flip test to agree",
            counted(result.blocks.len(), "block")
        ),
    };
    format!(
        "<section>\n<h2>How to repeat it</h2>\n{command}<p class=\"about\">{design}. Ratios are of \
         geometric means. The margin is {}; of all comparisons, {}. Seed {}, drivelab {}.</p>\n\
         </section>\n",
        figures::percent(result.margin),
        escape(&result.together.words()),
        result.seed,
        crate::VERSION,
    )
}
