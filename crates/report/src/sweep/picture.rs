//! The shares of a sweep as a picture: a bar a factor, with its interval.

use drivelab_analysis::metric;

use super::{Swept, percent};
use crate::page::html::escape;

const WIDTH: f64 = 720.0;
/// Room for the names at the left and the percents at the right.
const LEFT: f64 = 216.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 34.0;
const ROW: f64 = 26.0;
const BAR: f64 = 14.0;
/// Characters of a name that are shown.
const NAME_MAX: usize = 28;
/// Rules under a class of this picture only, because it also stands in pages.
const STYLE: &str = ".shares text{font:13px sans-serif;fill:#333}.shares .title{font-weight:bold}\
    .shares .share{fill:#0072b2}.shares .rest{fill:#999}.shares .ci{stroke:#000;stroke-width:1.5}\
    @media (prefers-color-scheme:dark){.shares text{fill:#ddd}.shares .share{fill:#56b4e9}\
    .shares .ci{stroke:#fff}}";

/// The picture; `None` if no share is known.
pub fn picture(swept: &Swept) -> Option<String> {
    let effects = swept.effects()?;
    let mut rows: Vec<(&str, &str, super::MainEffect)> = swept
        .ranked(&effects)
        .into_iter()
        .map(|(it, share)| (it.name.as_str(), "share", share))
        .collect();
    rows.push(("several together, and chance", "rest", effects.rest));
    let mut svg = String::new();
    let mut top = TOP;
    for (name, class, effect) in rows {
        svg += &bar(name, class, effect, top);
        top += ROW;
    }
    let title = format!("What decides {}: shares of its variance", metric::label(swept.figure));
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"shares\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\">\n\
         <style>{STYLE}</style>\n<title>{}</title>\n<desc>drivelab report</desc>\n\
         <text class=\"title\" x=\"8\" y=\"20\">{}</text>\n{svg}</svg>\n",
        top + 8.0,
        escape(&swept.title),
        escape(&title),
    ))
}

fn bar(name: &str, class: &str, effect: super::MainEffect, top: f64) -> String {
    let across = |share: f64| LEFT + share * (WIDTH - LEFT - RIGHT);
    let middle = top + BAR / 2.0;
    let [low, high] = effect.ci95.map(across);
    let name: String = name.chars().take(NAME_MAX).collect();
    format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
         <rect class=\"{class}\" x=\"{LEFT}\" y=\"{top}\" width=\"{:.1}\" height=\"{BAR}\"/>\
         <line class=\"ci\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
        LEFT - 8.0,
        middle + 4.5,
        escape(&name),
        across(effect.share) - LEFT,
        // The number is behind both the bar and its interval.
        high.max(across(effect.share)) + 6.0,
        middle + 4.5,
        percent(effect.share),
    )
}
