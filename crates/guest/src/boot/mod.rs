//! A guest, from its first message to its end.
//!
//! One thread serves everything: the calendar, the drive and the consoles. It and the guest take
//! turns, so the events in virtual time cannot depend on the host's scheduling.

mod about;
mod folder;
mod limit;
mod meter;
mod observer;
mod process;
mod run;
mod shared;
mod sockets;
mod terminal;

pub(crate) use about::START_NS;
pub use about::{End, Guest, GuestError, Line, RunResult};
pub use limit::Limit;
pub use observer::{Observer, Reaction};
pub use run::ADAPTERS_MAX;
pub use terminal::Terminal;
