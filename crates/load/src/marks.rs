//! The meaning of a run's figures, and their limits.

use drivelab_core::record::{Mark, MarkId, Nature, ReadBack, Tally};
use drivelab_core::units::{Bytes, Ratio, Span};
use drivelab_core::workload::{Pace, Steady, Workload};

use crate::End;

/// Fewer than a hundred requests beyond p99 say little about it.
const FEW: u64 = 10_000;
/// No disk answers faster: the fastest that we know of, Intel's Optane P5800X, states 5 us for a
/// read (product brief, 2020).
const QUICKEST_DISK: Span = Span::from_us(4);
/// More lateness than this is not a timer's imprecision: the target or the processor could not keep
/// up.
const LATE: Span = Span::from_ms(1);

/// A device that is busy whenever its queue is not empty loses at most this share of its rate.
const EMPTY_PERCENT: u128 = 5;

/// The file system of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name, or a phrase that stands for it in messages.
    pub name: &'static str,
    /// Its files exist only in memory.
    pub in_memory: bool,
}

impl FileSystem {
    /// The target is a block device itself.
    pub const NONE: Self = Self { name: "a block device", in_memory: false };
}

/// The facts about a run, regardless of its target.
#[derive(Debug, Clone, Copy)]
pub struct RunFacts<'a> {
    /// The load that was asked for.
    pub workload: &'a Workload,
    /// Number of jobs.
    pub numjobs: u32,
    /// Counts of all jobs.
    pub total: &'a Tally,
    /// The time during which its jobs were runnable but had no processor.
    pub waited: Span,
    /// The reason why the run ended.
    pub end: End,
}

/// The target of a run on this machine.
#[derive(Debug, Clone, Copy)]
pub struct TargetFacts<'a> {
    /// The page cache is bypassed (`O_DIRECT`).
    pub direct: bool,
    /// The file system that holds the target.
    pub file_system: FileSystem,
    /// Size of the target.
    pub capacity: Bytes,
    /// Memory of the machine.
    pub memory: Bytes,
    /// Bytes of the target that no block was allocated for.
    pub holes: Bytes,
    /// The run laid the target out itself.
    pub laid_out: bool,
    /// The drive acknowledges writes from its own cache.
    pub write_back: bool,
    /// The device's real nature, if it is not a separate disk.
    pub stand_in: Option<&'a str>,
}

/// Returns the marks of a run on this machine.
pub fn of_run(facts: RunFacts<'_>, target: TargetFacts<'_>) -> Vec<Mark> {
    let bound = marks_of([
        (MarkId::CpuBound, cpu_bound(facts)),
        (MarkId::GeneratorBound, generator_bound(facts)),
    ]);
    of_target(facts, target).into_iter().chain(bound).chain(of_facts(facts)).collect()
}

/// The marks of figures for requests to such a target.
pub fn of_target(facts: RunFacts<'_>, target: TargetFacts<'_>) -> Vec<Mark> {
    let said = [
        (MarkId::NotDisk, not_disk(facts, target)),
        (MarkId::PageCache, page_cache(facts.workload, target)),
        (MarkId::DriveCache, write_cache(facts.workload, target)),
    ];
    marks_of(said).collect()
}

/// Returns the marks of a run in virtual time.
pub fn of_simulation(facts: RunFacts<'_>) -> Vec<Mark> {
    let modelled = "a model in virtual time: no real device was involved";
    let said = [
        (MarkId::Modelled, Some(modelled.into())),
        (MarkId::DriveCache, drive_cache(facts.total)),
        (MarkId::GeneratorBound, generator_bound(facts)),
    ];
    marks_of(said).chain(of_facts(facts)).collect()
}

fn of_facts(facts: RunFacts<'_>) -> impl Iterator<Item = Mark> {
    let said = [
        (MarkId::Interrupted, interrupted(facts)),
        (MarkId::Unsteady, unsteady(facts)),
        (MarkId::Unanswered, unanswered(facts.total)),
        (MarkId::Errors, errors(facts.total)),
        (MarkId::Late, late(facts)),
    ];
    marks_of(said).chain(few_requests(facts.total))
}

