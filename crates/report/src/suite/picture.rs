//! The familiar pictures: a bar for each test, and rates and access times over the target.

use drivelab_analysis::figures::significant;
use drivelab_core::record::{Phase, Point};

use super::rows::{COLUMNS, Row, columns};
use super::text::is_curve;
use crate::page::html::escape;
use crate::ticks::{number, step};

const WIDTH: f64 = 640.0;
/// The height of a bar and the space below it.
const BAR: f64 = 26.0;
/// Room for the labels of bars.
const LABEL: f64 = 150.0;
/// Room for the number behind a bar.
const NUMBER: f64 = 90.0;
/// The plot of a curve, in its picture.
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = WIDTH - 48.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 280.0;
/// Lines across, at most.
const TICKS_MAX: f64 = 6.0;
const GB: f64 = 1e9;

/// A bar for each test, its length the rate.
pub(super) fn bars(rows: &[Row<'_>]) -> String {
    let shown = columns(rows);
    let cells = || rows.iter().flat_map(|row| row.cells.iter().flatten());
    // All rates may be 0: the bars then have no length.
    let most = cells().map(|cell| cell.rate).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let (mut drawn, mut y) = (String::new(), 4.0);
    for row in rows {
        for column in &shown {
            let Some(cell) = &row.cells[*column] else { continue };
            let length = (WIDTH - LABEL - NUMBER) * cell.rate / most;
            let (middle, behind) = (y + 13.0, LABEL + length + 6.0);
            drawn += &format!(
                "<text class=\"y\" x=\"{:.1}\" y=\"{middle:.1}\">{} {}</text><rect class=\"rate \
                 {}\" x=\"{LABEL}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"18\"/><text \
                 x=\"{behind:.1}\" y=\"{middle:.1}\">{:.3}</text>\n",
                LABEL - 8.0,
                escape(&row.label),
                COLUMNS[*column],
                COLUMNS[*column],
                cell.rate,
            );
            y += BAR;
        }
        y += 8.0;
    }
    picture("Rate of each test, MB/s", y, &drawn)
}

/// Rates over the target, and access times as dots on a separate scale.
pub(super) fn curves(phases: &[&Phase]) -> String {
    let placed = || phases.iter().filter(|phase| !phase.points.is_empty());
    let curves: Vec<&&Phase> = placed().filter(|phase| is_curve(phase)).collect();
    let dots: Vec<&&Phase> = placed().filter(|phase| !is_curve(phase)).collect();
    if curves.is_empty() && dots.is_empty() {
        return String::new();
    }
    let points = |phases: &[&&Phase]| -> Vec<Point> {
        phases.iter().flat_map(|phase| phase.points.iter().copied()).collect()
    };
    let (lines, cloud) = (points(&curves), points(&dots));
    let end = lines.iter().chain(&cloud).map(|point| gb(point.offset_bytes));
    // Lines and dots share the scale across: both are of one target.
    let across = Scale::new(end.fold(0.0, f64::max));
    let mut drawn = across.below();
    if !lines.is_empty() {
        let up = Scale::up(&lines);
        drawn += &up.left("MB/s");
        for phase in &curves {
            drawn += &line(phase, &across, &up);
        }
    }
    if !cloud.is_empty() {
        let up = Scale::up(&cloud);
        drawn += &up.right("ms");
        for point in &cloud {
            let (x, y) = (across.x(gb(point.offset_bytes)), up.y(point.value));
            drawn += &format!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.8\"/>\n");
        }
    }
    let names = curves.iter().map(|phase| format!("{} (line, MB/s)", phase.name));
    let dots = dots.iter().map(|phase| format!("{} (dots, ms)", phase.name));
    let names: Vec<String> = names.chain(dots).collect();
    picture(&format!("Over the target: {}", names.join(", ")), HEIGHT, &drawn)
}

fn line(phase: &Phase, across: &Scale, up: &Scale) -> String {
    let points = phase.points.iter();
    let points = points.map(|point| (across.x(gb(point.offset_bytes)), up.y(point.value)));
    let path = path_data(points);
    let last = phase.points.last().map_or(0.0, |point| point.value);
    format!(
        "<path class=\"measured\" d=\"{path}\"><title>{}: {} MB/s at the end</title></path>\n",
        escape(&phase.name),
        significant(last),
    )
}

