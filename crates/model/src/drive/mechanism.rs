//! The two ways in which a disk works inside.

use drivelab_core::device::Destaged;
use drivelab_core::{Request, Sectors, Time};

use super::Counters;
use super::event::Event;
use crate::disk::Disk;
use crate::event::EventQueue;
use crate::scsi;
use crate::watch::Step;

/// What is behind the wire.
#[derive(Debug)]
pub(crate) enum Mechanism {
    /// A disk with a queue of its own.
    Queued(Box<Disk>),
    /// A disk that takes one command at a time.
    OneByOne(Box<scsi::Disk>),
}

impl Mechanism {
    pub(crate) fn capacity(&self) -> Sectors {
        match self {
            Self::Queued(disk) => disk.capacity(),
            Self::OneByOne(disk) => disk.capacity(),
        }
    }

    /// Takes a command that holds `tag`.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        now: Time,
        tag: u8,
        request: &Request,
        events: &mut EventQueue<Event>,
    ) {
        match self {
            Self::Queued(disk) => disk.accept(now, tag, request, events),
            Self::OneByOne(disk) => {
                let (done, served_by) = disk.accept(now, request);
                events.push(done, Event::Done { tag, served_by });
            }
        }
    }

    /// Something may have become ready while the medium was idle.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time, events: &mut EventQueue<Event>) {
        if let Self::Queued(disk) = self {
            disk.wake(now, events);
        }
    }

    /// The medium has done what it was committed to.
    #[inline]
    pub(crate) fn medium_free(&mut self, now: Time, events: &mut EventQueue<Event>) {
        if let Self::Queued(disk) = self {
            disk.medium_free(now, events);
        }
    }

    /// Gives the records of cached data that has reached the medium by `now`.
    pub(crate) fn drain_destaged(&mut self, now: Time, records: &mut Vec<Destaged>) {
        match self {
            Self::Queued(disk) => disk.drain_destaged(records),
            Self::OneByOne(disk) => disk.drain_destaged(now, records),
        }
    }

    /// Gives the steps since the last call; the disk that takes one command at a time has none.
    pub(crate) fn watch(&mut self, steps: &mut Vec<Step>) {
        if let Self::Queued(disk) = self {
            disk.watch(steps);
        }
    }

    /// Keeps a step where somebody watches.
    #[inline]
    pub(crate) fn note(&mut self, step: impl FnOnce() -> Step) {
        if let Self::Queued(disk) = self {
            disk.note(step);
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        match self {
            Self::Queued(disk) => disk.counters,
            Self::OneByOne(disk) => disk.counters,
        }
    }
}
