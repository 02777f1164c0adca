//! One call of fio, from its text or its terse lines.

use std::collections::BTreeMap;

use drivelab_core::csv::quote;
use drivelab_core::foreign::ImportedRun;
use drivelab_core::record::{Better, Figure, Flaw, Label, Nature, Phase, Remark, Work};

use crate::fio::sections::by_section;
use crate::found::{Found, detail, figure};
use crate::quantity::PERCENTILES;

/// Maximum number of jobs of a call: fio runs 4096 on a machine.
const JOBS_MAX: usize = 1 << 13;

/// Seconds within which a call prints the reports of all its jobs.
const PRINTED_WITHIN_S: u32 = 60;

/// The directions as fio prints them; `mixed` is all together (`unified_rw_reporting`).
pub(super) const KINDS: [&str; 4] = ["read", "write", "trim", "mixed"];

/// The labels of the percentiles of [`quantity::PERCENTILES`]: in a line of percentiles, and in a
/// terse line.
///
/// [`quantity::PERCENTILES`]: crate::quantity::PERCENTILES
pub(super) const LABELS: [(&str, &str); PERCENTILES.len()] =
    [("50.00th=", "50.000000%"), ("99.00th=", "99.000000%"), ("99.90th=", "99.900000%")];

/// Engines that use the page cache unless `direct=1` is given.
const CACHED: [&str; 8] =
    ["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring"];

/// Times of one kind; 0 for a mean that was not measured.
#[derive(Debug, Default, Clone)]
pub(super) struct Latency {
    pub(super) mean_ns: f64,
    pub(super) percentiles: [Option<f64>; PERCENTILES.len()],
    /// The requests behind it.
    pub(super) count: f64,
}

