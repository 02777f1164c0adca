//! Runs a random history on a served drive and asks the oracle about everything that is seen.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use drivelab_core::disk::{Answer, Command, Data, Extent, Medium};
use drivelab_core::{Bytes, Device, Disk, Lba, Op, Ratio, Rng, Sectors, Span, Time};
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::medium::{Fork, Memory};
use drivelab_serve::store::{Dice, Store};

use super::oracle::{Kind, Oracle, Value};

/// Sectors that a history plays on.
pub(crate) const SECTORS: usize = 12;

/// A medium that outlives the drive.
#[derive(Debug, Clone)]
pub(crate) struct Kept(pub(crate) Rc<RefCell<Box<dyn Medium>>>);

impl Kept {
    pub(crate) fn new(capacity: Sectors) -> Self {
        Self(Rc::new(RefCell::new(Box::new(Memory::new(capacity, Bytes::mib(64))))))
    }
}

impl Medium for Kept {
    fn capacity(&self) -> Sectors {
        self.0.borrow().capacity()
    }
    fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        self.0.borrow().read(lba, data)
    }
    fn write(&mut self, lba: Lba, data: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().write(lba, data)
    }
    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        self.0.borrow_mut().free(lba, sectors)
    }
    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        self.0.borrow().extents(lba, sectors, limit)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.borrow_mut().sync()
    }
}

/// The sector that write number `value` fills.
pub(crate) fn stamp(value: Value) -> [u8; 512] {
    let mut sector = [0; 512];
    for word in sector.chunks_exact_mut(8) {
        word.copy_from_slice(&value.to_le_bytes());
    }
    sector
}

/// The value of a sector, `None` where it is a mix.
pub(crate) fn value_of(sector: &[u8]) -> Option<Value> {
    let value = Value::from_le_bytes(sector[..8].try_into().unwrap());
    (sector == stamp(value)).then_some(value)
}

/// What a planted bug may change between the parts of the drive; the default changes nothing.
pub(crate) trait Wiring {
    /// The device around the right one.
    fn device(&self, right: Box<dyn Device>) -> Box<dyn Device> {
        right
    }
    /// The medium around the right one.
    fn medium(&self, right: Kept) -> Box<dyn Medium> {
        Box::new(right)
    }
    /// What is atomic in a power cut.
    fn physical_sector(&self, right: Sectors) -> Sectors {
        right
    }
    /// What a read returns.
    fn read(&self, drive: &Served, medium: &Kept, done: &Answer, data: &mut [u8]) {
        let _ = medium;
        drive.read(done.lba, data).unwrap();
    }
    /// Whether a write reaches the drive at all before it is acknowledged.
    fn submits(&self, command: &Command, in_flight: usize) -> bool {
        let _ = (command, in_flight);
        true
    }
    /// Whether the drive comes back empty-cached from the medium.
    fn restarts(&self) -> bool {
        true
    }
    /// What happens to the medium while the power is off; `before` holds it at the last flush.
    fn off(&self, medium: &mut Kept, before: &[u8]) {
        let _ = (medium, before);
    }
}

/// No bug.
#[derive(Debug)]
pub(crate) struct Right;
impl Wiring for Right {}

pub(crate) type Served = ServedDrive;
pub(crate) type MakeDevice<'a> = &'a dyn Fn(u64) -> Box<dyn Device>;

pub(crate) struct Rig<'a> {
    make: MakeDevice<'a>,
    wiring: &'a dyn Wiring,
    seed: u64,
    /// Sectors of 512 bytes in one that is atomic in a cut.
    atomic: usize,
    rng: Rng,
    medium: Kept,
    drive: Served,
    oracle: Oracle,
    now: Time,
    next_id: u64,
    /// Kinds of the commands on their way, by token.
    sent: BTreeMap<u64, Op>,
    at_last_flush: Vec<u8>,
    conditions: Conditions,
}

/// What happens to a drive besides commands and power cuts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions {
    /// The bus is reset now and then.
    pub(crate) resets: bool,
    /// The write cache survives a power cut.
    pub(crate) protected: bool,
    /// The drive must keep every write that it has answered, by its own means.
    pub(crate) keeps_all: bool,
}

