//! Counts during a run.

use serde::{Deserialize, Serialize};

use super::job::per_second;
use super::{JobRecord, Latency, OpRecord, Plateau, Stamp};
use crate::histogram::{Histogram, Second, Series};
use crate::request::Op;
use crate::units::Span;

/// Counts of one kind of request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpTally {
    /// Requests completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// From the due time to completion.
    pub lat: Histogram,
    /// From issue to completion.
    pub service: Histogram,
}

impl OpTally {
    fn merge(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.lat.merge(&other.lat);
        self.service.merge(&other.service);
    }

    /// The figures, or `None` if there was no such request.
    fn record(&self, elapsed: Span) -> Option<OpRecord> {
        (self.ios > 0 || self.lat.n() > 0).then(|| OpRecord {
            ios: self.ios,
            iops: per_second(self.ios, elapsed),
            bytes_per_s: per_second(self.bytes, elapsed),
            lat_ns: Latency::of(&self.lat),
            service_ns: Latency::of(&self.service),
        })
    }
}

/// The kinds of request that count as work done. A flush is a cost of some of that work: if flushes
/// counted, a log that is flushed after each write would look twice as fast as it is.
const DATA: [Op; 3] = [Op::Read, Op::Write, Op::Trim];

/// Use of the processor and of memory by the threads of jobs (`getrusage`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time in the program.
    pub user: Span,
    /// Processor time in the kernel.
    pub system: Span,
    /// Context switches, voluntary or not.
    pub switches: u64,
    /// Page faults for which a disk was read.
    pub faults_major: u64,
    /// The other page faults.
    pub faults_minor: u64,
}

impl Usage {
    /// The use since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            switches: self.switches.saturating_sub(before.switches),
            faults_major: self.faults_major.saturating_sub(before.faults_major),
            faults_minor: self.faults_minor.saturating_sub(before.faults_minor),
        }
    }

    fn add(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            switches: self.switches.saturating_add(other.switches),
            faults_major: self.faults_major.saturating_add(other.faults_major),
            faults_minor: self.faults_minor.saturating_add(other.faults_minor),
        }
    }
}

/// Counts of a job from which its [`JobRecord`] is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Each kind of request, in the order of [`Op`].
    pub ops: [OpTally; 4],
    /// Requests answered by a cache in the drive, if the target reports it.
    pub from_drive_cache: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that were never answered. If the run's drain ended first, their latencies are
    /// recorded as the time that they had waited so far: a lower bound.
    pub unanswered: u64,
    /// Requests of an open loop that were due and never sent; recorded in the same way.
    pub unsent: u64,
    /// The figures at steady state.
    pub steady: Option<Plateau>,
    /// Measured time.
    pub elapsed: Span,
    /// From the due time to issue, of data requests.
    pub late: Histogram,
    /// Requests outstanding, summed over the measured time.
    pub queued_ns: u128,
    /// The target returned requests because its own queue was full.
    pub target_full: bool,
    /// The depth that kept latencies below a target, if there was one.
    #[serde(default)]
    pub depth_found: Option<u32>,
    /// Processor time, if known.
    pub cpu: Option<Span>,
    /// The use of processor and memory by the job's own thread, if known.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// Method of taking time stamps.
    pub stamp: Stamp,
    /// Second by second.
    pub seconds: Vec<Second>,
    /// Latencies of data requests over time.
    pub series: Series,
}

impl Tally {
    /// The counts of one kind of request.
    #[inline]
    pub fn of(&self, op: Op) -> &OpTally {
        &self.ops[op as usize]
    }

    /// The counts of one kind of request, mutable.
    #[inline]
    pub fn of_mut(&mut self, op: Op) -> &mut OpTally {
        &mut self.ops[op as usize]
    }

    /// Data requests completed: all except flushes.
    pub fn ios(&self) -> u64 {
        self.data().map(|op| op.ios).sum()
    }

    /// Bytes moved.
    pub fn bytes(&self) -> u64 {
        self.data().map(|op| op.bytes).sum()
    }

    /// From the due time to completion, of data requests.
    pub fn lat(&self) -> Histogram {
        self.together(|op| &op.lat)
    }

    /// From issue to completion, of data requests.
    pub fn service(&self) -> Histogram {
        self.together(|op| &op.service)
    }

    fn data(&self) -> impl Iterator<Item = &OpTally> {
        DATA.into_iter().map(|op| self.of(op))
    }

    fn together(&self, of: impl Fn(&OpTally) -> &Histogram) -> Histogram {
        let mut all = Histogram::new();
        self.data().for_each(|op| all.merge(of(op)));
        all
    }

