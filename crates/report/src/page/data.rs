//! The data that the page's script draws.

use drivelab_analysis::study::{LatencyCurve, StudyResult};
use serde::Serialize;

use super::html::embedded;
use super::time::Time;

/// Points on the time axis of a latency plot: about two a pixel on a phone.
const POINTS: usize = 180;

/// All that the script of a page draws.
#[derive(Default, Serialize)]
pub(crate) struct Data<'a> {
    /// The arms by name; a run alone is one.
    pub(crate) arms: Vec<&'a str>,
    pub(crate) latency: Vec<Latency>,
    depth: Depth,
    pub(crate) time: Vec<Time>,
    /// Pictures over time have the same scales, because they are compared.
    pub(crate) same_scale: bool,
}

#[derive(Serialize)]
pub(crate) struct Latency {
    id: String,
    /// The ends of the time axis in milliseconds; the points between them are as far apart on a
    /// logarithmic scale.
    ends_ms: [f64; 2],
    /// Thousandths of the requests that are done by each point and not by the one before it, of
    /// each arm; null where an arm has no runs.
    steps: Vec<Option<Vec<u64>>>,
}

#[derive(Default, Serialize)]
struct Depth {
    x: Vec<u32>,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    arm: usize,
    y: Vec<Option<f64>>,
    least: Vec<Option<f64>>,
    greatest: Vec<Option<f64>>,
}

impl<'a> Data<'a> {
    /// Nothing to draw yet of these arms.
    pub(crate) fn of(arms: Vec<&'a str>) -> Self {
        Self { arms, ..Self::default() }
    }

    /// The data as JSON that can stand inside a script element.
    pub(crate) fn json(&self) -> String {
        embedded(&serde_json::to_string(self).expect("plain data has a JSON form"))
    }
}

/// The data of a study.
pub(super) fn of_study(result: &StudyResult) -> Data<'_> {
    let arms = result.experiment.arms.len();
    let workloads = 0..result.experiment.workloads.len();
    Data {
        arms: result.names(),
        latency: workloads
            .filter_map(|workload| {
                let curves = result.latency.iter().filter(|curve| curve.workload == workload);
                latency(format!("latency-{workload}"), arms, &curves.collect::<Vec<_>>())
            })
            .collect(),
        depth: depth(result),
        time: Vec::new(),
        same_scale: false,
    }
}

/// All arms on one time axis, so that a cursor can read them side by side.
pub(crate) fn latency(id: String, arms: usize, curves: &[&LatencyCurve]) -> Option<Latency> {
    let ends = curves.iter().flat_map(|c| [c.points.first(), c.points.last()]).flatten();
    // A time of 0 has no position on a logarithmic axis.
    let least = ends.clone().map(|point| point.0).min()?.max(1);
    // Ends that are equal would put every point of the axis at the same time.
    let greatest = ends.map(|point| point.0).max()?.max(least + 1);
    let (lo, hi) = (libm::log(nanoseconds(least)), libm::log(nanoseconds(greatest)));
    let step = (hi - lo) / nanoseconds(POINTS as u64 - 1);
    let axis: Vec<f64> =
        (0..POINTS as u64).map(|index| libm::exp(lo + step * nanoseconds(index))).collect();
    Some(Latency {
        id,
        ends_ms: [least, greatest].map(|ns| nanoseconds(ns) / 1e6),
        steps: (0..arms)
            .map(|arm| {
                let curve = curves.iter().find(|curve| curve.arm == arm)?;
                Some(steps(axis.iter().map(|ns| share(curve, *ns))))
            })
            .collect(),
    })
}

/// Shares that never fall, in thousandths, each as its distance from the one before: neither the
/// picture nor the words below it show more of them.
fn steps(shares: impl Iterator<Item = f64>) -> Vec<u64> {
    let mut reached = 0;
    shares
        .map(|share| {
            // The total is rounded, not the step, so that rounding errors do not add up.
            let rounded = thousandths(share).max(reached);
            let step = rounded - reached;
            reached = rounded;
            step
        })
        .collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is 0 to 1")]
fn thousandths(share: f64) -> u64 {
    libm::round(1000.0 * share.clamp(0.0, 1.0)) as u64
}

/// The share of requests done after `ns`, along straight lines between the points kept.
fn share(curve: &LatencyCurve, ns: f64) -> f64 {
    let after = curve.points.partition_point(|point| nanoseconds(point.0) <= ns);
    let Some(before) = after.checked_sub(1) else { return 0.0 };
    let (start, low) = curve.points[before];
    let Some((end, high)) = curve.points.get(after).copied() else { return low };
    debug_assert!(start < end, "the points of a curve are sorted: {start} and {end} ns");
    let (start, end) = (nanoseconds(start), nanoseconds(end));
    low + (high - low) * (ns - start) / (end - start)
}

fn depth(result: &StudyResult) -> Depth {
    let x = result.depths();
    let lines = result.depth.iter().map(|curve| {
        let at = |iodepth: &u32| curve.points.iter().find(|point| point.iodepth == *iodepth);
        Line {
            arm: curve.arm,
            y: x.iter().map(|depth| at(depth).map(|p| short(p.iops))).collect(),
            least: x.iter().map(|depth| at(depth).map(|p| short(p.least))).collect(),
            greatest: x.iter().map(|depth| at(depth).map(|p| short(p.greatest))).collect(),
        }
    });
    Depth { lines: lines.collect(), x }
}

/// Four digits: more than a picture shows, and a third of the bytes.
fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[expect(clippy::cast_precision_loss, reason = "a position in a picture")]
fn nanoseconds(ns: u64) -> f64 {
    ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_run_along_the_points() {
        let points = vec![(100, 0.25), (200, 0.5), (400, 1.0)];
        let curve = LatencyCurve { workload: 0, arm: 0, n: 4, quantiles: [None; 5], points };
        let check = |ns, expected: f64| assert!((share(&curve, ns) - expected).abs() < 1e-12);
        check(50.0, 0.0);
        check(100.0, 0.25);
        check(150.0, 0.375);
        check(300.0, 0.75);
        check(400.0, 1.0);
        check(1e9, 1.0);
    }
}