/// The requests of one direction.
#[derive(Debug, Default, Clone)]
pub(super) struct Side {
    pub(super) iops: f64,
    pub(super) bytes_per_s: f64,
    pub(super) count: f64,
    pub(super) lat: Latency,
    pub(super) clat: Latency,
    /// `67.4k` instead of all digits.
    pub(super) is_rounded: bool,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Job {
    pub(super) name: String,
    /// The group of jobs that it ran with.
    pub(super) group: String,
    /// Group and process: a second report of both is one of the same job.
    pub(super) key: String,
    /// The day and the second of it in which the report was printed.
    pub(super) printed: Option<(String, u32)>,
    pub(super) error: Option<i64>,
    /// Requests that failed, with `continue_on_error`.
    pub(super) failed: u64,
    pub(super) sides: [Side; 4],
    /// The waits for `fsync`, `fdatasync` or `sync_file_range`.
    pub(super) sync: Latency,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Call {
    pub(super) line: usize,
    /// The work of each job, by its name and group.
    definitions: BTreeMap<(String, String), Work>,
    /// Requests bypass the page cache, if the text states it.
    pub(super) direct: Option<bool>,
    /// Writes wait for the disk: each in its own time (`sync`), or in a call that follows.
    opens_synced: bool,
    calls_sync: bool,
    /// The option that sets the rate, as given.
    rate: Option<String>,
    /// A command line above the report defines the jobs: an option that it lacks has its default.
    pub(super) is_commanded: bool,
    pub(super) jobs: Vec<Job>,
    /// The summary of a group was printed: reports of other jobs are of another call.
    pub(super) is_reported: bool,
    /// Index of the job whose report is being read; the number of jobs for one that is not kept.
    current: usize,
    /// Jobs by name and key, with their index.
    known: BTreeMap<(String, String), usize>,
}

impl Call {
    pub(super) fn define_job(&mut self, name: &str, group: &str, work: Work) {
        if self.definitions.len() < JOBS_MAX {
            self.definitions.insert((name.to_owned(), group.to_owned()), work);
        }
    }

    /// Takes an option of the command line that decides what is measured.
    pub(super) fn option(&mut self, name: &str, value: &str) {
        let is_on = !matches!(value, "0" | "false" | "none" | "");
        match name {
            "direct" => self.direct = Some(is_on),
            "buffered" => self.direct = Some(!is_on),
            "sync" => self.opens_synced = is_on,
            "fsync" | "fdatasync" | "end_fsync" => self.calls_sync |= is_on,
            "rate" | "rate_iops" if value.split(',').any(|it| !matches!(it, "" | "0")) => {
                self.rate = Some(format!("{name}={}", value.chars().take(100).collect::<String>()));
            }
            _ => {}
        }
    }

    pub(super) fn knows(&self, job: &Job) -> bool {
        self.known.contains_key(&(job.name.clone(), job.key.clone()))
    }

    /// True unless the report was printed at another time than the last one: a call prints those of
    /// all its jobs at its end.
    pub(super) fn is_printed_with(&self, job: &Job) -> bool {
        let last = self.jobs.last().and_then(|last| last.printed.as_ref());
        last.zip(job.printed.as_ref()).is_none_or(|(last, this)| {
            let apart = last.1.abs_diff(this.1);
            // Midnight lies between two days.
            let apart = if last.0 == this.0 { apart } else { 86_400_u32.saturating_sub(apart) };
            apart <= PRINTED_WITHIN_S
        })
    }

    /// The job whose report is being read.
    pub(super) fn current(&mut self) -> Option<&mut Job> {
        self.jobs.get_mut(self.current)
    }

    /// Adds a job, or replaces an earlier state of it (`--status-interval`).
    pub(super) fn add(&mut self, job: Job, found: &mut Found) {
        let key = (job.name.clone(), job.key.clone());
        if let Some(index) = self.known.get(&key).copied() {
            let name = quote(&job.name);
            let last = "is reported several times by one call: the last is read.";
            found.note(format!("Job {name} {last}"));
            self.jobs[index] = job;
            self.current = index;
            return;
        }
        assert_eq!(self.known.len(), self.jobs.len(), "every job is known by its key");
        self.current = self.jobs.len();
        if self.jobs.len() == JOBS_MAX {
            found.unread(self.line, &format!("more than {JOBS_MAX} jobs in one call"));
            return;
        }
        self.known.insert(key, self.jobs.len());
        self.jobs.push(job);
    }

    pub(super) fn finish(self, found: &mut Found) {
        // A client sums its servers up: their own reports precede the sum, unless it was pasted
        // alone.
        let is_alone = self.jobs.iter().all(Job::is_sum);
        let jobs = self.jobs.iter().filter(|job| is_alone || !job.is_sum());
        let sections = by_section(jobs.map(|job| (&*job.name, &*job.group, job)));
        let Some((first, _)) = sections.first_key_value() else { return };
        let arm = match sections.len() {
            1 => first.clone(),
            others => format!("{} and {} more", self.jobs[0].name, others - 1),
        };
        let (mut phases, mut work) = (Vec::new(), Work::default());
        for (name, jobs) in &sections {
            let is_only = sections.len() == 1;
            let key = (jobs[0].name.clone(), jobs[0].group.clone());
            let known = self.definitions.get(&key).cloned().unwrap_or_default();
            let prefix = if is_only { String::new() } else { format!("{name}.") };
            phases.push(self.phase(if is_only { "" } else { name }, jobs, &known, found));
            work.add(&prefix, &known);
            if let Some(direct) = self.bypasses_cache(&known) {
                work.set_switch(&format!("{prefix}direct"), direct);
            }
        }
        if self.jobs.iter().any(|job| job.sides.iter().any(|side| side.is_rounded)) {
            let note =
                "fio rounds large numbers in its text: `--output-format=json` has all digits.";
            found.note(note.to_owned());
        }
        let flaws = self.jobs.iter().filter_map(Job::flaw).collect();
        let run = ImportedRun { line: self.line, arm, work, phases, ..ImportedRun::default() };
        found.add(ImportedRun { flaws, ..run });
    }

    /// True if requests bypass the page cache, if the text states it, by an option or without one.
    fn bypasses_cache(&self, work: &Work) -> Option<bool> {
        let is_cached = work.get("ioengine").is_some_and(|engine| CACHED.contains(&engine));
        self.direct.or((self.is_commanded && is_cached).then_some(false))
    }

    /// The figures of the jobs of one name: copies run together, and their rates add up.
    fn phase(&self, name: &str, jobs: &[&Job], work: &Work, found: &mut Found) -> Phase {
        assert!(!jobs.is_empty(), "a name is that of a job");
        let mut section = Section { name: &jobs[0].name, line: self.line, figures: vec![], found };
        section.read(jobs);
        let mut figures = section.figures;
        self.doubt_rates(&mut figures);
        let (mut nature, mut remarks) = (Nature::Disk, Vec::new());
        let direct = self.bypasses_cache(work);
        if work.get("ioengine") == Some("null") {
            nature = Nature::Cpu;
            remarks.push(Remark::new(Label::NotDisk, "`ioengine=null` does no I/O"));
        } else if direct == Some(false) {
            nature = Nature::PageCache;
            // Reads are never synced.
            let reads =
                jobs.iter().any(|job| [0, 3].iter().any(|kind| has_rate(&&job.sides[*kind])));
            if reads || !(self.opens_synced || self.calls_sync) {
                let why = if self.direct.is_some() {
                    "the job ran with `direct=0`: the page cache may have answered"
                } else {
                    "the command has no `direct=1`: the page cache may have answered"
                };
                remarks.push(Remark::new(Label::Nature(nature), why));
            } else if !self.opens_synced {
                doubt_latencies(&mut figures);
            }
        } else if direct.is_none() {
            let what = "fio's text does not say whether the page cache was bypassed (`direct=1`).";
            found.note(what.to_owned());
        }
        let (name, points) = (name.to_owned(), Vec::new());
        Phase { name, nature, figures, lat_ns: None, points, remarks }
    }
}

impl Call {
    /// Labels rates that are a setting.
    fn doubt_rates(&self, figures: &mut [Figure]) {
        let Some(option) = &self.rate else { return };
        let why = format!("the job sets its rate (`{option}`): its latency is the result");
        for figure in figures.iter_mut().filter(|it| it.better == Better::More) {
            figure.remarks.push(Remark::new(Label::SetRate, why.clone()));
        }
    }
}

/// Labels latencies of writes that end in memory, although the rate waits for the disk.
fn doubt_latencies(figures: &mut [Figure]) {
    let why = "a buffered write ends in memory: the wait for the disk is in `sync`";
    for figure in figures.iter_mut().filter(|it| it.better == Better::Less && it.nature.is_none()) {
        figure.nature = Some(Nature::PageCache);
        figure.remarks.push(Remark::new(Label::Nature(Nature::PageCache), why));
    }
}

impl Job {
    /// True for the sum that a client prints below the reports of its servers.
    fn is_sum(&self) -> bool {
        self.name == "All clients"
    }

    fn flaw(&self) -> Option<Flaw> {
        if self.failed > 0 {
            let requests = self.sides.iter().take(3).map(|side| side.count).sum::<f64>();
            #[expect(clippy::cast_possible_truncation, reason = "a float of a count saturates")]
            #[expect(clippy::cast_sign_loss, reason = "counts are not negative")]
            let requests = (requests as u64).max(self.failed);
            return Some(Flaw::Failed { failed: self.failed, requests });
        }
        let error = self.error.filter(|error| *error != 0)?;
        let what = format!("job {} ended with system error {error}", quote(&self.name));
        Some(Flaw::Error { what })
    }
}

struct Section<'a> {
    name: &'a str,
    line: usize,
    figures: Vec<Figure>,
    found: &'a mut Found,
}

impl Section<'_> {
    fn read(&mut self, jobs: &[&Job]) {
        let kinds: Vec<(usize, Vec<&Side>)> = (0..KINDS.len())
            .map(|kind| (kind, jobs.iter().map(|job| &job.sides[kind]).filter(has_rate).collect()))
            .filter(|(_, sides): &(usize, Vec<&Side>)| !sides.is_empty())
            .collect();
        let all: Vec<&Side> = kinds.iter().flat_map(|(_, sides)| sides.iter().copied()).collect();
        self.rates("", &all);
        for (kind, sides) in &kinds {
            let prefix = if kinds.len() > 1 { format!("{}_", KINDS[*kind]) } else { String::new() };
            if kinds.len() > 1 {
                self.rates(&prefix, sides);
            }
            self.latencies(&prefix, sides);
        }
        let syncs: Vec<&Latency> =
            jobs.iter().map(|job| &job.sync).filter(|sync| sync.mean_ns > 0.0).collect();
        if !syncs.is_empty() {
            self.syncs(&syncs);
        }
    }

