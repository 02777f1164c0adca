//! A modelled drive with everything around it.

mod arrangement;
pub(crate) mod event;
mod fixed;
mod mechanism;
mod stack;

use drivelab_core::dispatch::Dispatch;
use drivelab_core::{Completion, Destaged, Device, Request, Sectors, Span, Time};

use crate::controller::Controller;
use crate::host::Scheduler;
use crate::raid::Array;
use crate::shelf::Shelf;
use crate::spec::Link;
use crate::watch::Step;

pub use arrangement::Arrangement;
pub(crate) use fixed::Fixed;
pub(crate) use mechanism::Mechanism;
pub(crate) use stack::Stack;

/// A modelled drive: host elevator, tags, controller, link and disk in one machine.
#[derive(Debug)]
pub struct Drive {
    pub(crate) about: About,
    pub(crate) body: Body,
}

/// The kinds of drive, each dispatched to without indirection.
#[derive(Debug)]
pub(crate) enum Body {
    Stack(Box<Stack>),
    Fixed(Fixed),
    Shelf(Box<Shelf<Drive>>),
    Array(Box<Array<Shelf<Drive>>>),
}

/// What a drive is, for reports.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct About {
    /// The model, as its maker calls it.
    pub model: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// How it is attached; `None` for a drive that is nothing but a service time.
    pub attached: Option<Attached>,
    /// How several of it are put together; `None` for one of its own.
    pub arrangement: Option<Arrangement>,
}

/// How a drive is attached and set, as it came out of profile, options and negotiation.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Attached {
    /// The controller.
    pub controller: Controller,
    /// How tags are given out.
    pub dispatch: Dispatch,
    /// Commands that may be on the wire at once.
    pub tags: usize,
    /// Native (or SCSI) command queuing in use.
    pub queued: bool,
    /// The SATA link speed negotiated; `None` on SCSI.
    pub link: Option<Link>,
    /// What the wire carries at most, in bytes of data per second.
    pub wire_bytes_per_s: u64,
    /// The host's elevator.
    pub scheduler: Scheduler,
    /// Requests the elevator sees, those on the wire included.
    pub nr_requests: usize,
    /// What the drive's volatile write cache holds; `None` while it is off.
    pub write_cache_bytes: Option<u64>,
    /// The rotational guard band of the firmware, in ns; `None` where it serves by arrival.
    pub guard_ns: Option<u64>,
}

/// What a drive has done since it was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counters {
    /// Commands that reached the drive.
    pub commands: u64,
    /// How long the medium was busy with positioning and transfer, read-ahead not counted.
    #[serde(rename = "medium_busy_ns", serialize_with = "as_ns")]
    pub medium_busy: Span,
    /// Reads answered from the buffer or the write cache.
    pub cache_hits: u64,
    /// Writes acknowledged out of the volatile cache.
    pub cached_writes: u64,
    /// Runs of cached data written to the medium.
    pub destaged_runs: u64,
    /// The most commands that were on the wire at once.
    pub max_tags_in_use: usize,
    /// The most requests that the elevator and the wire held at once.
    pub max_requests_held: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn as_ns<S: serde::Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(span.ns())
}

impl Drive {
    /// What it is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Appends what happened inside since the last call, in order.
    ///
    /// A drive starts to keep such steps with the first call, so that runs which nobody watches
    /// pay nothing for them. Drives of `DiskSim` files and drives of fixed service time, in which
    /// there is nothing but a service time to see, never have any.
    pub fn watch(&mut self, steps: &mut Vec<Step>) {
        if let Body::Stack(stack) = &mut self.body {
            stack.watch(steps);
        }
    }

    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        match &self.body {
            Body::Stack(stack) => stack.counters(),
            Body::Fixed(fixed) => fixed.counters(),
            Body::Shelf(drives) => arrangement::counters(drives),
            Body::Array(array) => arrangement::counters(array.inner()),
        }
    }
}

impl Device for Drive {
    #[inline]
    fn capacity(&self) -> Sectors {
        match &self.body {
            Body::Stack(stack) => stack.capacity(),
            Body::Fixed(fixed) => fixed.capacity(),
            Body::Shelf(drives) => drives.capacity(),
            Body::Array(array) => array.capacity(),
        }
    }

    #[inline]
    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        match &mut self.body {
            Body::Stack(stack) => stack.submit(now, request),
            Body::Fixed(fixed) => fixed.submit(now, request),
            Body::Shelf(drives) => drives.submit(now, request),
            Body::Array(array) => array.submit(now, request),
        }
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        match &self.body {
            Body::Stack(stack) => stack.next_event(),
            Body::Fixed(fixed) => fixed.next_event(),
            Body::Shelf(drives) => drives.next_event(),
            Body::Array(array) => array.next_event(),
        }
    }

    #[inline]
    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        match &mut self.body {
            Body::Stack(stack) => stack.advance(now, completed),
            Body::Fixed(fixed) => fixed.advance(now, completed),
            Body::Shelf(drives) => drives.advance(now, completed),
            Body::Array(array) => array.advance(now, completed),
        }
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        match &mut self.body {
            Body::Stack(stack) => stack.drain_destaged(records),
            Body::Shelf(drives) => drives.destaged(records),
            Body::Array(array) => array.destaged(records),
            Body::Fixed(_) => {}
        }
    }
}
