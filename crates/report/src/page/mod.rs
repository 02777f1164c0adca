//! A study's result as one page that needs nothing else: no network, no fonts, no server.
//!
//! Words, tables and the ratio plots are plain HTML and stay readable without scripts; curves are
//! drawn by uPlot from the data in the page.

mod arms;
mod attached;
mod claims;
mod comparison;
mod data;
mod details;
pub(crate) mod html;
mod picture;

use drivelab_core::plan::Design;
use drivelab_stats::Verdict;

use crate::figures;
use crate::outcome::{Sentence, Series, gather};
use crate::study::{StudyResult, words};
pub use comparison::comparison;
use html::{each, escape, inline};
use picture::dots;
use picture::forest::Forest;

const STYLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/report/page.css"));
const SCRIPT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/report/page.js"));
const UPLOT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/vendor/uplot/uPlot.iife.min.js"));
const UPLOT_STYLE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/vendor/uplot/uPlot.min.css"));
const UPLOT_LICENSE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/vendor/uplot/LICENSE"));

/// The page of a study: the same result, the same bytes.
pub fn html(result: &StudyResult) -> String {
    let names = result.names();
    let forest = Forest {
        series: &result.series,
        names: &names,
        primary: result.primary(),
        margin: result.margin,
    };
    let body = [
        answer(result.verdict(), &words(result)),
        claims::findings(result),
        blocks(result),
        ratios(result, &forest),
        forest.causes(&result.contrasts, &result.workloads),
        claims::interactions(result),
        claims::prices(result),
        cells(result),
        depth(result),
        latency(result),
        arms::section(result),
        attached::section(&result.attached, &names),
        remarks(result),
        details::section(result),
        reproduce(result),
    ]
    .concat();
    let facts = [
        format!("stage {}", result.stage),
        names.join(", "),
        format!("{} workloads", result.workloads.len()),
        format!("{} blocks", result.used.len()),
        format!("seed {}", result.seed),
    ];
    document("study", &result.title, &facts, &body, &script(&data::json(result)))
}

/// A page without scripts around `body`.
pub(crate) fn skeleton(verb: &str, title: &str, facts: &[String], body: &str) -> String {
    document(verb, title, facts, body, "")
}

fn document(verb: &str, title: &str, facts: &[String], body: &str, script: &str) -> String {
    let title = escape(title);
    let facts = each("<span>", facts.iter().map(|fact| escape(fact)), "</span>");
    let style = if script.is_empty() { "" } else { UPLOT_STYLE };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"drivelab {version}\">\n<title>{title}</title>\n\
         <style>\n{style}\n{STYLE}</style>\n\
         <noscript><style>.plot, .plot.tall {{ height: auto; }}</style></noscript>\n\
         </head>\n<body>\n<header>\n<p class=\"kicker\">drivelab {verb}</p>\n<h1>{title}</h1>\n\
         <p class=\"facts\">{facts}</p>\n</header>\n<main>\n{body}</main>\n\
         {script}</body>\n</html>\n",
        version = crate::VERSION,
    )
}

/// What draws the curves from `data`, JSON that can stand inside a script element.
fn script(data: &str) -> String {
    format!(
        "<script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n/*\n{UPLOT_LICENSE}*/\n{UPLOT}\n</script>\n<script>\n{SCRIPT}</script>\n"
    )
}

/// The first screen: the answer, then what else follows.
fn answer(verdict: Verdict, sentences: &[Sentence]) -> String {
    let (first, others) = sentences.split_first().expect("there is always an answer");
    let others: String = others.iter().map(point).collect();
    format!(
        "<section class=\"answer {}\" aria-label=\"The answer\">\n<p class=\"lead\">{}</p>\n\
         <dl>\n{others}</dl>\n</section>\n",
        class(verdict),
        sentence(first),
    )
}

/// The blocks of the primary metric, and folded away those of the other headlines.
fn blocks(result: &StudyResult) -> String {
    let (names, primary) = (result.names(), result.primary().series);
    let figure = |series: &Series| {
        let workload = &result.workloads[series.workload];
        let about = format!("<b>{}</b> {}", escape(&workload.name), escape(&workload.summary));
        dots::figure(series, &names, &about)
    };
    let others = result.series.iter().enumerate();
    let others = others.filter(|(place, one)| *place != primary && result.is_headline(one));
    let others: String = others.map(|(_, one)| figure(one)).collect();
    block_section(&figure(&result.series[primary]), &others)
}

fn block_section(primary: &str, others: &str) -> String {
    if primary.is_empty() {
        return String::new();
    }
    let others = match others {
        "" => String::new(),
        all => html::fold("Other metrics", &format!("<div class=\"plots\">\n{all}</div>")),
    };
    format!(
        "<section>\n<h2>Block by block</h2>\n<p class=\"about\">One dot per run, one line per \
         block. If all lines rise, or all fall, the difference is consistent; if they cross, it \
         may be chance.</p>\n{primary}{others}</section>\n"
    )
}

fn ratios(result: &StudyResult, forest: &Forest) -> String {
    let workloads = 0..result.workloads.len();
    let headlines = workloads.flat_map(|place| {
        (1..result.arms.len()).filter_map(move |arm| result.headline(place, arm))
    });
    let about = |series: &Series| {
        let workload = &result.workloads[series.workload];
        format!("<b>{}</b> {}", escape(&workload.name), escape(&workload.summary))
    };
    forest.ratios(&headlines.collect::<Vec<_>>(), about, "the headline metric")
}

