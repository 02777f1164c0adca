//! The figures of the jobs of one section of a call.

use drivelab_core::csv::quote;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark};

use super::output::{Job, Latency, Output, Side};
use super::settings::Settings;
use crate::found::Found;
use crate::quantity::PERCENTILES;

/// A job and its copies (`numjobs`) during reading.
pub(super) struct Section<'a> {
    /// Empty if the call has no other.
    name: &'a str,
    jobs: &'a [&'a Job],
    settings: Vec<Settings<'a>>,
    figures: Vec<Figure>,
    line: usize,
    found: &'a mut Found,
}

impl<'a> Section<'a> {
    pub(super) fn new(
        name: &'a str,
        (jobs, output): (&'a [&'a Job], &'a Output),
        (line, found): (usize, &'a mut Found),
    ) -> Self {
        debug_assert!(!jobs.is_empty(), "a section begins with a job");
        let settings = jobs.iter().map(|job| Settings { job, output }).collect();
        Self { name, jobs, settings, figures: Vec::new(), line, found }
    }

    /// The requests, and the syncs that followed them.
    pub(super) fn phases(mut self) -> Vec<Phase> {
        self.read();
        self.doubt_rates();
        self.doubt_latencies();
        let figures = std::mem::take(&mut self.figures);
        let requests = self.phase(self.nature(), figures, self.remarks());
        self.syncs();
        let why = "the time of the `fsync` or `fdatasync` after the writes, which no other latency \
                   of fio includes";
        let remarks = vec![Remark::new(Label::Nature(Nature::JournalSync), why)];
        let syncs = std::mem::take(&mut self.figures);
        let syncs = self.phase(Nature::JournalSync, syncs, remarks);
        [requests, syncs].into_iter().filter(|phase| !phase.figures.is_empty()).collect()
    }

    fn phase(&self, nature: Nature, figures: Vec<Figure>, remarks: Vec<Remark>) -> Phase {
        let (name, points) = (self.name.to_owned(), Vec::new());
        Phase { name, nature, figures, lat_ns: None, points, remarks }
    }

    fn is_null(&self) -> bool {
        self.settings.iter().any(|it| it.is_null())
    }

    fn is_buffered(&self) -> bool {
        self.settings.iter().any(|it| it.is_buffered())
    }

    /// The nature of the figures.
    fn nature(&self) -> Nature {
        if self.is_null() {
            Nature::Cpu
        } else if self.is_buffered() {
            Nature::PageCache
        } else {
            Nature::Disk
        }
    }

    /// The remarks on every figure.
    fn remarks(&self) -> Vec<Remark> {
        if self.is_null() {
            return vec![Remark::new(Label::NotDisk, "`ioengine=null` does no I/O")];
        }
        let is_cached = self.settings.iter().any(|it| it.is_buffered() && !it.waits_for_disk());
        let why = "the job ran without `direct=1`: the page cache may have answered";
        let remark = Remark::new(Label::Nature(Nature::PageCache), why);
        is_cached.then_some(remark).into_iter().collect()
    }

    /// Labels rates that are a setting of the job.
    fn doubt_rates(&mut self) {
        let Some(option) = self.settings.iter().find_map(|it| it.rate()) else { return };
        let why = format!("the job sets its rate (`{option}`): its latency is the result");
        for figure in self.figures.iter_mut().filter(|it| it.better == Better::More) {
            figure.remarks.push(Remark::new(Label::SetRate, why.clone()));
        }
    }

    /// Labels latencies of writes that end in memory, although the rate waits for the disk.
    fn doubt_latencies(&mut self) {
        let is_cached = self.settings.iter().any(|it| it.is_buffered() && !it.opens_synced());
        // Where the page cache may have answered everything, that is said of everything.
        if !is_cached || self.is_null() || !self.remarks().is_empty() {
            return;
        }
        let why = "a buffered write ends in memory: the wait for the disk is in `sync`";
        for figure in self.figures.iter_mut().filter(|it| it.better == Better::Less) {
            figure.nature = Some(Nature::PageCache);
            figure.remarks.push(Remark::new(Label::Nature(Nature::PageCache), why));
        }
    }

    /// The times of `fsync` and its kind.
    fn syncs(&mut self) {
        let sides: Vec<&Side> = self.jobs.iter().map(|job| &job.sync).collect();
        let busy: Vec<&Side> = sides.into_iter().filter(|it| it.lat_ns.count > 0.0).collect();
        if !busy.is_empty() {
            let name = self.jobs[0].jobname.clone();
            self.latencies("sync_", &busy, &name);
        }
    }

    fn read(&mut self) {
        let jobs = self.jobs;
        let name = &jobs[0].jobname;
        let kinds = [
            ("read_", busy_sides(jobs, |job| &job.read)),
            ("write_", busy_sides(jobs, |job| &job.write)),
            ("trim_", busy_sides(jobs, |job| &job.trim)),
        ];
        let mixed = busy_sides(jobs, |job| &job.mixed);
        let kinds: Vec<_> = kinds.into_iter().filter(|(_, sides)| !sides.is_empty()).collect();
        let apart: Vec<&Side> = kinds.iter().flat_map(|(_, sides)| sides).copied().collect();
        // fio prints the mixture in addition to its parts, or alone (`unified_rw_reporting`).
        let all = if apart.is_empty() { &mixed } else { &apart };
        if all.is_empty() {
            self.unknown(name, "made no requests");
            return;
        }
        self.rates("", all);
        let alone = kinds.len() < 2;
        if alone {
            self.latencies("", all, name);
        }
        for (kind, sides) in kinds.iter().filter(|_| !alone) {
            self.rates(kind, sides);
            self.latencies(kind, sides, name);
        }
    }

    /// Copies of a job run together, as do reads and writes: their rates add up.
    fn rates(&mut self, kind: &str, sides: &[&Side]) {
        let iops = sides.iter().map(|side| side.iops).sum();
        self.figure(&format!("{kind}iops"), iops, Better::More, false);
        let bytes = sides.iter().map(|side| side.bytes_per_s).sum();
        self.figure(&format!("{kind}bytes_per_s"), bytes, Better::More, false);
    }

    fn latencies(&mut self, kind: &str, sides: &[&Side], name: &str) {
        self.figure(
            &format!("{kind}lat_mean_ns"),
            mean_latency(sides.iter().map(|side| &side.lat_ns)),
            Better::Less,
            false,
        );
        let clat = mean_latency(sides.iter().map(|side| &side.clat_ns));
        self.figure(&format!("{kind}clat_mean_ns"), clat, Better::Less, true);
        let responses: Vec<&Latency> = sides.iter().map(|side| &side.lat_ns).collect();
        let completions: Vec<&Latency> = sides.iter().map(|side| &side.clat_ns).collect();
        // Percentiles of two kinds cannot be combined: `lat` counts if every job has it.
        let in_all = responses.iter().all(|latency| latency.percentile.is_measured);
        let (which, latencies) = if in_all { ("lat", responses) } else { ("clat", completions) };
        let count: f64 = latencies.iter().map(|latency| latency.count).sum();
        for (index, (quantile, share, needed)) in PERCENTILES.into_iter().enumerate() {
            let value = match latencies[..] {
                [latency] => latency.percentile.listed[index],
                _ => Latency::combined(&latencies, share),
            };
            let Some(value) = value else {
                if latencies.len() > 1 {
                    let why = "percentiles of several jobs cannot be combined: add \
                               `group_reporting`, or use `--output-format=json+`";
                    return self.unknown(name, why);
                }
                continue;
            };
            if count >= needed {
                let metric = format!("{kind}{which}_{quantile}_ns");
                self.figure(&metric, value, Better::Less, false);
            } else {
                let quantile = quantile.replace('_', ".");
                let few = format!("fewer than {needed} requests, too few for {quantile}");
                self.unknown(name, &few);
            }
        }
    }

    fn unknown(&mut self, name: &str, why: &str) {
        self.found.unread(self.line, &format!("job {}: {why}", quote(name)));
    }

    /// Adds a figure; fio writes 0 for values that it did not measure (`gtod_reduce`,
    /// `disable_lat`).
    fn figure(&mut self, metric: &str, value: f64, better: Better, is_detail: bool) {
        // Zero means "not measured" throughout fio's JSON.
        if !(value.is_finite() && value > 0.0) {
            return;
        }
        let dot = if self.name.is_empty() { "" } else { "." };
        let name = format!("{}{dot}{metric}", self.name);
        self.figures.push(Figure { is_detail, ..Figure::new(name, value, better) });
    }
}

/// One side of each job, if it made requests.
fn busy_sides<'a>(jobs: &[&'a Job], side: fn(&Job) -> &Side) -> Vec<&'a Side> {
    jobs.iter().map(|job| side(job)).filter(|side| side.requests > 0).collect()
}

/// The mean over all requests, weighted by their numbers.
fn mean_latency<'a>(latencies: impl Iterator<Item = &'a Latency> + Clone) -> f64 {
    let sum: f64 = latencies.clone().map(|latency| latency.mean * latency.count).sum();
    sum / latencies.map(|latency| latency.count).sum::<f64>()
}
