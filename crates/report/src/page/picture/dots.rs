//! Every block as a dot in each arm, joined by a line: what the verdict rests on.

use drivelab_analysis::metric;
use drivelab_analysis::outcome::Series;

use super::axis::{Axis, Frame, LEFT, RIGHT};
use crate::page::html::escape;

const FRAME: Frame = Frame { width: 360.0, height: 230.0, ticks_max: 6.0 };
const WIDTH: f64 = FRAME.width;
const HEIGHT: f64 = FRAME.height;
/// Characters of all names together that a line below the picture has room for.
const NAMES_ROOM: usize = 44;
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
    debug_assert_eq!(series.values.len(), names.len(), "every arm has values and a name");
    let axis = Axis::of_arms(FRAME, series.values.iter().flatten().copied());
    let across = |arm: usize| {
        // The dots of an arm are in the middle of its column.
        let share = (count(arm) + 0.5) / count(names.len());
        LEFT + (WIDTH - LEFT - RIGHT) * share
    };
    let mut svg = axis.lines(|value| series.show(value));
    if paired && blocks <= LINES_MAX {
        for block in 0..blocks {
            let points =
                series.values.iter().enumerate().map(|(arm, values)| {
                    format!("{:.1},{:.1}", across(arm), axis.up(values[block]))
                });
            let points: Vec<String> = points.collect();
            svg += &format!("<polyline class=\"pair\" points=\"{}\"/>\n", points.join(" "));
        }
    }
    for (arm, values) in series.values.iter().enumerate() {
        let x = across(arm);
        svg += &format!(
            "<g class=\"arm-{}\" transform=\"translate({x:.1})\">\n",
            arm % crate::page::html::ARM_STYLES
        );
        for (block, value) in values.iter().enumerate() {
            svg += &format!(
                "<circle cy=\"{:.1}\" r=\"4\"><title>block {}: {}</title></circle>\n",
                axis.up(*value),
                block + 1,
                escape(&series.show(*value)),
            );
        }
        svg += "</g>\n";
        svg += &below(&lines(names[arm], NAMES_ROOM / names.len().max(1)), x);
    }
    let scale = if axis.is_logarithmic() { ", on a logarithmic scale" } else { "" };
    let label = metric::label(&series.metric);
    Some(format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{} of each block in \
         each arm{scale}\">\n{svg}</svg>",
        escape(&label)
    ))
}

/// A name in one line or two below the picture.
fn below(lines: &[String], x: f64) -> String {
    let ups: &[f64] = if lines.len() > 1 { &[14.0, 3.0] } else { &[8.0] };
    let shown = lines.iter().zip(ups).map(|(line, up)| {
        let (y, line) = (HEIGHT - up, escape(line));
        format!("<text class=\"x\" x=\"{x:.1}\" y=\"{y:.1}\">{line}</text>\n")
    });
    shown.collect()
}

/// A name that leaves room for its neighbours: broken between its words where it is longer than
/// `room` characters, and cut where that is not enough.
fn lines(name: &str, room: usize) -> Vec<String> {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= room {
        return vec![name.to_owned()];
    }
    let splits = (1..all.len())
        .filter(|split| matches!(all[*split - 1], ' ' | '-' | '_' | '/' | '.' | ','))
        .filter(|split| *split <= room);
    // The longer of the two lines decides.
    let best = splits.min_by_key(|split| (*split).max(all.len() - split));
    let (first, second) = all.split_at(best.unwrap_or(room));
    let text = |line: &[char]| line.iter().collect::<String>().trim().to_owned();
    if second.len() <= room {
        return vec![text(first), text(second)];
    }
    // The sign of the cut takes one character.
    let cut = &second[..room.saturating_sub(1).max(1)];
    vec![text(first), text(cut) + "\u{2026}"]
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
    fn long_names_have_two_lines_and_are_cut_behind_them() {
        assert_eq!(lines("ide", 22), ["ide"]);
        assert_eq!(lines("ide-elevator", 11), ["ide-", "elevator"]);
        assert_eq!(lines("supermicro-uncached", 11), ["supermicro-", "uncached"]);
        assert_eq!(lines("a-supermicro-uncached", 8), ["a-", "supermi\u{2026}"]);
        assert_eq!(lines("nothing to be seen", 3), ["not", "hi\u{2026}"]);
    }
}
