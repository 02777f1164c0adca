//! The ratios of an article as a picture: what was held against what.

use super::Checked;
use crate::page::html::escape;

/// Width of the plot and where its labels end, in user units.
const WIDTH: f64 = 900.0;
const LABELS: f64 = 430.0;
const ROW: f64 = 26.0;
/// Ratios beyond are drawn at the edge.
const RATIO_MAX: f64 = 100.0;

/// Bounds as a band, the interval of the mean as a thick line, that of one more drive as a thin
/// one. Only ratios share a scale; nothing is drawn where there is none.
pub(super) fn ratios(findings: &[Checked]) -> String {
    let ratios: Vec<&Checked> = findings
        .iter()
        .filter(|one| one.figure.contains(" over ") && one.value.is_some())
        .collect();
    if ratios.is_empty() {
        return String::new();
    }
    let reach = ratios.iter().flat_map(|one| numbers(one)).map(|it| log(it).abs());
    // Ten percent to either side at least, and room for the outermost mark.
    let reach = reach.fold(log(1.1), f64::max) * 1.05;
    let across = |ratio: f64| {
        let share = f64::midpoint(log(ratio) / reach, 1.0);
        LABELS + share.clamp(0.0, 1.0) * (WIDTH - LABELS)
    };
    let rows: String = (1_u32..)
        .zip(&ratios)
        .map(|(number, one)| row(one, ROW * f64::from(number), &across))
        .collect();
    let height = ROW * (f64::from(u32::try_from(ratios.len()).unwrap_or(u32::MAX)) + 1.5);
    let one = across(1.0);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" width=\"100%\" aria-label=\"Ratios with \
         their intervals, and the bounds that they are held against\" font-size=\"13\" \
         fill=\"currentColor\">\n\
         <line x1=\"{one:.1}\" x2=\"{one:.1}\" y1=\"4\" y2=\"{:.1}\" stroke=\"currentColor\" \
         opacity=\"0.4\"/>\n{rows}{}</svg>\n",
        height - ROW,
        ticks(reach, height, &across)
    )
}

fn row(one: &Checked, y: f64, across: &impl Fn(f64) -> f64) -> String {
    let label = escape(&one.name);
    let mut svg = format!(
        "<g><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
        LABELS - 10.0,
        y + 4.0
    );
    if one.at_least.is_some() || one.at_most.is_some() {
        let lo = across(one.at_least.unwrap_or(1.0 / RATIO_MAX));
        let hi = across(one.at_most.unwrap_or(RATIO_MAX));
        svg += &format!(
            "<rect x=\"{lo:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"16\" opacity=\"0.18\"/>",
            y - 8.0,
            // A bound that is a single value is still visible.
            (hi - lo).max(2.0)
        );
    }
    // The thick line is drawn over the thin one.
    for (limits, stroke) in [(one.prediction95, 1.5), (one.ci95, 5.0)] {
        if let Some([lo, hi]) = limits.map(|limits| limits.map(across)) {
            svg += &format!(
                "<line x1=\"{lo:.1}\" x2=\"{hi:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" \
                 stroke=\"currentColor\" stroke-width=\"{stroke}\"/>"
            );
        }
    }
    let at = across(one.value.unwrap_or(1.0));
    svg += &format!("<circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"4.5\"/></g>\n");
    svg
}

fn ticks(reach: f64, height: f64, across: &impl Fn(f64) -> f64) -> String {
    let steps: &[f64] = if reach < log(1.6) {
        &[0.8, 0.9, 1.0, 1.1, 1.25]
    } else if reach < log(8.0) {
        &[0.25, 0.5, 1.0, 2.0, 4.0]
    } else {
        &[0.05, 0.2, 1.0, 5.0, 20.0]
    };
    let inside = steps.iter().filter(|step| log(**step).abs() <= reach);
    let ticks = inside.map(|step| {
        format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" opacity=\"0.7\">\u{d7}{step}\
             </text>\n",
            across(*step),
            height - 8.0
        )
    });
    ticks.collect()
}

fn numbers(one: &Checked) -> Vec<f64> {
    let limits = one.ci95.into_iter().chain(one.prediction95).flatten();
    limits.chain(one.value).chain(one.at_least).chain(one.at_most).collect()
}

fn log(ratio: f64) -> f64 {
    libm::log(ratio.clamp(1.0 / RATIO_MAX, RATIO_MAX))
}
