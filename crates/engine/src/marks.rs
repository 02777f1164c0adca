//! What figures may be taken for.

use drivelab_core::record::{Mark, MarkId, Tally};
use drivelab_core::units::{Bytes, Ratio, Span};
use drivelab_core::workload::{Pace, Workload};

use crate::load::End;
use crate::open::FileSystem;

/// Fewer than a hundred requests beyond p99 say little about it.
const FEW: u64 = 10_000;
/// No disk answers sooner: the quickest we know of, Intel's Optane P5800X, states 5 us for a read
/// (product brief, 2020).
const QUICKEST_DISK: Span = Span::from_us(4);
/// Later than this is no timer's imprecision: the target or the processor could not follow.
const LATE: Span = Span::from_ms(1);

/// How a run went, whatever it was aimed at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunFacts<'a> {
    pub(crate) workload: &'a Workload,
    /// Jobs that ran together.
    pub(crate) numjobs: u32,
    pub(crate) total: &'a Tally,
    /// How long its jobs could have run and had no processor.
    pub(crate) waited: Span,
    pub(crate) end: End,
}

/// What a run on this machine was aimed at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetFacts<'a> {
    pub(crate) direct: bool,
    pub(crate) file_system: FileSystem,
    pub(crate) capacity: Bytes,
    pub(crate) memory: Bytes,
    pub(crate) holes: Bytes,
    pub(crate) laid_out: bool,
    /// The drive acknowledges what its own cache holds.
    pub(crate) write_back: bool,
    /// What the device really is, where it is no disk of its own.
    pub(crate) stand_in: Option<&'a str>,
}

/// The marks of a run on this machine.
pub(crate) fn of_run(facts: RunFacts<'_>, target: TargetFacts<'_>) -> Vec<Mark> {
    let marks = [
        not_disk(facts, target),
        page_cache(facts.workload, target),
        write_cache(facts.workload, target),
        cpu_bound(facts),
    ];
    marks.into_iter().flatten().chain(of_facts(facts)).collect()
}

/// The marks of a run in virtual time.
pub(crate) fn of_simulation(facts: RunFacts<'_>) -> Vec<Mark> {
    let modelled = "a model in virtual time: no real device was involved";
    let cached = drive_cache(facts.total);
    let marks = [mark(MarkId::Modelled, modelled.into()), cached];
    marks.into_iter().flatten().chain(of_facts(facts)).collect()
}

fn of_facts(facts: RunFacts<'_>) -> impl Iterator<Item = Mark> {
    let marks = [
        interrupted(facts),
        unsteady(facts),
        unanswered(facts.total),
        errors(facts.total),
        late(facts),
        few_requests(facts.total),
    ];
    marks.into_iter().flatten()
}

#[expect(clippy::unnecessary_wraps, reason = "every rule gives a mark or none")]
fn mark(id: MarkId, message: String) -> Option<Mark> {
    Some(Mark { id, message })
}

fn not_disk(facts: RunFacts<'_>, target: TargetFacts<'_>) -> Option<Mark> {
    let total = facts.total;
    if target.file_system.in_memory {
        let name = target.file_system.name;
        return mark(
            MarkId::NotDisk,
            format!("{name} keeps files in memory: no disk was involved"),
        );
    }
    if let Some(what) = target.stand_in {
        return mark(MarkId::NotDisk, format!("this is {what}, not a disk"));
    }
    if facts.workload.rw.reads() && target.holes.get() > 0 {
        let (holes, all) = (target.holes.about(), target.capacity.about());
        let message =
            format!("{holes} of the file's {all} were never written: reads of holes reach no disk");
        return mark(MarkId::NotDisk, message);
    }
    let typical = total.service().quantile(Ratio::percent(50))?;
    if !target.direct || facts.workload.rw.trims() || typical >= QUICKEST_DISK {
        return None;
    }
    let message = format!(
        "half of the requests took less than {typical}, faster than any disk: memory behind the \
         device answered"
    );
    mark(MarkId::NotDisk, message)
}

fn page_cache(workload: &Workload, target: TargetFacts<'_>) -> Option<Mark> {
    if target.direct {
        return None;
    }
    let memory = target.memory;
    let message = if workload.rw.reads() && target.laid_out {
        "buffered reads of a file that was just written: it is in the page cache".into()
    } else if workload.rw.reads() && target.capacity <= memory {
        format!("buffered reads of a file that fits into the {} of memory", memory.about())
    } else if workload.rw.sends() && !waits_for_disk(workload) {
        "buffered writes complete in the page cache, before the disk has them".into()
    } else if workload.rw.reads() {
        "buffered reads: the page cache and read-ahead answered some of them".into()
    } else {
        return None;
    };
    mark(MarkId::PageCache, message)
}

/// Whether every write waits until the medium has it; a flush after several tells of the last only.
fn waits_for_disk(workload: &Workload) -> bool {
    workload.sync || workload.fsync == 1
}

