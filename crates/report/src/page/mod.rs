//! A study's result as one page that needs nothing else: no network, no fonts, no server.
//!
//! Words, tables and the ratio plots are plain HTML and stay readable without scripts; curves are
//! drawn by uPlot from the data in the page.

pub(crate) mod answer;
mod arms;
pub(crate) mod attached;
pub(crate) mod badge;
mod claims;
pub(crate) mod data;
pub(crate) mod details;
pub(crate) mod html;
pub(crate) mod picture;
pub(crate) mod time;

use drivelab_analysis::outcome::{Outcome, Series, gather};
use drivelab_analysis::specimens::Settle;
use drivelab_analysis::study::StudyResult;
use drivelab_analysis::{figures, metric};
use drivelab_core::counted;
use drivelab_core::outline::Risk;
use drivelab_core::plan::Design;

use self::badge::class;
use self::data::Data;
use crate::outcome::Sentence;
use crate::specimens;
use crate::study::{hosts, scale, words};
use html::{each, escape};
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

/// The page of a study, with what else is known of where and when it was made: the same result, the
/// same bytes.
pub(crate) fn of_study(result: &StudyResult, more: &[String]) -> String {
    let data = data::of_study(result);
    scripted("study", &result.experiment.title, &facts(result, more), &body(result), &data)
}

/// The same page without scripts, for a frame that runs none: its curves are not drawn.
pub fn still(result: &StudyResult) -> String {
    skeleton("study", &result.experiment.title, &facts(result, &[]), &body(result))
}

/// The line below the title.
fn facts(result: &StudyResult, more: &[String]) -> Vec<String> {
    let facts = [
        format!("stage {}{}", result.experiment.stage, scale(result.experiment.scale)),
        result.names().join(", "),
        counted(result.experiment.workloads.len() as u64, "workload"),
        counted(result.used.len() as u64, "block"),
        format!("seed {}", result.experiment.seed),
    ];
    facts.iter().chain(more).cloned().collect()
}

