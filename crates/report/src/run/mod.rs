//! Stored runs: read again, shown, and turned into metrics.

pub(crate) mod over_time;
mod parse;
mod steady;
mod text;

pub use over_time::spark;
pub use parse::parse;
pub use steady::steadiness;
pub use text::text;

use drivelab_core::record::{Better, Figure, JobRecord, Latency, Phase, RunRecord};
use drivelab_stats::quantile_reportable;

/// The metrics that runs are compared by: those of the load, and what phases measured.
pub fn metrics(record: &RunRecord) -> Vec<Figure> {
    let load = record.total.iter().flat_map(of_load);
    load.chain(record.phases.iter().flat_map(of_phase)).collect()
}

/// The metrics of one part of a benchmark; what only describes is none.
pub(crate) fn of_phase(phase: &Phase) -> Vec<Figure> {
    let lat = phase.lat_ns.iter().flat_map(|lat| latencies("", lat)).map(|figure| Figure {
        name: phase.metric(&figure.name),
        nature: Some(phase.nature),
        remarks: phase.remarks.clone(),
        ..figure
    });
    phase.metrics().chain(lat).filter(|figure| figure.better != Better::Neither).collect()
}

/// The metrics of a load. A quantile is one only where enough requests lie beyond it to be more
/// than an accident: 10,000 for p99, 100,000 for p99.9. Where there were requests of several kinds
/// each kind's latencies are metrics too, `read_lat_p99_ns`.
fn of_load(job: &JobRecord) -> Vec<Figure> {
    let lat = &job.lat_ns;
    let mut metrics = vec![
        Figure::new("iops", job.iops, Better::More),
        Figure::new("bytes_per_s", job.bytes_per_s, Better::More),
    ];
    metrics.extend(latencies("", lat));
    if quantile_reportable(0.999, lat.n) {
        metrics.push(Figure::new("lat_p99_9_ns", float(lat.p99_9), Better::Less));
    }
    if job.kinds().count() > 1 {
        for (prefix, kind) in [("read_", &job.read), ("write_", &job.write), ("flush_", &job.flush)]
        {
            metrics.extend(kind.iter().flat_map(|kind| latencies(prefix, &kind.lat_ns)));
        }
    }
    metrics
}

fn latencies(prefix: &str, lat: &Latency) -> Vec<Figure> {
    let reportable = quantile_reportable(0.99, lat.n);
    let figures = [("mean", lat.mean), ("p50", lat.p50), ("p99", lat.p99)];
    let figures = figures.into_iter().filter(|(which, _)| *which != "p99" || reportable);
    let figure =
        |(which, ns)| Figure::new(format!("{prefix}lat_{which}_ns"), float(ns), Better::Less);
    figures.map(figure).collect()
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days, and requests are fewer")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use drivelab_core::Op;
    use drivelab_core::record::Tally;
    use drivelab_core::units::Span;

    use super::*;

    #[test]
    fn kinds_are_compared_apart_where_there_are_several() {
        let mut tally = Tally { elapsed: Span::from_secs(1), ..Tally::default() };
        let mut count = |op, us, times| {
            tally.of_mut(op).ios = times;
            tally.of_mut(op).lat.record_times(Span::from_us(us), times);
            of_load(&tally.record())
        };
        let alone = count(Op::Read, 100, 20_000);
        assert!(alone.iter().all(|metric| !metric.name.starts_with("read")), "{alone:?}");
        let both = count(Op::Write, 900, 500);
        let value = |name: &str| both.iter().find(|metric| metric.name == name).map(|it| it.value);
        assert_eq!(value("read_lat_mean_ns"), Some(1e5));
        assert_eq!(value("write_lat_mean_ns"), Some(9e5));
        assert!(value("read_lat_p99_ns").is_some() && value("write_lat_p99_ns").is_none());
        assert!(value("flush_lat_mean_ns").is_none());
    }
}
