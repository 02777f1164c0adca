//! Modelled drives in virtual time: a run, a study, a prediction, and what a drive does meanwhile.
//!
//! Everything here is computed: no clock, no file, no child process. A caller supplies the rest,
//! such as the drives that files describe, as a [`Source`]. The crate compiles to wasm32, and a
//! study gives the same bytes there as on any other platform.
#![forbid(unsafe_code)]

pub mod attached;
pub mod explain;
pub mod model;
pub mod predict;
pub mod record;
mod source;
pub mod stage;
pub mod study;
pub mod watch;

pub use record::{LoadPlan, Made, Together};
pub use source::{Embedded, ModelKeys, Source, options};
pub use stage::Simulator;
