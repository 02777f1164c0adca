//! Results as fio writes them: JSON, JSON+, text and terse lines, for programs that read those.

mod figures;
mod json;
mod log;
mod metrics;
mod normal;
mod number;
mod ranges;
mod terse;

pub use figures::{Kind, Times};
pub use json::json;
pub use log::log;
pub use metrics::openmetrics;
pub use normal::normal;
pub use terse::{TerseVersion, terse};

use drivelab_core::histogram::{Histogram, Second};
use drivelab_core::record::{RunRecord, Tally, Usage};
use drivelab_core::request::Op;
use drivelab_core::units::Span;
use drivelab_core::workload::LatencyGoal;

use self::ranges::Ranges;

/// The version of fio whose keys and order of fields are written.
const FIO: &str = "fio-3.33";

/// The results of one call.
#[derive(Debug)]
pub struct Results {
    /// The time at which they were complete, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Options of all jobs, as written.
    pub global: Vec<(String, String)>,
    /// One entry for each job, or for each group that is reported together.
    pub jobs: Vec<Job>,
    /// The disks under the targets.
    pub disks: Vec<Disk>,
}

impl Results {
    /// The version in every form, in the notation of builds between two versions of fio.
    pub fn version() -> String {
        format!("{FIO}-drivelab-{}", crate::VERSION)
    }
}

/// A job, or a group that is reported together.
#[derive(Debug)]
pub struct Job {
    /// Its name; that of a group's first job.
    pub name: String,
    /// The number of its group.
    pub group: u32,
    /// Jobs that are reported together.
    pub jobs: u32,
    /// Its options, as written.
    pub options: Vec<(String, String)>,
    /// Reads, writes, trims and flushes.
    pub kinds: [Kind; 4],
    /// The measured time.
    pub elapsed: Span,
    /// Requests that failed.
    pub errors: u64,
    /// Use of the processor and of memory. Of a kept run only the processor time is known, of
    /// program and system together, which count as the system's.
    pub usage: Usage,
    /// Mean number of requests outstanding.
    pub depth_mean: f64,
    /// Requests that may be outstanding.
    pub iodepth: u32,
    /// The target for latencies that this depth met.
    pub latency: Option<LatencyGoal>,
    /// Latencies of all data requests by range.
    ranges: Ranges,
    /// Second by second, where all data requests are of one kind.
    seconds: Vec<Second>,
}

/// Name and description of a job.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Its name.
    pub name: String,
    /// The number of its group.
    pub group: u32,
    /// Jobs that are reported together.
    pub jobs: u32,
    /// Its options, as written.
    pub options: Vec<(String, String)>,
    /// Requests that may be outstanding.
    pub iodepth: u32,
    /// The target for latencies that this depth met.
    pub latency: Option<LatencyGoal>,
    /// The percentiles that are reported; the usual ones if there are none.
    pub percentiles: Vec<f64>,
}

/// Activity of a disk during the run.
#[derive(Debug, Clone, Default, serde::Serialize)]
#[expect(missing_docs, reason = "fio's names")]
pub struct Disk {
    pub name: String,
    pub read_ios: u64,
    pub write_ios: u64,
    pub read_merges: u64,
    pub write_merges: u64,
    pub read_ticks: u64,
    pub write_ticks: u64,
    pub in_queue: u64,
    pub util: f64,
}

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

impl Job {
    /// The entry of a job that was counted.
    pub fn of(about: About, tally: &Tally) -> Self {
        let percentiles = figures::asked(&about.percentiles);
        let kinds = OPS.map(|op| Kind::of(tally.of(op), tally.elapsed, &percentiles));
        let lat = tally.lat();
        let common = Common {
            elapsed: tally.elapsed,
            errors: tally.errors,
            usage: tally.usage.unwrap_or_default(),
            depth_mean: tally.queue_depth_mean().unwrap_or(0.0),
            seconds: &tally.seconds,
        };
        Self::with(about, kinds, &lat, common)
    }

