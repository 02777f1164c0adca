//! A drive with an account of the data that it acknowledged and that is not on the medium.

use std::collections::BTreeMap;
use std::rc::Rc;

use drivelab_core::disk::Data;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{
    Completion, Destaged, Device, Op, Request, RequestId, Sectors, ServedBy, Time,
};
use drivelab_model::Drive;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Store, Write};

/// Time between two of the instants at which the power could go.
const BETWEEN_CUTS: Span = Span::from_ms(100);

/// A drive, and what a power cut would leave of the data written to it, by the rules of a power cut
/// at their worst: nothing in a volatile cache survives.
#[derive(Debug)]
pub(super) struct Exposed {
    drive: Drive,
    /// The writes that are not on the medium. Their contents are zeros, which take no memory.
    store: Store,
    /// The writes that are not answered, with their sizes.
    in_flight: BTreeMap<RequestId, (Rc<Write>, Bytes)>,
    /// Data acknowledged so far.
    acknowledged: Bytes,
    next_cut: Time,
    loss: Loss,
    records: Vec<Destaged>,
}

/// The sums over all instants at which the power could go.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loss {
    acknowledged_bytes: u64,
    lost_bytes: u64,
}

impl Exposed {
    /// `physical_sector` is what the drive writes in one piece.
    pub(super) fn new(mut drive: Drive, physical_sector: Sectors) -> Self {
        // The first call switches the drive's reports of destaged data on.
        let mut records = Vec::new();
        drive.destaged(&mut records);
        debug_assert!(records.is_empty(), "nothing was written to the drive before");
        let medium = Memory::new(drive.capacity(), Bytes::new(0));
        Self {
            store: Store::new(Box::new(medium), physical_sector),
            in_flight: BTreeMap::new(),
            acknowledged: Bytes::new(0),
            next_cut: Time::ZERO + BETWEEN_CUTS,
            loss: Loss::default(),
            records,
            drive,
        }
    }

    /// The loss up to now.
    pub(super) fn loss(&self) -> Loss {
        self.loss
    }

    /// Accounts for the instants before `now`, at which everything was as it is.
    fn cut_before(&mut self, now: Time) {
        if self.next_cut >= now {
            return;
        }
        let unanswered: u64 = self.in_flight.values().map(|(_, size)| size.get()).sum();
        // Part of an unanswered write may be on the medium already.
        let lost = self.store.pending().get().saturating_sub(unanswered);
        while self.next_cut < now {
            self.loss.acknowledged_bytes += self.acknowledged.get();
            self.loss.lost_bytes += lost;
            self.next_cut += BETWEEN_CUTS;
        }
    }

    fn complete(&mut self, completion: Completion) {
        let Some((write, size)) = self.in_flight.remove(&completion.id) else { return };
        if completion.result.is_err() {
            return self.store.forget(&write).expect(IN_MEMORY);
        }
        self.acknowledged = Bytes::new(self.acknowledged.get() + size.get());
        let is_volatile = completion.served_by == ServedBy::DriveWriteCache;
        self.store.complete(&write, !is_volatile).expect(IN_MEMORY);
    }
}

/// The reason why the store cannot fail.
const IN_MEMORY: &str = "its medium is in memory, and only zeros are written to it";

impl Device for Exposed {
    fn capacity(&self) -> Sectors {
        self.drive.capacity()
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        self.cut_before(now);
        self.drive.submit(now, request)?;
        if request.op == Op::Write {
            let data = Data::Zeros(request.sectors);
            let write = self.store.begin_write(now, request.lba, data).expect(IN_MEMORY);
            self.in_flight.insert(request.id, (write, request.sectors.bytes()));
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.drive.next_event()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        self.cut_before(now);
        let first = completed.len();
        self.drive.advance(now, completed);
        // Destaged data first: a flush that completes below promises that it is on the medium.
        self.drive.destaged(&mut self.records);
        for record in self.records.drain(..) {
            self.store.destaged(&record).expect(IN_MEMORY);
        }
        for completion in &completed[first..] {
            self.complete(*completion);
        }
    }
}

impl Loss {
    /// The percentage of the acknowledged data that is on the medium, over all instants; 100 of a
    /// load that ends before the first.
    #[expect(clippy::cast_precision_loss, reason = "2^53 bytes are 8 PiB")]
    pub(super) fn kept_percent(self) -> f64 {
        debug_assert!(self.lost_bytes <= self.acknowledged_bytes, "only acknowledged data is lost");
        if self.acknowledged_bytes == 0 {
            return 100.0;
        }
        let kept = self.acknowledged_bytes - self.lost_bytes;
        100.0 * kept as f64 / self.acknowledged_bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Lba;
    use drivelab_model::replay::{Loop, Replay};

    use super::*;

    /// The loss of 200 writes of 64 KiB at random places, with a pause after each.
    fn loss(spec: &str) -> Loss {
        let spec: drivelab_model::options::DriveSpec = spec.parse().unwrap();
        let profile = crate::target::profile(&spec).unwrap();
        let drive = crate::target::build(&profile, &spec.options, 1).unwrap();
        let exposed = Exposed::new(drive, profile.physical_sector);
        let mut replay = Replay::new(exposed, Loop::Closed);
        for number in 0..200 {
            let lba = Lba::new(number * 7_919_000 % 100_000_000);
            let request = Request::write(number, lba, Sectors::new(128));
            let think = Some(Span::from_ms(5));
            let entry = drivelab_core::TraceEntry { request, at: None, think, measured: None };
            replay.push(entry, &mut |_| ());
        }
        replay.finish(&mut |_| ());
        replay.device().loss()
    }

    #[test]
    fn a_cache_loses_what_it_holds_and_no_cache_nothing() {
        let on = loss("hitachi-hts542516k9sa00,write-cache=on");
        let off = loss("hitachi-hts542516k9sa00,write-cache=off");
        assert!(off.acknowledged_bytes > 0, "{off:?}");
        assert_eq!((off.lost_bytes, off.kept_percent()), (0, 100.0));
        assert!(on.lost_bytes > 0, "{on:?}");
        assert!(on.kept_percent() > 0.0 && on.kept_percent() < 100.0);
    }

    #[test]
    fn a_protected_cache_keeps_everything() {
        let kept = loss("generic-nvme-datacenter");
        assert_eq!(kept.lost_bytes, 0, "{kept:?}");
    }
}
