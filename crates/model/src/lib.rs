//! Answers requests in virtual time: disks, links, controllers, schedulers.
//!
//! A drive is built from a [`profile::Profile`], which holds what is known about one model, and
//! [`spec::Options`], which say how it is attached. What comes out is a [`Drive`], a
//! [`drivelab_core::Device`] that is told the time and never asks for it: same seed, same bytes.
#![forbid(unsafe_code)]

// The checks of the bench run in the unit tests too, where they name this crate as a bench does.
#[cfg(test)]
extern crate self as drivelab_model;

mod build;
mod controller;
mod disk;
mod disksim;
mod drive;
mod event;
pub mod fit;
mod host;
#[cfg(test)]
#[path = "../benches/invariants/check/mod.rs"]
mod invariants;
mod planted;
pub mod profile;
pub mod raid;
pub mod replay;
mod scsi;
pub mod shelf;
pub mod spec;
mod watch;

pub use build::{BuildError, build};
pub use controller::Controller;
pub use disksim::DiskSimError;
pub use drive::{About, Arrangement, Attached, Counters, Drive};
pub use host::Scheduler;
pub use watch::{Access, Step};
