//! The requests of a Linux host for durable writes and flushes (`block/blk-flush.c` of Linux 6.1).
//!
//! A drive without forced unit access (libata leaves it off) gets the data first and a flush once
//! no data of such a write is in progress. Of each drive one flush is in progress at a time; all
//! requests that wait meanwhile share the next one. Drives behind one controller do not: a program
//! flushes the drives that its files are on.
//!
//! A program's flush begins behind the requests of the same moment: the host hands it to another
//! thread (`io_queue_iowq`, `aio_fsync_work`), while they go to the drive at once. These threads
//! report the end of their flush one after another, and the program's next requests follow in that
//! order. To a drive that reports no volatile cache the host sends neither flushes nor forced unit
//! access.

mod flushes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use drivelab_core::{
    Completion, Destaged, Device, Lba, Op, Request, RequestId, Sectors, ServedBy, Time,
};

use crate::about::About;
use crate::controller::Controller;
use flushes::{Next, Queue, Waiter};

/// The names of the host's own flushes of the first drive begin here and go down, two of each drive
/// in turn; no load has such requests.
const FLUSH: RequestId = RequestId(u64::MAX);

/// The host's way to make a write durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// No host is modelled: requests pass unchanged.
    AsGiven,
    /// No volatile cache is reported (`submit_bio_noacct`): a flush ends at once, without the
    /// drive.
    Needless,
    /// By forced unit access.
    ByFua,
    /// By a flush behind the data.
    ByFlush,
}

/// A device behind the host's handling of durable writes and flushes.
#[derive(Debug)]
pub struct HostSyncs<D> {
    device: D,
    rule: Rule,
    /// One for each drive of the host; an array is one drive.
    queues: Vec<Queue>,
    /// True as long as any flush or durable write may be in progress: most loads have none.
    busy: bool,
    /// True if a flush shares the wire with no other command, so that others wait for it.
    alone: bool,
    /// Flushes that another thread has yet to begin, since this time.
    handed: Vec<Request>,
    handed_at: Time,
    /// Flushes of the program that have ended, of which one is reported at a time.
    reported: VecDeque<Completion>,
    /// Requests that the host has for one drive: each durable write keeps one until its flush ends.
    requests: usize,
    /// The size of each of several drives.
    each: Sectors,
    /// Several drives: those that each submitter has written to.
    written: BTreeMap<u16, BTreeSet<usize>>,
    /// Several drives: requests that more than one of them has yet to flush, and their number.
    parts: BTreeMap<RequestId, usize>,
}