    /// Adds a job that ran at the same time: counts add up, the longest time is kept, and `cpu`,
    /// which is the whole process's, is left to the caller that measured it.
    pub fn merge(&mut self, other: &Self) {
        let is_first = self.elapsed.is_zero() && self.ops.iter().all(|op| op.ios == 0);
        self.add_counts(other);
        self.steady = match (self.steady, other.steady) {
            (Some(mine), Some(theirs)) => Some(mine.with(theirs)),
            // Jobs are steady together only if each of them is.
            (_, theirs) => theirs.filter(|_| is_first),
        };
        self.elapsed = self.elapsed.max(other.elapsed);
        self.seconds.resize(self.seconds.len().max(other.seconds.len()), Second::default());
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.ios += theirs.ios;
            mine.bytes += theirs.bytes;
            mine.lat_sum_ns = mine.lat_sum_ns.saturating_add(theirs.lat_sum_ns);
            mine.lat_max_ns = mine.lat_max_ns.max(theirs.lat_max_ns);
        }
        self.series.merge(&other.series);
    }

    /// Adds a tally that followed this one: times add up as well, and so does `cpu`, if both have
    /// it.
    pub fn follow(&mut self, next: &Self) {
        // An empty tally has no processor time that could be missing from the sum.
        let first = self.elapsed.is_zero();
        let both = self.cpu.zip(next.cpu).map(|(mine, theirs)| mine + theirs);
        self.cpu = if first { next.cpu } else { both };
        self.add_counts(next);
        self.elapsed += next.elapsed;
        self.seconds.extend_from_slice(&next.seconds);
        // Acts of different lengths have no common intervals; each keeps its own.
        self.series = if first { next.series.clone() } else { Series::default() };
    }

    /// Gives back memory that its distributions do not need, and drops the one over time.
    pub fn compact(&mut self) {
        for op in &mut self.ops {
            op.lat.compact();
            op.service.compact();
        }
        self.late.compact();
        self.series = Series::empty();
    }

    fn add_counts(&mut self, other: &Self) {
        for (mine, theirs) in self.ops.iter_mut().zip(&other.ops) {
            mine.merge(theirs);
        }
        self.from_drive_cache += other.from_drive_cache;
        self.errors += other.errors;
        self.unanswered += other.unanswered;
        self.unsent += other.unsent;
        self.late.merge(&other.late);
        self.queued_ns += other.queued_ns;
        self.usage = match (self.usage, other.usage) {
            (Some(mine), Some(theirs)) => Some(mine.add(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.target_full |= other.target_full;
        self.depth_found = self.depth_found.max(other.depth_found);
        // One job with coarse time stamps makes the sum coarse.
        self.stamp = if other.stamp == Stamp::Batch { Stamp::Batch } else { self.stamp };
    }

    /// Mean number of requests outstanding: those of all jobs together.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people and statistics")]
    pub fn queue_depth_mean(&self) -> Option<f64> {
        let elapsed = self.elapsed.ns();
        (elapsed > 0).then(|| self.queued_ns as f64 / elapsed as f64)
    }

    fn op_record(&self, op: Op) -> Option<OpRecord> {
        self.of(op).record(self.elapsed)
    }

    /// The figures.
    pub fn record(&self) -> JobRecord {
        let (ios, lat) = (self.ios(), self.lat());
        JobRecord {
            ios,
            reads: self.of(Op::Read).ios,
            iops: per_second(ios, self.elapsed),
            bytes_per_s: per_second(self.bytes(), self.elapsed),
            elapsed_ns: self.elapsed.ns(),
            lat_ns: Latency::of(&lat),
            service_ns: Latency::of(&self.service()),
            late_ns: Latency::of(&self.late),
            queue_depth_mean: self.queue_depth_mean(),
            errors: self.errors,
            unanswered: self.unanswered,
            unsent: self.unsent,
            steady: self.steady,
            cpu_ns_per_io: self.cpu.filter(|_| ios > 0).map(|cpu| per_io(cpu, ios)),
            stamp: self.stamp,
            seconds: self.seconds.clone(),
            lat_series: self.series.clone(),
            lat_histogram: lat,
            read: self.op_record(Op::Read),
            write: self.op_record(Op::Write),
            trim: self.op_record(Op::Trim),
            flush: self.op_record(Op::Flush),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people and statistics")]
fn per_io(cpu: Span, ios: u64) -> f64 {
    cpu.ns() as f64 / ios as f64
}
