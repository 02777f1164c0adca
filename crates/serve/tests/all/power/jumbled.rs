//! A device that keeps every promise and is as disorderly as they allow.

use std::collections::BTreeMap;

use drivelab_core::{
    Completion, Destaged, Device, Op, Ratio, Request, Rng, Sectors, ServedBy, Span, Time,
};

/// A cached piece of a write that is not on the medium.
#[derive(Debug, Clone, Copy)]
struct Dirty {
    lba: drivelab_core::Lba,
    sectors: Sectors,
    submitted: Time,
}

/// Completes and destages at random moments, in random order, sector by sector.
#[derive(Debug)]
pub(crate) struct Jumbled {
    capacity: Sectors,
    rng: Rng,
    write_through: bool,
    told: Time,
    sequence: u64,
    due: BTreeMap<(Time, u64), Request>,
    dirty: Vec<Dirty>,
    records: Vec<Destaged>,
}

impl Jumbled {
    pub(crate) fn new(capacity: Sectors, seed: u64) -> Self {
        let mut rng = Rng::for_part(seed, 77);
        Self {
            capacity,
            write_through: rng.chance(Ratio::percent(15)),
            rng,
            told: Time::ZERO,
            sequence: 0,
            due: BTreeMap::new(),
            dirty: Vec::new(),
            records: Vec::new(),
        }
    }

    fn schedule(&mut self, now: Time, request: Request) {
        self.sequence += 1;
        let at = now + Span::from_us(self.rng.between(0, 40));
        self.due.insert((at, self.sequence), request);
    }

    /// Puts one dirty piece on the medium.
    fn destage(&mut self, at: Time, index: usize) {
        let Dirty { lba, sectors, submitted } = self.dirty.swap_remove(index);
        self.records.push(Destaged { lba, sectors, taken: submitted, at });
    }

    fn destage_some(&mut self, at: Time) {
        while !self.dirty.is_empty() && self.rng.chance(Ratio::percent(25)) {
            let index = self.rng.below(self.dirty.len() as u64);
            self.destage(at, usize::try_from(index).unwrap());
        }
    }

    fn complete(&mut self, at: Time, request: Request) -> Completion {
        let mut served_by = ServedBy::Medium;
        match request.op {
            Op::Read | Op::Trim => {}
            Op::Flush => {
                while !self.dirty.is_empty() {
                    self.destage(at, 0);
                }
            }
            Op::Write if self.write_through || request.fua => {}
            Op::Write => {
                served_by = ServedBy::DriveWriteCache;
                for offset in 0..request.sectors.get() {
                    let lba = request.lba + Sectors::new(offset);
                    self.dirty.push(Dirty { lba, sectors: Sectors::new(1), submitted: at });
                }
            }
        }
        Completion { id: request.id, at, result: Ok(()), served_by }
    }
}

impl Device for Jumbled {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(now >= self.told, "time ran backwards");
        if self.due.len() >= 6 {
            return Err(request);
        }
        self.schedule(now, request);
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.due.keys().next().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        self.told = now;
        while let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((at, _), request) = entry.remove_entry();
            self.destage_some(at);
            completed.push(self.complete(at, request));
        }
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        records.append(&mut self.records);
    }
}
