//! A drive with bytes in it: a device model, the store, and faults, as one state machine.
//!
//! It receives the time as an argument, like every [`Device`]; the server drives it against a
//! clock, and the tests drive it in virtual time.

mod null;
mod power_cut;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::rc::Rc;

use drivelab_core::disk::{Answer, Command, Disk, Extent};
use drivelab_core::{
    Bytes, Completion, Destaged, Device, Lba, Op, Request, RequestId, Sectors, ServedBy, Time,
};
use slab::Slab;

pub use null::Null;
pub use power_cut::PowerCut;

use crate::fault::{Fault, FaultId, Faults, Incident, Listed, Plan};
use crate::store::{Choose, KeepAll, Recording, Step, Store, Survival, TrimId, Write};

/// Properties of a drive that a host is informed of, in addition to its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Its physical sector: a power of two.
    pub physical_sector: Sectors,
    /// True if it is a rotating disk.
    pub rotational: bool,
    /// True if it reports a cache that has to be flushed.
    pub volatile_cache: bool,
}

impl Attributes {
    /// Safe values for a file of unknown properties.
    pub const UNKNOWN: Self =
        Self { physical_sector: Sectors::new(8), rotational: false, volatile_cache: true };
}

#[derive(Debug)]
struct Pending {
    answer: Answer,
    submitted: Time,
    change: Change,
    plan: Plan,
    /// True after a reset: the device finishes the command, but it is not answered.
    is_aborted: bool,
}

#[derive(Debug)]
enum Change {
    Nothing,
    Write { write: Rc<Write>, lands: Lba },
    Trim(TrimId),
    Flush,
}

/// A drive that contains data, loses it as the rules allow, and misbehaves as its faults specify.
pub struct ServedDrive {
    device: Box<dyn Device>,
    store: Store,
    faults: Faults,
    /// True if a capacitor or battery lets the write cache survive a power cut.
    has_protected_cache: bool,
    pending: Slab<Pending>,
    aborted: usize,
    /// Commands that the full device did not accept, in order.
    waiting: VecDeque<Request>,
    /// Answers that are delayed or need no device, by (time, sequence).
    held: BTreeMap<(Time, u64), Answer>,
    sequence: u64,
    completions: Vec<Completion>,
    records: Vec<Destaged>,
}

impl fmt::Debug for ServedDrive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedDrive").finish_non_exhaustive()
    }
}

impl ServedDrive {
    /// A drive that behaves like `device`, keeps its bytes in `store`, and draws its faults from
    /// `seed`.
    pub fn new(device: impl Device + 'static, store: Store, seed: u64) -> Self {
        let mut device: Box<dyn Device> = Box::new(device);
        // The first call switches the device's reports of destaged data on.
        let mut records = Vec::new();
        device.destaged(&mut records);
        Self {
            device,
            store,
            faults: Faults::new(seed),
            has_protected_cache: false,
            pending: Slab::new(),
            aborted: 0,
            waiting: VecDeque::new(),
            held: BTreeMap::new(),
            sequence: 0,
            completions: Vec::new(),
            records,
        }
    }

    /// The same drive with power-loss protection: acknowledged data is durable.
    pub fn with_protected_cache(self) -> Self {
        Self { has_protected_cache: true, ..self }
    }