/// One mark for each rule that applies.
pub fn marks_of<const N: usize>(said: [(MarkId, Option<String>); N]) -> impl Iterator<Item = Mark> {
    said.into_iter().filter_map(|(id, message)| Some(Mark { id, message: message? }))
}

fn not_disk(facts: RunFacts<'_>, target: TargetFacts<'_>) -> Option<String> {
    let FileSystem { name, in_memory } = target.file_system;
    if in_memory {
        return Some(format!("{name} keeps files in memory: no disk was involved"));
    }
    if let Some(what) = target.stand_in {
        return Some(format!("this is {what}, not a disk"));
    }
    if facts.workload.rw.reads() && target.holes.get() > 0 {
        let (holes, all) = (target.holes.about(), target.capacity.about());
        return Some(format!(
            "{holes} of the file's {all} were never written: reads of holes reach no disk"
        ));
    }
    let typical = facts.total.service().quantile(Ratio::percent(50))?;
    // A trim moves no data, so its speed says nothing about the medium.
    let memory = target.direct && !facts.workload.rw.only_trims() && typical < QUICKEST_DISK;
    memory.then(|| {
        format!(
            "half of the requests took less than {typical}, faster than any disk: memory behind the \
         device answered"
        )
    })
}

fn page_cache(workload: &Workload, target: TargetFacts<'_>) -> Option<String> {
    let memory = target.memory;
    if target.direct {
        None
    } else if workload.rw.reads() && target.laid_out {
        let held = "buffered reads of a file that was just written: it is in the page cache";
        Some(held.into())
    } else if workload.rw.reads() && read_back(target).nature() == Nature::PageCache {
        Some(format!("buffered reads of a file that fits into the {} of memory", memory.about()))
    } else if workload.rw.sends() && !waits_for_disk(workload) {
        let done = "buffered writes complete in the page cache, before the disk has them";
        Some(done.into())
    } else {
        let answered = "buffered reads: the page cache and read-ahead answered some of them";
        workload.rw.reads().then(|| answered.into())
    }
}

fn read_back(target: TargetFacts<'_>) -> ReadBack {
    let (bytes, memory) = (Some(target.capacity), Some(target.memory));
    ReadBack { is_dropped: false, bytes, memory }
}

/// True if every write waits until it is on the medium; a flush after several covers only the last
/// one.
fn waits_for_disk(workload: &Workload) -> bool {
    workload.sync || workload.fsync == 1
}

/// Only without the page cache: with it, writes complete even before the drive has them.
fn write_cache(workload: &Workload, target: TargetFacts<'_>) -> Option<String> {
    let cached = workload.rw.sends() && !waits_for_disk(workload);
    (cached && target.direct && target.write_back).then(|| {
        "the drive's write cache is on: writes complete in the cache, and a power cut \
                   may lose them (`--fsync=1` or `--sync` waits for the medium)"
            .into()
    })
}

fn drive_cache(total: &Tally) -> Option<String> {
    let (cached, all) = (total.from_drive_cache, total.ios());
    let share = (cached * 100).checked_div(all)?;
    (cached * 2 > all).then(|| format!("the drive's own cache answered {share} % of the requests"))
}

/// Only for closed loops: an open one spins while it waits for the next send time.
fn cpu_bound(facts: RunFacts<'_>) -> Option<String> {
    let Pace::Closed { .. } = facts.workload.pace else { return None };
    // Processor time used by others limits the run as much as the processor's speed.
    let used = facts.total.cpu? + facts.waited;
    let had = facts.total.elapsed * u64::from(facts.numjobs);
    let share = (u128::from(used.ns()) * 100).checked_div(u128::from(had.ns()))?;
    // Nine tenths, divided first: the product of a long run on many processors could overflow.
    (used.ns() / 9 >= had.ns() / 10).then(|| {
        format!("the CPU was busy or unavailable {share} % of the time and may be the bottleneck")
    })
}

