//! The requests of a Linux host for durable writes and flushes (`block/blk-flush.c` of Linux 6.1).
//!
//! A drive without forced unit access (libata leaves it off) gets the data first and a flush once
//! no data of such a write is in progress. One flush is in progress at a time; all requests that
//! wait meanwhile share the next one.

use drivelab_core::{Completion, Destaged, Device, Op, Request, RequestId, Sectors, Span, Time};

use crate::about::About;

/// The name of the host's own flush; no load has such a request.
const FLUSH: RequestId = RequestId(u64::MAX);
/// The time after which a flush no longer waits for data (`FLUSH_PENDING_TIMEOUT`).
const PATIENCE: Span = Span::from_secs(5);

/// The host's way to make a write durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Nothing volatile is behind it, or no host is modelled: requests pass unchanged.
    AsGiven,
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
    /// Durable writes whose data is in progress.
    writing: Vec<RequestId>,
    /// Requests that wait for the next flush, and since when.
    pending: Vec<RequestId>,
    pending_since: Time,
    /// Requests that the flush in progress completes.
    flushed: Vec<RequestId>,
    /// True while the device is too full to take the next flush.
    refused: bool,
}

impl<D: Device> HostSyncs<D> {
    /// Puts `device`, which is described by `about`, behind the host.
    pub fn new(device: D, about: &About) -> Self {
        let attached = about.attached.as_ref();
        let queues = attached.and_then(|attached| attached.queue_pairs);
        let rule = match attached {
            // Each hardware queue has separate flushes, which this does not model.
            Some(_) if !about.has_volatile_cache() || queues.is_some_and(|it| it.count > 1) => {
                Rule::AsGiven
            }
            Some(attached) if attached.forces_unit_access() => Rule::ByFua,
            Some(_) => Rule::ByFlush,
            None => Rule::AsGiven,
        };
        let (writing, pending, flushed) = (Vec::new(), Vec::new(), Vec::new());
        Self { device, rule, writing, pending, pending_since: Time::ZERO, flushed, refused: false }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    fn wait_for_flush(&mut self, now: Time, id: RequestId) {
        if self.pending.is_empty() {
            self.pending_since = now;
        }
        self.pending.push(id);
    }

    /// Begins a flush if any request waits for one, none is in progress, and no data delays it.
    fn flush(&mut self, now: Time) {
        let delayed = !self.writing.is_empty() && now < self.pending_since + PATIENCE;
        if self.pending.is_empty() || !self.flushed.is_empty() || delayed {
            return;
        }
        // A full device takes it after its next completion.
        self.refused = self.device.submit(now, Request::flush(FLUSH.0)).is_err();
        if !self.refused {
            std::mem::swap(&mut self.pending, &mut self.flushed);
        }
    }

    /// Replaces completions of data and of flushes, from index `from` on, by those of requests.
    fn sort_out(&mut self, from: usize, completed: &mut Vec<Completion>) {
        let mut index = from;
        while index < completed.len() {
            let done = completed[index];
            if done.id == FLUSH {
                completed.remove(index);
                for id in self.flushed.drain(..) {
                    completed.insert(index, Completion { id, ..done });
                    index += 1;
                }
                continue;
            }
            let Some(at) = self.writing.iter().position(|id| *id == done.id) else {
                index += 1;
                continue;
            };
            self.writing.swap_remove(at);
            // Data that failed needs no flush.
            if done.result.is_err() {
                index += 1;
                continue;
            }
            completed.remove(index);
            self.wait_for_flush(done.at, done.id);
        }
    }

    fn is_idle(&self) -> bool {
        self.writing.is_empty() && self.pending.is_empty() && self.flushed.is_empty()
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
        if request.op == Op::Flush {
            self.wait_for_flush(now, request.id);
            self.flush(now);
            return Ok(());
        }
        if !request.fua || self.rule == Rule::ByFua {
            return self.device.submit(now, request);
        }
        let data = Request { fua: false, ..request };
        self.device.submit(now, data).map_err(|_| request)?;
        self.writing.push(request.id);
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        let next = self.device.next_event();
        // Where the device was too full its own next event comes first: a time that has passed
        // would be returned for ever.
        let waits = !self.pending.is_empty() && self.flushed.is_empty();
        if !waits || self.writing.is_empty() || self.refused {
            return next;
        }
        let late = self.pending_since + PATIENCE;
        Some(next.map_or(late, |next| next.min(late)))
    }

    #[inline]
    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        let from = completed.len();
        self.device.advance(now, completed);
        if !self.is_idle() {
            self.sort_out(from, completed);
            self.flush(now);
        }
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        self.device.destaged(records);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::profile::Profile;
    use drivelab_core::Lba;

    fn drive(name: &str, options: &[(&str, &str)]) -> HostSyncs<crate::Drive> {
        let mut set = Options::default();
        for (key, value) in options {
            set.set(key, value).unwrap();
        }
        let drive = crate::build(&Profile::embedded(name).unwrap().median(), &set, 1).unwrap();
        let about = drive.about().clone();
        HostSyncs::new(drive, &about)
    }

    /// Durable writes a second, in sequence, with `depth` of them in progress.
    fn rate(mut drive: HostSyncs<crate::Drive>, depth: u64) -> u64 {
        const COUNT: u64 = 400;
        let (mut now, mut sent, mut done, mut completed) = (Time::ZERO, 0, 0, Vec::new());
        while done < COUNT {
            while sent < COUNT && sent - done < depth {
                let write = Request::write(sent, Lba::new(sent * 16), Sectors::new(16));
                drive.submit(now, Request { fua: true, ..write }).unwrap();
                sent += 1;
            }
            now = drive.next_event().expect("requests are in progress");
            drive.advance(now, &mut completed);
            done += completed.drain(..).len() as u64;
        }
        COUNT * 1_000_000_000 / now.since(Time::ZERO).ns()
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
                    served_by: drivelab_core::ServedBy::Medium,
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
        host.advance(host.next_event().unwrap(), &mut completed);
        host.submit(Time::from_ns(10_000_000_000), fua(1)).unwrap();
        host.submit(Time::from_ns(10_000_000_000), Request::flush(8)).unwrap();
        while let Some(next) = host.next_event() {
            host.advance(next, &mut completed);
            events += 1;
            assert!(events < 20, "the same event again and again");
        }
        let ids: Vec<u64> = completed.iter().map(|done| done.id.0).collect();
        assert_eq!(ids, [7, 8, 1]);
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
        assert_eq!(uncached.rule, Rule::AsGiven);
    }
}
