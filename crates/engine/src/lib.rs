//! Measures real drives: files and block devices behind `io_uring` and psync, layout, and the guard
//! that protects data.
//!
//! [`run`] measures a file or a block device of this machine with the loop of [`drivelab_load`],
//! over [`drivelab_core::Target`]. The targets are [`Ring`], [`Aio`], [`Psync`] and
//! [`Null`].
//!
//! Every write passes the guard: it never writes a block device that is in use or whose name was
//! not repeated, and never a file with foreign data unless that was allowed.

mod conditions;
mod error;
pub mod file;
mod guard;
mod ioengine;
mod jobs;
mod open;
mod plan;
mod program;
#[cfg(test)]
#[path = "../tests/all/quiet.rs"]
mod quiet;
mod run;
#[expect(unsafe_code, reason = "what no safe call does; the module states its rule")]
mod sys;
#[cfg(test)]
mod testing;
pub mod verify;

pub use error::RunError;
pub use file::{Null, Psync, TargetSetup};
pub use guard::{GuardError, Membership, Use, sees_all_processes};
pub use ioengine::IoEngineError;
pub use jobs::{StartLine, page_size};
pub use open::{
    LaidOut, LayoutError, OpenError, Room, free_space, lay_out, make_room, may_be_written,
    open_for_writing,
};
pub use plan::RunPlan;
pub use program::{LOCALE, Program, ProgramEnd, Ran};
pub use run::{RunOutcome, fits, lend, run, run_from, run_together, try_out};
pub use sys::aio::Aio;
pub use sys::child::expect_children;
pub use sys::descriptors::with_own_descriptors;
pub use sys::ring::Ring;