    fn add(&mut self, name: &str, value: f64, better: Better) {
        // What was not measured is printed as zero, or not at all.
        if value.is_finite() && value > 0.0 {
            self.figures.push(figure(name, value, "", better));
        }
    }

    fn rates(&mut self, prefix: &str, sides: &[&Side]) {
        let iops = sides.iter().map(|side| side.iops).sum();
        self.add(&format!("{prefix}iops"), iops, Better::More);
        let rate = sides.iter().map(|side| side.bytes_per_s).sum();
        self.add(&format!("{prefix}bytes_per_s"), rate, Better::More);
    }

    fn latencies(&mut self, prefix: &str, sides: &[&Side]) {
        assert!(!sides.is_empty(), "a direction without requests is left out");
        let weights: Vec<f64> = sides.iter().map(|side| side.weight()).collect();
        let lats: Vec<&Latency> = sides.iter().map(|side| &side.lat).collect();
        let clats: Vec<&Latency> = sides.iter().map(|side| &side.clat).collect();
        self.add(&format!("{prefix}lat_mean_ns"), mean(&lats, &weights), Better::Less);
        let clat_mean_ns = mean(&clats, &weights);
        if clat_mean_ns > 0.0 {
            let name = format!("{prefix}clat_mean_ns");
            self.figures.push(detail(&name, clat_mean_ns, "", Better::Less));
        }
        let is_lat = lats.iter().all(|lat| lat.percentiles.iter().any(Option::is_some));
        let (of, latencies) = if is_lat { ("lat", lats) } else { ("clat", clats) };
        let count = sides.iter().map(|side| side.count).sum();
        for (name, value) in self.percentiles(&latencies, count) {
            self.add(&format!("{prefix}{of}_{name}_ns"), value, Better::Less);
        }
    }