/// A closed loop whose requests the target never refused answers each completion with a request; if
/// slots of the queue are nevertheless empty, the loop limited the rate.
fn generator_bound(facts: RunFacts<'_>) -> Option<String> {
    let RunFacts { workload, numjobs, total, .. } = facts;
    let Pace::Closed { iodepth, think_time: Span::ZERO } = workload.pace else { return None };
    let depth = u128::from(iodepth) * u128::from(numjobs);
    // If a number of requests ends the run, the last requests leave more slots empty than any loop.
    let few = workload.number_ios.is_some() && u128::from(total.ios()) < 100 * depth;
    if total.target_full || few {
        return None;
    }
    let slots = depth * u128::from(total.elapsed.ns());
    let empty = (slots.saturating_sub(total.queued_ns) * 100).checked_div(slots)?;
    let mean = total.queue_depth_mean()?;
    (empty >= EMPTY_PERCENT).then(|| {
        format!(
            "the queue held {mean:.1} of {depth} requests: {empty} % of its slots were empty on average, \
             so that the load generator, not the device, limited the rate"
        )
    })
}

fn interrupted(facts: RunFacts<'_>) -> Option<String> {
    let (done, asked) = (facts.total.elapsed, facts.workload.runtime);
    (facts.end == End::Stopped).then(|| format!("stopped after {done} of {asked}"))
}

fn unsteady(facts: RunFacts<'_>) -> Option<String> {
    let Steady { criterion, window, .. } = facts.workload.steady?;
    let never = facts.total.steady.is_none();
    never.then(|| format!("the run never met `{criterion}` for {window} seconds"))
}

fn unanswered(total: &Tally) -> Option<String> {
    let what = match (total.unanswered, total.unsent) {
        (0, 0) => return None,
        (0, due) => format!("{due} requests that were due were never issued"),
        (sent, 0) => format!("{sent} requests never completed"),
        (sent, due) => {
            format!("{sent} requests never completed, and {due} that were due were never issued")
        }
    };
    Some(format!(
        "{what}: each counts with the time it had waited, so the true latency is \
                           higher"
    ))
}

fn errors(total: &Tally) -> Option<String> {
    let (errors, all) = (total.errors, total.ios() + total.errors);
    (errors > 0).then(|| format!("{errors} of {all} requests failed"))
}

fn late(facts: RunFacts<'_>) -> Option<String> {
    let (Pace::Fixed { per_s, .. } | Pace::Poisson { per_s, .. }) = facts.workload.pace else {
        return None;
    };
    let (total, elapsed) = (facts.total, facts.total.elapsed);
    let sent = (total.late.n() + total.errors).saturating_sub(total.unsent);
    let asked = u128::from(per_s) * u128::from(facts.numjobs) * u128::from(elapsed.ns());
    let asked = asked / 1_000_000_000;
    // Poisson counts vary by their square root; four of them are tolerated.
    if u128::from(sent) * 100 < asked * 99 && u128::from(sent) + 4 * asked.isqrt() < asked {
        return Some(format!("only {sent} of the {asked} scheduled requests were issued"));
    }
    let lateness = total.late.quantile(Ratio::percent(99)).filter(|lateness| *lateness > LATE)?;
    // As exact as people read it.
    let digit = 10_u64.pow(lateness.ns().ilog10().saturating_sub(2));
    let lateness = Span::from_ns(lateness.ns() / digit * digit);
    Some(format!("one request in a hundred was issued at least {lateness} late"))
}

/// The mark of a run whose tail rests on few requests.
pub fn few_requests(total: &Tally) -> Option<Mark> {
    let n = total.lat().n();
    let message = format!("{n} requests: p99 rests on {} of them", n / 100);
    (n < FEW).then_some(Mark { id: MarkId::FewRequests, message })
}

#[cfg(test)]
mod tests {
    use drivelab_core::Op;
    use drivelab_core::workload::{Rw, WorkloadOptions};

    use super::*;

    const DISK: FileSystem = FileSystem { name: "ext4", in_memory: false };
    const MEMORY: FileSystem = FileSystem { name: "tmpfs", in_memory: true };

