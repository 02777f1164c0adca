//! Several threads on each of several drives, in virtual time.

use drivelab_core::matrix::Cursor;
use drivelab_core::record::{Stamp, Tally};
use drivelab_core::units::{Bytes, Sectors, Span};
use drivelab_core::workload::{Pace, Requests, Workload};
use drivelab_core::{Device, Request, RequestId};

use crate::jobs::{seed_of, share};
use crate::load::{self, Control, Job, LoadError, Source};
use crate::virtual_target::VirtualTarget;

/// Threads that each keep one request under way on one of several drives.
#[derive(Debug, Clone, Copy)]
pub struct Threads<'a> {
    /// What each thread does; its pace is one request at a time, whatever it says.
    pub workload: &'a Workload,
    /// Threads on each drive.
    pub threads: u32,
    /// Where sequential ones go on.
    pub cursor: Cursor,
    /// Drives, which lie one after another in the device's addresses, each as large as the next.
    pub drives: u32,
    /// Bytes of each.
    pub capacity: Bytes,
    /// The seed of each drive's threads, in order.
    pub seeds: &'a [u64],
}

/// What went to and from one drive in the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Requests.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The requests of all threads; thread and slot are the same number.
struct Sources {
    cursors: Vec<(Requests, Sectors)>,
    /// The cursor of each thread.
    of: Vec<usize>,
    threads: usize,
    moved: Vec<Moved>,
}

impl Source for Sources {
    #[inline]
    fn next(&mut self, id: RequestId) -> Request {
        let (requests, base) = &mut self.cursors[self.of[slot(id)]];
        let request = requests.next(id);
        Request { lba: request.lba + *base, ..request }
    }

    #[inline]
    fn counted(&mut self, id: RequestId, bytes: Bytes) {
        let moved = &mut self.moved[slot(id) / self.threads];
        moved.ios += 1;
        moved.bytes += bytes.get();
    }
}

fn slot(id: RequestId) -> usize {
    usize::try_from(id.0).expect("the loop names slots")
}

impl Sources {
    fn new(threads: Threads<'_>) -> Result<Self, LoadError> {
        let Threads { workload, capacity, .. } = threads;
        let sequential = !workload.rw.is_random();
        let parts = if sequential && threads.cursor == Cursor::Own { threads.threads } else { 1 };
        let one_cursor = sequential && threads.cursor == Cursor::Shared;
        let (mut cursors, mut of) = (Vec::new(), Vec::new());
        for (drive, &seed) in (0_u64..).zip(threads.seeds) {
            let base = Sectors::holding(Bytes::new(drive * capacity.get()));
            for thread in 0..threads.threads {
                if thread == 0 || !one_cursor {
                    let own = share(workload, capacity, thread % parts, parts);
                    cursors.push((Requests::new(&own, capacity, seed_of(seed, thread))?, base));
                }
                of.push(cursors.len() - 1);
            }
        }
        let moved = vec![Moved::default(); threads.drives as usize];
        Ok(Self { cursors, of, threads: threads.threads as usize, moved })
    }
}

