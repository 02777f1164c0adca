//! fio's JSON: its keys, their order and its notation, which scripts that are no parsers rely on.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::ser::{Formatter, PrettyFormatter};

use super::figures::{Kind, Samples, Times};
use super::ranges::{BELOW_THOUSAND, MILLISECONDS};
use super::{Disk, Job, Results};

/// The document; `plus` adds every bucket of the latencies.
pub fn json(results: &Results, plus: bool) -> String {
    let document = Document {
        version: Results::version(),
        timestamp: results.unix_ms / 1000,
        timestamp_ms: results.unix_ms,
        time: super::normal::date(results.unix_ms),
        global: Some(Pairs(&results.global)).filter(|pairs| !pairs.0.is_empty()),
        jobs: results.jobs.iter().map(|job| entry(job, plus)).collect(),
        disk_util: &results.disks,
    };
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Notation::default());
    document.serialize(&mut serializer).expect("plain data is always JSON");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "fio version")]
    version: String,
    timestamp: u64,
    timestamp_ms: u64,
    time: String,
    #[serde(rename = "global options", skip_serializing_if = "Option::is_none")]
    global: Option<Pairs<'a>>,
    jobs: Vec<Entry<'a>>,
    disk_util: &'a [Disk],
}

#[derive(Serialize)]
struct Entry<'a> {
    jobname: &'a str,
    groupid: u32,
    error: u32,
    eta: u64,
    elapsed: u64,
    #[serde(rename = "job options")]
    options: Pairs<'a>,
    read: OfKind<'a>,
    write: OfKind<'a>,
    trim: OfKind<'a>,
    sync: Sync<'a>,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    iodepth_level: Shares<7>,
    iodepth_submit: Shares<7>,
    iodepth_complete: Shares<7>,
    latency_ns: Latencies<'a>,
    latency_us: Latencies<'a>,
    latency_ms: Latencies<'a>,
    latency_depth: u32,
    latency_target: u64,
    latency_percentile: f64,
    latency_window: u64,
}

fn entry(job: &Job, plus: bool) -> Entry<'_> {
    let [read, write, trim, flush] = &job.kinds;
    // One request is submitted, and one completion seen, at a time, or up to four.
    let any = if job.kinds.iter().any(|kind| kind.ios > 0) { 100.0 } else { 0.0 };
    let [usr_cpu, sys_cpu] = job.cpu_percent();
    let (latency_target, latency_percentile, latency_window) = job.latency();
    let calls = [0.0, any, 0.0, 0.0, 0.0, 0.0, 0.0];
    Entry {
        jobname: &job.name,
        groupid: job.group,
        error: job.error(),
        eta: 0,
        elapsed: job.elapsed.ns().div_ceil(1_000_000_000),
        options: Pairs(&job.options),
        read: OfKind::of(read, job, plus),
        write: OfKind::of(write, job, plus),
        trim: OfKind::of(trim, job, plus),
        sync: Sync { total_ios: flush.ios, lat_ns: Latency::new(&flush.clat, Detail::Percentiles) },
        job_runtime: super::figures::milliseconds(job.elapsed),
        usr_cpu,
        sys_cpu,
        ctx: job.usage.switches,
        majf: job.usage.faults_major,
        minf: job.usage.faults_minor,
        iodepth_level: Shares(["1", "2", "4", "8", "16", "32", ">=64"], job.depth_shares()),
        iodepth_submit: Shares(["0", "4", "8", "16", "32", "64", ">=64"], calls),
        iodepth_complete: Shares(["0", "4", "8", "16", "32", "64", ">=64"], calls),
        latency_ns: Latencies(&BELOW_THOUSAND, &job.ranges.ns),
        latency_us: Latencies(&BELOW_THOUSAND, &job.ranges.us),
        latency_ms: Latencies(&MILLISECONDS, &job.ranges.ms),
        latency_depth: job.iodepth,
        latency_target,
        latency_percentile,
        latency_window,
    }
}

#[derive(Serialize)]
struct OfKind<'a> {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: Latency<'static>,
    clat_ns: Latency<'a>,
    lat_ns: Latency<'a>,
    bw_min: u64,
    bw_max: u64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

/// Submission is not timed by itself.
static NO_TIMES: Times = Times {
    n: 0,
    min: 0,
    max: 0,
    mean: 0,
    stddev: Some(0.0),
    percentiles: Vec::new(),
    bins: Vec::new(),
};

