//! The laboratory, where the instruments meet: the stages of a study, and runs on this machine, on
//! modelled drives and in guests.
//!
//! A [`Request`] describes any run, and [`run`] performs it. The laboratory knows neither arguments
//! nor a terminal: it reports to a [`drivelab_core::Control`], asks questions by a
//! [`stage::Confirm`], and returns records or a [`drivelab_core::Refusal`].

pub mod archive;
pub mod attached;
pub mod cost;
pub mod crash;
pub mod durability;
pub mod explained;
pub mod fleet;
pub mod input;
pub mod interrupt;
pub mod kernel_log;
pub mod measure;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod paths;
pub mod request;
pub mod results;
pub mod shown;
pub mod stage;
pub mod sweep;
pub mod target;

pub use request::{Request, run};
