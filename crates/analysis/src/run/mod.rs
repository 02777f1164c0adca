//! Stored runs: read again, and turned into metrics.

mod parse;
pub mod pass;
mod repeat;
pub mod steady;

pub use parse::{from_json, parse};
pub(crate) use repeat::command_of_block;
pub use repeat::{command, quoted, work as options};

use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::numbers::float;
use drivelab_core::record::{
    Better, Figure, JobRecord, Label, Latency, Nature, Phase, Remark, RunRecord, Work, differences,
};
use drivelab_stats::quantile_reportable;

use crate::{marks, validity};

/// A run, and when it was made where that matters and is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Dated {
    /// The measurements.
    pub record: RunRecord,
    /// The end of the run, in seconds since 1970; none in virtual time.
    pub ended_unix_s: Option<u64>,
}

/// A run that says it itself, or of which it is not known.
impl From<RunRecord> for Dated {
    fn from(record: RunRecord) -> Self {
        Self { ended_unix_s: record.ended_unix_s, record }
    }
}

/// The dates on which runs ended, as far as they are known: the first and the last.
pub fn dates(runs: &[&Dated]) -> Vec<String> {
    let known = runs.iter().filter_map(|run| run.ended_unix_s);
    let (Some(first), Some(last)) = (known.clone().min(), known.max()) else { return Vec::new() };
    let [first, last] = [first, last].map(|at| minute(at.saturating_mul(1000)));
    if first == last { vec![first] } else { vec![format!("{first} to {last}")] }
}

/// A time in milliseconds since 1970 to the minute: `2026-11-23 00:55 UTC`.
pub fn minute(time_ms: u64) -> String {
    format!("{} UTC", crate::history::minute(time_ms))
}

/// The different kinds of work that runs did, in words, each once.
pub fn kinds(runs: &[Dated]) -> Vec<String> {
    let mut kinds: Vec<(&str, String, Work)> = Vec::new();
    for Dated { record, .. } in runs {
        let (target, done) = (record.target.as_str(), Work::of(record));
        if !kinds.iter().any(|(of, _, known)| (*of, known) == (target, &done)) {
            kinds.push((target, work(record), done));
        }
    }
    let works: Vec<(&str, &Work)> =
        kinds.iter().map(|(_, words, done)| (words.as_str(), done)).collect();
    distinct(&works)
}

/// Words for kinds of work; where two have the same words, with the keys in which they differ.
pub(crate) fn distinct(works: &[(&str, &Work)]) -> Vec<String> {
    works
        .iter()
        .map(|(words, work)| {
            let same = works.iter().filter(|(other, _)| other == words);
            let differing = differences(&same.map(|(_, work)| vec![*work]).collect::<Vec<_>>());
            let keys = differing
                .iter()
                .map(|it| format!("{} {}", it.key, work.get(&it.key).unwrap_or("not stated")));
            let keys: Vec<String> = keys.collect();
            if keys.is_empty() {
                (*words).to_owned()
            } else {
                format!("{words} ({})", keys.join(", "))
            }
        })
        .collect()
}

/// The work that a run did, in words.
pub fn work(record: &RunRecord) -> String {
    let workload = record.config.workload.as_ref();
    let load = workload
        .map(|it| format!("{}, blocks of {}, depth {}", it.rw, it.blocks, it.pace.iodepth()));
    let suite = record.config.suite.as_ref().map(ToString::to_string);
    format!("{} on {}", load.or(suite).unwrap_or_default(), record.target)
}

/// The metrics that runs are compared by: those of the load, and what phases measured.
pub fn metrics(record: &RunRecord) -> Vec<Figure> {
    let load = record.total.iter().flat_map(of_load);
    load.chain(record.phases.iter().flat_map(of_phase)).collect()
}

/// Stored runs as results: all are runs of one arm.
pub fn results<'a>(arm: &str, records: impl Iterator<Item = &'a RunRecord>) -> Imported {
    let (mut runs, mut version) = (Vec::new(), None);
    for record in records {
        version.get_or_insert_with(|| record.config.drivelab.clone());
        let phases = vec![as_phase("", record)];
        let (arm, ended_unix_s) = (arm.to_owned(), record.ended_unix_s);
        let host = record.host.as_ref().map(|host| host.id.clone());
        let (work, flaws) = (Work::of(record), validity::flaws(record));
        let run = ImportedRun { arm, ended_unix_s, host, work, phases, ..ImportedRun::default() };
        runs.push(ImportedRun { flaws, ..run });
    }
    let tool = "drivelab".to_owned();
    Imported { tool, tool_version: version.unwrap_or_default(), runs, ..Imported::default() }
}

/// The jobs of a job file as one run, each job's metrics called `JOB.METRIC`.
pub fn jobs_results(arm: &str, records: &[RunRecord]) -> Imported {
    let phases = records.iter().map(|record| as_phase(record_name(record), record)).collect();
    let mut hosts = records.iter().filter_map(|record| record.host.as_ref());
    let host = hosts.next().map(|host| host.id.clone());
    let mut work = Work::default();
    for record in records {
        work.add(&format!("{}.", record_name(record)), &Work::of(record));
    }
    let flaws = records.iter().flat_map(validity::flaws).collect();
    let (arm_name, default) = (arm.to_owned(), ImportedRun::default());
    let run = ImportedRun { arm: arm_name, host, work, phases, flaws, ..default };
    // Tool and version are those of the first record.
    Imported { runs: vec![run], ..results(arm, records.iter().take(1)) }
}

/// The label of a run, else its target.
pub fn record_name(record: &RunRecord) -> &str {
    record.label.as_deref().unwrap_or(&record.target)
}

/// All metrics of a run as figures of a phase.
fn as_phase(name: &str, record: &RunRecord) -> Phase {
    let (name, nature, remarks) = (name.to_owned(), Nature::Disk, Vec::new());
    let figures = metrics(record).into_iter().map(|figure| {
        let unit = figure.unit().to_owned();
        let nature = figure.nature.and_then(measured);
        let said = marks::remarks(record).chain(nature).chain(figure.remarks.clone());
        let remarks = said.collect();
        Figure { unit, remarks, ..figure }
    });
    let (figures, points) = (figures.collect(), Vec::new());
    Phase { name, nature, figures, lat_ns: None, points, remarks }
}

/// A remark on a figure that does not measure the disk.
fn measured(nature: Nature) -> Option<Remark> {
    let why = match nature {
        Nature::Disk => return None,
        Nature::DriveCache => "the cache of the drive answered",
        Nature::PageCache => "the memory of the host answered",
        Nature::JournalSync => "it measures how the file system writes its journal and flushes it",
        Nature::Cpu => "it measures the processor",
        Nature::Network => "it measures a network",
    };
    Some(Remark::new(Label::Nature(nature), why))
}

/// The metrics of a run of another tool.
pub fn figures_of(run: &ImportedRun) -> Vec<Figure> {
    run.phases.iter().flat_map(of_phase).collect()
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
pub fn of_load(job: &JobRecord) -> Vec<Figure> {
    let lat = &job.lat_ns;
    let mut metrics = vec![
        Figure::new("iops", job.iops, Better::More),
        Figure::new("bytes_per_s", job.bytes_per_s, Better::More),
    ];
    metrics.extend(latencies("", lat));
    if quantile_reportable(0.999, lat.n) {
        metrics.push(Figure::new("lat_p99_9_ns", float(lat.p99_9), Better::Less));
    }
    // A single kind has the figures of all requests.
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
