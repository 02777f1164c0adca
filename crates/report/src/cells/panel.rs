//! One panel of a figure, as SVG.

use drivelab_analysis::cells::{EACH, Line, MEAN, SUM};
use drivelab_core::matrix::Matrix;

use crate::page::html::escape;
use crate::ticks::{number, step};

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 240.0;
/// Room for labels to the left and below, and a little above and to the right.
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 34.0;
const EDGE: f64 = 10.0;
/// Lines across, at most.
const TICKS_MAX: f64 = 5.0;

/// Explains the kinds of lines.
pub(super) fn legend(matrix: &Matrix) -> String {
    let mut entries = vec![("single", "each target alone")];
    if matrix.targets.len() > 1 {
        entries.push(("mean", MEAN));
        if matrix.together {
            entries.extend([("each", EACH), ("sum", SUM)]);
        }
    }
    let items: Vec<String> = entries
        .iter()
        .map(|(class, name)| {
            format!(
                "<li><svg width=\"28\" height=\"8\" aria-hidden=\"true\"><line class=\"{class}\" \
                 x1=\"0\" y1=\"4\" x2=\"28\" y2=\"4\"/></svg> {name}</li>"
            )
        })
        .collect();
    format!("<ul class=\"legend\">{}</ul>\n", items.concat())
}

/// The panel of one share of reads; `most` is the highest value of its figure.
pub(super) fn svg(matrix: &Matrix, read: u32, lines: &[Line], most: f64) -> String {
    let sizes = matrix.bs.len();
    let tick = step(most, TICKS_MAX);
    let top = libm::ceil(most / tick) * tick;
    // A single block size is drawn at the left edge.
    let gaps = count(sizes.saturating_sub(1).max(1));
    let x = |index: usize| LEFT + (WIDTH - LEFT - EDGE) * count(index) / gaps;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - EDGE) * value / top;
    let mut svg = format!(
        "<figure><figcaption>{read} % read, MB/s by block size</figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"MB/s by block size at {read} % read\">\n"
    );
    let mut value = 0.0;
    // Half a step more, so that a rounding error does not lose the topmost line.
    while value <= top + tick / 2.0 {
        let (at, right) = (y(value), WIDTH - EDGE);
        svg += &format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>\
             <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            LEFT - 5.0,
            at + 3.5,
            number(value, tick),
        );
        value += tick;
    }
    for (index, size) in matrix.bs.iter().enumerate() {
        let at = HEIGHT - BOTTOM + 14.0;
        let name = escape(&size.to_string());
        svg += &format!("<text class=\"x\" x=\"{:.1}\" y=\"{at}\">{name}</text>\n", x(index));
    }
    let (middle, below) = (f64::midpoint(LEFT, WIDTH - EDGE), HEIGHT - 5.0);
    svg += &format!(
        "<text class=\"x\" x=\"{middle:.1}\" y=\"{below}\">block size</text>\
         <text class=\"x\" transform=\"translate(9 {:.1}) rotate(-90)\">MB/s</text>\n",
        f64::midpoint(EDGE, HEIGHT - BOTTOM),
    );
    for line in lines {
        svg += &drawn(line, x, y);
    }
    svg + "</svg></figure>\n"
}

/// A line through the points that were measured, each with its value for who points at it.
fn drawn(line: &Line, x: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) -> String {
    let measured = line.points.iter().enumerate();
    let points: Vec<(f64, f64, f64)> =
        measured.filter_map(|(index, value)| Some((x(index), y((*value)?), (*value)?))).collect();
    let path: Vec<String> = points.iter().map(|(x, y, _)| format!("{x:.1},{y:.1}")).collect();
    let class = line.class;
    let mut svg = format!("<polyline class=\"{class}\" points=\"{}\"/>\n", path.join(" "));
    for (x, y, value) in points {
        svg += &format!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"><title>{}: {value:.1} \
             MB/s</title></circle>\n",
            escape(&line.name),
        );
    }
    svg
}

#[expect(clippy::cast_precision_loss, reason = "a handful of block sizes")]
fn count(n: usize) -> f64 {
    n as f64
}