/// What a history left: many others can start from it.
pub(crate) struct Image {
    base: Rc<dyn Medium>,
    oracle: Oracle,
    next_id: u64,
}

impl<'a> Rig<'a> {
    pub(crate) fn new(make: MakeDevice<'a>, wiring: &'a dyn Wiring, seed: u64) -> Self {
        let device = wiring.device(make(seed));
        let medium = Kept::new(device.capacity());
        // Every other history is one of a drive with sectors of 4096 bytes.
        let atomic = if seed.is_multiple_of(2) { 1 } else { 8 };
        let sector = wiring.physical_sector(Sectors::new(atomic as u64));
        let store = Store::new(wiring.medium(medium.clone()), sector);
        Self {
            make,
            wiring,
            seed,
            atomic,
            rng: Rng::new(seed),
            drive: ServedDrive::new(device, store, seed),
            medium,
            oracle: Oracle::new(SECTORS),
            now: Time::ZERO,
            next_id: 0,
            sent: BTreeMap::new(),
            at_last_flush: vec![0; SECTORS * 512],
            conditions: Conditions::default(),
        }
    }

    /// The same with resets or a protected cache.
    pub(crate) fn under(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        if conditions.protected {
            self.drive = self.drive.with_protected_cache();
        }
        self
    }

    /// A history that starts from a fork of `image`.
    pub(crate) fn from_image(make: MakeDevice<'a>, image: &Image, seed: u64) -> Self {
        let mut rig = Self::new(make, &Right, seed);
        let fork = Fork::new(Rc::clone(&image.base), Bytes::mib(64));
        *rig.medium.0.borrow_mut() = Box::new(fork);
        rig.oracle = image.oracle.clone();
        rig.next_id = image.next_id;
        rig
    }

    /// What is left on the medium after a history.
    pub(crate) fn into_image(self) -> Image {
        Image { base: Rc::new(self.medium), oracle: self.oracle, next_id: self.next_id }
    }

    /// Plays a history with up to three cuts; what is illegal comes back as an error.
    pub(crate) fn play(&mut self) -> Result<(), String> {
        for cut in 0..self.rng.between(1, 3) {
            for _ in 0..self.rng.between(5, 40) {
                self.act()?;
            }
            self.cut(cut)?;
            self.read_all()?;
        }
        Ok(())
    }

    fn act(&mut self) -> Result<(), String> {
        if self.conditions.resets && self.rng.chance(Ratio::percent(5)) {
            self.drive.reset().unwrap();
            assert_eq!(self.drive.in_flight(), 0);
            self.sent.clear();
        }
        if self.sent.len() < 8 && self.rng.chance(Ratio::percent(70)) {
            self.send();
        }
        let until = match self.rng.below(4) {
            0 => self.now,
            1 => self.now + Span::from_us(self.rng.between(0, 60)),
            _ => self.drive.next_event().unwrap_or(self.now).max(self.now),
        };
        self.advance(until)
    }

    fn send(&mut self) {
        let first = self.rng.below(SECTORS as u64);
        let count = self.rng.between(1, 4).min(SECTORS as u64 - first);
        let op = match self.rng.below(10) {
            0..5 => Op::Write,
            5..8 => Op::Read,
            8 => Op::Flush,
            _ => Op::Trim,
        };
        let count = match op {
            // Long enough to cover a physical sector of 4096 bytes and parts of its neighbours.
            Op::Trim => self.rng.between(1, SECTORS as u64 - first),
            _ => count,
        };
        let fua = self.rng.chance(Ratio::percent(20));
        self.command(op, first, count, fua);
    }

