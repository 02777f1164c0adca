//! Every block as a dot in each arm, joined by a line: what the verdict rests on.

use crate::metric;
use crate::outcome::Series;
use crate::page::html::escape;
use crate::ticks::step;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 230.0;
/// Room for the values at the left and the names of the arms below.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;
/// Lines across, at most.
const TICKS_MAX: f64 = 4.0;
/// More lines than this are a grey area: only dots are drawn.
const LINES_MAX: usize = 60;

/// The picture of one series; nothing with less than two blocks, which are no distribution.
pub(in crate::page) fn figure(series: &Series, names: &[&str], about: &str) -> String {
    let blocks = series.values.first().map_or(0, Vec::len);
    if blocks < 2 {
        return String::new();
    }
    let axis = Axis::new(series);
    let place = |arm: usize| {
        let share = (count(arm) + 0.5) / count(names.len());
        LEFT + (WIDTH - LEFT - RIGHT) * share
    };
    let mut svg = axis.lines(series);
    if blocks <= LINES_MAX {
        for block in 0..blocks {
            let points =
                series.values.iter().enumerate().map(|(arm, values)| {
                    format!("{:.1},{:.1}", place(arm), axis.up(values[block]))
                });
            let points: Vec<String> = points.collect();
            svg += &format!("<polyline class=\"pair\" points=\"{}\"/>\n", points.join(" "));
        }
    }
    for (arm, values) in series.values.iter().enumerate() {
        let x = place(arm);
        for (block, value) in values.iter().enumerate() {
            svg += &format!(
                "<circle class=\"arm-{}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"><title>block {}: \
                 {}</title></circle>\n",
                arm % crate::page::html::ARM_STYLES,
                axis.up(*value),
                block + 1,
                escape(&series.show(*value)),
            );
        }
        svg += &format!(
            "<text class=\"x\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>\n",
            HEIGHT - 8.0,
            escape(&short(names[arm], names.len())),
        );
    }
    let label = metric::label(&series.metric);
    format!(
        "<figure class=\"dots\"><figcaption>{about}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} \
         {HEIGHT}\" role=\"img\" aria-label=\"{} of every block in each arm\">\n{svg}</svg>\
         </figure>\n",
        escape(&label)
    )
}

/// A name that leaves room for its neighbours.
fn short(name: &str, arms: usize) -> String {
    let room = 44 / arms.max(1);
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room.saturating_sub(1).max(1)).chain(['\u{2026}']).collect()
}

/// Values from the bottom up.
struct Axis {
    lo: f64,
    hi: f64,
}

impl Axis {
    fn new(series: &Series) -> Self {
        let all = || series.values.iter().flatten().copied();
        let lo = all().fold(f64::INFINITY, f64::min);
        let hi = all().fold(0.0, f64::max);
        // Where all values agree a flat line in the middle says so.
        let edge = (0.08 * (hi - lo)).max(0.01 * hi).max(f64::MIN_POSITIVE);
        Self { lo: (lo - edge).max(0.0), hi: hi + edge }
    }

    fn up(&self, value: f64) -> f64 {
        let share = (value - self.lo) / (self.hi - self.lo);
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share
    }

    fn lines(&self, series: &Series) -> String {
        let step = step(self.hi - self.lo, TICKS_MAX);
        let mut value = libm::ceil(self.lo / step) * step;
        let mut svg = String::new();
        while value <= self.hi {
            let at = self.up(value);
            svg += &format!(
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 3.5,
                escape(&series.show(value)),
            );
            // A step below the last digit of a float would never end.
            if value + step <= value {
                break;
            }
            value += step;
        }
        svg
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of arms")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use drivelab_stats::Better;

    use super::*;

    fn series(values: Vec<Vec<f64>>) -> Series {
        Series {
            name: "w.iops".into(),
            metric: "iops".into(),
            workload: 0,
            better: Better::More,
            margin: 0.03,
            unit: String::new(),
            values,
        }
    }

    #[test]
    fn every_block_is_a_dot_in_each_arm_and_a_line_between_them() {
        let drawn =
            figure(&series(vec![vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 4.0]]), &["a", "b"], "");
        assert_eq!(drawn.matches("<circle").count(), 6);
        assert_eq!(drawn.matches("<polyline").count(), 3);
        assert_eq!(figure(&series(vec![vec![1.0], vec![2.0]]), &["a", "b"], ""), "");
    }

    #[test]
    fn extremes_end_and_stay_inside() {
        for values in [[1.0, 1.0], [f64::MIN_POSITIVE, 1e300], [1e300, 1e300], [1e-300, 2e-300]] {
            let drawn = figure(&series(vec![values.to_vec(), values.to_vec()]), &["a", "b"], "");
            assert!(drawn.len() < 10_000 && !drawn.contains("NaN"), "{values:?}: {drawn}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(short("ide", 2), "ide");
        assert_eq!(short("supermicro-uncached", 4), "supermicro\u{2026}");
    }
}
