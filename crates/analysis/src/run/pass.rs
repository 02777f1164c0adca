//! A run that passes its target in order, from one end on: its rate is a function of the position.

use drivelab_core::numbers::float;
use drivelab_core::record::{JobRecord, Point, RunRecord};
use drivelab_core::workload::Rw;

/// With fewer seconds there is no curve to be seen.
const POINTS_MIN: usize = 5;

/// True if the run reads a target in order, from which it follows that its rate changes with the
/// position. A rate at which something is written also falls when a cache is full.
pub(super) fn is_of_reads(record: &RunRecord) -> bool {
    let reads = record.config.workload.as_ref().is_some_and(|workload| workload.rw == Rw::Read);
    reads && !points(record).is_empty()
}

/// Places and their rates, second by second, up to the end of the target; empty for any other run.
pub fn points(record: &RunRecord) -> Vec<Point> {
    let (Some(total), Some(workload)) = (&record.total, &record.config.workload) else {
        return Vec::new();
    };
    // Bytes give a position only where one stream goes forward without gaps.
    let is_in_order = matches!(workload.rw, Rw::Read | Rw::Write)
        && (workload.streams, record.config.numjobs, workload.backwards) == (1, 1, false)
        && workload.stride.is_none();
    let capacity = record.attached.iter().flat_map(|attached| &attached.devices);
    let capacity = capacity.filter_map(|device| device.facts.get("capacity_bytes")).next_back();
    let end = match (workload.size, capacity) {
        (Some(size), _) => size.get().saturating_add(workload.offset.get()),
        (None, Some(capacity)) => capacity.to_string().parse().unwrap_or(0),
        (None, None) => 0,
    };
    let mut points = seconds(total, workload.offset.get());
    // Past its end the run begins again: what follows repeats earlier positions.
    points.retain(|point| point.offset_bytes <= end);
    if is_in_order && points.len() >= POINTS_MIN { points } else { Vec::new() }
}

/// A position and its rate for each full second, in million bytes.
fn seconds(total: &JobRecord, from: u64) -> Vec<Point> {
    let full = usize::try_from(total.elapsed_ns / 1_000_000_000).unwrap_or(usize::MAX);
    let mut at = from;
    let seconds = total.seconds.iter().take(full);
    let point = seconds.map(|second| {
        at = at.saturating_add(second.bytes);
        Point { offset_bytes: at, value: float(second.bytes) / 1e6 }
    });
    point.collect()
}