/// Runs threads on every drive of `device` at the same time: the counts of all, and what moved on
/// each drive.
///
/// # Errors
/// The workload does not fit the drives.
pub fn simulate_threads<D: Device>(
    device: D,
    threads: Threads<'_>,
    control: &Control<'_>,
) -> Result<(Tally, Vec<Moved>), LoadError> {
    assert_eq!(threads.seeds.len(), threads.drives as usize, "one seed a drive");
    let mut sources = Sources::new(threads)?;
    let iodepth = threads.threads * threads.drives;
    let pace = Pace::Closed { iodepth, think_time: Span::ZERO };
    let workload = Workload { pace, ..threads.workload.clone() };
    let job = Job { workload: &workload, seed: threads.seeds[0], stamp: Stamp::Io };
    let mut target = VirtualTarget::new(device);
    let loaded = load::run_from(&mut target, job, &mut sources, &mut { *control })?;
    Ok((loaded.tally, sources.moved))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::atomic::AtomicBool;

    use drivelab_core::workload::{Rw, WorkloadOptions};
    use drivelab_core::{Completion, Lba, ServedBy, Time};

    use super::*;

    /// The first sector of a drive among several.
    fn base_of(drive: u64, capacity: Bytes) -> Lba {
        Lba::at_byte(Bytes::new(drive * capacity.get()))
    }

    /// Each request takes a millisecond; addresses are kept.
    struct Each {
        under_way: Vec<(Time, RequestId)>,
        taken: Rc<RefCell<Vec<(Time, Lba)>>>,
    }

    impl Device for Each {
        fn capacity(&self) -> Sectors {
            Sectors::holding(Bytes::mib(20))
        }

        fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
            self.taken.borrow_mut().push((now, request.lba));
            self.under_way.push((now + Span::from_ms(1), request.id));
            Ok(())
        }

        fn next_event(&self) -> Option<Time> {
            self.under_way.iter().map(|(at, _)| *at).min()
        }

        fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
            self.under_way.retain(|(at, id)| {
                if *at <= now {
                    let (result, served_by) = (Ok(()), ServedBy::Medium);
                    completed.push(Completion { id: *id, at: *at, result, served_by });
                }
                *at > now
            });
        }
    }

    fn run(cursor: Cursor, rw: Rw) -> (Vec<(Time, Lba)>, Vec<Moved>) {
        let options = WorkloadOptions {
            rw: Some(rw),
            runtime: Some(Span::from_ms(10)),
            ..WorkloadOptions::default()
        };
        let workload = options.check().unwrap();
        let (stop, taken) = (AtomicBool::new(false), Rc::new(RefCell::new(Vec::new())));
        let device = Each { under_way: Vec::new(), taken: taken.clone() };
        let threads = Threads {
            workload: &workload,
            threads: 3,
            cursor,
            drives: 2,
            capacity: Bytes::mib(10),
            seeds: &[1, 2],
        };
        let control = Control { stop: &stop, progress: &|_| () };
        let (tally, moved) = simulate_threads(device, threads, &control).unwrap();
        assert_eq!(tally.ios(), moved.iter().map(|moved| moved.ios).sum::<u64>());
        (taken.take(), moved)
    }

    #[test]
    fn every_thread_keeps_one_request_under_way_and_each_drive_is_counted() {
        let (_, moved) = run(Cursor::Own, Rw::Read);
        // Three threads, ten milliseconds, a millisecond each.
        assert_eq!(moved, [Moved { ios: 30, bytes: 30 * 4096 }; 2]);
    }

    #[test]
    fn threads_go_on_in_their_own_parts_or_in_one_place() {
        let first_of = |taken: &[(Time, Lba)], drive: u64| {
            let base = base_of(drive, Bytes::mib(10));
            let end = base_of(drive + 1, Bytes::mib(10));
            let mut lbas: Vec<u64> = taken
                .iter()
                .filter(|(at, lba)| *at < Time::from_ns(2_000_000) && *lba >= base && *lba < end)
                .map(|(_, lba)| (*lba - base).get())
                .collect();
            lbas.sort_unstable();
            lbas
        };
        // A third of 10 MiB in whole blocks of 4 KiB: 853 of eight sectors.
        let (own, _) = run(Cursor::Own, Rw::Read);
        let part = 853 * 8;
        let expected = [0, 8, part, part + 8, 2 * part, 2 * part + 8];
        assert_eq!((first_of(&own, 0), first_of(&own, 1)), (expected.into(), expected.into()));
        let (shared, _) = run(Cursor::Shared, Rw::Read);
        let expected: Vec<u64> = (0..6).map(|block| block * 8).collect();
        assert_eq!((first_of(&shared, 0), first_of(&shared, 1)), (expected.clone(), expected));
    }

    #[test]
    fn random_threads_draw_apart_from_each_other_and_on_every_drive() {
        let (taken, _) = run(Cursor::Own, Rw::RandRead);
        let first: Vec<Lba> = taken.iter().take(6).map(|(_, lba)| *lba).collect();
        let base = base_of(1, Bytes::mib(10));
        let within: Vec<u64> = first
            .iter()
            .map(|lba| if *lba >= base { (*lba - base).get() } else { lba.get() })
            .collect();
        let mut distinct = within.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 6, "{within:?}");
    }
}
