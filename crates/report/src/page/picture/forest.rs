//! Ratios with their intervals, one line each, against the band of effects that do not matter.
//!
//! Plain elements placed in percent: they need no script, follow the width of the screen and the
//! colours of the reader, and can be printed.

use drivelab_analysis::figures;
use drivelab_analysis::outcome::{Outcome, Series};
use drivelab_analysis::study::{ContrastResult, WorkloadInfo};

use super::scale::Scale;
use crate::outcome::direction;
use crate::page::badge::{badge, class};
use crate::page::html::{self, escape, swatch};

/// Ratios of a study or a comparison, and how its arms are called.
pub(crate) struct Forest<'a> {
    pub(crate) series: &'a [Series],
    pub(crate) names: &'a [&'a str],
    pub(crate) primary: &'a Outcome,
    pub(crate) margin: f64,
}

impl Forest<'_> {
    /// Series by series, one line an arm; `about` says what a series is, as HTML.
    pub(crate) fn ratios(&self, shown: &[&Outcome], about: impl Fn(&Series) -> String) -> String {
        let scale = Scale::new(shown.iter().copied(), self.margin);
        let mut groups = String::new();
        for same in shown.chunk_by(|one, other| one.series == other.series) {
            let series = &self.series[same[0].series];
            let about = about(series);
            // Behind a name alone, which is bold, no sign is needed.
            let sign = if about.ends_with("</b>") { "" } else { ";" };
            let about = format!(
                "{about}{sign} <code>{}</code> has {}, {}",
                escape(self.names[0]),
                html::micro(&escape(&series.show(same[0].mean(series, 0)))),
                direction(series.better),
            );
            let lines = same.iter().map(|outcome| {
                let label = format!("{}{}", swatch(outcome.to), escape(self.names[outcome.to]));
                self.line(outcome, scale, &label)
            });
            groups += &group(&about, &lines.collect::<String>());
        }
        section(
            "How much better",
            &format!(
                "Each arm against <code>{}</code>: the ratio of the headline metric with its own 95&nbsp;% \
                 interval; above 1 is better. In the grey band ({} either way) a difference would \
                 not matter.",
                escape(self.names[0]),
                html::inline(&figures::percent(self.margin))
            ),
            scale,
            &groups,
        )
    }

    pub(crate) fn causes(
        &self,
        contrasts: &[ContrastResult],
        workloads: &[WorkloadInfo],
    ) -> String {
        let all = contrasts.iter().flat_map(|contrast| &contrast.outcomes);
        if all.clone().next().is_none() {
            return String::new();
        }
        let scale = Scale::new(all, self.margin);
        let groups = contrasts.iter().map(|contrast| {
            let about = format!(
                "<b>{}</b> <code>{}</code> against <code>{}</code>",
                escape(&contrast.name),
                escape(self.names[contrast.to]),
                escape(self.names[contrast.from]),
            );
            let lines = contrast.outcomes.iter().map(|outcome| {
                let workload = &workloads[self.series[outcome.series].workload];
                self.line(outcome, scale, &escape(&workload.name))
            });
            group(&about, &lines.collect::<String>())
        });
        let about = "Pairs of arms that differ in one cause, on the headline metric of each \
                     workload.";
        section("Cause by cause", about, scale, &groups.collect::<String>())
    }

    fn line(&self, outcome: &Outcome, scale: Scale, label: &str) -> String {
        let comparison = &outcome.adjusted.comparison;
        let ratio = figures::ratio(comparison.ratio);
        let range = match comparison.ci95.map(figures::range) {
            None => "no interval".to_owned(),
            // An interval that reads like its ratio adds nothing.
            Some(range) if range == ratio => String::new(),
            Some(range) => range,
        };
        let drives = outcome.foreseen.as_ref().map(|it| it.forecast.prediction95);
        let drives = drives.map_or_else(String::new, |limits| {
            format!(" <span class=\"drives\">drives {}</span>", figures::range(limits))
        });
        let primary = if outcome == self.primary {
            " <span class=\"primary\" title=\"declared before looking; decides\">primary</span>"
        } else {
            ""
        };
        format!(
            "<tr><th scope=\"row\">{label}{primary}</th><td class=\"plotcell\">{}</td>\
             <td class=\"figures\"><b>\u{d7}{ratio}</b> <span>{range}</span>{drives}</td>\
             <td>{}</td></tr>\n",
            picture(outcome, self.series[outcome.series].margin, scale),
            badge(outcome),
        )
    }
}

fn section(title: &str, about: &str, scale: Scale, groups: &str) -> String {
    let ticks = scale.ticks().into_iter().map(|(ratio, position)| {
        format!("<i style=\"left:{position:.2}%\">\u{d7}{}</i>", short(ratio))
    });
    let table = format!(
        "<table class=\"forest\">\n<thead><tr><th scope=\"col\"><span class=\"hidden\">arm or \
         workload</span></th><th scope=\"col\"><span class=\"sides\"><span>\u{2190} worse</span>\
         <span>better \u{2192}</span></span><span class=\"axis\">{}</span></th>\
         <th scope=\"col\">ratio, 95 % interval</th><th scope=\"col\">verdict</th></tr></thead>\n\
         {groups}</table>\n",
        ticks.collect::<String>()
    );
    html::section(title, about, &table)
}

fn group(about: &str, lines: &str) -> String {
    format!(
        "<tbody>\n<tr class=\"group\"><th colspan=\"4\" scope=\"rowgroup\">{about}</th></tr>\n\
         {lines}</tbody>\n"
    )
}

fn picture(outcome: &Outcome, margin: f64, scale: Scale) -> String {
    let comparison = &outcome.adjusted.comparison;
    let span = |class: &str, [lo, hi]: [f64; 2]| {
        let (left, right) = (scale.position(lo), scale.position(hi));
        format!("<i class=\"{class}\" style=\"left:{left:.2}%;width:{:.2}%\"></i>", right - left)
    };
    let point = |class: &str, ratio: f64| {
        format!("<i class=\"{class}\" style=\"left:{:.2}%\"></i>", scale.position(ratio))
    };
    let lines: String = scale.ticks().into_iter().map(|(ratio, _)| point("tick", ratio)).collect();
    format!(
        "<div class=\"bar {}\" aria-hidden=\"true\">{}{lines}{}{}{}</div>",
        class(outcome.verdict()),
        span("band", [1.0 / (1.0 + margin), 1.0 + margin]),
        point("one", 1.0),
        outcome
            .foreseen
            .as_ref()
            .map_or_else(String::new, |it| span("drives", it.forecast.prediction95))
            + &comparison.ci95.map_or_else(String::new, |limits| span("interval", limits)),
        point("dot", comparison.ratio),
    )
}

/// A tick's label without needless digits.
fn short(ratio: f64) -> String {
    let text = format!("{ratio:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
