//! Asks real drives: the load loop, pacing, `io_uring` and psync, and the guard that keeps data.
//!
//! [`run`] measures a file or a block device of this machine, [`simulate`] a modelled drive in
//! virtual time; both go through the one loop in [`load`], over [`drivelab_core::Target`]. The
//! targets are [`Ring`], [`Psync`], [`Null`] and [`VirtualTarget`].
//!
//! Writing goes past the guard: never a block device that is in use or whose name was not repeated,
//! never a file with somebody else's data unless that was allowed.

mod conditions;
pub mod file;
mod guard;
mod host;
mod ioengine;
mod jobs;
pub mod load;
mod marks;
mod open;
mod run;
mod simulate;
#[cfg(test)]
mod testing;
mod threads;
#[expect(unsafe_code, reason = "the kernel's rings are shared memory; the module states its rule")]
mod uring;
pub mod verify;
mod virtual_target;

pub use file::{FileJob, Null, Psync};
pub use guard::{GuardError, Membership, Use, sees_all_processes};
pub use host::{host, memory, page_size};
pub use ioengine::IoEngineError;
pub use jobs::seed_of;
pub use load::{Control, End, LoadError, Phase, Progress};
pub use marks::few_requests;
pub use open::{
    LayoutError, OpenError, Room, make_room, may_be_opened_for_writing, open_for_writing,
};
pub use run::{RunError, RunOutcome, RunPlan, fits, run, run_together, try_out};
pub use simulate::{Simulation, simulate};
pub use threads::{Moved, Threads, simulate_threads};
pub use uring::Ring;
pub use virtual_target::VirtualTarget;
