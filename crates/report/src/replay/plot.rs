//! Two plots: the distributions over one another, and quantile against quantile.

use std::fmt::Write as _;

use super::Compared;
use crate::page::html::escape;

/// The size of a plot, in pixels.
const SIDE: f64 = 360.0;
/// Quantiles that are drawn.
const POINTS: usize = 200;

/// A page of its own with both plots for `title`.
pub fn page(title: &str, compared: &[Compared]) -> String {
    let Plots { cdf, qq, longest } = plots(compared);
    let title = escape(title);
    let figure = |inside: &str, caption: &str| {
        format!(
            "<figure><svg viewBox=\"0 0 {SIDE} {SIDE}\" role=\"img\" aria-label=\"{caption}\">\
             {inside}</svg><figcaption>{caption}; axes to {longest:.1} ms</figcaption></figure>\n"
        )
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n{}{}</html>\n",
        figure(&cdf, CDF),
        figure(&qq, QQ)
    )
}

/// Both plots side by side as one picture.
pub fn svg(title: &str, compared: &[Compared]) -> String {
    let Plots { cdf, qq, longest } = plots(compared);
    let panel = |left: f64, inside: &str, caption: &str| {
        format!(
            "<g transform=\"translate({left} 40)\"><rect width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"#888\"/>\
             {inside}<text y=\"{}\">{caption}</text></g>\n",
            SIDE + 18.0
        )
    };
    let (width, height) = (2.0 * SIDE + 60.0, SIDE + 70.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <style>{STYLE}text{{font:11px sans-serif}}</style>\n\
         <text x=\"20\" y=\"24\">{}, axes to {longest:.1} ms</text>\n{}{}</svg>\n",
        escape(title),
        panel(20.0, &cdf, CDF),
        panel(SIDE + 40.0, &qq, QQ)
    )
}

const CDF: &str = "Share of requests at most as slow: measured solid, modelled dashed";
const QQ: &str = "Quantiles: measured across, modelled upwards";

/// What is inside the two plots.
struct Plots {
    cdf: String,
    qq: String,
    /// The end of the axes, in ms.
    longest: f64,
}

fn plots(compared: &[Compared]) -> Plots {
    let measured = quantiles(compared.iter().map(|one| one.measured_ms));
    let modelled = quantiles(compared.iter().map(|one| one.modelled_ms));
    let longest = measured.iter().chain(&modelled).copied().fold(0.0, f64::max).max(1e-9);
    let cdf = format!(
        "{}{}",
        line(&steps(&measured, longest), "measured"),
        line(&steps(&modelled, longest), "modelled")
    );
    let pairs: Vec<(f64, f64)> = measured
        .iter()
        .zip(&modelled)
        .map(|(x, y)| (x / longest * SIDE, SIDE - y / longest * SIDE))
        .collect();
    let qq = format!(
        "<line class=\"same\" x1=\"0\" y1=\"{SIDE}\" x2=\"{SIDE}\" y2=\"0\"/>{}",
        line(&pairs, "modelled")
    );
    Plots { cdf, qq, longest }
}

const STYLE: &str = "body{font:16px system-ui;margin:2rem}figure{display:inline-block;margin:1rem}\
svg{width:360px;border:1px solid #888}polyline{fill:none;stroke-width:1.5}\
.measured{stroke:#1b4f8a}.modelled{stroke:#b3461e;stroke-dasharray:4 3}.same{stroke:#aaa}";

/// Evenly spaced quantiles.
fn quantiles(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.is_empty() {
        return Vec::new();
    }
    (0..POINTS).map(|point| sorted[(2 * point + 1) * sorted.len() / (2 * POINTS)]).collect()
}

#[expect(clippy::cast_precision_loss, reason = "at most 200 points")]
fn steps(quantiles: &[f64], longest: f64) -> Vec<(f64, f64)> {
    let share = |point: usize| SIDE - (point as f64 + 0.5) / POINTS as f64 * SIDE;
    quantiles.iter().enumerate().map(|(point, x)| (x / longest * SIDE, share(point))).collect()
}

fn line(points: &[(f64, f64)], class: &str) -> String {
    let mut path = String::new();
    for (x, y) in points {
        // Writing into a string cannot fail.
        let _ = write!(path, "{x:.1},{y:.1} ");
    }
    format!("<polyline class=\"{class}\" points=\"{}\"/>", path.trim_end())
}