/// Past the page cache only: through it, writes are not even done when the drive has them.
fn write_cache(workload: &Workload, target: TargetFacts<'_>) -> Option<Mark> {
    if !workload.rw.sends() || waits_for_disk(workload) || !target.direct || !target.write_back {
        return None;
    }
    let message = "the drive's write cache is on: writes complete in the cache, and a power cut \
                   may lose them (`--fsync=1` or `--sync` waits for the medium)";
    mark(MarkId::DriveCache, message.into())
}

fn drive_cache(total: &Tally) -> Option<Mark> {
    let cached = total.from_drive_cache;
    if cached * 2 <= total.ios() {
        return None;
    }
    let share = cached * 100 / total.ios();
    mark(MarkId::DriveCache, format!("the drive's own cache answered {share} % of the requests"))
}

/// Only closed loops: an open one spins while it waits for the next moment to send.
fn cpu_bound(facts: RunFacts<'_>) -> Option<Mark> {
    let Pace::Closed { .. } = facts.workload.pace else { return None };
    // What others took of the processor was as much of a limit as its speed.
    let used = facts.total.cpu? + facts.waited;
    let had = facts.total.elapsed * u64::from(facts.numjobs);
    if had.is_zero() || used.ns() / 9 < had.ns() / 10 {
        return None;
    }
    let share = u128::from(used.ns()) * 100 / u128::from(had.ns());
    let message =
        format!("the CPU was busy or unavailable {share} % of the time and may be the bottleneck");
    mark(MarkId::CpuBound, message)
}

fn interrupted(facts: RunFacts<'_>) -> Option<Mark> {
    if facts.end != End::Stopped {
        return None;
    }
    let (done, asked) = (facts.total.elapsed, facts.workload.runtime);
    mark(MarkId::Interrupted, format!("stopped after {done} of {asked}"))
}

fn unsteady(facts: RunFacts<'_>) -> Option<Mark> {
    let steady = facts.workload.steady?;
    if facts.total.steady.is_some() {
        return None;
    }
    let (criterion, window) = (steady.criterion, steady.window);
    mark(MarkId::Unsteady, format!("the run never met `{criterion}` for {window} seconds"))
}

fn unanswered(total: &Tally) -> Option<Mark> {
    let what = match (total.unanswered, total.unsent) {
        (0, 0) => return None,
        (0, due) => format!("{due} requests that were due were never issued"),
        (sent, 0) => format!("{sent} requests never completed"),
        (sent, due) => {
            format!("{sent} requests never completed, and {due} that were due were never issued")
        }
    };
    let message = format!(
        "{what}: each counts with the time it had waited, so the true latency is \
                           higher"
    );
    mark(MarkId::Unanswered, message)
}

fn errors(total: &Tally) -> Option<Mark> {
    let (errors, all) = (total.errors, total.ios() + total.errors);
    if errors == 0 {
        return None;
    }
    mark(MarkId::Errors, format!("{errors} of {all} requests failed"))
}

fn late(facts: RunFacts<'_>) -> Option<Mark> {
    let per_s = match facts.workload.pace {
        Pace::Closed { .. } => return None,
        Pace::Fixed { per_s, .. } | Pace::Poisson { per_s, .. } => per_s,
    };
    let (total, elapsed) = (facts.total, facts.total.elapsed);
    let sent = (total.late.n() + total.errors).saturating_sub(total.unsent);
    let asked = u128::from(per_s) * u128::from(facts.numjobs) * u128::from(elapsed.ns());
    let asked = asked / 1_000_000_000;
    // Poisson counts scatter by their square root; four of them are left alone.
    if u128::from(sent) * 100 < asked * 99 && u128::from(sent) + 4 * asked.isqrt() < asked {
        let message = format!("only {sent} of the {asked} scheduled requests were issued");
        return mark(MarkId::Late, message);
    }
    let lateness = facts.total.late.quantile(Ratio::percent(99))?;
    if lateness <= LATE {
        return None;
    }
    // As exact as people read it.
    let digit = 10_u64.pow(lateness.ns().ilog10().saturating_sub(2));
    let lateness = Span::from_ns(lateness.ns() / digit * digit);
    mark(MarkId::Late, format!("one request in a hundred was issued at least {lateness} late"))
}

/// What is said of a run whose tail rests on few requests.
pub fn few_requests(total: &Tally) -> Option<Mark> {
    let n = total.lat().n();
    if n >= FEW {
        return None;
    }
    let beyond = n / 100;
    mark(MarkId::FewRequests, format!("{n} requests: p99 depends on only {beyond} of them"))
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
        let told = |unanswered, unsent| {
            unanswered_of(unanswered, unsent).map(|mark| mark.message).unwrap_or_default()
        };
        assert_eq!(told(0, 0), "");
        let end = "each counts with the time it had waited, so the true latency is higher";
        assert_eq!(told(4, 0), format!("4 requests never completed: {end}"));
        assert_eq!(told(0, 868), format!("868 requests that were due were never issued: {end}"));
        let both = "4 requests never completed, and 8 that were due were never issued";
        assert_eq!(told(4, 8), format!("{both}: {end}"));
    }

    fn unanswered_of(unanswered: u64, unsent: u64) -> Option<Mark> {
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