    /// A direct run of 10 s on a large file on a disk that raises no doubt.
    fn clean() -> (WorkloadOptions, Tally, TargetFacts<'static>) {
        let mut total = Tally { elapsed: Span::from_secs(10), ..Tally::default() };
        let reads = total.of_mut(Op::Read);
        reads.ios = FEW;
        reads.lat.record_times(Span::from_us(80), FEW);
        reads.service.record_times(Span::from_us(80), FEW);
        total.late.record_times(Span::ZERO, FEW);
        total.cpu = Some(Span::from_secs(1));
        total.queued_ns = 10_000_000_000;
        let target = TargetFacts {
            direct: true,
            file_system: DISK,
            capacity: Bytes::gib(100),
            memory: Bytes::gib(16),
            holes: Bytes::ZERO,
            laid_out: false,
            write_back: false,
            stand_in: None,
        };
        (WorkloadOptions::default(), total, target)
    }

    /// The marks of the clean run after one thing about it was changed.
    fn check(
        change: impl FnOnce(&mut WorkloadOptions, &mut Tally, &mut TargetFacts<'_>),
        expected: &[MarkId],
    ) {
        let (mut options, mut total, mut target) = clean();
        change(&mut options, &mut total, &mut target);
        let workload = options.check().unwrap();
        let waited = Span::ZERO;
        let facts =
            RunFacts { workload: &workload, numjobs: 1, total: &total, waited, end: End::Runtime };
        let ids: Vec<MarkId> = of_run(facts, target).iter().map(|mark| mark.id).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn a_clean_run_has_no_marks() {
        check(|_, _, _| {}, &[]);
    }

    #[test]
    fn a_queue_that_stood_below_its_depth_is_marked() {
        let queue = |iodepth, mean_tenths: u128, change: fn(&mut WorkloadOptions, &mut Tally)| {
            move |options: &mut WorkloadOptions, total: &mut Tally, _: &mut TargetFacts<'_>| {
                options.iodepth = Some(iodepth);
                total.queued_ns = mean_tenths * 1_000_000_000;
                change(options, total);
            }
        };
        let marked = &[MarkId::GeneratorBound][..];
        check(queue(32, 304, |_, _| {}), marked);
        check(queue(32, 305, |_, _| {}), &[]);
        check(queue(1, 9, |_, _| {}), marked);
        // Not caused by the loop: the target was full, there is think time, requests come at a
        // rate.
        check(queue(32, 160, |_, total| total.target_full = true), &[]);
        check(queue(32, 160, |options, _| options.thinktime = Some(Span::from_us(1))), &[]);
        check(queue(32, 160, |options, _| options.rate_iops = Some(1000)), &[]);
        // The last of a number of requests are few.
        check(queue(128, 640, |_, _| {}), marked);
        check(queue(128, 640, |options, _| options.number_ios = Some(FEW)), &[]);
    }

    #[test]
    fn memory_is_never_taken_for_a_disk() {
        check(|_, _, target| target.file_system = MEMORY, &[MarkId::NotDisk]);
        check(|_, _, target| target.holes = Bytes::mib(1), &[MarkId::NotDisk]);
        check(|_, _, target| target.stand_in = Some("a loop device on image"), &[MarkId::NotDisk]);
        let quick = |_: &mut WorkloadOptions, total: &mut Tally, _: &mut TargetFacts<'_>| {
            let reads = total.of_mut(Op::Read);
            reads.service = drivelab_core::Histogram::new();
            reads.service.record(Span::from_us(2));
        };
        check(quick, &[MarkId::NotDisk]);
    }

