//! What is behind the wire.

use std::fmt::Debug;

use drivelab_core::{Destaged, Request, Sectors, Time};

use super::tag::Tag;
use crate::counters::Counters;
use crate::event::Events;
use crate::watch::Step;

/// The drive's side of the wire: port, buffer and medium.
pub trait Mechanism: Debug {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Takes a command that holds `tag`, and answers it by an event of its own.
    fn accept(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events);

    /// Something may have become ready while the medium was idle.
    fn wake(&mut self, _now: Time, _events: &mut Events) {}

    /// The medium has done what it was committed to.
    fn medium_free(&mut self, _now: Time, _events: &mut Events) {}

    /// Moves the records of cached data that has reached the medium by `now` to `records`; keeps
    /// them from the first call on.
    fn drain_destaged(&mut self, now: Time, records: &mut Vec<Destaged>);

    /// Moves the steps since the last call to `steps`; keeps them from the first call on.
    fn watch(&mut self, _steps: &mut Vec<Step>) {}

    /// Keeps a step where somebody watches.
    #[inline]
    fn note(&mut self, _step: impl FnOnce() -> Step) {}

    /// What it has done so far.
    fn counters(&self) -> Counters;
}
