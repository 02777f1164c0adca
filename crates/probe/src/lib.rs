//! Determines the properties of a drive by timed requests.
//!
//! It sees a [`drivelab_core::Target`] and nothing behind it: no model, no file, and no clock but
//! the target's. A modelled drive in virtual time and a disk behind a ring are measured by the same
//! code.
#![forbid(unsafe_code)]

mod burst;
mod flush;
mod load;
mod measure;
mod pieces;
mod rotation;
mod session;
mod stream;

pub use measure::{Measured, Settings, Step, measure, steps};
pub use session::ProbeError;
