//! A modelled drive with everything around it.

mod fixed;

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
use crate::watch::Step;

pub(crate) use fixed::Fixed;

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
    Fixed(Fixed),
    Shelf(Box<Shelf<Drive>>),
    Array(Box<Array<Shelf<Drive>>>),
    Swapcache(Box<Tiered<Swapcache<Drive>>>),
    Writeback(Box<Tiered<Writeback<Drive>>>),
}

/// The host's side before a mechanism that another crate models.
pub(crate) trait OtherStack: Device + Debug + Send {
    fn counters(&self) -> Counters;
}

impl<M: Mechanism + Send> OtherStack for Stack<M> {
    fn counters(&self) -> Counters {
        Self::counters(self)
    }
}

fn counters(shelf: &Shelf<Drive>) -> Counters {
    shelf.members().map(Drive::counters).fold(Counters::default(), Counters::with)
}

fn of_both(drives: [&Drive; 2]) -> Counters {
    drives.into_iter().map(Drive::counters).fold(Counters::default(), Counters::with)
}

impl Drive {
    /// A drive whose mechanism another crate models, attached as `attached` says.
    pub fn of_mechanism<M>(model: String, attached: Attachment, mechanism: M) -> Self
    where
        M: Mechanism + Send + 'static,
    {
        let stack = Stack::new(&attached, false, mechanism);
        Self::attached(model, attached, Body::Other(Box::new(stack)))
    }

    /// A solid-state drive on SATA: a flush or trim shares the wire with no other command, and a
    /// command costs `per_command` on it beside its data.
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
        };
        let mut drive = Self { about, body };
        drive.about.capacity_bytes = drive.capacity().bytes().get();
        drive
    }

    /// What it is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Appends what happened inside since the last call, in order.
    ///
    /// A drive starts to keep such steps with the first call, so that runs which nobody watches
    /// pay nothing for them. Drives of fixed service time and drives that another crate models
    /// never have any.
    pub fn watch(&mut self, steps: &mut Vec<Step>) {
        if let Body::Disk(stack) = &mut self.body {
            stack.watch(steps);
        }
    }

    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        match &self.body {
            Body::Disk(stack) => stack.counters(),
            Body::Ssd(stack) => stack.counters(),
            Body::Other(stack) => stack.counters(),
            Body::Fixed(fixed) => fixed.counters(),
            Body::Shelf(drives) => counters(drives),
            Body::Array(array) => counters(array.inner()),
            Body::Swapcache(tier) => of_both(tier.drives()),
            Body::Writeback(tier) => of_both(tier.drives()),
        }
    }
}

/// Does the same with a drive of any kind.
macro_rules! each {
    ($body:expr, $drive:ident => $does:expr) => {
        match $body {
            Body::Disk($drive) => $does,
            Body::Ssd($drive) => $does,
            Body::Other($drive) => $does,
            Body::Fixed($drive) => $does,
            Body::Shelf($drive) => $does,
            Body::Array($drive) => $does,
            Body::Swapcache($drive) => $does,
            Body::Writeback($drive) => $does,
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