    #[test]
    fn buffered_runs_say_what_the_page_cache_did() {
        check(|_, _, target| target.direct = false, &[MarkId::PageCache]);
        let write = |sync| {
            move |options: &mut WorkloadOptions, _: &mut Tally, target: &mut TargetFacts<'_>| {
                target.direct = false;
                (options.rw, options.sync) = (Some(Rw::RandWrite), Some(sync));
            }
        };
        check(write(false), &[MarkId::PageCache]);
        check(write(true), &[]);
    }

    #[test]
    fn a_processor_that_others_took_is_the_limit_too() {
        let (options, mut total, target) = clean();
        let workload = options.check().unwrap();
        total.cpu = Some(Span::from_secs(5));
        let ids = |waited| -> Vec<MarkId> {
            let end = End::Runtime;
            let facts = RunFacts { workload: &workload, numjobs: 1, total: &total, waited, end };
            of_run(facts, target).iter().map(|mark| mark.id).collect()
        };
        assert_eq!(ids(Span::from_secs(3)), []);
        assert_eq!(ids(Span::from_ms(4_500)), [MarkId::CpuBound]);
    }

    #[test]
    fn a_drive_that_acknowledges_from_its_cache_is_told_unless_it_is_flushed() {
        let write = |rw, fsync| {
            move |options: &mut WorkloadOptions, _: &mut Tally, target: &mut TargetFacts<'_>| {
                (options.rw, options.fsync) = (Some(rw), fsync);
                target.write_back = true;
            }
        };
        check(write(Rw::RandWrite, None), &[MarkId::DriveCache]);
        check(write(Rw::RandWrite, Some(1)), &[]);
        check(write(Rw::RandWrite, Some(32)), &[MarkId::DriveCache]);
        check(write(Rw::RandRead, None), &[]);
        check(write(Rw::Trim, None), &[]);
    }

    #[test]
    fn a_busy_processor_is_the_limit_unless_it_spins_for_the_pace() {
        check(|_, total, _| total.cpu = Some(Span::from_ms(9_500)), &[MarkId::CpuBound]);
        let open = |options: &mut WorkloadOptions, total: &mut Tally, _: &mut TargetFacts<'_>| {
            options.rate_iops = Some(1000);
            total.cpu = Some(Span::from_secs(10));
        };
        check(open, &[]);
    }

    #[test]
    fn requests_that_were_late_or_never_sent_are_told() {
        let rate = |per_s, lateness| {
            move |options: &mut WorkloadOptions, total: &mut Tally, _: &mut TargetFacts<'_>| {
                options.rate_iops = Some(per_s);
                for _ in 0..200 {
                    total.late.record(lateness);
                }
            }
        };
        check(rate(1000, Span::from_us(10)), &[]);
        check(rate(1000, Span::from_ms(2)), &[MarkId::Late]);
        check(rate(2000, Span::from_us(10)), &[MarkId::Late]);
    }

    #[test]
    fn requests_that_were_not_answered_or_not_even_sent_are_told_apart() {
        let told = |unanswered, unsent| unanswered_of(unanswered, unsent).unwrap_or_default();
        assert_eq!(told(0, 0), "");
        let end = "each counts with the time it had waited, so the true latency is higher";
        assert_eq!(told(4, 0), format!("4 requests never completed: {end}"));
        assert_eq!(told(0, 868), format!("868 requests that were due were never issued: {end}"));
        let both = "4 requests never completed, and 8 that were due were never issued";
        assert_eq!(told(4, 8), format!("{both}: {end}"));
    }

    fn unanswered_of(unanswered: u64, unsent: u64) -> Option<String> {
        super::unanswered(&Tally { unanswered, unsent, ..Tally::default() })
    }

    #[test]
    fn failures_and_small_numbers_are_told() {
        check(|_, total, _| total.errors = 3, &[MarkId::Errors]);
        let few = |_: &mut WorkloadOptions, total: &mut Tally, _: &mut TargetFacts<'_>| {
            total.of_mut(Op::Read).lat = drivelab_core::Histogram::new();
        };
        check(few, &[MarkId::FewRequests]);
    }

    #[test]
    fn a_simulation_says_so_and_tells_cache_hits_and_interruption() {
        let (options, mut total, _) = clean();
        total.from_drive_cache = total.ios() / 2 + 1;
        let workload = options.check().unwrap();
        let waited = Span::ZERO;
        let facts =
            RunFacts { workload: &workload, numjobs: 1, total: &total, waited, end: End::Stopped };
        let ids: Vec<MarkId> = of_simulation(facts).iter().map(|mark| mark.id).collect();
        assert_eq!(ids, [MarkId::Modelled, MarkId::DriveCache, MarkId::Interrupted]);
    }
}