/// A line through points, in tenths: each as its distance from the one before, because a run of
/// hours has thousands of them.
fn path_data(points: impl Iterator<Item = (f64, f64)>) -> String {
    let (mut path, mut before) = (String::new(), None);
    for (x, y) in points.map(|(x, y)| (tenths(x), tenths(y))) {
        let (letter, dx, dy) = match before {
            None => ("M", x, y),
            Some((x0, y0)) => ("", x - x0, y - y0),
        };
        path += letter;
        path += &decimal(dx, letter.is_empty());
        path += &decimal(dy, true);
        path += if letter.is_empty() { "" } else { "l" };
        before = Some((x, y));
    }
    path
}

#[expect(clippy::cast_possible_truncation, reason = "a position in a picture")]
fn tenths(position: f64) -> i64 {
    libm::round(10.0 * position) as i64
}

/// Tenths as short as a path may have them; a minus sign also separates.
fn decimal(tenths: i64, separate: bool) -> String {
    let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
    let sign = match tenths {
        ..0 => "-",
        _ if separate => " ",
        _ => "",
    };
    match (whole, rest) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, rest) => format!("{sign}.{rest}"),
        _ => format!("{sign}{whole}.{rest}"),
    }
}

fn picture(caption: &str, height: f64, inside: &str) -> String {
    let caption = escape(caption);
    format!(
        "<figure><figcaption>{caption}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height:.0}\" \
         role=\"img\" aria-label=\"{caption}\">\n{inside}</svg></figure>\n"
    )
}

/// Converts values to positions.
struct Scale {
    most: f64,
    step: f64,
}

impl Scale {
    fn new(most: f64) -> Self {
        // An axis has a length even where all values are 0.
        let most = most.max(1e-6);
        Self { most, step: step(most, TICKS_MAX) }
    }

    /// Up to the next line above the highest value.
    fn up(points: &[Point]) -> Self {
        let most = points.iter().map(|point| point.value).fold(0.0, f64::max);
        let Self { step, most } = Self::new(most);
        Self { most: libm::ceil(most / step) * step, step }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * value / self.most
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * value / self.most
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (most, step) = (self.most, self.step);
        // A rounding error must not lose the last line.
        (0_u32..).map(move |tick| f64::from(tick) * step).take_while(move |at| *at <= most * 1.001)
    }

    fn below(&self) -> String {
        let middle = f64::midpoint(LEFT, RIGHT);
        let name = format!("<text class=\"x\" x=\"{middle}\" y=\"{}\">GB</text>\n", BOTTOM + 32.0);
        let drawn = self.ticks().map(|at| {
            let (x, label) = (self.x(at), number(at, self.step));
            format!("<text class=\"x\" x=\"{x:.1}\" y=\"{}\">{label}</text>", BOTTOM + 15.0)
        });
        drawn.collect::<String>() + &name
    }

    fn left(&self, unit: &str) -> String {
        let name = format!("<text x=\"4\" y=\"{}\">{unit}</text>\n", TOP - 8.0);
        let drawn = self.ticks().map(|at| {
            let (y, label) = (self.y(at), number(at, self.step));
            format!(
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>\
                 <text class=\"y\" x=\"{}\" y=\"{:.1}\">{label}</text>",
                LEFT - 6.0,
                y + 4.0
            )
        });
        drawn.collect::<String>() + &name
    }

    fn right(&self, unit: &str) -> String {
        let name = format!("<text x=\"{}\" y=\"{}\">{unit}</text>\n", RIGHT + 6.0, TOP - 8.0);
        let drawn = self.ticks().map(|at| {
            let (y, label) = (self.y(at) + 4.0, number(at, self.step));
            format!("<text x=\"{}\" y=\"{y:.1}\">{label}</text>", RIGHT + 6.0)
        });
        drawn.collect::<String>() + &name
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 bytes are 9 PB")]
fn gb(bytes: u64) -> f64 {
    bytes as f64 / GB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_its_places_in_tenths() {
        let points = [(48.06, 70.8), (48.06, 67.2), (48.2, 69.0), (58.2, 69.04), (57.9, 69.0)];
        assert_eq!(path_data(points.into_iter()), "M48.1 70.8l 0-3.6 .1 1.8 10 0-.3 0");
        assert_eq!(path_data([].into_iter()), "");
    }
}
