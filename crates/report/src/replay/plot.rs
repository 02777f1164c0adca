//! Two plots: the distributions over one another, and quantile against quantile.

use std::fmt::Write as _;

use super::Compared;
use crate::page::html::escape;
use crate::ticks::{number, step};

/// The size of a panel with its labels, and of the plot in it, in pixels.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 350.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 280.0;
/// Quantiles that are drawn.
const POINTS: usize = 200;
/// Lines across, at most.
const TICKS_MAX: f64 = 5.0;

pub(super) const LEGEND: &str = "<ul class=\"legend\"><li><svg width=\"28\" height=\"8\" aria-hidden=\"true\"><line \
     class=\"measured\" x1=\"0\" y1=\"4\" x2=\"28\" y2=\"4\"/></svg> measured on the drive</li>\
     <li><svg width=\"28\" height=\"8\" aria-hidden=\"true\"><line class=\"modelled\" x1=\"0\" \
     y1=\"4\" x2=\"28\" y2=\"4\"/></svg> modelled</li></ul>\n";

/// Reads and the rest, as far as there are any: pooled, errors of different sign cancel.
pub(super) fn groups(compared: &[Compared]) -> Vec<(&'static str, Vec<Compared>)> {
    let of = |read: bool| compared.iter().filter(|one| one.read == read).copied().collect();
    let both = [("reads", of(true)), ("writes", of(false))];
    both.into_iter().filter(|(_, group): &(_, Vec<_>)| !group.is_empty()).collect()
}

/// Both plots of one group, each inside a panel of [`WIDTH`] by [`HEIGHT`].
pub(super) fn panels(name: &str, compared: &[Compared]) -> [(String, String); 2] {
    let measured = quantiles(compared.iter().map(|one| one.measured_ms));
    let modelled = quantiles(compared.iter().map(|one| one.modelled_ms));
    // An axis has a length even without requests.
    let longest = measured.iter().chain(&modelled).copied().fold(0.0, f64::max).max(1e-9);
    let axis = Axis { most: longest, step: step(longest, TICKS_MAX) };
    let share = Axis { most: 100.0, step: 25.0 };
    let cdf = format!(
        "{}{}{}",
        axes(&axis, &share, "ms", "%"),
        line(&steps(&measured, &axis, &share), "measured"),
        line(&steps(&modelled, &axis, &share), "modelled")
    );
    let pairs: Vec<(f64, f64)> =
        measured.iter().zip(&modelled).map(|(x, y)| (axis.across(*x), axis.up(*y))).collect();
    // Where the model is right, the points lie on this line.
    let (end_x, end_y) = (axis.across(longest), axis.up(longest));
    let qq = format!(
        "{}<line class=\"same\" x1=\"{LEFT}\" y1=\"{BOTTOM}\" x2=\"{end_x:.1}\" \
         y2=\"{end_y:.1}\"/>{}",
        axes(&axis, &axis, "measured ms", "modelled ms"),
        line(&pairs, "modelled")
    );
    [
        (format!("{name}: share of requests completed within a time"), cdf),
        (format!("{name}: modelled against measured quantiles"), qq),
    ]
}

/// One panel as a picture inside a page.
pub(super) fn figure((caption, inside): &(String, String)) -> String {
    format!(
        "<figure><figcaption>{caption}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{caption}\">\n{inside}</svg></figure>\n"
    )
}

/// All panels as one separate picture, light or dark as the reader has it.
pub fn svg(title: &str, compared: &[Compared]) -> String {
    let mut body = String::new();
    let mut top = 46.0;
    for (name, group) in groups(compared) {
        for ((caption, inside), left) in panels(name, &group).into_iter().zip([0.0, WIDTH + 10.0]) {
            // Writing into a string cannot fail.
            let _ = writeln!(
                body,
                "<g transform=\"translate({left} {top})\"><text class=\"caption\" x=\"{LEFT}\" \
                 y=\"4\">{caption}</text>{inside}</g>"
            );
        }
        top += HEIGHT + 14.0;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {top}\" role=\"img\">\n\
         <style>{STYLE}</style>\n<text class=\"title\" x=\"12\" y=\"22\">{}: measured solid, \
         modelled dashed</text>\n{body}</svg>\n",
        2.0 * WIDTH + 10.0,
        escape(title),
    )
}

/// Of the picture that stands alone; a page has its own.
const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#333}.x{text-anchor:middle}\
.y{text-anchor:end}.title{font-size:14px;font-weight:600}.caption{font-weight:600}\
.grid{stroke:#8886;stroke-width:.5}.same{stroke:#888}.measured{stroke:#2563a8;stroke-width:2}\
.modelled{stroke:#b4540a;stroke-width:2;stroke-dasharray:5 3}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.measured{stroke:#7ab0ea}\
.modelled{stroke:#f0a35e}}";

/// Converts values to positions.
struct Axis {
    most: f64,
    step: f64,
}

impl Axis {
    fn across(&self, value: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * value / self.most
    }

    fn up(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * value / self.most
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (most, step) = (self.most, self.step);
        // A rounding error must not lose the last line.
        (0_u32..).map(move |tick| f64::from(tick) * step).take_while(move |at| *at <= most * 1.001)
    }
}

/// Lines across with their values, and what is counted.
fn axes(x: &Axis, y: &Axis, across: &str, up: &str) -> String {
    let mut svg = String::new();
    for value in x.ticks() {
        let (at, label) = (x.across(value), number(value, x.step));
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{BOTTOM}\"/>\
             <text class=\"x\" x=\"{at:.1}\" y=\"{}\">{label}</text>",
            BOTTOM + 15.0
        );
    }
    for value in y.ticks() {
        let (at, label) = (y.up(value), number(value, y.step));
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\"/>\
             <text class=\"y\" x=\"{}\" y=\"{:.1}\">{label}</text>",
            LEFT - 5.0,
            at + 4.0
        );
    }
    let (middle, under) = (f64::midpoint(LEFT, RIGHT), BOTTOM + 32.0);
    let _ = writeln!(
        svg,
        "<text class=\"x\" x=\"{middle}\" y=\"{under}\">{across}</text>\
         <text x=\"2\" y=\"{}\">{up}</text>",
        TOP - 6.0
    );
    svg
}

fn quantiles(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.is_empty() {
        return Vec::new();
    }
    // The middle of each of `POINTS` equal shares.
    (0..POINTS).map(|point| sorted[(2 * point + 1) * sorted.len() / (2 * POINTS)]).collect()
}

#[expect(clippy::cast_precision_loss, reason = "at most 200 points")]
fn steps(quantiles: &[f64], across: &Axis, up: &Axis) -> Vec<(f64, f64)> {
    let share = |point: usize| up.up((point as f64 + 0.5) / POINTS as f64 * 100.0);
    quantiles.iter().enumerate().map(|(point, x)| (across.across(*x), share(point))).collect()
}

fn line(points: &[(f64, f64)], class: &str) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let _ = write!(path, "{x:.1},{y:.1} ");
    }
    format!("<polyline class=\"{class}\" fill=\"none\" points=\"{}\"/>\n", path.trim_end())
}