impl<D: Device> HostSyncs<D> {
    /// Puts `device`, which is described by `about`, behind the host.
    pub fn new(device: D, about: &About) -> Self {
        let attached = about.attached.as_ref();
        let queues = attached.and_then(|attached| attached.queue_pairs);
        let rule = match attached {
            Some(_) if !about.reports_volatile_cache() => Rule::Needless,
            // Each hardware queue has separate flushes, which this does not model.
            Some(_) if queues.is_some_and(|it| it.count > 1) => Rule::AsGiven,
            Some(attached) if attached.forces_unit_access() => Rule::ByFua,
            Some(_) => Rule::ByFlush,
            None => Rule::AsGiven,
        };
        // The host sees an array as one drive, and drives without one as they are.
        let separate = about.arrangement.as_ref().filter(|it| it.raid.is_none());
        let drives = separate.map_or(1, |it| it.drives.max(1));
        let each = Sectors::new(device.capacity().get() / drives as u64);
        let queues = vec![Queue::EMPTY; drives];
        let single = attached.filter(|_| about.arrangement.is_none());
        let controller = attached.map(|attached| attached.controller);
        Self {
            device,
            rule,
            queues,
            busy: false,
            alone: matches!(controller, Some(Controller::Ahci | Controller::Ide)),
            handed: Vec::new(),
            handed_at: Time::ZERO,
            reported: VecDeque::new(),
            requests: single.map_or(usize::MAX, |attached| attached.nr_requests),
            each,
            written: BTreeMap::new(),
            parts: BTreeMap::new(),
        }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The drives that a write concerns.
    fn drives_of(&self, request: &Request) -> RangeInclusive<usize> {
        let last = self.queues.len() - 1;
        if last == 0 || request.sectors == Sectors::ZERO {
            return 0..=last;
        }
        let drive =
            |lba: u64| usize::try_from(lba / self.each.get()).map_or(last, |drive| drive.min(last));
        drive(request.lba.get())..=drive(request.end().get() - 1)
    }

    /// Lets a request wait for the flushes of drives.
    fn wait(&mut self, now: Time, waiter: Waiter, drives: &[usize]) {
        debug_assert!(!drives.is_empty(), "a request that no flush ends");
        if drives.len() > 1 {
            self.parts.insert(waiter.id, drives.len());
        }
        for drive in drives {
            self.queues[*drive].wait_for_flush(now, waiter);
        }
    }

    /// The drives that the files of a submitter are on: all, as long as it has written nothing.
    fn flushed_by(&self, submitter: u16) -> Vec<usize> {
        let known = self.written.get(&submitter).map(|drives| drives.iter().copied().collect());
        known.unwrap_or_else(|| (0..self.queues.len()).collect())
    }

    /// Begins the flush of each drive that has one due.
    fn flush(&mut self, now: Time) {
        let several = self.queues.len() > 1;
        for (drive, queue) in (0_u64..).zip(&mut self.queues) {
            let ahead = self.alone && queue.goes_ahead();
            if !(ahead || queue.is_due(now)) {
                continue;
            }
            let mut flush = Request::flush(FLUSH.0 - 2 * drive - u64::from(queue.turn));
            if several {
                // A flush with an address is of the drive that has it.
                flush.lba = Lba::new(drive * self.each.get());
                flush.sectors = Sectors::new(1);
            }
            // A full device takes it after its next completion.
            if self.device.submit(now, flush).is_err() {
                queue.next = Next::Refused;
                continue;
            }
            queue.turn = !queue.turn;
            queue.next = if ahead { Next::Ahead } else { Next::Held };
            if !ahead {
                std::mem::swap(&mut queue.pending, &mut queue.flushed);
            }
        }
    }

    /// Begins the flushes that were handed over, one after another: of those that wait for one
    /// drive, the first has a flush alone.
    fn begin_handed(&mut self, now: Time, completed: &mut Vec<Completion>) {
        let mut handed = std::mem::take(&mut self.handed);
        for request in handed.drain(..) {
            if self.rule == Rule::Needless {
                // `submit_bio_noacct` ends it.
                let (id, served_by) = (request.id, ServedBy::Unknown);
                completed.push(Completion { id, at: now, result: Ok(()), served_by });
                continue;
            }
            let drives = self.flushed_by(request.submitter);
            self.wait(now, Waiter { id: request.id, thread: true }, &drives);
            self.flush(now);
        }
        // The room for requests is kept.
        self.handed = handed;
    }

    /// The drive of a flush of the host's own.
    fn flushed_drive(&self, id: RequestId) -> Option<usize> {
        let drive = usize::try_from((FLUSH.0 - id.0) / 2).ok()?;
        (drive < self.queues.len()).then_some(drive)
    }

    /// True if no other drive has yet to flush for a request.
    fn is_last_part(&mut self, id: RequestId) -> bool {
        let Some(left) = self.parts.get_mut(&id) else { return true };
        *left -= 1;
        let last = *left == 0;
        if last {
            self.parts.remove(&id);
        }
        last
    }

    /// Replaces completions of data and of flushes, from index `from` on, by those of requests.
    fn sort_out(&mut self, from: usize, completed: &mut Vec<Completion>) {
        let mut index = from;
        while index < completed.len() {
            let done = completed[index];
            if let Some(drive) = self.flushed_drive(done.id) {
                completed.remove(index);
                let mut flushed = std::mem::take(&mut self.queues[drive].flushed);
                for Waiter { id, thread } in flushed.drain(..) {
                    if !self.is_last_part(id) {
                        continue;
                    }
                    if thread {
                        self.reported.push_back(Completion { id, ..done });
                    } else {
                        completed.insert(index, Completion { id, ..done });
                        index += 1;
                    }
                }
                let queue = &mut self.queues[drive];
                queue.flushed = flushed;
                queue.was_ahead = queue.next == Next::Ahead;
                if queue.was_ahead {
                    queue.next = Next::Held;
                    std::mem::swap(&mut queue.pending, &mut queue.flushed);
                }
                continue;
            }
            let mut drives = Vec::new();
            for (drive, queue) in self.queues.iter_mut().enumerate() {
                if let Some(at) = queue.writing.iter().position(|id| *id == done.id) {
                    queue.writing.swap_remove(at);
                    drives.push(drive);
                }
            }
            // Data that failed needs no flush.
            if drives.is_empty() || done.result.is_err() {
                index += 1;
                continue;
            }
            completed.remove(index);
            self.wait(done.at, Waiter { id: done.id, thread: false }, &drives);
        }
    }
}

impl<D: Device> Device for HostSyncs<D> {
    fn capacity(&self) -> Sectors {
        self.device.capacity()
    }

