//! A disk among its peers as a picture: a dot each.

use drivelab_analysis::fleet::{FleetResult, Found};
use drivelab_analysis::metric;

use crate::page::html::escape;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 92.0;
const SIDE: f64 = 16.0;
/// The middle of the dots, and how far they lie above and below.
const MIDDLE: f64 = 36.0;
const SPREAD: f64 = 22.0;
/// More dots than this do not show more.
const DOTS_MAX: usize = 500;
/// Rows of dots: neighbours stand in different ones.
const ROWS: usize = 7;

/// The picture.
pub(super) fn picture(result: &FleetResult, found: &Found) -> String {
    let group = &result.groups[found.group];
    let Some(judged) = group.judged() else { return String::new() };
    let it = &found.outlier;
    let ends = judged.figures.iter().chain(&it.range95);
    let low = ends.clone().copied().fold(f64::INFINITY, f64::min);
    let high = ends.copied().fold(f64::NEG_INFINITY, f64::max);
    // Equal figures must not divide by 0.
    let across =
        |value: f64| SIDE + (WIDTH - 2.0 * SIDE) * (value - low) / (high - low).max(1e-300);
    let step = judged.figures.len().div_ceil(DOTS_MAX);
    let mut dots = String::new();
    for (index, figure) in judged.figures.iter().enumerate() {
        if index.is_multiple_of(step) && index != it.index {
            let name = format!("{}: {}", group.disks[index], metric::show(&result.metric, *figure));
            dots += &dot("same", across(*figure), row(index), 3.0, &name);
        }
    }
    let own = format!("{}: {}", found.disk, metric::show(&result.metric, it.figure));
    let class = if found.is_worse(result.better) == Some(true) { "slower" } else { "faster" };
    // Drawn last, so that no other dot covers it.
    dots += &dot(class, across(it.figure), MIDDLE, 5.5, &own);
    let [from, to] = it.range95.map(across);
    let label = |at: f64, anchor: &str, value: f64| {
        let y = HEIGHT - 8.0;
        let value = escape(&metric::show(&result.metric, value));
        format!("<text x=\"{at:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{value}</text>")
    };
    format!(
        "<figure class=\"specimens\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{} among {} disks\">\n<rect class=\"band\" x=\"{from:.1}\" y=\"8\" \
         width=\"{:.1}\" height=\"{:.1}\"/>\n{dots}{}{}</svg></figure>\n",
        escape(&own),
        group.disks.len(),
        to - from,
        2.0 * (MIDDLE - 8.0),
        label(SIDE, "start", low),
        label(WIDTH - SIDE, "end", high),
    )
}

fn dot(class: &str, x: f64, y: f64, radius: f64, name: &str) -> String {
    format!(
        "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{}</title>\
         </circle>\n",
        escape(name)
    )
}

#[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
fn row(index: usize) -> f64 {
    let share = (index % ROWS) as f64 / (ROWS - 1) as f64;
    MIDDLE - SPREAD + 2.0 * SPREAD * share
}