    /// The store, for inspection.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the recording of its store.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.store.take_recording()
    }

    fn advance_device(&mut self, now: Time) -> io::Result<()> {
        self.store.at(now);
        let mut completions = std::mem::take(&mut self.completions);
        self.device.advance(now, &mut completions);
        // Destaged data first: a flush that completes below promises that it is on the medium.
        self.device.destaged(&mut self.records);
        for record in self.records.drain(..) {
            self.store.destaged(&record)?;
        }
        for completion in completions.drain(..) {
            self.finish(completion)?;
        }
        self.completions = completions;
        Ok(())
    }

    /// Submits waiting commands; returns whether any was accepted.
    fn resubmit(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(request) = self.waiting.pop_front() {
            if let Err(request) = self.device.submit(now, request) {
                self.waiting.push_front(request);
                break;
            }
            any = true;
        }
        any
    }

    /// Carries out a command, and answers it now or when its faults permit.
    fn finish(&mut self, completion: Completion) -> io::Result<()> {
        let Pending { mut answer, submitted, change, plan, is_aborted } =
            self.pending.remove(slot(completion.id));
        answer.result = completion.result.map_err(Into::into).and(plan.result);
        match change {
            Change::Nothing if answer.op == Op::Read && answer.result.is_ok() => {
                answer.result = self.faults.damage(
                    completion.at,
                    answer.lba,
                    answer.sectors,
                    self.store.medium_mut(),
                )?;
            }
            Change::Nothing => {}
            Change::Write { write, .. } if answer.result.is_err() => self.store.forget(&write)?,
            Change::Write { write, lands } => {
                // A device that does not report where the data went has no cache that could lose
                // it.
                let cached = completion.served_by == ServedBy::DriveWriteCache;
                let volatile = cached && !self.has_protected_cache;
                self.store.complete(&write, !volatile || lands != answer.lba)?;
                self.faults.healed(lands, answer.sectors);
            }
            Change::Trim(trim) => self.store.complete_trim(trim)?,
            Change::Flush => self.store.flushed()?,
        }
        if is_aborted {
            debug_assert!(self.aborted > 0, "each aborted command is counted");
            self.aborted -= 1;
            return Ok(());
        }
        // A stall or slow-down delays the answer only: the data is where the device says it is.
        let due = plan.due(submitted, completion.at);
        self.hold(Answer { due, ..answer });
        Ok(())
    }

    fn hold(&mut self, answer: Answer) {
        // The sequence number keeps answers that are due at one time first in, first out.
        self.sequence += 1;
        self.held.insert((answer.due, self.sequence), answer);
    }

    /// Fills `data` with the data that a read finds from `lba` on.
    pub fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        self.store.read(lba, data)
    }

    /// Cuts the power at `now`: commands in flight are never answered, and the medium keeps the
    /// data that survives. The device is unusable afterwards.
    pub fn cut(&mut self, now: Time, choose: &mut dyn Choose) -> io::Result<Survival> {
        let faults = &mut self.faults;
        let survival = self.store.cut(choose, |lba, sectors| faults.torn(now, lba, sectors))?;
        // The host learns nothing about these commands; the store has decided about their data.
        self.pending.clear();
        self.aborted = 0;
        self.waiting.clear();
        self.held.clear();
        self.store.sync()?;
        Ok(survival)
    }

    /// Adds a fault; returns the number by which it can be removed.
    pub fn add_fault(&mut self, now: Time, fault: Fault) -> FaultId {
        self.faults.add(now, fault)
    }

    /// Removes a fault; returns whether one with that number existed.
    pub fn remove_fault(&mut self, now: Time, id: FaultId) -> bool {
        self.faults.remove(now, id)
    }

    /// The active faults, with the number of their strikes.
    pub fn faults(&self) -> impl Iterator<Item = (FaultId, &Fault, u64)> {
        self.faults.iter()
    }

    pub(crate) fn list_faults(&self) -> Vec<Listed> {
        self.faults().map(|(id, fault, strikes)| Listed::new(id, fault, strikes)).collect()
    }

    /// Takes the incidents since the last call.
    pub fn take_incidents(&mut self) -> Vec<Incident> {
        self.faults.take_incidents()
    }
}

impl Disk for ServedDrive {
    fn capacity(&self) -> Sectors {
        self.device.capacity().min(self.store.capacity())
    }

    fn in_flight(&self) -> usize {
        debug_assert!(self.aborted <= self.pending.len(), "what is aborted is still pending");
        self.pending.len() - self.aborted + self.held.len()
    }

