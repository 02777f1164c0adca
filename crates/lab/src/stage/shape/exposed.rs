//! A drive with an account of the writes that a power cut would lose.

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

/// A drive, and how much of the data sent to it a power cut would lose, by the rules of a power cut
/// at their worst: nothing in a volatile cache survives, and nothing of an unanswered write.
#[derive(Debug)]
pub(super) struct Exposed {
    drive: Drive,
    /// The writes that are not on the medium. Their contents are zeros, which take no memory.
    store: Store,
    /// The writes that are not answered.
    in_flight: BTreeMap<RequestId, Rc<Write>>,
    next_cut: Time,
    exposure: Exposure,
    records: Vec<Destaged>,
}

/// Sums over all instants at which the power could go.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Exposure {
    /// Bytes sent to the drive.
    sent: u64,
    /// Bytes that are not on the medium, summed over the instants.
    at_risk: u64,
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
            next_cut: Time::ZERO + BETWEEN_CUTS,
            exposure: Exposure::default(),
            records,
            drive,
        }
    }

    /// The exposure up to now.
    pub(super) fn exposure(&self) -> Exposure {
        self.exposure
    }

    /// Accounts for the instants before `now`, at which everything was as it is.
    fn cut_before(&mut self, now: Time) {
        if self.next_cut >= now {
            return;
        }
        let at_risk = self.store.pending().get();
        while self.next_cut < now {
            self.exposure.at_risk += at_risk;
            self.next_cut += BETWEEN_CUTS;
        }
    }

    fn complete(&mut self, completion: Completion) {
        let Some(write) = self.in_flight.remove(&completion.id) else { return };
        if completion.result.is_err() {
            return self.store.forget(&write).expect(IN_MEMORY);
        }
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
            self.in_flight.insert(request.id, write);
            self.exposure.sent += request.sectors.bytes().get();
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

impl Exposure {
    /// The time in milliseconds for which a power cut can lose a byte, from the moment when it is
    /// sent until it is on the medium, as a mean over all bytes; 0 of a load that ends before the
    /// first instant.
    #[expect(clippy::cast_precision_loss, reason = "2^53 bytes are 8 PiB")]
    pub(super) fn mean_ms(self) -> f64 {
        if self.sent == 0 {
            return 0.0;
        }
        // The mean number of bytes at risk is their rate times the mean time of each.
        self.at_risk as f64 / self.sent as f64 * BETWEEN_CUTS.ns() as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Lba;
    use drivelab_model::replay::{Loop, Replay};

    use super::*;

    /// The exposure of 2,000 writes of 64 KiB at random places, with a pause after each.
    fn exposure(spec: &str) -> Exposure {
        let spec: drivelab_model::options::DriveSpec = spec.parse().unwrap();
        let profile = crate::target::profile(&spec).unwrap();
        let drive = crate::target::build(&profile, &spec.options, 1).unwrap();
        let exposed = Exposed::new(drive, profile.physical_sector);
        let mut replay = Replay::new(exposed, Loop::Closed);
        for number in 0..2_000 {
            let lba = Lba::new(number * 7_919_000 % 100_000_000);
            let request = Request::write(number, lba, Sectors::new(128));
            let think = Some(Span::from_ms(5));
            let entry = drivelab_core::TraceEntry { request, at: None, think, measured: None };
            replay.push(entry, &mut |_| ());
        }
        replay.finish(&mut |_| ());
        replay.device().exposure()
    }

    #[test]
    fn a_cache_keeps_data_at_risk_for_longer_than_the_write_itself() {
        let on = exposure("hitachi-hts542516k9sa00,write-cache=on").mean_ms();
        let off = exposure("hitachi-hts542516k9sa00,write-cache=off").mean_ms();
        // Without a cache that is the service time: a seek and half a revolution.
        assert!(off > 5.0 && off < 40.0, "{off} ms");
        assert!(on > 2.0 * off, "{on} and {off} ms");
    }

    #[test]
    fn data_in_a_protected_cache_is_at_risk_until_it_is_answered() {
        let protected = exposure("generic-nvme-datacenter").mean_ms();
        assert!(protected < 1.0, "{protected} ms");
    }

    #[test]
    fn a_load_without_an_instant_has_no_exposure() {
        assert_eq!(Exposure::default().mean_ms().to_bits(), 0.0_f64.to_bits());
    }
}
