//! Answers requests in virtual time: disks, links, controllers, schedulers.
//!
//! A drive is built from a [`profile::Profile`], which holds what is known about one model, and
//! [`options::Options`], which say how it is attached. The result is a [`Drive`], a
//! [`drivelab_core::Device`] whose clock is an argument of every call: same seed, same bytes.
//!
//! A crate that models another kind of disk implements [`stack::Mechanism`] for it and reuses the
//! host's side of this one.
#![forbid(unsafe_code)]

mod about;
mod assembly;
mod controller;
mod counters;
mod disk;
mod drive;
mod elevator;
mod error;
mod event;
pub mod fit;
pub mod mechanics;
pub mod options;
pub mod profile;
pub mod raid;
pub mod replay;
pub mod shelf;
mod specimens;
mod spindle;
pub mod ssd;
pub mod stack;
mod tag;
mod tier;
mod unknown;
mod watch;

pub use about::{
    About, Arrangement, Attachment, ControllerCache, ModelledFlash, ModelledShingles, ModelledTier,
};
pub use assembly::{SCSI_NR_REQUESTS, build, build_bare, describe};
pub use controller::{Controller, Notice, QueuePairs, Weighted};
pub use counters::Counters;
pub use drive::Drive;
pub use elevator::Scheduler;
pub use error::BuildError;
pub use event::{Event, EventQueue, Events};
pub use specimens::Specimens;
pub use tag::Tag;
pub use watch::{Access, Band, DieWork, Place, Platter, Step};
