//! Named figures of one load.

use crate::record::JobRecord;
use crate::units::{Ratio, Span};
use crate::{Invalid, invalid};

/// The key of the mean time.
pub const MEAN_MS: &str = "mean_ms";

/// The quantiles that a file may contain, ascending.
pub const QUANTILES: [(&str, f64); 11] = [
    ("p1_ms", 0.01),
    ("p5_ms", 0.05),
    ("p10_ms", 0.10),
    ("p25_ms", 0.25),
    ("p50_ms", 0.50),
    ("p75_ms", 0.75),
    ("p90_ms", 0.90),
    ("p95_ms", 0.95),
    ("p99_ms", 0.99),
    ("p99_5_ms", 0.995),
    ("p99_9_ms", 0.999),
];

/// Figures that are not quantiles: requests per second, the same divided by the rate at depth 1,
/// mean time.
const OTHERS: [&str; 3] = ["iops", "gain", MEAN_MS];

/// Rounding of measured figures is far below this; beyond it, figures are not from one measurement.
const DISAGREEMENT: f64 = 0.1;

/// A quantile with fewer requests beyond it is due to chance.
const TAIL_MIN: f64 = 10.0;

/// Named figures of one load, times in ms.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures(Vec<(&'static str, f64)>);

impl Figures {
    /// The keys of all figures.
    pub fn keys() -> impl Iterator<Item = &'static str> {
        OTHERS.into_iter().chain(QUANTILES.map(|(key, _)| key))
    }

    /// The figures of measured times, sorted, at `iops` requests per second. A quantile that rests
    /// on fewer than ten requests is omitted, because it is due to chance.
    pub fn of_times(sorted: &[Span], iops: f64) -> Self {
        debug_assert!(sorted.is_sorted());
        let Some(last) = sorted.len().checked_sub(1) else { return Self::default() };
        let total: u64 = sorted.iter().map(|time| time.ns()).sum();
        let mean = milliseconds(total) / count(sorted.len());
        let mut figures = vec![("iops", iops), (MEAN_MS, mean)];
        for (key, share) in QUANTILES {
            if share.min(1.0 - share) * count(sorted.len()) < TAIL_MIN {
                continue;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "an index into the sample"
            )]
            let index = (count(last) * share + 0.5) as usize;
            figures.push((key, milliseconds(sorted[index].ns())));
        }
        Self(figures)
    }

    /// The figures of a run.
    pub(super) fn of_run(total: &JobRecord) -> Self {
        let times = &total.lat_histogram;
        let mut figures = Vec::new();
        if total.iops > 0.0 {
            figures.push(("iops", total.iops));
        }
        figures.extend(times.mean().map(|mean| (MEAN_MS, milliseconds(mean.ns()))));
        for (key, share) in QUANTILES {
            // Here `milliseconds` only makes a float of a count, so both sides are divided by 10^6.
            if share.min(1.0 - share) * milliseconds(times.n()) < TAIL_MIN / 1e6 {
                continue;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "below 10^9"
            )]
            let parts = libm::round(share * 1e9) as u64;
            let time = times.quantile(Ratio::from_billionths(parts));
            figures.extend(time.map(|time| (key, milliseconds(time.ns()))));
        }
        Self(figures)
    }

    /// Adds a figure.
    pub(super) fn push(&mut self, key: &'static str, value: f64) {
        self.0.push((key, value));
    }

    /// The figure called `key`.
    pub fn get(&self, key: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// Every figure with its key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.0.iter().copied()
    }

    /// Every figure with its key, mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut f64)> + '_ {
        self.0.iter_mut().map(|(key, value)| (*key, value))
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that quantiles ascend, that the mean is not too small for them, and that the rate
    /// fits the mean.
    pub(super) fn agree(&self, iodepth: u32) -> Result<(), Invalid> {
        let given = QUANTILES.map(|(key, _)| self.get(key).map(|value| (key, value)));
        let given: Vec<(&str, f64)> = given.into_iter().flatten().collect();
        for pair in given.windows(2) {
            let ((low, at_low), (high, at_high)) = (pair[0], pair[1]);
            if at_low > at_high {
                return Err(invalid!(
                    "`{low} = {at_low}` is above `{high} = {at_high}`, but quantiles rise: check \
                     for swapped values"
                ));
            }
        }
        let (iops, mean) = (self.get("iops"), self.get(MEAN_MS));
        // At depth, requests are outstanding at both ends of a measurement.
        let allowed = if iodepth > 1 { 3.0 * DISAGREEMENT } else { DISAGREEMENT };
        if let (Some(iops), Some(mean)) = (iops, mean)
            && (iops / (1000.0 * f64::from(iodepth) / mean) - 1.0).abs() > allowed
        {
            let implied = 1000.0 * f64::from(iodepth) / mean;
            return Err(invalid!(
                "`iops = {iops}` and `mean_ms = {mean}` contradict each other: at depth \
            {iodepth}, {mean} ms give {implied:.1} per second; check the depth"
            ));
        }
        // At least the slowest (1 - share) of all requests take as long as a quantile or longer.
        for (key, share) in QUANTILES {
            let (Some(mean), Some(value)) = (mean, self.get(key)) else { continue };
            if (1.0 - share) * value > mean {
                return Err(invalid!(
                    "`mean_ms = {mean}` is too small for `{key} = {value}`: check that both come \
                     from one run"
                ));
            }
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "times far below 2^52 ns")]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}