    #[inline]
    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        if self.rule == Rule::AsGiven {
            return self.device.submit(now, request);
        }
        let is_durable = request.op == Op::Flush || (request.fua && self.rule == Rule::ByFlush);
        if is_durable && self.queues[0].len() + self.handed.len() >= self.requests {
            return Err(request);
        }
        self.busy |= is_durable;
        if request.op == Op::Flush {
            self.handed.push(request);
            self.handed_at = now;
            return Ok(());
        }
        if self.rule == Rule::Needless {
            let data = Request { fua: false, ..request };
            return self.device.submit(now, data).map_err(|_| request);
        }
        let several = self.queues.len() > 1;
        if several && request.op == Op::Write {
            let drives = self.drives_of(&request);
            self.written.entry(request.submitter).or_default().extend(drives);
        }
        if !request.fua || self.rule == Rule::ByFua {
            return self.device.submit(now, request);
        }
        let data = Request { fua: false, ..request };
        self.device.submit(now, data).map_err(|_| request)?;
        for drive in self.drives_of(&request) {
            self.queues[drive].writing.push(request.id);
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        if !self.busy {
            return self.device.next_event();
        }
        if !self.handed.is_empty() {
            return Some(self.handed_at);
        }
        if let Some(done) = self.reported.front() {
            return Some(done.at);
        }
        let late = self.queues.iter().filter_map(Queue::patience_ends);
        late.chain(self.device.next_event()).min()
    }

    #[inline]
    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        let from = completed.len();
        self.device.advance(now, completed);
        if !self.busy {
            return;
        }
        if !self.queues.iter().all(Queue::is_idle) {
            self.sort_out(from, completed);
            self.flush(now);
        }
        if !self.handed.is_empty() {
            self.begin_handed(now, completed);
        }
        completed.extend(self.reported.pop_front());
        let rests = self.handed.is_empty() && self.reported.is_empty();
        self.busy = !(rests && self.queues.iter().all(Queue::is_idle));
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        self.device.destaged(records);
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Span;

    use super::*;
    use crate::options::Options;
    use crate::profile::Profile;

    fn drive(name: &str, options: &[(&str, &str)]) -> HostSyncs<crate::Drive> {
        let mut set = Options::default();
        for (key, value) in options {
            set.set(key, value).unwrap();
        }
        let drive = crate::build(&Profile::embedded(name).unwrap().median(), &set, 1).unwrap();
        let about = drive.about().clone();
        HostSyncs::new(drive, &about)
    }

    /// Requests a second of those that `request` makes, with `depth` of them in progress.
    fn rate_of(
        mut drive: HostSyncs<crate::Drive>,
        depth: u64,
        request: impl Fn(u64) -> Request,
    ) -> u64 {
        const COUNT: u64 = 400;
        let (mut now, mut sent, mut done, mut completed) = (Time::ZERO, 0, 0, Vec::new());
        while done < COUNT {
            while sent < COUNT && sent - done < depth && drive.submit(now, request(sent)).is_ok() {
                sent += 1;
            }
            now = drive.next_event().expect("requests are in progress");
            drive.advance(now, &mut completed);
            done += completed.drain(..).len() as u64;
        }
        COUNT * 1_000_000_000 / now.since(Time::ZERO).ns()
    }

    /// Durable writes a second, in sequence.
    fn rate(drive: HostSyncs<crate::Drive>, depth: u64) -> u64 {
        rate_of(drive, depth, |sent| {
            let write = Request::write(sent, Lba::new(sent * 16), Sectors::new(16));
            Request { fua: true, ..write }
        })
    }

    /// Measured under a real kernel on the same model (`libaio`): writes of 4 KiB with an `fsync`
    /// behind each.
    #[test]
    fn a_flush_of_each_revolution_covers_half_of_the_depth_in_writes() {
        for (depth, expected) in [(2, 119), (4, 238), (8, 471), (16, 930), (32, 1793)] {
            let drive = drive("seagate-st31000333as", &[]);
            let found = rate_of(drive, depth, |sent| match sent % 2 {
                0 => Request::write(sent, Lba::new(sent / 2 * 8), Sectors::new(8)),
                _ => Request::flush(sent),
            });
            let ratio = 100 * found / 2 / expected;
            assert!((93..=107).contains(&ratio), "depth {depth}: {found}, measured {expected}");
        }
    }

    #[test]
    fn a_drive_is_flushed_for_what_it_reports() {
        let scale = ("scale", "1/64");
        for (name, options, flushes) in [
            ("generic-nvme-datacenter", &[scale][..], 0),
            ("generic-sata-datacenter", &[scale], 1),
            ("generic-sata-datacenter", &[scale, ("write-cache", "off")], 0),
            ("seagate-st31000333as", &[("write-cache", "off")], 0),
        ] {
            let mut drive = drive(name, options);
            drive.submit(Time::ZERO, Request::flush(7)).unwrap();
            let mut completed = Vec::new();
            while let Some(next) = drive.next_event() {
                drive.advance(next, &mut completed);
            }
            assert_eq!(completed.len(), 1, "{name}");
            assert_eq!(drive.device().counters().flushes, flushes, "{name} {options:?}");
        }
    }