    fn command(&mut self, op: Op, first: u64, count: u64, fua: bool) {
        self.next_id += 1;
        let id = self.next_id;
        let (mut lba, mut sectors) = (Lba::new(first), Sectors::new(count));
        let range = usize::try_from(first).unwrap()..usize::try_from(first + count).unwrap();
        let kind = match op {
            Op::Read => Kind::Read,
            Op::Flush => Kind::Flush,
            Op::Write => {
                let kept = self.conditions.protected || self.conditions.keeps_all;
                Kind::Put { value: id, durable: fua || kept }
            }
            Op::Trim => Kind::Put { value: 0, durable: true },
        };
        if op == Op::Flush {
            (lba, sectors) = (Lba::ZERO, Sectors::ZERO);
        }
        let bytes = || stamp(id).repeat(usize::try_from(count).unwrap()).into_boxed_slice();
        let data = (op == Op::Write).then(|| Data::Bytes(bytes()));
        let command = Command { token: id, op, lba, sectors, fua, submitter: 0, data };
        self.oracle.submitted(id, kind, range);
        if self.wiring.submits(&command, self.sent.len()) {
            self.sent.insert(id, op);
            self.drive.submit(self.now, command).unwrap();
        } else {
            self.oracle.completed(id);
        }
    }

    fn advance(&mut self, until: Time) -> Result<(), String> {
        self.now = until;
        let mut done = Vec::new();
        self.drive.advance(until, &mut done).unwrap();
        for done in done {
            let asked = self.sent.remove(&done.token);
            assert!(asked.is_some(), "an answer to nothing, or after a reset: {done:?}");
            if done.op != Op::Read {
                self.oracle.completed(done.token);
                if done.op == Op::Flush {
                    self.medium.read(Lba::ZERO, &mut self.at_last_flush).unwrap();
                }
                continue;
            }
            let mut data = vec![0; usize::try_from(done.sectors.bytes().get()).unwrap()];
            self.wiring.read(&self.drive, &self.medium, &done, &mut data);
            let values: Vec<Option<Value>> = data.chunks_exact(512).map(value_of).collect();
            self.oracle.read(done.token, &values)?;
        }
        Ok(())
    }

    fn cut(&mut self, number: u64) -> Result<(), String> {
        let before = self.oracle.clone();
        self.oracle.cut();
        self.sent.clear();
        if self.wiring.restarts() {
            let mut dice = Dice::new(self.seed.wrapping_add(number));
            self.drive.cut(self.now, &mut dice).unwrap();
            self.wiring.off(&mut self.medium, &self.at_last_flush);
            self.check_whole(&before)?;
            let device = self.wiring.device((self.make)(self.seed + 1 + number));
            let sector = self.wiring.physical_sector(Sectors::new(self.atomic as u64));
            let store = Store::new(self.wiring.medium(self.medium.clone()), sector);
            let drive = ServedDrive::new(device, store, self.seed);
            let protected = self.conditions.protected;
            self.drive = if protected { drive.with_protected_cache() } else { drive };
            self.now = Time::ZERO;
            return Ok(());
        }
        // The bug: what was on its way is finished, and the cache goes on as if nothing had been.
        while let Some(next) = self.drive.next_event() {
            self.now = next.max(self.now);
            self.drive.advance(self.now, &mut Vec::new()).unwrap();
            if self.drive.in_flight() == 0 {
                break;
            }
        }
        Ok(())
    }

    /// No physical sector holds a part of a write.
    fn check_whole(&self, before: &Oracle) -> Result<(), String> {
        let mut data = vec![0; SECTORS * 512];
        self.medium.read(Lba::ZERO, &mut data).unwrap();
        let values: Option<Vec<Value>> = data.chunks_exact(512).map(value_of).collect();
        // A mix within 512 bytes is told of when it is read.
        let values = values.unwrap_or_default();
        for (number, group) in values.chunks(self.atomic).enumerate() {
            let first = number * self.atomic;
            let sectors = first..first + group.len();
            if let Some(write) = before.broken_write(sectors.clone(), group) {
                return Err(format!("physical sector {number} holds a part of write {write}"));
            }
            if before.breaks_trim(sectors, group) {
                return Err(format!("physical sector {number} is trimmed in a part"));
            }
        }
        Ok(())
    }

    /// Reads every sector: after it the oracle knows what survived.
    fn read_all(&mut self) -> Result<(), String> {
        self.command(Op::Read, 0, SECTORS as u64, false);
        while let Some(next) = self.drive.next_event() {
            self.advance(next.max(self.now))?;
            if self.sent.is_empty() {
                break;
            }
        }
        Ok(())
    }
}