    fn submit(&mut self, now: Time, command: Command) -> io::Result<()> {
        let Command { token, op, lba, sectors, fua, submitter, data } = command;
        assert!(lba + sectors <= Lba::ZERO + self.capacity(), "the caller checks the range");
        let plan = self.faults.plan(now, op, lba, sectors);
        let answer = Answer { token, due: now, result: Ok(()), op, lba, sectors };
        self.store.at(now);
        if op == Op::Flush {
            self.store.note(|| if plan.lies { Step::Lied } else { Step::Flush })?;
        }
        // Only the host believes that such a flush was carried out: neither store nor device see
        // it.
        if plan.lies {
            self.hold(Answer { due: plan.due(now, now), ..answer });
            return Ok(());
        }
        let change = match op {
            Op::Read => Change::Nothing,
            Op::Flush => Change::Flush,
            Op::Trim => Change::Trim(self.store.begin_trim(lba, sectors)?),
            // It fails, and changes nothing: no part of it survives, even in a power cut.
            Op::Write if plan.result.is_err() => Change::Nothing,
            Op::Write => {
                let data = data.expect("a write brings its data");
                let end = self.capacity();
                let lands = self.faults.landing(now, lba, sectors, end);
                let write = self.store.begin_write(now, lands, data)?;
                Change::Write { write, lands }
            }
        };
        let fua = fua && op == Op::Write;
        let pending = Pending { answer, submitted: now, change, plan, is_aborted: false };
        let id = RequestId(self.pending.insert(pending) as u64);
        let request = Request { id, op, lba, sectors, fua, submitter };
        // Behind the others, even if the device has space again: requests must not overtake.
        if !self.waiting.is_empty() {
            self.waiting.push_back(request);
        } else if let Err(request) = self.device.submit(now, request) {
            self.waiting.push_back(request);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        let held = self.held.first_key_value().map(|((due, _), _)| *due);
        self.device.next_event().into_iter().chain(held).min()
    }

    fn advance(&mut self, now: Time, answers: &mut Vec<Answer>) -> io::Result<()> {
        self.advance_device(now)?;
        while self.resubmit(now) {
            // An accepted command may be answered at once and make space for more.
            self.advance_device(now)?;
        }
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= now) {
            answers.push(entry.remove());
        }
        Ok(())
    }

    fn take_read(&mut self, answer: &Answer, data: &mut [u8]) -> io::Result<()> {
        self.read(answer.lba, data)
    }

    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        self.store.extents(lba, sectors, limit)
    }

    fn pending(&self) -> Bytes {
        self.store.pending()
    }

    fn reset(&mut self) -> io::Result<()> {
        self.held.clear();
        // The device never received these.
        for request in std::mem::take(&mut self.waiting) {
            match self.pending.remove(slot(request.id)).change {
                Change::Write { write, .. } => self.store.forget(&write)?,
                Change::Trim(trim) => self.store.forget_trim(trim)?,
                Change::Nothing | Change::Flush => {}
            }
        }
        self.aborted = self.pending.len();
        for (_, pending) in &mut self.pending {
            pending.is_aborted = true;
            // Done now as far as a read can detect; otherwise its result would change under the
            // host.
            match std::mem::replace(&mut pending.change, Change::Nothing) {
                Change::Trim(trim) => self.store.complete_trim(trim)?,
                Change::Write { write, lands } => {
                    self.store.complete(&write, false)?;
                    pending.change = Change::Write { write, lands };
                }
                flush_or_read => pending.change = flush_or_read,
            }
        }
        Ok(())
    }

    /// The device is unusable afterwards.
    fn power_off(&mut self) -> io::Result<()> {
        self.store.cut(&mut KeepAll, |_, _| None)?;
        self.store.sync()
    }
}

/// Returns the index of a request in the slab, from which its id was made.
fn slot(id: RequestId) -> usize {
    usize::try_from(id.0).expect("an index of the slab")
}