    /// The entry of a kept run; absent for a benchmark that is no load.
    ///
    /// A record has the distribution of all data requests together: where there are several kinds,
    /// each has only the percentiles that the record quotes.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let total = record.total.as_ref()?;
        let workload = record.config.workload.as_ref();
        let about = About {
            name: record.label.clone().unwrap_or_else(|| "drivelab".to_owned()),
            jobs: record.config.numjobs.max(1),
            options: Vec::new(),
            iodepth: workload.map_or(1, |workload| workload.pace.iodepth()),
            latency: record.config.conduct.latency,
            ..About::default()
        };
        let kinds = [&total.read, &total.write, &total.trim, &total.flush];
        let is_one = kinds[..3].iter().filter(|kind| kind.is_some()).count() == 1;
        let lat = &total.lat_histogram;
        let kinds: Vec<Kind> = kinds
            .into_iter()
            .enumerate()
            .map(|(index, kind)| match kind {
                None => Kind::default(),
                Some(kind) => {
                    Kind::of_record(kind, total.elapsed_ns, (is_one && index < 3).then_some(lat))
                }
            })
            .collect();
        let cpu = total.cpu_ns_per_io.map(|per_io| figures::whole_ns(per_io, total.ios));
        let common = Common {
            elapsed: Span::from_ns(total.elapsed_ns),
            errors: total.errors,
            usage: Usage { system: cpu.unwrap_or_default(), ..Usage::default() },
            depth_mean: total.queue_depth_mean.unwrap_or(0.0),
            seconds: &total.seconds,
        };
        let kinds = kinds.try_into().expect("four kinds");
        Some(Self::with(about, kinds, lat, common))
    }

    fn with(about: About, kinds: [Kind; 4], lat: &Histogram, common: Common<'_>) -> Self {
        let About { name, group, jobs, options, iodepth, latency, .. } = about;
        let Common { elapsed, errors, usage, depth_mean, seconds } = common;
        let is_one_kind = kinds[..3].iter().filter(|kind| kind.ios > 0).count() == 1;
        // The last second is not whole.
        let whole = usize::try_from(elapsed.ns() / 1_000_000_000).unwrap_or(usize::MAX);
        let seconds = if is_one_kind { &seconds[..whole.min(seconds.len())] } else { &[] };
        let seconds = seconds.to_vec();
        let ranges = Ranges::of(lat);
        Self {
            name,
            group,
            jobs,
            options,
            kinds,
            elapsed,
            errors,
            usage,
            depth_mean,
            iodepth,
            latency,
            ranges,
            seconds,
        }
    }

    /// The target for latencies in nanoseconds, the percentage that must meet it, and the window in
    /// microseconds, as in fio.
    fn latency(&self) -> (u64, f64, u64) {
        let Some(LatencyGoal { target, window, share, .. }) = self.latency else {
            return (0, 100.0, 0);
        };
        (target.ns(), 100.0 * share.to_f64(), window.ns() / 1000)
    }

    /// Processor time in the program and in the system, as percentages of the measured time of the
    /// jobs, as in fio.
    fn cpu_percent(&self) -> [f64; 2] {
        // Jobs that are reported together have that many threads' time.
        let elapsed = self.elapsed.ns().saturating_mul(u64::from(self.jobs.max(1)));
        [self.usage.user, self.usage.system].map(|used| 100.0 * figures::ratio(used.ns(), elapsed))
    }

    /// fio's error number: an I/O error.
    fn error(&self) -> u32 {
        if self.errors > 0 { 5 } else { 0 }
    }

    /// Shares of requests issued at a depth, of which only the mean is known: all at that.
    fn depth_shares(&self) -> [f64; 7] {
        let mut shares = [0.0; 7];
        if self.kinds.iter().any(|kind| kind.ios > 0) {
            let level = (0..6).rev().find(|level| self.depth_mean >= f64::from(1_u32 << level));
            let level = if self.depth_mean >= 64.0 { 6 } else { level.unwrap_or(0) };
            shares[level] = 100.0;
        }
        shares
    }
}

/// Figures of entries of every origin.
#[derive(Clone, Copy)]
struct Common<'a> {
    elapsed: Span,
    errors: u64,
    usage: Usage,
    depth_mean: f64,
    seconds: &'a [Second],
}

#[cfg(test)]
mod tests;
