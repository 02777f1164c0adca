//! A study's result as one page that needs nothing else: no network, no fonts, no server.
//!
//! Words, tables and the ratio plots are plain HTML and stay readable without scripts; curves are
//! drawn by uPlot from the data in the page.

mod arms;
mod attached;
mod data;
mod details;
mod forest;
pub(crate) mod html;
mod scale;

use drivelab_core::plan::Design;
use drivelab_stats::Verdict;

use crate::figures;
use crate::outcome::{Sentence, gather};
use crate::study::{StudyResult, words};
pub(crate) use html::{each, escape, inline};

const STYLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/report/page.css"));
const SCRIPT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/report/page.js"));
const UPLOT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/vendor/uplot/uPlot.iife.min.js"));
const UPLOT_STYLE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/vendor/uplot/uPlot.min.css"));
const UPLOT_LICENSE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/vendor/uplot/LICENSE"));

/// The page: the same result, the same bytes.
pub fn html(result: &StudyResult) -> String {
    let title = escape(&result.title);
    let body = [
        header(result),
        answer(result),
        forest::ratios(result),
        forest::causes(result),
        depth(result),
        latency(result),
        arms::section(result),
        attached::section(result),
        remarks(result),
        details::section(result),
        reproduce(result),
    ]
    .concat();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"drivelab {version}\">\n<title>{title}</title>\n\
         <style>\n{UPLOT_STYLE}\n{STYLE}</style>\n\
         <noscript><style>.plot, .plot.tall {{ height: auto; }}</style></noscript>\n\
         </head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n/*\n{UPLOT_LICENSE}*/\n{UPLOT}\n</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        version = crate::VERSION,
        data = data::json(result),
    )
}

fn header(result: &StudyResult) -> String {
    format!(
        "<header>\n<p class=\"kicker\">drivelab study</p>\n<h1>{}</h1>\n\
         <p class=\"facts\"><span>stage {}</span><span>{}</span><span>{} workloads</span>\
         <span>n = {} blocks</span><span>seed {}</span></p>\n</header>\n<main>\n",
        escape(&result.title),
        escape(&result.stage),
        escape(&result.names().join(", ")),
        result.workloads.len(),
        result.used.len(),
        result.seed,
    )
}

/// The first screen: the answer, then what else follows.
fn answer(result: &StudyResult) -> String {
    let sentences = words(result);
    let (first, others) = sentences.split_first().expect("there is always an answer");
    let others: String = others.iter().map(point).collect();
    format!(
        "<section class=\"answer {}\" aria-label=\"The answer\">\n<p class=\"lead\">{}</p>\n\
         <dl>\n{others}</dl>\n</section>\n",
        class(result.verdict()),
        sentence(first),
    )
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
        "<section>\n<h2>IOPS against depth</h2>\n<p class=\"about\">What more requests outstanding \
         buy. Lines are geometric means over the blocks, bars reach from the lowest to the highest \
         block; compared nowhere, shown to explain.</p>\n{}\
         <div class=\"plot tall\" id=\"depth\" tabindex=\"0\" role=\"img\" \
         aria-label=\"IOPS against depth, one line an arm; the figures are in the table below\">\
         </div>\n<p class=\"readout\" id=\"depth-readout\" aria-live=\"polite\"></p>\n{}\
         </section>\n",
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
        "<section>\n<h2>Latency</h2>\n<p class=\"about\">The share of requests that were done \
         within a time: the farther left, the better. All blocks together; time is on a \
         logarithmic scale.</p>\n{}<div class=\"plots\">\n{plots}</div>\n{}</section>\n",
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
    let list = |title: &str, class: &str, lines: &[String]| {
        let items = html::each("<li>", lines.iter().map(|line| inline(line)), "</li>");
        if items.is_empty() {
            return String::new();
        }
        format!("<h3>{title}</h3>\n<ul class=\"{class}\">{items}</ul>\n")
    };
    let lists = [
        list("Risks", "risks", &result.risks),
        list("Warnings", "warnings", &warnings),
        list("Notes", "notes", &result.notes),
    ]
    .concat();
    if lists.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>What to know besides</h2>\n{lists}</section>\n")
}

fn reproduce(result: &StudyResult) -> String {
    let design = match result.design {
        Design::Interleaved => "every block holds every arm once, in seeded, balanced order",
        Design::Grouped => {
            "every block enters every arm anew (a reboot, say), by turns forwards and backwards"
        }
    };
    format!(
        "<section>\n<h2>How to repeat it</h2>\n<pre><code>{}</code></pre>\n<p class=\"about\">\
         Seed {}, {} of {} blocks, {design}. The primary metric is <code>{}</code> of <code>{}\
         </code>, declared before looking; the smallest effect that matters is {}. Ratios are of \
         geometric means, intervals are paired t at 95 %; a verdict needs the Hodges-Lehmann \
         interval and the sign-flip test to agree. Of all comparisons, {}. drivelab {}.</p>\n\
         </section>\n</main>\n",
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
