//! The numbers that a run yields, and the names of workloads.

use drivelab_core::matrix::Matrix;
use drivelab_core::workload::{Pace, Rw, Workload};

/// Every metric that a study may declare as primary; those of one kind of request exist where a
/// workload makes several kinds.
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
const OF_CELLS: &[&str] =
    &["bytes_per_s", "scaling", "worst_bytes_per_s", "best_bytes_per_s", "best_alone_bytes_per_s"];
/// The metrics that compare a drive alone with all at once.
const OF_SEVERAL: &[&str] = &["scaling", "best_alone_bytes_per_s"];

/// The metrics of each group of cells of `matrix`.
pub fn of_cells(matrix: &Matrix) -> impl Iterator<Item = &'static str> + use<> {
    let several = matrix.has_all();
    OF_CELLS.iter().copied().filter(move |name| several || !OF_SEVERAL.contains(name))
}

/// `WORKLOAD.METRIC`, split behind the longest of `workloads` that it begins with: both may hold
/// dots (`bonnie.seeks.per_s`).
pub fn split<'a>(text: &'a str, workloads: &[String]) -> Option<(&'a str, &'a str)> {
    // The shortest rest is the longest name: `a.b` is preferred to `a` for `a.b.iops`.
    let metric = workloads
        .iter()
        .filter_map(|workload| text.strip_prefix(workload.as_str())?.strip_prefix('.'))
        .min_by_key(|metric| metric.len())?;
    Some((&text[..text.len() - metric.len() - 1], metric))
}

/// The metric of a workload that is shown first.
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
        Rw::TrimWrite => format!("sequential {blocks} deallocations, each written after it"),
        Rw::RandTrimWrite => format!("random {blocks} deallocations, each written after it"),
        Rw::ReadWrite | Rw::RandRw => {
            let order = if workload.rw.is_random() { "random" } else { "sequential" };
            format!("{order} {blocks} reads ({}) and writes", workload.read_share)
        }
    };
    let pace = match workload.pace {
        Pace::Closed { iodepth: 1, .. } => "one at a time".into(),
        Pace::Closed { iodepth, .. } => format!("{iodepth} outstanding"),
        Pace::Fixed { per_s, .. } => format!("{per_s} a second"),
        Pace::Slow { rate, .. } => format!("{rate} bytes per second"),
        Pace::Poisson { per_s, .. } => format!("{per_s} per second, Poisson"),
    };
    format!("{kind}, {pace}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_workload_is_the_one_that_is_meant() {
        let workloads = ["read", "read.fast", "bonnie"].map(str::to_owned);
        let check = |text, expected| assert_eq!(split(text, &workloads), expected, "{text}");
        check("read.iops", Some(("read", "iops")));
        check("read.fast.iops", Some(("read.fast", "iops")));
        check("bonnie.seeks.per_s", Some(("bonnie", "seeks.per_s")));
        check("write.iops", None);
        check("reader.iops", None);
    }
}
