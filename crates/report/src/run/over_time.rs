//! A run from its beginning to its end in two lines.

use anstyle::Style;
use drivelab_analysis::figures;
use drivelab_core::numbers::float;
use drivelab_core::record::JobRecord;
use drivelab_core::units::Ratio;

use crate::text::{Align, Look, Table};

/// With fewer intervals a line of marks shows no course.
const LEAST: usize = 5;
/// The width of the text next to the marks: the names and the ranges.
const BESIDE: usize = 36;
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Nothing completed.
const NOTHING: char = '·';

/// One mark of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    pub(crate) iops: f64,
    /// The longest p99 of the intervals that it stands for, where anything completed.
    pub(crate) p99_ns: Option<f64>,
}

/// Requests a second and p99 latency from left to right, a mark for each interval or several;
/// nothing for runs that are short or of several acts.
pub(super) fn text(job: &JobRecord, look: Look) -> Option<String> {
    let width = look.columns().saturating_sub(BESIDE).max(LEAST);
    let (moments, each_s) = (full(job) >= LEAST).then(|| moments(job, width))?;
    let unit = format!("{each_s} s a mark");
    let columns = [
        ("over time", Align::Left, 0),
        (unit.as_str(), Align::Left, 0),
        ("least", Align::Right, 1),
        ("most", Align::Right, 1),
    ];
    let mut table = Table::new(&columns);
    let iops: Vec<Option<f64>> = moments.iter().map(|moment| Some(moment.iops)).collect();
    let p99: Vec<Option<f64>> = moments.iter().map(|moment| moment.p99_ns).collect();
    table.row(row("IOPS", &iops, figures::count));
    table.row(row("p99", &p99, figures::span_ns));
    Some(table.render(look))
}

/// Requests a second from left to right in at most `width` marks; empty where there is no course
/// to be seen.
pub fn spark(job: &JobRecord, width: usize) -> String {
    let moments = if full(job) < LEAST { Vec::new() } else { moments(job, width).0 };
    let iops: Vec<Option<f64>> = moments.iter().map(|moment| Some(moment.iops)).collect();
    marks(&iops, iops.iter().copied().flatten().fold(0.0, f64::max))
}

fn row(name: &str, values: &[Option<f64>], show: impl Fn(f64) -> String) -> Vec<(String, Style)> {
    let known = || values.iter().copied().flatten();
    let (least, most) = (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
    let cells = [name.to_owned(), marks(values, most), show(least), show(most)];
    cells.map(|cell| (cell, Style::new())).to_vec()
}

/// Intervals that are full: the one in which the run ends is cut short, and its count says nothing.
pub(crate) fn full(job: &JobRecord) -> usize {
    let full = job.elapsed_ns / 1_000_000_000 / job.lat_series.interval_s();
    usize::try_from(full).map_or(0, |full| full.min(job.lat_series.len()))
}

/// The full intervals of a run in at most `limit` moments, and the seconds of each.
pub(crate) fn moments(job: &JobRecord, limit: usize) -> (Vec<Moment>, u64) {
    let (series, full) = (&job.lat_series, full(job));
    let together = full.div_ceil(limit).max(1);
    let each_s = series.interval_s() * together as u64;
    let intervals: Vec<usize> = (0..full).collect();
    // A shorter last chunk would look like a drop of the rate.
    let whole = intervals.chunks_exact(together).map(|chunk| {
        let ios: u64 = chunk.iter().flat_map(|at| series.interval(*at)).map(|(_, n)| n).sum();
        let p99 = chunk.iter().filter_map(|at| series.quantile(*at, Ratio::percent(99))).max();
        let p99_ns = p99.map(|span| float(span.ns()));
        Moment { iops: float(ios) / float(each_s), p99_ns }
    });
    (whole.collect(), each_s)
}

/// A mark for each value, its height the share of `most`.
pub(crate) fn marks(values: &[Option<f64>], most: f64) -> String {
    values
        .iter()
        .map(|value| match value {
            Some(value) if *value > 0.0 => {
                let passed = |step: u8| value * 8.0 > most * f64::from(step);
                HEIGHTS[(1..8).filter(|step| passed(*step)).count()]
            }
            _ => NOTHING,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::Tally;
    use drivelab_core::units::Span;

    use super::*;

    const LOOK: Look = Look { width: 80, colour: false };

    /// A thousand requests of 100 us a second, but for three seconds: one in which the drive
    /// stands still, and the next, in which it answers what has waited.
    fn frozen(seconds: u64) -> JobRecord {
        let mut tally = Tally { elapsed: Span::from_secs(seconds), ..Tally::default() };
        for second in (0..seconds).filter(|second| *second != 3) {
            let (latency, times) =
                if second == 4 { (Span::from_ms(900), 2000) } else { (Span::from_us(100), 1000) };
            tally.series.record(second, latency, times);
        }
        tally.series.finish(seconds);
        tally.record()
    }

    #[test]
    fn a_drive_that_stands_still_is_seen_to() {
        insta::assert_snapshot!(text(&frozen(8), LOOK).unwrap(), @r"
        over time  1 s a mark   least    most
        IOPS       ▄▄▄·█▄▄▄         0    2000
        p99        ▁▁▁·█▁▁▁    100 us  889 ms
        ");
    }

    #[test]
    fn a_long_run_takes_more_seconds_a_mark() {
        let (moments, each_s) = moments(&frozen(100), 44);
        assert_eq!((moments.len(), each_s), (33, 3));
        assert!(moments[1].p99_ns.unwrap() > 8e8 && (moments[1].iops - 1000.0).abs() < 1.0);
        assert!(moments[2].p99_ns.unwrap() < 2e5);
    }

    #[test]
    fn short_runs_have_no_course() {
        assert_eq!(text(&frozen(4), LOOK), None);
        assert_eq!(text(&Tally::default().record(), LOOK), None);
    }
}