impl<'a> OfKind<'a> {
    fn of(kind: &'a Kind, job: &'a Job, plus: bool) -> Self {
        let detail = if plus { Detail::Bins } else { Detail::Percentiles };
        let seconds = if kind.ios > 0 { &job.seconds[..] } else { &[] };
        let bandwidth = Samples::of(seconds.iter().map(|second| second.bytes >> 10));
        let iops = Samples::of(seconds.iter().map(|second| second.ios));
        Self {
            io_bytes: kind.bytes,
            io_kbytes: kind.bytes >> 10,
            bw_bytes: kind.bytes_per_s,
            bw: kind.bytes_per_s >> 10,
            iops: kind.iops,
            runtime: kind.runtime_ms,
            total_ios: kind.ios,
            short_ios: 0,
            drop_ios: 0,
            slat_ns: Latency::new(&NO_TIMES, Detail::None),
            clat_ns: Latency::new(&kind.clat, detail),
            lat_ns: Latency::new(&kind.lat, Detail::None),
            bw_min: bandwidth.min,
            bw_max: bandwidth.max,
            bw_agg: if bandwidth.n > 0 { 100.0 } else { 0.0 },
            bw_mean: bandwidth.mean,
            bw_dev: bandwidth.stddev,
            bw_samples: bandwidth.n,
            iops_min: iops.min,
            iops_max: iops.max,
            iops_mean: iops.mean,
            iops_stddev: iops.stddev,
            iops_samples: iops.n,
        }
    }
}

#[derive(Serialize)]
struct Sync<'a> {
    total_ios: u64,
    lat_ns: Latency<'a>,
}

/// Parts of a distribution that are written besides its extremes and its mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    None,
    Percentiles,
    Bins,
}

struct Latency<'a> {
    times: &'a Times,
    detail: Detail,
}

impl<'a> Latency<'a> {
    fn new(times: &'a Times, detail: Detail) -> Self {
        Self { times, detail }
    }
}

impl Serialize for Latency<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Times { n, min, max, mean, stddev, percentiles, bins } = self.times;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("min", min)?;
        map.serialize_entry("max", max)?;
        map.serialize_entry("mean", &super::figures::ratio(*mean, 1))?;
        if let Some(stddev) = stddev {
            map.serialize_entry("stddev", stddev)?;
        }
        map.serialize_entry("N", n)?;
        if self.detail != Detail::None && *n > 0 {
            map.serialize_entry("percentile", &Percentiles(percentiles))?;
            if self.detail == Detail::Bins {
                map.serialize_entry("bins", &Bins(bins))?;
            }
        }
        map.end()
    }
}

struct Percentiles<'a>(&'a [(f64, u64)]);

impl Serialize for Percentiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(percent, ns)| (format!("{percent:.6}"), ns)))
    }
}

struct Bins<'a>(&'a [(u64, u64)]);

impl Serialize for Bins<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(ns, count)| (ns.to_string(), count)))
    }
}

/// Options as written.
struct Pairs<'a>(&'a [(String, String)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The last of several holds; a key stands once in JSON.
        let last: BTreeMap<&str, usize> =
            self.0.iter().enumerate().map(|(index, (key, _))| (key.as_str(), index)).collect();
        // As in fio, a flag without a value is omitted.
        let pairs = self
            .0
            .iter()
            .enumerate()
            .filter(|(index, (key, value))| !value.is_empty() && last[&**key] == *index);
        serializer.collect_map(pairs.map(|(_, (key, value))| (key, value)))
    }
}

struct Shares<const N: usize>([&'static str; N], [f64; N]);

impl<const N: usize> Serialize for Shares<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().zip(&self.1))
    }
}

/// Ends of ranges and the share in each; a share without an end is behind the last.
struct Latencies<'a>(&'a [u64], &'a [f64]);

impl Serialize for Latencies<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut ends: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        ends.extend(self.0.last().map(|last| format!(">={last}")));
        serializer.collect_map(ends.iter().zip(self.1))
    }
}

/// `"key" : value`, two blanks for each level and six decimals.
#[derive(Default)]
struct Notation(PrettyFormatter<'static>);

impl Formatter for Notation {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value:.6}")
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" : ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
