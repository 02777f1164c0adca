//! Answers requests in virtual time: disks, links, controllers, schedulers.
//!
//! A drive is built from a [`profile::Profile`], which holds what is known about one model, and
//! [`spec::Options`], which say how it is attached. What comes out is a [`Drive`], a
//! [`drivelab_core::Device`] that is told the time and never asks for it: same seed, same bytes.
#![forbid(unsafe_code)]

mod build;
mod controller;
mod disk;
mod disksim;
mod drive;
mod event;
pub mod fit;
mod host;
pub mod profile;
pub mod raid;
pub mod replay;
mod scsi;
pub mod shelf;
pub mod spec;

pub use build::{BuildError, build};
pub use controller::Controller;
pub use disksim::DiskSimError;
pub use drive::{About, Arrangement, Attached, Counters, Drive};
pub use host::Scheduler;
