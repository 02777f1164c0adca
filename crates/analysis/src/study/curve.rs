//! Curves for the page: latency distributions and IOPS against depth.

use drivelab_core::histogram::Histogram;
use drivelab_core::units::Ratio;
use drivelab_stats::quantile_reportable;
use serde::Serialize;

use super::{CurvePoint, Experiment};
use crate::outcome::geometric_mean;

/// Points kept of a distribution: never reached by 120 steps with a corner each and a tail.
const POINTS_MAX: usize = 400;
/// Share of requests from one point of a distribution to the next: two pixels of a plot.
const SHARE_STEP: f64 = 1.0 / 120.0;
/// A bucket of the histogram is at most this part of its value wide.
const BUCKET_WIDTH: u64 = 128;

/// The latency distribution of one workload in one arm, runs of all blocks together.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyCurve {
    /// The workload, by index.
    pub workload: usize,
    /// The arm, by index.
    pub arm: usize,
    /// The number of requests.
    pub n: u64,
    /// p50, p90, p99, p99.9 and the longest, in nanoseconds; a quantile only where enough
    /// requests lie beyond it.
    pub quantiles: [Option<f64>; 5],
    /// Latency in nanoseconds, and the share of requests at most as slow: both ascending (a share
    /// may stay), the last share is 1.
    pub points: Vec<(u64, f64)>,
}

impl LatencyCurve {
    /// The curve of all requests of `latency`; nothing where there are none.
    pub fn of(workload: usize, arm: usize, latency: &Histogram) -> Option<Self> {
        (latency.n() > 0).then(|| Self {
            workload,
            arm,
            n: latency.n(),
            quantiles: quantiles(latency),
            points: thinned(latency),
        })
    }
}

/// IOPS against depth in one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct DepthCurve {
    /// The arm, by index.
    pub arm: usize,
    /// One point a depth, ascending.
    pub points: Vec<DepthPoint>,
}

/// One depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DepthPoint {
    /// The queue depth.
    pub iodepth: u32,
    /// Geometric mean over the blocks.
    pub iops: f64,
    /// The least of all blocks.
    #[serde(rename = "iops_min")]
    pub least: f64,
    /// The greatest of all blocks.
    #[serde(rename = "iops_max")]
    pub greatest: f64,
}

pub(super) fn latency(experiment: &Experiment, used: &[u32]) -> Vec<LatencyCurve> {
    let mut curves = Vec::new();
    for workload in 0..experiment.workloads.len() {
        for arm in 0..experiment.arms.len() {
            let mut merged = Histogram::new();
            let runs = experiment.runs.iter();
            for run in runs.filter(|r| r.workload == workload && r.arm == arm) {
                if used.contains(&run.block) {
                    merged.merge(&run.latency);
                }
            }
            curves.extend(LatencyCurve::of(workload, arm, &merged));
        }
    }
    curves
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
fn quantiles(histogram: &Histogram) -> [Option<f64>; 5] {
    let [p50, p90, p99, p99_9] =
        [500_000_000, 900_000_000, 990_000_000, 999_000_000].map(|billionths| {
            let share = Ratio::from_billionths(billionths);
            let is_known = quantile_reportable(share.to_f64(), histogram.n());
            histogram.quantile(share).filter(|_| is_known).map(|span| span.ns() as f64)
        });
    [p50, p90, p99, p99_9, histogram.max().map(|span| span.ns() as f64)]
}

/// The cumulative distribution, thinned to where it moves: equal steps of share in the body, and
/// in the tail steps that take a fifth of what is left.
///
/// Between points the curve is a straight line. Where many requests take the same time it is a
/// step, and gets a corner, or a ramp would show latencies that never were.
#[expect(clippy::cast_precision_loss, reason = "a share for a picture")]
fn thinned(histogram: &Histogram) -> Vec<(u64, f64)> {
    let n = histogram.n() as f64;
    let mut points: Vec<(u64, f64)> = Vec::new();
    let mut passed = 0_u64;
    for (upper, count) in histogram.buckets() {
        let before = passed as f64 / n;
        passed += count;
        let (upper, share) = (upper.ns(), passed as f64 / n);
        let (last_upper, last) = points.last().copied().unwrap_or_default();
        // Towards the end the steps become smaller, so that the tail keeps its shape.
        let step = SHARE_STEP.min(0.2 * (1.0 - last));
        let is_end = points.is_empty() || passed == histogram.n();
        if !is_end && (share - last < step || points.len() >= POINTS_MAX) {
            continue;
        }
        // A large bucket rises at its lower edge and not from the point before it.
        let corner = upper - upper / BUCKET_WIDTH;
        if share - before >= SHARE_STEP && corner > last_upper && !points.is_empty() {
            points.push((corner, before));
        }
        points.push((upper, share));
    }
    debug_assert_eq!(passed, histogram.n(), "the buckets hold all requests");
    points
}

pub(super) fn depth(experiment: &Experiment) -> Vec<DepthCurve> {
    let curves = (0..experiment.arms.len()).map(|arm| {
        let points: Vec<&CurvePoint> = experiment.curves.iter().filter(|p| p.arm == arm).collect();
        let mut depths: Vec<u32> = points.iter().map(|p| p.iodepth).collect();
        depths.sort_unstable();
        depths.dedup();
        let points = depths.iter().filter_map(|depth| depth_point(*depth, &points)).collect();
        DepthCurve { arm, points }
    });
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

fn depth_point(iodepth: u32, points: &[&CurvePoint]) -> Option<DepthPoint> {
    let at_depth = points.iter().filter(|p| p.iodepth == iodepth);
    let iops: Vec<f64> = at_depth.map(|p| p.iops).filter(|v| v.is_finite() && *v > 0.0).collect();
    let least = iops.iter().copied().min_by(f64::total_cmp)?;
    let greatest = iops.iter().copied().max_by(f64::total_cmp)?;
    Some(DepthPoint { iodepth, iops: geometric_mean(&iops), least, greatest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::units::Span;

    #[test]
    fn a_distribution_keeps_its_ends_and_stays_small() {
        let mut histogram = Histogram::new();
        for i in 0..100_000_u64 {
            histogram.record(Span::from_ns(1_000_000 + i * i));
        }
        let points = thinned(&histogram);
        assert!((80..200).contains(&points.len()), "{}", points.len());
        let last = points.last().unwrap();
        assert_eq!(last.0, histogram.max().unwrap().ns());
        assert!((last.1 - 1.0).abs() < 1e-12);
        assert!(points.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
        // No step of the body is wider than two of those asked for.
        assert!(points.windows(2).all(|w| w[1].1 - w[0].1 < 2.0 * SHARE_STEP));
    }

    #[test]
    fn a_gap_is_a_step_and_no_ramp() {
        let mut histogram = Histogram::new();
        for ms in [4, 4, 4, 8] {
            histogram.record(Span::from_ms(ms));
        }
        let points = thinned(&histogram);
        let [(first, 0.75), (corner, 0.75), (last, 1.0)] = points[..] else {
            panic!("{points:?}");
        };
        assert!(first <= 4_050_000 && corner >= 7_900_000 && last == 8_000_000, "{points:?}");
    }

    #[test]
    fn equal_latencies_are_one_point() {
        let mut histogram = Histogram::new();
        (0..10).for_each(|_| histogram.record(Span::from_ns(5_000_000)));
        assert_eq!(thinned(&histogram), [(5_000_000, 1.0)]);
    }
}