fn body(result: &StudyResult) -> String {
    let names = result.names();
    let forest = Forest {
        series: &result.series,
        names: &names,
        primary: result.primary(),
        margin: result.experiment.margin,
    };
    [
        answer(result),
        claims::findings(result),
        drives(result),
        blocks(result),
        hosts::section(result),
        ratios(result, &forest),
        forest.causes(&result.contrasts, &result.experiment.workloads),
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
    .concat()
}

/// A page around `body` whose curves are drawn from `data`.
pub(crate) fn scripted(
    verb: &str,
    title: &str,
    facts: &[String],
    body: &str,
    data: &Data<'_>,
) -> String {
    document(verb, title, facts, body, &script(&data.json()))
}

/// A page without scripts around `body`.
pub(crate) fn skeleton(verb: &str, title: &str, facts: &[String], body: &str) -> String {
    document(verb, title, facts, body, "")
}

fn document(verb: &str, title: &str, facts: &[String], body: &str, script: &str) -> String {
    let title = escape(&html::short(title));
    let facts = each("<span>", facts.iter().map(|fact| escape(&html::short(fact))), "</span>");
    // Only curves need the style sheet of uPlot.
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

/// The elements that draw the curves from `data`, JSON that can stand inside a script element.
fn script(data: &str) -> String {
    let [library, own] = scripts();
    format!(
        "<script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{library}</script>\n<script>{own}</script>\n"
    )
}

/// The contents of every page's script elements: a server names their hashes, so that no other
/// script runs.
pub fn scripts() -> [String; 2] {
    [format!("\n/*\n{UPLOT_LICENSE}*/\n{UPLOT}\n"), format!("\n{SCRIPT}")]
}

/// The first screen: the answer, then what else follows.
fn answer(result: &StudyResult) -> String {
    // A risk that is the same in all arms is nothing to choose by, and no alarm.
    let is_alarm = |it: &Sentence, risk: &Risk| risk.differs && risk.sentence == it.body;
    let point = |it: &Sentence| {
        let is_risk = result.experiment.risks.iter().any(|risk| is_alarm(it, risk));
        if is_risk { "risk" } else { it.verdict.map_or("", class) }
    };
    answer::card(class(result.verdict()), &words(result), point, &settle(result))
}

/// The commands that settle what depends on the drive, ready to paste.
fn settle(result: &StudyResult) -> String {
    let Some((commands, writes)) = result.settle() else { return String::new() };
    format!(
        "<p class=\"settle\">{}</p>\n<pre><code>{}</code></pre>\n",
        escape(Settle::lead(writes)),
        escape(&commands.join("\n"))
    )
}

/// A dot for each drive that was simulated: of the primary metric, and of the first question that
/// depends on the drive, with what it depends on.
fn drives(result: &StudyResult) -> String {
    let (primary, open) = (result.primary(), result.open());
    let figure = |outcome: &Outcome| {
        let series = result.series_of(outcome);
        let about = format!(
            "{}: <code>{}</code> against <code>{}</code>, {} <b>{}</b>",
            about(result, series),
            escape(&result.experiment.arms[outcome.to].name),
            escape(&result.experiment.arms[outcome.from].name),
            escape(&metric::label(&series.metric)),
            escape(&outcome.word()),
        );
        specimens::figure(outcome, series, &about)
    };
    let mut body = figure(primary);
    if body.is_empty() {
        return body;
    }
    if let Some(open) = open {
        if open != primary {
            body += &figure(open);
        }
        body += &open.foreseen.as_ref().map_or_else(String::new, specimens::parts);
    }
    let about = "A dot for each simulated drive: all fit the profile, and differ in what has not been \
                 measured. The thick line is the confidence interval of their mean and shrinks with \
                 more drives. The thin line is where one more drive lies with 95 %, yours for \
                 example, and does not shrink. It includes what the model leaves out, so it is wider \
                 than the dots.";
    html::section("Drive by drive", about, &body)
}

/// The blocks of the primary metric, and folded away those of the other headlines.
fn blocks(result: &StudyResult) -> String {
    let (names, primary) = (result.names(), result.primary().series);
    let figure = |series: &Series| dots::figure(series, &names, (true, &about(result, series)));
    let shown = figure(&result.series[primary]);
    if shown.is_empty() {
        return shown;
    }
    let others = result.series.iter().enumerate();
    let others = others.filter(|(index, one)| *index != primary && result.is_headline(one));
    let others: String = others.map(|(_, one)| figure(one)).collect();
    let others = match others.as_str() {
        "" => String::new(),
        all => html::fold("Other metrics", &format!("<div class=\"plots\">\n{all}</div>")),
    };
    let about = "A dot for each run, a line for each block. Where all lines rise, or all fall, every \
                 block has the same direction; where some rise and some fall, blocks \
                 disagree. The scale is logarithmic where the largest value is at least 20 times the \
                 smallest.";
    html::section("Block by block", about, &(shown + &others))
}

/// Name and summary of the workload that a series is of.
fn about(result: &StudyResult, series: &Series) -> String {
    let workload = &result.experiment.workloads[series.workload];
    format!("<b>{}</b> {}", escape(&workload.name), escape(&workload.summary))
}

fn ratios(result: &StudyResult, forest: &Forest) -> String {
    let workloads = 0..result.experiment.workloads.len();
    let headlines = workloads.flat_map(|index| {
        (1..result.experiment.arms.len()).filter_map(move |arm| result.headline(index, arm))
    });
    forest.ratios(&headlines.collect::<Vec<_>>(), |series| about(result, series))
}

fn cells(result: &StudyResult) -> String {
    let arms: Vec<(&str, &str)> = result
        .experiment
        .arms
        .iter()
        .map(|arm| (arm.name.as_str(), arm.summary.as_str()))
        .collect();
    result
        .experiment
        .cells
        .as_ref()
        .map_or_else(String::new, |cells| crate::cells::section(cells, &arms))
}

fn depth(result: &StudyResult) -> String {
    if result.depth.is_empty() {
        return String::new();
    }
    let about = "What more requests outstanding buy. Lines are geometric means over the blocks, bars \
                 reach from the lowest to the highest block; compared nowhere, shown to explain.";
    let plot = "<div class=\"plot tall\" id=\"depth\" tabindex=\"0\" role=\"img\" \
                aria-label=\"IOPS against depth, one line an arm; the figures are in the table \
                below\"></div>\n<p class=\"readout\" id=\"depth-readout\" \
                aria-live=\"polite\"></p>\n";
    let body = html::legend(&result.names()) + plot + &details::depth(result);
    html::section("IOPS against depth", about, &body)
}

fn latency(result: &StudyResult) -> String {
    let plots = (0..result.experiment.workloads.len())
        .filter(|index| result.latency.iter().any(|curve| curve.workload == *index))
        .map(|index| plot(result, index));
    let plots: String = plots.collect();
    if plots.is_empty() {
        return String::new();
    }
    let about = "The share of requests that were done within a time: the farther left, the better. \
                 All blocks together; time is on a logarithmic scale.";
    let plots = format!("<div class=\"plots\">\n{plots}</div>\n");
    html::section(
        "Latency",
        about,
        &(html::legend(&result.names()) + &plots + &details::quantiles(result)),
    )
}

fn plot(result: &StudyResult, index: usize) -> String {
    let workload = &result.experiment.workloads[index];
    let name = escape(&workload.name);
    let caption = format!("<b>{name}</b> {}", escape(&workload.summary));
    html::latency_plot(&format!("latency-{index}"), &name, &caption)
}

fn remarks(result: &StudyResult) -> String {
    let outcomes = result.outcomes.iter().chain(result.contrasts.iter().flat_map(|c| &c.outcomes));
    let warnings = gather(outcomes.map(|o| (result.series_of(o).name.as_str(), o)), &[]);
    let doubts = result.experiment.cells.as_ref().map_or(&[][..], |cells| &cells.doubts);
    let risks: Vec<String> =
        result.experiment.risks.iter().map(|risk| risk.sentence.clone()).collect();
    let lists = [
        html::list("Risks", "risks", &risks),
        html::list("Warnings", "warnings", &warnings),
        html::list("Notes", "notes", &[doubts, &result.notes].concat()),
    ]
    .concat();
    if lists.is_empty() {
        return String::new();
    }
    html::section("Caveats", "", &lists)
}

fn reproduce(result: &StudyResult) -> String {
    let design = match result.experiment.design {
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
        escape(&result.experiment.reproduce),
        result.experiment.seed,
        result.used.len(),
        result.experiment.blocks,
        escape(&result.series_of(result.primary()).name),
        escape(&result.experiment.arms[result.candidate].name),
        figures::percent(result.experiment.margin),
        escape(&result.together.words()),
        crate::VERSION,
    )
}

#[cfg(test)]
mod tests;
