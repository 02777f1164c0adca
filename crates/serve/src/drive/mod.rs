//! A drive with bytes in it: a device model, the store, and faults, as one state machine.
//!
//! It is told the time, like every [`Device`]; the server drives it against a clock, and the tests
//! drive it in virtual time.

mod null;
mod power_cut;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;

use drivelab_core::{
    Completion, Destaged, Device, IoError, Lba, Op, Request, RequestId, Sectors, ServedBy, Time,
};

pub use null::Null;
pub use power_cut::{PowerCut, When};

use crate::fault::{Fault, FaultId, Faults, Incident, Plan};
use crate::store::{Choose, Data, KeepAll, Store, Survival, TrimId, Write};
use crate::table::Table;

/// What a client asks of the drive.
#[derive(Debug)]
pub struct Command {
    /// The asker's name for it.
    pub token: u64,
    /// What to do.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// How many sectors; 0 for a flush.
    pub sectors: Sectors,
    /// Force unit access.
    pub fua: bool,
    /// What to write; only with [`Op::Write`].
    pub data: Option<Data>,
}

/// The answer to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The asker's name for the command.
    pub token: u64,
    /// When the answer is due.
    pub due: Time,
    /// Whether it did what was asked.
    pub result: Result<(), IoError>,
    /// What was asked.
    pub op: Op,
    /// First sector: after a read, [`ServedDrive::read`] it from here.
    pub lba: Lba,
    /// How many sectors.
    pub sectors: Sectors,
}

/// A command on its way.
#[derive(Debug)]
struct Pending {
    done: Done,
    submitted: Time,
    change: Change,
    plan: Plan,
}

/// What a command does to the store when it completes.
#[derive(Debug)]
enum Change {
    Nothing,
    Write { write: Rc<Write>, lands: Lba },
    Trim(TrimId),
    Flush,
}

/// A drive that holds data, loses it as the rules allow, and misbehaves as it is told.
#[derive(Debug)]
pub struct ServedDrive<D> {
    device: D,
    store: Store,
    faults: Faults,
    pending: Table<Pending>,
    /// Commands that the device had no room for.
    waiting: VecDeque<Request>,
    /// Answers that are held back or need no device, by (time, sequence).
    held: BTreeMap<(Time, u64), Done>,
    sequence: u64,
    completions: Vec<Completion>,
    records: Vec<Destaged>,
}

impl<D: Device> ServedDrive<D> {
    /// A drive that behaves as `device`, holds its bytes in `store`, and draws its faults from
    /// `seed`.
    pub fn new(mut device: D, store: Store, seed: u64) -> Self {
        let mut records = Vec::new();
        device.destaged(&mut records);
        Self {
            device,
            store,
            faults: Faults::new(seed),
            pending: Table::default(),
            waiting: VecDeque::new(),
            held: BTreeMap::new(),
            sequence: 0,
            completions: Vec::new(),
            records,
        }
    }

    /// Addressable sectors: what both model and medium have.
    pub fn capacity(&self) -> Sectors {
        self.device.capacity().min(self.store.capacity())
    }

    /// Commands on their way.
    pub fn in_flight(&self) -> usize {
        self.pending.len() + self.held.len()
    }

    /// The store, to look into.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Takes a command at `now`; the caller has seen to it that it lies within the capacity.
    ///
    /// # Errors
    /// The medium failed.
    pub fn submit(&mut self, now: Time, command: Command) -> io::Result<()> {
        let Command { token, op, lba, sectors, fua, data } = command;
        assert!(lba + sectors <= Lba::ZERO + self.capacity(), "the caller checks the range");
        let plan = self.faults.plan(now, op, lba, sectors);
        let done = Done { token, due: now, result: Ok(()), op, lba, sectors };
        if plan.lies {
            let due = plan.due(now, now);
            self.hold(due, Done { due, ..done });
            return Ok(());
        }
        let change = match op {
            Op::Read => Change::Nothing,
            Op::Flush => Change::Flush,
            Op::Trim => Change::Trim(self.store.begin_trim(lba, sectors)),
            // It fails, and changes nothing: not even a power cut lets a part of it survive.
            Op::Write if plan.result.is_err() => Change::Nothing,
            Op::Write => {
                let data = data.expect("a write brings its data");
                let capacity = self.capacity();
                let lands = self.faults.landing(now, lba, sectors, capacity);
                let write = self.store.begin_write(now, lands, data)?;
                Change::Write { write, lands }
            }
        };
        let fua = fua && op == Op::Write;
        let id = self.pending.insert(Pending { done, submitted: now, change, plan });
        let request = Request { id: RequestId(id), op, lba, sectors, fua };
        if !self.waiting.is_empty() {
            self.waiting.push_back(request);
        } else if let Err(request) = self.device.submit(now, request) {
            self.waiting.push_back(request);
        }
        Ok(())
    }

