//! A guest, from its first message to its end.
//!
//! One thread serves everything: the calendar, the drive and the consoles. It and the guest take
//! turns, so what happens in virtual time cannot depend on who is scheduled first.

mod about;
mod folder;
mod limit;
mod meter;
mod process;
mod run;
mod shared;
mod sockets;
mod terminal;
mod watch;

pub(crate) use about::START_NS;
pub use about::{End, Ended, Guest, GuestError, Line};
pub use limit::Limit;
pub use terminal::Terminal;
pub use watch::{Then, Watch};
