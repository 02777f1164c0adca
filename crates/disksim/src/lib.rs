//! A reimplementation of `DiskSim`'s disk model, for comparison with `DiskSim`'s traces and the
//! measured disks behind them. There are two disk models because one has to answer like a
//! reference, parameter by parameter, and the other, in `drivelab-model`, like drives with queues.
//!
//! Users of the laboratory need `drivelab-model`. Here a drive takes one command at a time, like
//! the SCSI disks of the 1990s; elevator, tags and wire in front of it are `drivelab-model`'s.
#![forbid(unsafe_code)]

mod blueprint;
mod disk;
mod parameters;

pub use blueprint::{is_parameter_file, profile};
pub use parameters::DiskSimError;
