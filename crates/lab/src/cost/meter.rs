//! A drive with a meter: every request of the guest, and what reached the flash.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use drivelab_core::disk::{Answer, Command, Data, Disk, Extent};
use drivelab_core::{Bytes, Completion, Destaged, Device, Lba, Op, Request, Sectors, Time};
use drivelab_model::Drive;
use drivelab_serve::drive::ServedDrive;

/// The beginning of a block, in which file systems name what it is.
pub(super) const HEAD_BYTES: usize = 112;
/// The block that has such a beginning.
pub(super) const BLOCK: Sectors = Sectors::new(8);

/// A request of the guest.
#[derive(Debug, Clone)]
pub(super) struct Metered {
    pub(super) at: Time,
    pub(super) op: Op,
    pub(super) lba: Lba,
    pub(super) sectors: Sectors,
    pub(super) fua: bool,
    /// The beginning of each block of a write, from its first sector on.
    pub(super) heads: Vec<[u8; HEAD_BYTES]>,
}

/// The flash of a drive at one time: data of the host, moved data and padding, in bytes.
pub(super) type FlashAt = (Time, [u64; 3]);

/// A drive whose requests are kept.
#[derive(Debug)]
pub(super) struct Meter {
    disk: ServedDrive,
    has_volatile_cache: bool,
    requests: Vec<Metered>,
    flash: Rc<RefCell<Vec<FlashAt>>>,
}

/// The readings of a meter.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) requests: Vec<Metered>,
    /// Each time at which the flash had been written to.
    pub(super) flash: Vec<FlashAt>,
}

impl Reading {
    /// Returns what the flash had taken by a time.
    pub(super) fn flash_by(&self, at: Time) -> [u64; 3] {
        debug_assert!(self.flash.is_sorted_by_key(|(time, _)| *time), "noted as time goes on");
        let after = self.flash.partition_point(|(time, _)| *time <= at);
        after.checked_sub(1).map_or([0; 3], |index| self.flash[index].1)
    }
}

impl Meter {
    /// A meter in front of what `serve` makes of the device.
    pub(super) fn new(
        device: Drive,
        has_volatile_cache: bool,
        serve: impl FnOnce(Counted) -> ServedDrive,
    ) -> Self {
        let flash = Rc::default();
        let disk = serve(Counted { device, flash: Rc::clone(&flash) });
        Self { disk, has_volatile_cache, requests: Vec::new(), flash }
    }

    /// The drive, and what the meter has seen.
    pub(super) fn read(self) -> (ServedDrive, Reading) {
        let flash = self.flash.take();
        (self.disk, Reading { requests: self.requests, flash })
    }
}

/// The beginning of each block of some data.
fn heads(data: &Data) -> Vec<[u8; HEAD_BYTES]> {
    let Data::Bytes(bytes) = data else { return Vec::new() };
    let block = usize::try_from(BLOCK.bytes().get()).expect("4096");
    let heads = bytes.chunks(block).map(|block| {
        let mut head = [0; HEAD_BYTES];
        let taken = block.len().min(HEAD_BYTES);
        head[..taken].copy_from_slice(&block[..taken]);
        head
    });
    heads.collect()
}

impl Disk for Meter {
    fn capacity(&self) -> Sectors {
        self.disk.capacity()
    }

    fn in_flight(&self) -> usize {
        self.disk.in_flight()
    }

    fn submit(&mut self, now: Time, command: Command) -> io::Result<()> {
        let Command { op, lba, sectors, fua, .. } = command;
        debug_assert!(
            self.requests.last().is_none_or(|last| last.at <= now),
            "requests come in the order of time"
        );
        let heads = command.data.as_ref().map(heads).unwrap_or_default();
        // Without a volatile cache every write is durable, and the kernel asks for no FUA.
        let fua = fua && op == Op::Write && self.has_volatile_cache;
        self.requests.push(Metered { at: now, op, lba, sectors, fua, heads });
        self.disk.submit(now, command)
    }

    fn next_event(&self) -> Option<Time> {
        self.disk.next_event()
    }

    fn advance(&mut self, now: Time, answers: &mut Vec<Answer>) -> io::Result<()> {
        self.disk.advance(now, answers)
    }

    fn take_read(&mut self, answer: &Answer, data: &mut [u8]) -> io::Result<()> {
        self.disk.take_read(answer, data)
    }

    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        self.disk.extents(lba, sectors, limit)
    }

    fn pending(&self) -> Bytes {
        Disk::pending(&self.disk)
    }

    fn reset(&mut self) -> io::Result<()> {
        self.disk.reset()
    }

    fn power_off(&mut self) -> io::Result<()> {
        self.disk.power_off()
    }
}

/// A device whose flash is watched.
#[derive(Debug)]
pub(super) struct Counted {
    device: Drive,
    flash: Rc<RefCell<Vec<FlashAt>>>,
}

impl Counted {
    fn note(&self, now: Time) {
        let written = self.device.counters().flash_written;
        let mut seen = self.flash.borrow_mut();
        if written != seen.last().map_or([0; 3], |(_, last)| *last) {
            seen.push((now, written));
        }
    }
}

impl Device for Counted {
    fn capacity(&self) -> Sectors {
        self.device.capacity()
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        self.device.submit(now, request)
    }

    fn next_event(&self) -> Option<Time> {
        self.device.next_event()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        self.device.advance(now, completed);
        self.note(now);
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        self.device.destaged(records);
    }
}

/// The requests of a part of a run, by time of submission.
pub(super) fn between(requests: &[Metered], from: Time, to: Time) -> &[Metered] {
    debug_assert!(requests.is_sorted_by_key(|request| request.at), "kept as time goes on");
    let [from, to] = [from, to].map(|at| requests.partition_point(|request| request.at < at));
    &requests[from..to.max(from)]
}
