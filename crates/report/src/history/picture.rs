//! A course as a picture: a dot for each run, the levels between changes, and the changes.

use drivelab_analysis::history::{Course, Moment, minute};
use drivelab_analysis::metric;
use drivelab_stats::Change;

use crate::page::html::{escape, short};
use crate::page::picture::axis::{Axis, BOTTOM, Frame, LEFT, RIGHT, TOP};

const FRAME: Frame = Frame { width: 720.0, height: 240.0, ticks_max: 5.0 };
const WIDTH: f64 = FRAME.width;
const HEIGHT: f64 = FRAME.height;
/// More dots than this do not show more; the latest are drawn.
const DOTS_MAX: usize = 1000;

/// The picture; nothing with less than two runs, which have no course.
pub(super) fn picture(course: &Course, found: &[Change]) -> String {
    let skipped = course.moments.len().saturating_sub(DOTS_MAX);
    let drawn = &course.moments[skipped..];
    if drawn.len() < 2 {
        return String::new();
    }
    let across = |index: usize| {
        let share = (count(index) - count(skipped) + 0.5) / count(drawn.len());
        // A level may begin before the first run that is drawn.
        LEFT + (WIDTH - LEFT - RIGHT) * share.max(0.0)
    };
    let values = drawn.iter().map(|moment| moment.value);
    let axis = Axis::new(FRAME, values);
    let mut svg = axis.lines(|value| course.show(value));
    for (start, end, value) in levels(course, found) {
        let (y, from, to) = (axis.up(value), across(start), across(end.saturating_sub(1)));
        svg += &format!(
            "<line class=\"level\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n"
        );
    }
    for change in found.iter().filter(|change| change.at > skipped) {
        let x = f64::midpoint(across(change.at - 1), across(change.at));
        let end = HEIGHT - BOTTOM;
        svg += &format!(
            "<line class=\"change\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{end}\"/>\n"
        );
    }
    for (index, moment) in (skipped..).zip(drawn) {
        svg += &format!(
            "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}</title></circle>\n",
            across(index),
            axis.up(moment.value),
            title(course, moment),
        );
    }
    let dates = [(LEFT, "start", &drawn[0]), (WIDTH - RIGHT, "end", &drawn[drawn.len() - 1])];
    for (x, anchor, moment) in dates {
        svg += &format!(
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>\n",
            HEIGHT - 8.0,
            minute(moment.time_ms)
        );
    }
    format!(
        "<figure class=\"course\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{}\">\n{svg}</svg></figure>\n",
        summary(course, found)
    )
}

/// The spans between changes as the picture marks them, each with its level.
fn levels(course: &Course, found: &[Change]) -> Vec<(usize, usize, f64)> {
    let ends = found.iter().map(|change| change.at).chain([course.moments.len()]);
    let values = found.iter().take(1).map(|first| first.before);
    let values = values.chain(found.iter().map(|change| change.after));
    let mut from = 0;
    let levels = ends.zip(values).map(|(end, value)| {
        let start = std::mem::replace(&mut from, end);
        (start, end, value)
    });
    levels.collect()
}

/// Names of runs as the picture shows them where the cursor rests.
fn title(course: &Course, moment: &Moment) -> String {
    let label = moment.label.as_deref().map(|label| format!(" {}", short(label)));
    let value = course.show(moment.value);
    escape(&format!("{}{}: {value}", minute(moment.time_ms), label.unwrap_or_default()))
}

/// The picture in words, for people who cannot see it.
fn summary(course: &Course, found: &[Change]) -> String {
    let times = found.iter().map(|change| minute(course.moments[change.at].time_ms));
    let times: Vec<String> = times.collect();
    let changes = if times.is_empty() { "none".to_owned() } else { times.join(", ") };
    escape(&format!(
        "{} of {} runs; changes: {}",
        metric::label(&course.metric),
        course.moments.len(),
        changes,
    ))
}

#[expect(clippy::cast_precision_loss, reason = "positions of runs in a picture")]
fn count(n: usize) -> f64 {
    n as f64
}
