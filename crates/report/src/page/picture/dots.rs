//! Every block as a dot in each arm, joined by a line: what the verdict rests on.

use super::axis::{Axis, Frame, LEFT, RIGHT};
use crate::metric;
use crate::outcome::Series;
use crate::page::html::escape;

const FRAME: Frame = Frame { width: 360.0, height: 230.0, ticks_max: 4.0 };
const WIDTH: f64 = FRAME.width;
const HEIGHT: f64 = FRAME.height;
/// More lines than this are a grey area: only dots are drawn.
const LINES_MAX: usize = 60;

/// The picture of one series in a page, under what it is about (HTML); nothing with less than two
/// blocks, which are no distribution.
pub(crate) fn figure(series: &Series, names: &[&str], (paired, about): (bool, &str)) -> String {
    let Some(drawn) = drawn(series, names, paired) else { return String::new() };
    format!("<figure class=\"dots\"><figcaption>{about}</figcaption>\n{drawn}</figure>\n")
}

/// The picture alone, its lines only where the values of a block are pairs.
pub(crate) fn drawn(series: &Series, names: &[&str], paired: bool) -> Option<String> {
    let blocks = series.values.iter().map(Vec::len).min().unwrap_or(0);
    if blocks < 2 {
        return None;
    }
    let axis = Axis::new(FRAME, series.values.iter().flatten().copied());
    let place = |arm: usize| {
        let share = (count(arm) + 0.5) / count(names.len());
        LEFT + (WIDTH - LEFT - RIGHT) * share
    };
    let mut svg = axis.lines(|value| series.show(value));
    if paired && blocks <= LINES_MAX {
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
    Some(format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{} of every block in \
         each arm\">\n{svg}</svg>",
        escape(&label)
    ))
}

/// A name that leaves room for its neighbours.
fn short(name: &str, arms: usize) -> String {
    let room = 44 / arms.max(1);
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room.saturating_sub(1).max(1)).chain(['\u{2026}']).collect()
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
        let drawn = figure(
            &series(vec![vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 4.0]]),
            &["a", "b"],
            (true, ""),
        );
        assert_eq!(drawn.matches("<circle").count(), 6);
        assert_eq!(drawn.matches("<polyline").count(), 3);
        assert_eq!(figure(&series(vec![vec![1.0], vec![2.0]]), &["a", "b"], (true, "")), "");
    }

    #[test]
    fn extremes_end_and_stay_inside() {
        for values in [[1.0, 1.0], [f64::MIN_POSITIVE, 1e300], [1e300, 1e300], [1e-300, 2e-300]] {
            let drawn =
                figure(&series(vec![values.to_vec(), values.to_vec()]), &["a", "b"], (true, ""));
            assert!(drawn.len() < 10_000 && !drawn.contains("NaN"), "{values:?}: {drawn}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(short("ide", 2), "ide");
        assert_eq!(short("supermicro-uncached", 4), "supermicro\u{2026}");
    }
}