    /// The percentiles that enough requests are behind, of one job: they cannot be combined.
    fn percentiles(&mut self, latencies: &[&Latency], count: f64) -> Vec<(&'static str, f64)> {
        let has_any = latencies.iter().any(|it| it.percentiles.iter().any(Option::is_some));
        let mut read = Vec::new();
        let [latency] = latencies else {
            if has_any {
                self.unread(
                    "percentiles of several jobs cannot be combined: add `group_reporting`",
                );
            }
            return read;
        };
        for ((name, _, needed), value) in PERCENTILES.into_iter().zip(&latency.percentiles) {
            let Some(value) = value else { continue };
            // A report that does not say how many requests there were gives the benefit of it.
            if count >= needed || count <= 0.0 {
                read.push((name, *value));
            } else {
                let name = name.replace('_', ".");
                self.unread(&format!("fewer than {needed} requests, too few for {name}"));
            }
        }
        read
    }

    fn unread(&mut self, why: &str) {
        self.found.unread(self.line, &format!("job {}: {why}", quote(self.name)));
    }

    /// The figure that a test of commits is made for: it waits for the journal and the drive.
    fn syncs(&mut self, syncs: &[&Latency]) {
        let weights: Vec<f64> = syncs.iter().map(|sync| sync.count.max(1.0)).collect();
        let mut figures = vec![("mean", mean(syncs, &weights))];
        figures.extend(self.percentiles(syncs, syncs.iter().map(|sync| sync.count).sum()));
        for (of, value) in figures {
            let name = format!("sync_lat_{of}_ns");
            let nature = Some(Nature::JournalSync);
            let why = "the time of `fsync` or `fdatasync` after writes: the journal and the drive's \
                       flush";
            let remarks = vec![Remark::new(Label::Nature(Nature::JournalSync), why)];
            let of_sync = figure(&name, value, "ns", Better::Less);
            self.figures.push(Figure { nature, remarks, ..of_sync });
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "an iterator's filter calls it")]
fn has_rate(side: &&Side) -> bool {
    side.iops > 0.0 || side.bytes_per_s > 0.0
}

impl Side {
    /// Its share of the requests: their number, or what is known of it.
    fn weight(&self) -> f64 {
        if self.count > 0.0 { self.count } else { self.iops.max(1.0) }
    }
}

fn mean(latencies: &[&Latency], weights: &[f64]) -> f64 {
    assert_eq!(latencies.len(), weights.len(), "each latency has its weight");
    let (mut sum, mut all) = (0.0, 0.0);
    for (latency, weight) in latencies.iter().zip(weights) {
        // A copy of a job that made no requests has no mean.
        if latency.mean_ns > 0.0 {
            sum += latency.mean_ns * weight;
            all += weight;
        }
    }
    if all > 0.0 { sum / all } else { 0.0 }
}
