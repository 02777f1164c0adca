//! The results of jobs as fio has them: of those that have run, of those that run, of all others.

use std::ops::Range;
use std::time::{Duration, Instant};

use drivelab_core::record::Tally;
use drivelab_formats::fio::job::FileJob;
use drivelab_host::root::Root;
use drivelab_host::watch::{self, Sample};
use drivelab_lab::archive::now_ms;
use drivelab_lab::request::jobs::{Group, Jobs};
use drivelab_report::fio::{About, Disk, Job, Results};

/// The results of the jobs that have run.
pub(super) fn of_done(jobs: &Jobs, disks: Vec<Disk>) -> Results {
    let done = jobs.counted().map(|(job, tallies, _)| Entry::of(jobs, job, tallies.to_vec()));
    Results { unix_ms: now_ms(), global: jobs.global().to_vec(), jobs: reported(done), disks }
}

/// Jobs of which a group is running.
#[derive(Debug)]
pub(super) struct State {
    global: Vec<(String, String)>,
    entries: Vec<Entry>,
    /// The entries of the running jobs.
    running: Range<usize>,
    /// The disks under the targets of those that have run or are running.
    pub(super) disks: Vec<String>,
}

impl State {
    /// The state while `group` runs, the next one of `jobs`. As in fio, jobs that follow have
    /// results, too, of which each is zero.
    pub(super) fn of(jobs: &Jobs, group: &Group) -> Self {
        let done = jobs.counted().map(|(job, tallies, _)| Entry::of(jobs, job, tallies.to_vec()));
        let mut entries: Vec<Entry> = done.collect();
        let (copies, begin) = (group.copies(), entries.len());
        let running = begin..begin + copies.len();
        let copies = copies.into_iter().map(Some).chain(std::iter::repeat(None));
        for (job, copies) in jobs.left().iter().zip(copies) {
            let copies = copies.unwrap_or(job.numjobs) as usize;
            entries.push(Entry::of(jobs, job, vec![Tally::default(); copies]));
        }
        debug_assert!(running.end <= entries.len(), "a group consists of jobs that are left");
        let mut disks = disks(jobs);
        disks.extend(group.disks());
        Self { global: jobs.global().to_vec(), entries, running, disks }
    }

    /// The number of copies that are running.
    pub(super) fn copies(&self) -> usize {
        self.entries[self.running.clone()].iter().map(|entry| entry.tallies.len()).sum()
    }

    /// The results with these counts of each running copy.
    pub(super) fn results(&self, running: Vec<Tally>, disks: Vec<Disk>) -> Results {
        debug_assert_eq!(running.len(), self.copies(), "each copy has counts");
        let (mut entries, mut running) = (self.entries.clone(), running.into_iter());
        // The order is that of the threads: job by job, copy by copy.
        let slots = entries[self.running.clone()].iter_mut().flat_map(|it| &mut it.tallies);
        for (slot, tally) in slots.zip(running.by_ref()) {
            *slot = tally;
        }
        let jobs = reported(entries.into_iter());
        Results { unix_ms: now_ms(), global: self.global.clone(), jobs, disks }
    }
}

/// A job with the counts of its copies.
#[derive(Debug, Clone)]
struct Entry {
    about: About,
    /// It is reported with the others of its group.
    is_together: bool,
    tallies: Vec<Tally>,
}

impl Entry {
    fn of(jobs: &Jobs, job: &FileJob, tallies: Vec<Tally>) -> Self {
        let percentiles = jobs.said(job, "percentile_list").unwrap_or_default().split(':');
        let percentiles = percentiles.filter_map(|percent| percent.trim().parse().ok());
        let about = About {
            name: job.name.clone(),
            group: job.group,
            jobs: 1,
            options: job.options.clone(),
            iodepth: depth_of(job, &tallies),
            latency: job.conduct.latency,
            percentiles: percentiles.filter(|percent| (0.0..=100.0).contains(percent)).collect(),
        };
        let is_together = jobs.said(job, "group_reporting").is_some_and(|value| value != "0");
        Self { about, is_together, tallies }
    }
}

/// The depth of a job; where latencies have a target, the one that was found.
fn depth_of(job: &FileJob, tallies: &[Tally]) -> u32 {
    let found = tallies.iter().filter_map(|tally| tally.depth_found).max();
    found.or(job.workload.iodepth).unwrap_or(1)
}

/// An entry for each copy, or for each group that is reported together.
fn reported(entries: impl Iterator<Item = Entry>) -> Vec<Job> {
    // A group is open while its jobs follow one another.
    let mut all: Vec<(About, Tally)> = Vec::new();
    let mut open_group = None;
    for Entry { about, is_together, tallies } in entries {
        for tally in tallies {
            match all.last_mut().filter(|_| is_together && open_group == Some(about.group)) {
                Some((first, sum)) => {
                    first.jobs += 1;
                    sum.merge(&tally);
                }
                None => all.push((about.clone(), tally)),
            }
            open_group = is_together.then_some(about.group);
        }
    }
    all.into_iter().map(|(about, tally)| Job::of(about, &tally)).collect()
}

/// The disks under the targets of the jobs that have run.
pub(super) fn disks(jobs: &Jobs) -> Vec<String> {
    let attached = jobs.records().iter().filter_map(|record| record.attached.as_ref());
    attached.flat_map(|it| &it.devices).map(|device| device.name.clone()).collect()
}

/// The activity of the disks of this machine from here on.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    before: Sample,
}

impl Activity {
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now(), before: Sample::of_all(&Root::new("/")) }
    }

    /// The activity of the disks of these names so far.
    pub(super) fn of(&self, names: &[String]) -> Vec<Disk> {
        let counts = watch::counts(&self.before, &Sample::of_all(&Root::new("/"))).into_iter();
        let elapsed_ms = self.begun.elapsed().as_secs_f64() * 1e3;
        let of_targets = counts.filter(|counts| names.contains(&counts.name));
        let all = of_targets.map(|counts| Disk {
            name: counts.name,
            read_ios: counts.reads,
            write_ios: counts.writes,
            read_merges: counts.reads_merged,
            write_merges: counts.writes_merged,
            read_ticks: counts.read_ms,
            write_ticks: counts.write_ms,
            in_queue: counts.weighted_ms,
            util: (Duration::from_millis(counts.busy_ms).as_secs_f64() * 1e5 / elapsed_ms)
                .min(100.0),
        });
        all.collect()
    }
}
