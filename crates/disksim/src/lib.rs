//! The twin of `DiskSim`'s disk model, which exists to be held against `DiskSim`'s traces and the
//! measured disks behind them: two disks are modelled because one has to answer as a reference
//! does, parameter by parameter, and the other, in `drivelab-model`, as drives with queues do.
//!
//! A laboratory's user wants `drivelab-model`. Here a drive takes one command at a time, as the
//! SCSI disks of the nineties did; elevator, tags and wire before it are `drivelab-model`'s.
#![forbid(unsafe_code)]

mod blueprint;
mod disk;
mod parameters;

pub use blueprint::{is_parameter_file, profile};
pub use parameters::DiskSimError;
