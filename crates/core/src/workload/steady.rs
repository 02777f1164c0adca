//! Steady state: the end of a run whose figures no longer change.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::histogram::Second;
use crate::units::{Bytes, Ratio, Span};

/// The figure that must be steady, and the limit: `iops:2%` or `bw_slope:0.3%`, as in fio's
/// `steadystate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Criterion {
    figure: Figure,
    /// The line through the window's seconds may rise or fall by the limit per second; otherwise no
    /// second may differ from the mean by more than it.
    slope: bool,
    limit: Limit,
}

/// The largest permitted change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// A share of the mean.
    Share(Ratio),
    /// Requests, bytes or nanoseconds.
    Absolute(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Iops,
    Bandwidth,
    Latency,
}

/// The condition under which a run may end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steady {
    /// The condition.
    pub criterion: Criterion,
    /// Number of consecutive seconds for which it must hold.
    pub window: u32,
    /// Not before this many seconds have passed.
    pub after: u32,
}

const NAMES: [(&str, Figure, bool); 6] = [
    ("iops", Figure::Iops, false),
    ("iops_slope", Figure::Iops, true),
    ("bw", Figure::Bandwidth, false),
    ("bw_slope", Figure::Bandwidth, true),
    ("lat", Figure::Latency, false),
    ("lat_slope", Figure::Latency, true),
];

impl Steady {
    /// True if the last of `seconds`, all of them complete, are steady.
    ///
    /// In whole numbers: the criterion is met at the same second on every machine.
    pub fn reached(&self, seconds: &[Second]) -> bool {
        let window = self.window as usize;
        if seconds.len() < window.max(self.after as usize + window) {
            return false;
        }
        let last = &seconds[seconds.len() - window..];
        let Criterion { figure, slope, limit } = self.criterion;
        let values = last.iter().map(|second| figure.of(second));
        // 128 bits: the products of a busy second exceed 64.
        let (n, sum) = (i128::from(self.window), values.clone().sum::<i128>());
        if sum == 0 {
            return false;
        }
        // The limit is `limit * of / whole`, times the number of seconds.
        let whole = i128::from(Ratio::ONE.billionths());
        let (limit, of, whole) = match limit {
            Limit::Share(share) => (i128::from(share.billionths()), sum, whole),
            Limit::Absolute(most) => (i128::from(most), n, 1),
        };
        if !slope {
            // |value - sum / n| <= limit
            return values.into_iter().all(|value| (value * n - sum).abs() * whole <= limit * of);
        }
        // The least-squares line over x = 0, 1, .. n - 1: slope = top / bottom.
        let top = (0..).zip(values).map(|(x, value): (i128, i128)| (2 * x - (n - 1)) * value);
        let (top, bottom) = (top.sum::<i128>(), n * (n * n - 1) / 6);
        top.abs() * n * whole <= limit * of * bottom
    }
}

impl Figure {
    fn of(self, second: &Second) -> i128 {
        match self {
            Self::Iops => i128::from(second.ios),
            Self::Bandwidth => i128::from(second.bytes),
            Self::Latency => i128::from(second.lat_sum_ns.checked_div(second.ios).unwrap_or(0)),
        }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = NAMES.iter();
        let (name, ..) = names
            .find(|(_, figure, slope)| (*figure, *slope) == (self.figure, self.slope))
            .expect("every figure has a name, with and without its slope");
        f.pad(&match (self.limit, self.figure) {
            (Limit::Share(share), _) => format!("{name}:{share}"),
            (Limit::Absolute(most), Figure::Latency) => format!("{name}:{most}ns"),
            (Limit::Absolute(most), _) => format!("{name}:{most}"),
        })
    }
}

impl FromStr for Criterion {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (name, limit) = text.split_once(':').ok_or_else(|| not_a_criterion(text))?;
        let mut names = NAMES.iter();
        let known = names.find(|(known, ..)| *known == name);
        let (_, figure, slope) = known.ok_or_else(|| not_a_criterion(text))?;
        let limit = match (limit.ends_with('%'), figure) {
            (true, _) => limit.parse().ok().map(Limit::Share),
            (false, Figure::Iops) => limit.parse().ok().map(Limit::Absolute),
            (false, Figure::Bandwidth) => {
                limit.parse().ok().map(|most: Bytes| Limit::Absolute(most.get()))
            }
            (false, Figure::Latency) => {
                limit.parse().ok().map(|most: Span| Limit::Absolute(most.ns()))
            }
        };
        let limit = limit.ok_or_else(|| not_a_criterion(text))?;
        Ok(Self { figure: *figure, slope: *slope, limit })
    }
}

