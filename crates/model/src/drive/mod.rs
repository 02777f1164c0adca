//! A modelled drive, from the host's elevator to the medium.

mod fixed;
mod protected;
mod shifted;
mod volume;

use std::fmt::Debug;

use drivelab_core::{Completion, Destaged, Device, Request, Sectors, Span, Time};

use crate::about::{About, Attachment};
use crate::controller::Port;
use crate::counters::Counters;
use crate::disk::Disk;
use crate::raid::Array;
use crate::shelf::Shelf;
use crate::ssd::{PartsError, Ssd, SsdParts};
use crate::stack::{Mechanism, Stack};
use crate::tier::{Swapcache, Tiered, Writeback};
use crate::watch::{DieWork, Platter, Step};

pub(crate) use fixed::Fixed;
pub(crate) use protected::{Memory, Protected};
pub(crate) use shifted::Shifted;
pub(crate) use volume::{Limit, Volume, VolumeParts};

/// A modelled drive: host elevator, tags, controller, link and disk in one machine.
#[derive(Debug)]
pub struct Drive {
    pub(crate) about: About,
    pub(crate) body: Body,
}

/// The kinds of drive; those of this crate are dispatched to without indirection.
#[derive(Debug)]
pub(crate) enum Body {
    Disk(Box<Stack<Disk>>),
    Ssd(Box<Stack<Ssd>>),
    Other(Box<dyn OtherStack>),
    Fixed(Box<Fixed>),
    Volume(Box<Volume>),
    Shelf(Box<Shelf<Drive>>),
    Array(Box<Array<Shelf<Drive>>>),
    Swapcache(Box<Tiered<Swapcache<Drive>>>),
    Writeback(Box<Tiered<Writeback<Drive>>>),
    Shifted(Box<Shifted>),
    Protected(Box<Protected<Drive>>),
}

/// The host's side of a mechanism from another crate.
pub(crate) trait OtherStack: Device + Debug + Send {
    fn counters(&self) -> Counters;
}

impl<M: Mechanism + Send> OtherStack for Stack<M> {
    fn counters(&self) -> Counters {
        Self::counters(self)
    }
}

fn sum_counters<'a>(drives: impl IntoIterator<Item = &'a Drive>) -> Counters {
    drives.into_iter().map(Drive::counters).fold(Counters::default(), Counters::with)
}

impl Drive {
    /// A drive with the mechanism of another crate.
    pub fn of_mechanism<M>(model: String, attached: Attachment, mechanism: M) -> Self
    where
        M: Mechanism + Send + 'static,
    {
        let stack = Stack::new(&attached, false, mechanism);
        Self::attached(model, attached, Body::Other(Box::new(stack)))
    }

    /// A solid-state drive on SATA: a flush or trim shares the wire with no other command, and
    /// `per_command` is the overhead of a command on the wire.
    ///
    /// # Errors
    /// Parts that do not make a drive.
    pub fn solid_state(
        model: String,
        attached: Attachment,
        per_command: Span,
        parts: SsdParts,
    ) -> Result<Self, PartsError> {
        let port = Port::new(attached.wire_bytes_per_s, per_command);
        let ssd = Ssd::new(parts, port, attached.commands_at_once())?;
        let stack = Box::new(Stack::new(&attached, true, ssd));
        Ok(Self::attached(model, attached, Body::Ssd(stack)))
    }

    pub(crate) fn attached(model: String, attached: Attachment, body: Body) -> Self {
        let about = About {
            model,
            capacity_bytes: 0,
            attached: Some(attached),
            arrangement: None,
            tier: None,
            controller_cache: None,
        };
        let mut drive = Self { about, body };
        drive.about.capacity_bytes = drive.capacity().bytes().get();
        drive
    }

    /// Its description.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Appends the steps since the last call, in order.
    ///
    /// A drive starts to record steps with the first call, so that other runs do not pay for them.
    /// Drives of fixed service time and drives of other crates never record any.
    pub fn watch(&mut self, steps: &mut Vec<Step>) {
        match &mut self.body {
            Body::Disk(stack) => stack.watch(steps),
            Body::Ssd(stack) => stack.watch(steps),
            Body::Shifted(part) => part.drive_mut().watch(steps),
            _ => {}
        }
    }

    /// The layout of a single rotating disk.
    pub fn platter(&self) -> Option<Platter<'_>> {
        match &self.body {
            Body::Disk(stack) => Some(stack.mechanism().platter()),
            Body::Shifted(part) => part.drive().platter(),
            _ => None,
        }
    }

    /// The activity of each die of a single solid-state drive; empty for any other.
    pub fn dies(&self) -> Vec<DieWork> {
        match &self.body {
            Body::Ssd(stack) => stack.mechanism().dies(),
            Body::Shifted(part) => part.drive().dies(),
            _ => Vec::new(),
        }
    }

    /// Channels of a single solid-state drive, to which its dies are assigned in turn.
    pub fn channels(&self) -> Option<u32> {
        match &self.body {
            Body::Ssd(stack) => Some(stack.mechanism().channels()),
            Body::Shifted(part) => part.drive().channels(),
            _ => None,
        }
    }

    /// Its work so far.
    pub fn counters(&self) -> Counters {
        match &self.body {
            Body::Disk(stack) => stack.counters(),
            Body::Ssd(stack) => stack.counters(),
            Body::Other(stack) => stack.counters(),
            Body::Fixed(fixed) => fixed.counters(),
            Body::Volume(volume) => volume.counters(),
            Body::Shelf(drives) => sum_counters(drives.members()),
            Body::Array(array) => sum_counters(array.inner().members()),
            Body::Swapcache(tier) => sum_counters(tier.drives()),
            Body::Writeback(tier) => sum_counters(tier.drives()),
            Body::Shifted(part) => part.drive().counters(),
            Body::Protected(controller) => controller.inner().counters(),
        }
    }
}

/// Dispatches to the drive of each kind.
macro_rules! each {
    ($body:expr, $drive:ident => $does:expr) => {
        match $body {
            Body::Disk($drive) => $does,
            Body::Ssd($drive) => $does,
            Body::Other($drive) => $does,
            Body::Fixed($drive) => $does,
            Body::Volume($drive) => $does,
            Body::Shelf($drive) => $does,
            Body::Array($drive) => $does,
            Body::Swapcache($drive) => $does,
            Body::Writeback($drive) => $does,
            Body::Shifted($drive) => $does,
            Body::Protected($drive) => $does,
        }
    };
}

impl Device for Drive {
    #[inline]
    fn capacity(&self) -> Sectors {
        each!(&self.body, drive => drive.capacity())
    }

    #[inline]
    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        each!(&mut self.body, drive => drive.submit(now, request))
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        each!(&self.body, drive => drive.next_event())
    }

    #[inline]
    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        each!(&mut self.body, drive => drive.advance(now, completed));
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        each!(&mut self.body, drive => drive.destaged(records));
    }
}
