//! The numbers that a run yields, and how workloads are called.

use drivelab_core::workload::{Pace, Rw, Workload};

/// Every metric that a study may declare as primary; those of one kind of request are there where
/// a workload makes several.
pub const NAMES: &[&str] = &[
    "iops",
    "bytes_per_s",
    "lat_mean_ns",
    "lat_p50_ns",
    "lat_p99_ns",
    "lat_p99_9_ns",
    "read_lat_mean_ns",
    "read_lat_p50_ns",
    "read_lat_p99_ns",
    "write_lat_mean_ns",
    "write_lat_p50_ns",
    "write_lat_p99_ns",
    "flush_lat_mean_ns",
    "flush_lat_p50_ns",
    "flush_lat_p99_ns",
];

/// The metrics of each group of cells of a matrix.
pub const OF_CELLS: &[&str] =
    &["bytes_per_s", "scaling", "worst_bytes_per_s", "best_bytes_per_s", "best_alone_bytes_per_s"];

/// The metric that speaks for a workload on the first screen.
pub fn headline(workload: &Workload) -> &'static str {
    if workload.rw.is_random() { "iops" } else { "bytes_per_s" }
}

/// A workload in a phrase: `random 4k reads, 32 outstanding`.
pub fn summary(workload: &Workload) -> String {
    let blocks = &workload.blocks;
    let kind = match workload.rw {
        Rw::Read => format!("sequential {blocks} reads"),
        Rw::Write => format!("sequential {blocks} writes"),
        Rw::RandRead => format!("random {blocks} reads"),
        Rw::RandWrite => format!("random {blocks} writes"),
        Rw::Trim => format!("sequential {blocks} deallocations"),
        Rw::RandTrim => format!("random {blocks} deallocations"),
        Rw::ReadWrite | Rw::RandRw => {
            let order = if workload.rw.is_random() { "random" } else { "sequential" };
            format!("{order} {blocks} reads ({}) and writes", workload.read_share)
        }
    };
    let pace = match workload.pace {
        Pace::Closed { iodepth: 1, .. } => "one at a time".into(),
        Pace::Closed { iodepth, .. } => format!("{iodepth} outstanding"),
        Pace::Fixed { per_s, .. } => format!("{per_s} a second"),
        Pace::Poisson { per_s, .. } => format!("{per_s} per second, Poisson"),
    };
    format!("{kind}, {pace}")
}