fn not_a_criterion(text: &str) -> String {
    format!(
        "`{text}` is not a steady-state criterion: write `iops`, `bw` or `lat`, with `_slope` for \
the trend, and a limit in percent or in their unit: `iops_slope:0.3%`, `bw:4k`, `lat:50us`"
    )
}

impl TryFrom<String> for Criterion {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<Criterion> for String {
    fn from(criterion: Criterion) -> Self {
        criterion.to_string()
    }
}

impl Steady {
    /// The window, from the seconds that options give.
    pub(super) fn new(criterion: Criterion, window: Span, after: Span) -> Result<Self, Invalid> {
        let window = whole_seconds(window).filter(|seconds| (2..=86_400).contains(seconds));
        let window = window.ok_or("the steady-state window must be 2 seconds to a day")?;
        let after = whole_seconds(after).filter(|seconds| *seconds <= 86_400);
        Ok(Self { criterion, window, after: after.ok_or("at most a day is allowed")? })
    }
}

fn whole_seconds(span: Span) -> Option<u32> {
    u32::try_from(span.ns().div_ceil(1_000_000_000)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(ios: &[u64]) -> Vec<Second> {
        let second = |ios: &u64| Second {
            ios: *ios,
            bytes: *ios * 4096,
            lat_sum_ns: *ios * 1000,
            ..Second::default()
        };
        ios.iter().map(second).collect()
    }

    fn check(criterion: &str, after: u32, ios: &[u64], expected: bool) {
        let steady = Steady { criterion: criterion.parse().unwrap(), window: 4, after };
        assert_eq!(steady.reached(&seconds(ios)), expected, "{criterion} {ios:?}");
    }

    #[test]
    fn a_mean_holds_when_no_second_of_the_window_is_far_from_it() {
        check("iops:2%", 0, &[100, 100, 100, 98], true);
        check("iops:2%", 0, &[100, 100, 100, 90], false);
        check("iops:2%", 0, &[900, 500, 100, 100, 100, 101], true);
        check("bw:2%", 0, &[100, 100, 100, 90], false);
        check("lat:1%", 0, &[100, 10, 100, 90], true);
        check("iops:2%", 0, &[100, 100, 100], false);
        check("iops:2%", 0, &[0, 0, 0, 0], false);
    }

    #[test]
    fn a_slope_is_the_trend_and_not_the_scatter() {
        // A line that rises by 10 per second on a mean of 115: 8.7 %.
        check("iops_slope:8%", 0, &[100, 110, 120, 130], false);
        check("iops_slope:9%", 0, &[100, 110, 120, 130], true);
        check("iops_slope:9%", 0, &[130, 120, 110, 100], true);
        check("iops_slope:8%", 0, &[130, 120, 110, 100], false);
        check("iops_slope:1%", 0, &[150, 50, 50, 150], true);
        check("bw_slope:8%", 0, &[100, 110, 120, 130], false);
        check("lat_slope:1%", 0, &[100, 110, 120, 130], true);
    }

    #[test]
    fn a_limit_may_have_the_unit_of_its_figure() {
        check("iops:9", 0, &[100, 100, 100, 90], true);
        check("iops:7", 0, &[100, 100, 100, 90], false);
        check("iops_slope:10", 0, &[100, 110, 120, 130], true);
        check("iops_slope:9", 0, &[100, 110, 120, 130], false);
        // Ten requests of 4 KiB more each second.
        check("bw_slope:40k", 0, &[100, 110, 120, 130], true);
        check("bw_slope:39k", 0, &[100, 110, 120, 130], false);
        check("lat:1us", 0, &[100, 10, 100, 90], true);
        let text = |text: &str| text.parse::<Criterion>().unwrap().to_string();
        assert_eq!(text("bw_slope:4k"), "bw_slope:4096");
        assert_eq!(text("lat:50us"), "lat:50000ns");
    }

    #[test]
    fn the_first_seconds_may_be_left_out() {
        check("iops:2%", 2, &[100; 4], false);
        check("iops:2%", 2, &[100; 5], false);
        check("iops:2%", 2, &[100; 6], true);
    }

    #[test]
    fn criteria_read_back_and_others_are_refused_with_an_example() {
        for (name, ..) in NAMES {
            let text = format!("{name}:0.3%");
            assert_eq!(text.parse::<Criterion>().unwrap().to_string(), text);
        }
        for wrong in ["iops", "iops:", "bw:x", "lat:5", "size:3%", ""] {
            assert!(
                wrong.parse::<Criterion>().unwrap_err().0.contains("iops_slope:0.3%"),
                "{wrong}"
            );
        }
        let criterion = "iops:1%".parse().unwrap();
        Steady::new(criterion, Span::from_secs(1), Span::ZERO).unwrap_err();
    }
}
