//! Ratios with their intervals, one line each, against the band of effects that do not matter.
//!
//! Plain elements placed in percent: they need no script, follow the width of the screen and the
//! colours of the reader, and can be printed.

use super::html::{escape, swatch};
use super::scale::Scale;
use super::{badge, class};
use crate::figures;
use crate::metric;
use crate::outcome::{Outcome, direction};
use crate::study::StudyResult;

/// The headline metric of each workload, one line an arm.
pub(super) fn ratios(result: &StudyResult) -> String {
    let headlines = result.outcomes.iter().filter(|o| result.is_headline(result.series_of(o)));
    let scale = Scale::new(headlines, result.margin);
    let groups = result.workloads.iter().enumerate().map(|(place, workload)| {
        let outcomes: Vec<&Outcome> =
            (1..result.arms.len()).filter_map(|arm| result.headline(place, arm)).collect();
        let Some(first) = outcomes.first() else { return String::new() };
        let series = result.series_of(first);
        let about = format!(
            "<b>{}</b> {}; <code>{}</code> has {}, {}",
            escape(&workload.name),
            escape(&workload.summary),
            escape(&result.arms[0].name),
            metric::show(&series.metric, series.centre(0)),
            direction(series.better),
        );
        let lines = outcomes.iter().map(|outcome| {
            let name = &result.arms[outcome.to].name;
            let label = format!("{}{}", swatch(outcome.to), escape(name));
            line(result, outcome, scale, &label)
        });
        group(&about, &lines.collect::<String>())
    });
    section(
        "How much better",
        &format!(
            "Each arm against <code>{}</code>: the ratio of the headline metric with its \
             own 95&nbsp;% interval. In the grey band ({} either way) a difference would not \
             matter.",
            escape(&result.arms[0].name),
            super::html::inline(&figures::percent(result.margin))
        ),
        scale,
        &groups.collect::<String>(),
    )
}

/// Single causes, one line a workload.
pub(super) fn causes(result: &StudyResult) -> String {
    let all = result.contrasts.iter().flat_map(|contrast| &contrast.outcomes);
    if all.clone().next().is_none() {
        return String::new();
    }
    let scale = Scale::new(all, result.margin);
    let groups = result.contrasts.iter().map(|contrast| {
        let about = format!(
            "<b>{}</b> <code>{}</code> against <code>{}</code>",
            escape(&contrast.name),
            escape(&result.arms[contrast.to].name),
            escape(&result.arms[contrast.from].name),
        );
        let lines = contrast.outcomes.iter().map(|outcome| {
            let workload = &result.workloads[result.series_of(outcome).workload];
            line(result, outcome, scale, &escape(&workload.name))
        });
        group(&about, &lines.collect::<String>())
    });
    let about = "Arms between which a single thing differs, on the headline metric of each \
                 workload.";
    section("Where it comes from", about, scale, &groups.collect::<String>())
}

fn section(title: &str, about: &str, scale: Scale, groups: &str) -> String {
    let ticks = scale
        .ticks()
        .into_iter()
        .map(|(ratio, place)| format!("<i style=\"left:{place:.2}%\">\u{d7}{}</i>", short(ratio)));
    format!(
        "<section>\n<h2>{title}</h2>\n<p class=\"about\">{about}</p>\n<table class=\"forest\">\n\
         <thead><tr><th scope=\"col\"><span class=\"hidden\">arm or workload</span></th>\
         <th scope=\"col\"><span class=\"sides\"><span>\u{2190} worse</span><span>better \
         \u{2192}</span></span><span class=\"axis\">{}</span></th><th scope=\"col\">ratio, 95 % \
         interval</th><th scope=\"col\">verdict</th></tr></thead>\n{groups}</table>\n</section>\n",
        ticks.collect::<String>()
    )
}

fn group(about: &str, lines: &str) -> String {
    format!(
        "<tbody>\n<tr class=\"group\"><th colspan=\"4\" scope=\"rowgroup\">{about}</th></tr>\n\
         {lines}</tbody>\n"
    )
}

fn line(result: &StudyResult, outcome: &Outcome, scale: Scale, label: &str) -> String {
    let comparison = &outcome.adjusted.comparison;
    let ratio = figures::ratio(comparison.ratio);
    let range = comparison.ci95.map_or_else(|| "no interval".to_owned(), figures::range);
    let primary = if outcome == result.primary() {
        " <span class=\"primary\" title=\"declared before looking; decides\">primary</span>"
    } else {
        ""
    };
    format!(
        "<tr><th scope=\"row\">{label}{primary}</th><td class=\"plotcell\">{}</td>\
         <td class=\"figures\"><b>\u{d7}{ratio}</b> <span>{range}</span></td><td>{}</td></tr>\n",
        picture(outcome, result.series_of(outcome).margin, scale),
        badge(outcome.verdict()),
    )
}

fn picture(outcome: &Outcome, margin: f64, scale: Scale) -> String {
    let comparison = &outcome.adjusted.comparison;
    let span = |class: &str, [lo, hi]: [f64; 2]| {
        let (left, right) = (scale.place(lo), scale.place(hi));
        format!("<i class=\"{class}\" style=\"left:{left:.2}%;width:{:.2}%\"></i>", right - left)
    };
    let point = |class: &str, ratio: f64| {
        format!("<i class=\"{class}\" style=\"left:{:.2}%\"></i>", scale.place(ratio))
    };
    let lines: String = scale.ticks().into_iter().map(|(ratio, _)| point("tick", ratio)).collect();
    format!(
        "<div class=\"bar {}\" aria-hidden=\"true\">{}{lines}{}{}{}</div>",
        class(outcome.verdict()),
        span("band", [1.0 / (1.0 + margin), 1.0 + margin]),
        point("one", 1.0),
        comparison.ci95.map_or_else(String::new, |limits| span("interval", limits)),
        point("dot", comparison.ratio),
    )
}

/// A tick's label without needless digits.
fn short(ratio: f64) -> String {
    let text = format!("{ratio:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