    /// Measured under a real kernel on the same model: 119, 237, 461 and 896 a second.
    #[test]
    fn durable_writes_of_a_sata_disk_share_a_flush_of_each_revolution() {
        let measured = [(1, 119), (2, 237), (4, 461), (8, 896)];
        for (depth, expected) in measured {
            let found = rate(drive("seagate-st31000333as", &[]), depth);
            let ratio = 100 * found / expected;
            assert!((93..=107).contains(&ratio), "depth {depth}: {found}, measured {expected}");
        }
    }

    /// A port with one command has two requests in Linux; measured: 119, 236 and 235 a second.
    #[test]
    fn durable_writes_behind_a_taskfile_share_a_flush_two_at_a_time() {
        for (depth, expected) in [(1, 119), (4, 236), (8, 235)] {
            let found = rate(drive("seagate-st31000333as", &[("controller", "ide")]), depth);
            let ratio = 100 * found / expected;
            assert!((93..=107).contains(&ratio), "depth {depth}: {found}, measured {expected}");
        }
    }

    /// A device of one slot, whose requests take ten seconds.
    #[derive(Debug)]
    struct Slow(Option<(Time, Request)>);

    impl Device for Slow {
        fn capacity(&self) -> Sectors {
            Sectors::new(1 << 20)
        }
        fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
            if self.0.is_some() {
                return Err(request);
            }
            self.0 = Some((now + Span::from_secs(10), request));
            Ok(())
        }
        fn next_event(&self) -> Option<Time> {
            self.0.map(|(at, _)| at)
        }
        fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
            if let Some((at, request)) = self.0.take_if(|(at, _)| *at <= now) {
                completed.push(Completion {
                    id: request.id,
                    at,
                    result: Ok(()),
                    served_by: ServedBy::Medium,
                });
            }
        }
    }

    #[test]
    fn a_flush_that_a_full_device_refuses_does_not_stop_the_time() {
        let fua = |id| Request { fua: true, ..Request::write(id, Lba::ZERO, Sectors::new(8)) };
        let about = drive("seagate-st31000333as", &[]).device().about().clone();
        let mut host = HostSyncs::new(Slow(None), &about);
        host.submit(Time::ZERO, Request::flush(7)).unwrap();
        let (mut completed, mut events) = (Vec::new(), 0);
        for at in [Time::ZERO, Time::from_ns(10_000_000_000)] {
            assert_eq!(host.next_event(), Some(at));
            host.advance(at, &mut completed);
        }
        host.submit(Time::from_ns(10_000_000_000), fua(1)).unwrap();
        host.submit(Time::from_ns(10_000_000_000), Request::flush(8)).unwrap();
        while let Some(next) = host.next_event() {
            host.advance(next, &mut completed);
            events += 1;
            assert!(events < 20, "the same event again and again");
        }
        let ids: Vec<u64> = completed.iter().map(|done| done.id.0).collect();
        assert_eq!(ids, [7, 1, 8]);
    }

    #[test]
    fn a_program_flushes_the_drives_that_it_has_written_to() {
        let flushes = |submitters: [u16; 2]| {
            let mut pair = drive("seagate-st31000333as", &[("drives", "2")]);
            let second = pair.capacity().get() / 2;
            for (submitter, lba) in submitters.into_iter().zip([0, second]) {
                let write = Request::write(lba, Lba::new(lba), Sectors::new(16));
                pair.submit(Time::ZERO, Request { submitter, ..write }).unwrap();
            }
            pair.submit(Time::ZERO, Request { submitter: 0, ..Request::flush(7) }).unwrap();
            let mut completed = Vec::new();
            while let Some(next) = pair.next_event() {
                pair.advance(next, &mut completed);
            }
            assert_eq!(completed.len(), 3, "{completed:?}");
            pair.device().counters().flushes
        };
        assert_eq!([flushes([0, 1]), flushes([0, 0])], [1, 2]);
    }

    #[test]
    fn the_key_decides_and_a_cache_that_is_off_needs_no_flush() {
        let [flush, fua] = ["off", "on"].map(|fua| {
            let mut drive = drive("seagate-st31000333as", &[("fua", fua)]);
            let write = Request::write(1, Lba::ZERO, Sectors::new(16));
            drive.submit(Time::ZERO, Request { fua: true, ..write }).unwrap();
            while let Some(next) = drive.next_event() {
                drive.advance(next, &mut Vec::new());
            }
            drive.device().counters().flushes
        });
        assert_eq!((flush, fua), (1, 0));
        let uncached = drive("seagate-st31000333as", &[("write-cache", "off")]);
        assert_eq!(uncached.rule, Rule::Needless);
    }
}
