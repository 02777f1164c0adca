//! The drive's side of the wire.

use std::fmt::Debug;

use drivelab_core::{Destaged, Request, Sectors, Time};

use crate::counters::Counters;
use crate::event::Events;
use crate::tag::Tag;
use crate::watch::Step;

/// The drive's side of the wire: port, buffer and medium.
pub trait Mechanism: Debug {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Accepts a command that holds `tag`; an event answers it.
    fn accept(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events);

    /// Handles [`Event::Wake`](crate::Event::Wake): the idle medium may have work.
    fn wake(&mut self, _now: Time, _events: &mut Events) {}

    /// Handles [`Event::MediumFree`](crate::Event::MediumFree): the medium has finished its access.
    fn medium_free(&mut self, _now: Time, _events: &mut Events) {}

    /// Moves the records of cached data that has reached the medium by `now` to `records`;
    /// recording begins with the first call.
    fn drain_destaged(&mut self, now: Time, records: &mut Vec<Destaged>);

    /// Moves the steps since the last call to `steps`; recording begins with the first call.
    fn watch(&mut self, _steps: &mut Vec<Step>) {}

    /// Records a step if recording is on.
    #[inline]
    fn note(&mut self, _step: impl FnOnce() -> Step) {}

    /// Its work so far.
    fn counters(&self) -> Counters;
}
