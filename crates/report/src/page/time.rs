//! A run from its beginning to its end: rate, quantiles and every latency, second by second.

use std::collections::BTreeMap;

use drivelab_analysis::figures;
use drivelab_core::record::JobRecord;
use serde::Serialize;

use super::html::{escape, fold, scroll, table};
use crate::run::over_time::{full, moments};

/// A description of the pictures of a run over time, as HTML.
pub(crate) const ABOUT: &str = "Above requests a second; below every latency, stronger in colour \
                                where more requests took that long; p50 is the solid line, p99 the \
                                dashed one. Drag across a picture, \
                                or press + with the focus on it, to zoom; double click, or press \
                                0, to see all.";

/// The picture of latencies in words.
const HEAT: &str = "Latency over time, stronger in colour where more requests took that long; p50 is \
                    solid, p99 dashed";

/// Rows of the table that stands in for the pictures.
const ROWS_MAX: usize = 30;

/// The data that the script draws for one run.
#[derive(Debug, Serialize)]
pub(crate) struct Time {
    id: String,
    arm: usize,
    /// Seconds of an interval.
    step_s: u64,
    /// The least latency of each bucket that is filled anywhere, in nanoseconds.
    lows_ns: Vec<u64>,
    /// For each interval the indexes of its buckets, each followed by its count.
    cells: Vec<Vec<u64>>,
}

impl Time {
    /// The data of a run; nothing where there is no course to be seen.
    pub(crate) fn of(id: &str, arm: usize, job: &JobRecord) -> Option<Self> {
        let series = &job.lat_series;
        let count = drawn(job)?;
        let mut indexes: BTreeMap<u64, u64> = (0..count)
            .flat_map(|at| series.interval(at).map(|(low, _)| low.ns()))
            .map(|low| (low, 0))
            .collect();
        // Numbered by latency, so that the script finds a row by its number.
        for (slot, number) in indexes.values_mut().zip(0..) {
            *slot = number;
        }
        Some(Self {
            id: id.to_owned(),
            arm,
            step_s: series.interval_s(),
            cells: (0..count)
                .map(|at| {
                    series.interval(at).flat_map(|(low, n)| [indexes[&low.ns()], n]).collect()
                })
                .collect(),
            lows_ns: indexes.into_keys().collect(),
        })
    }
}

/// Two elements for the pictures of [`Time::of`] with this id, and their figures. `caption` is
/// HTML.
pub(crate) fn figure(id: &str, caption: &str, job: &JobRecord) -> String {
    if drawn(job).is_none() {
        return String::new();
    }
    let plot = |which: &str, about: &str| {
        format!(
            "<div class=\"plot\" id=\"{id}-{which}\" tabindex=\"0\" role=\"img\" \
             aria-label=\"{about}; the figures are in the table below\"></div>\n"
        )
    };
    format!(
        "<figure class=\"time\"><figcaption>{caption}</figcaption>\n{}{}<p class=\"readout\" \
         id=\"{id}-readout\" aria-live=\"polite\"></p>\n<p class=\"readout\" id=\"{id}-range\" \
         aria-live=\"polite\"></p>\n{}</figure>\n",
        plot("rate", "Requests a second over time"),
        plot("heat", HEAT),
        fold("The figures of these pictures", &scroll("Figures over time", &rows(job))),
    )
}

/// Intervals that are drawn: nothing where one is all, or none.
fn drawn(job: &JobRecord) -> Option<usize> {
    Some(full(job)).filter(|full| *full > 1)
}

fn rows(job: &JobRecord) -> String {
    let (moments, each_s) = moments(job, ROWS_MAX);
    let span = |ns: Option<f64>| ns.map_or("\u{2013}".to_owned(), figures::span_ns);
    let rows = (0..).zip(&moments).map(|(index, moment)| {
        vec![
            format!("{} s", index * each_s),
            escape(&figures::count(moment.iops)),
            span(moment.p99_ns),
        ]
    });
    table(&["from", "IOPS", "longest p99"], rows)
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::Tally;
    use drivelab_core::units::Span;

    use super::*;

    /// Ten requests of 100 us in each second.
    fn steady(seconds: u64) -> JobRecord {
        let mut tally = Tally { elapsed: Span::from_secs(seconds), ..Tally::default() };
        (0..seconds).for_each(|second| tally.series.record(second, Span::from_us(100), 10));
        tally.series.finish(seconds);
        tally.record()
    }

    #[test]
    fn each_interval_that_is_drawn_is_a_row() {
        for seconds in 2..8 {
            let job = steady(seconds);
            let drawn = Time::of("a", 0, &job).unwrap().cells.len();
            let rows = figure("a", "", &job).matches("<tr><td>").count();
            assert_eq!((drawn as u64, rows as u64), (seconds, seconds));
        }
    }

    #[test]
    fn one_interval_is_no_course() {
        assert_eq!(figure("a", "", &steady(1)), "");
        assert!(Time::of("a", 0, &steady(1)).is_none());
    }
}
