//! Stored runs: read again, shown, and turned into metrics.

mod over_time;
mod parse;
mod steady;
mod text;

pub use parse::parse;
pub use steady::steadiness;
pub use text::text;

use drivelab_core::record::JobRecord;
use drivelab_stats::{Better, quantile_reportable};

use crate::study::MetricValue;

/// The metrics that runs are compared by. A quantile is one only where enough requests lie
/// beyond it to be more than an accident: 10,000 for p99, 100,000 for p99.9.
pub fn metrics(job: &JobRecord) -> Vec<MetricValue> {
    let lat = &job.lat_ns;
    let mut metrics = vec![
        metric("iops", job.iops, Better::More),
        metric("bytes_per_s", job.bytes_per_s, Better::More),
        metric("lat_mean_ns", nanoseconds(lat.mean), Better::Less),
        metric("lat_p50_ns", nanoseconds(lat.p50), Better::Less),
    ];
    for (name, share, value) in [("lat_p99_ns", 0.99, lat.p99), ("lat_p99_9_ns", 0.999, lat.p99_9)]
    {
        if quantile_reportable(share, lat.n) {
            metrics.push(metric(name, nanoseconds(value), Better::Less));
        }
    }
    metrics
}

fn metric(name: &str, value: f64, better: Better) -> MetricValue {
    MetricValue { name: name.to_owned(), value, better }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
fn nanoseconds(ns: u64) -> f64 {
    ns as f64
}