    /// When there is next something to do.
    pub fn next_event(&self) -> Option<Time> {
        let held = self.held.first_key_value().map(|((due, _), _)| *due);
        match (self.device.next_event(), held) {
            (Some(device), Some(held)) => Some(device.min(held)),
            (device, held) => device.or(held),
        }
    }

    /// Moves to `now` and appends the answers that are due, in order of time.
    ///
    /// # Errors
    /// The medium failed.
    pub fn advance(&mut self, now: Time, done: &mut Vec<Done>) -> io::Result<()> {
        self.advance_device(now)?;
        while self.resubmit(now) {
            // What was let in may be answered at once and let more in.
            self.advance_device(now)?;
        }
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= now) {
            done.push(entry.remove());
        }
        Ok(())
    }

    fn advance_device(&mut self, now: Time) -> io::Result<()> {
        let mut completions = std::mem::take(&mut self.completions);
        self.device.advance(now, &mut completions);
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

    /// Hands over what waited; says whether anything was taken.
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

    /// Carries out what a command does, and answers it now or when its faults let it.
    fn finish(&mut self, completion: Completion) -> io::Result<()> {
        let pending = self.pending.remove(completion.id.0);
        let Pending { mut done, submitted, change, plan } = pending;
        done.result = completion.result.and(plan.result);
        match change {
            Change::Nothing if done.op == Op::Read && done.result.is_ok() => {
                done.result = self.faults.damage(
                    completion.at,
                    (done.lba, done.sectors),
                    self.store.medium_mut(),
                )?;
            }
            Change::Nothing => {}
            Change::Write { write, .. } if done.result.is_err() => self.store.forget(&write),
            Change::Write { write, lands } => {
                // A device that does not tell where the data went has no cache to lose it from.
                let cached = completion.served_by == ServedBy::DriveWriteCache;
                self.store.complete(&write, !cached || lands != done.lba)?;
                self.faults.healed(lands, done.sectors);
            }
            Change::Trim(trim) => self.store.complete_trim(trim)?,
            Change::Flush => self.store.flushed()?,
        }
        let due = plan.due(submitted, completion.at);
        self.hold(due, Done { due, ..done });
        Ok(())
    }

    fn hold(&mut self, due: Time, done: Done) {
        self.sequence += 1;
        self.held.insert((due, self.sequence), done);
    }

    /// Fills `data` with what a read that is done finds from `lba` on.
    ///
    /// # Errors
    /// The medium failed.
    pub fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        self.store.read(lba, data)
    }

    /// Cuts the power at `now`: what is on its way is never answered, and the medium holds what
    /// survives. The device is of no more use.
    ///
    /// # Errors
    /// The medium failed.
    pub fn cut(&mut self, now: Time, choose: &mut dyn Choose) -> io::Result<Survival> {
        let faults = &mut self.faults;
        let survival = self.store.cut(choose, |lba, sectors| faults.torn(now, lba, sectors))?;
        self.pending = Table::default();
        self.waiting.clear();
        self.held.clear();
        self.store.sync()?;
        Ok(survival)
    }

    /// Ends an orderly day: everything that was acknowledged or on its way is kept, whatever faults
    /// there are. The device is of no more use.
    ///
    /// # Errors
    /// The medium failed.
    pub fn power_off(&mut self) -> io::Result<()> {
        self.store.cut(&mut KeepAll, |_, _| None)?;
        self.store.sync()
    }

    /// Adds a fault; gives the number it can be removed by.
    pub fn add_fault(&mut self, now: Time, fault: Fault) -> FaultId {
        self.faults.add(now, fault)
    }

    /// Removes a fault; says whether there was one of that number.
    pub fn remove_fault(&mut self, now: Time, id: FaultId) -> bool {
        self.faults.remove(now, id)
    }

    /// The faults in force, with how often each struck.
    pub fn faults(&self) -> impl Iterator<Item = (FaultId, &Fault, u64)> {
        self.faults.iter()
    }

    /// Takes what the faults did since the last call.
    pub fn take_incidents(&mut self) -> Vec<Incident> {
        self.faults.take_incidents()
    }
}