fn cells(result: &StudyResult) -> String {
    let arms: Vec<(&str, &str)> =
        result.arms.iter().map(|arm| (arm.name.as_str(), arm.summary.as_str())).collect();
    result.cells.as_ref().map_or_else(String::new, |cells| crate::cells::section(cells, &arms))
}

fn sentence(it: &Sentence) -> String {
    format!("<strong>{}</strong> {}", inline(&it.lead), inline(&it.body))
}

fn point(it: &Sentence) -> String {
    let class = if it.lead == "Risk:" { "risk" } else { it.verdict.map_or("", class) };
    let lead = it.lead.trim_end_matches([':', ',']);
    format!("<dt class=\"{class}\">{}</dt><dd>{}</dd>\n", inline(lead), inline(&it.body))
}

/// The class that colours a verdict.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Different => "different",
        Verdict::NoPracticalDifference => "same",
        Verdict::Inconclusive => "open",
    }
}

/// A verdict with a sign of its own, so that nobody needs the colour.
fn badge(verdict: Verdict) -> String {
    let sign = match verdict {
        Verdict::Faster => "\u{25b2}",
        Verdict::Slower => "\u{25bc}",
        Verdict::Different => "\u{2260}",
        Verdict::NoPracticalDifference => "\u{2248}",
        Verdict::Inconclusive => "?",
    };
    let class = class(verdict);
    format!(
        "<span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {verdict}</span>"
    )
}

/// The arms with the colours they have in every picture.
fn legend(result: &StudyResult) -> String {
    let items = result
        .arms
        .iter()
        .enumerate()
        .map(|(place, arm)| format!("<li>{}{}</li>", html::swatch(place), escape(&arm.name)));
    format!("<ul class=\"legend\" aria-label=\"Arms\">{}</ul>\n", items.collect::<String>())
}

fn depth(result: &StudyResult) -> String {
    if result.depth.is_empty() {
        return String::new();
    }
    format!(
        "<section>\n<h2>IOPS against depth</h2>\n<p class=\"about\">The gain from more outstanding \
         requests. Lines are geometric means over the blocks, bars span the lowest to the highest \
         block. For explanation only: no verdict depends on it.</p>\n{}<div class=\"plot tall\" \
         id=\"depth\" tabindex=\"0\" role=\"img\" aria-label=\"IOPS against depth, one line per \
         arm; the figures are in the table below\"></div>\n<p class=\"readout\" \
         id=\"depth-readout\" aria-live=\"polite\"></p>\n{}</section>\n",
        legend(result),
        details::depth(result),
    )
}

fn latency(result: &StudyResult) -> String {
    let ran = |place: &usize| result.latency.iter().any(|curve| curve.workload == *place);
    let plots = (0..result.workloads.len()).filter(ran).map(|place| plot(result, place));
    let plots: String = plots.collect();
    if plots.is_empty() {
        return String::new();
    }
    format!(
        "<section>\n<h2>Latency</h2>\n<p class=\"about\">The share of requests that completed \
         within a given time: further left is better. All blocks together; the time scale is \
         logarithmic.</p>\n{}<div class=\"plots\">\n{plots}</div>\n{}</section>\n",
        legend(result),
        details::quantiles(result),
    )
}

fn plot(result: &StudyResult, place: usize) -> String {
    let workload = &result.workloads[place];
    let name = escape(&workload.name);
    format!(
        "<figure><figcaption><b>{name}</b> {}</figcaption><div class=\"plot\" \
         id=\"latency-{place}\" tabindex=\"0\" role=\"img\" aria-label=\"Latency distribution \
         of {name}; quantiles are in the table below\"></div><p class=\"readout\" \
         id=\"latency-{place}-readout\" aria-live=\"polite\"></p></figure>\n",
        escape(&workload.summary),
    )
}

fn remarks(result: &StudyResult) -> String {
    let outcomes = result.outcomes.iter().chain(result.contrasts.iter().flat_map(|c| &c.outcomes));
    let warnings = gather(outcomes.map(|o| (result.series_of(o).name.as_str(), o)));
    let doubts = result.cells.as_ref().map_or(&[][..], |cells| &cells.doubts);
    caveats(&result.risks, &warnings, &[doubts, &result.notes].concat())
}

fn caveats(risks: &[String], warnings: &[String], notes: &[String]) -> String {
    let lists = [
        html::list("Risks", "risks", risks),
        html::list("Warnings", "warnings", warnings),
        html::list("Notes", "notes", notes),
    ]
    .concat();
    if lists.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>Caveats</h2>\n{lists}</section>\n")
}

fn reproduce(result: &StudyResult) -> String {
    let design = match result.design {
        Design::Interleaved => "every block holds every arm once, in seeded, balanced order",
        Design::Grouped => {
            "every block switches to every arm again (by a reboot, for example), in alternating \
             order"
        }
    };
    format!(
        "<section>\n<h2>How to repeat it</h2>\n<pre><code>{}</code></pre>\n<p class=\"about\">\
         Seed {}, {} of {} blocks, {design}. The primary metric is <code>{}</code> of <code>{}\
         </code>, declared before looking; the margin is {}. Ratios are of \
         geometric means, intervals are paired t at 95 %; a verdict needs the Hodges-Lehmann \
         interval and the sign-flip test to agree. Of all comparisons, {}. drivelab {}.</p>\n\
         </section>\n",
        escape(&result.reproduce),
        result.seed,
        result.used.len(),
        result.blocks,
        escape(&result.series_of(result.primary()).name),
        escape(&result.arms[result.candidate].name),
        figures::percent(result.margin),
        escape(&result.together.words()),
        crate::VERSION,
    )
}

#[cfg(test)]
mod tests;
