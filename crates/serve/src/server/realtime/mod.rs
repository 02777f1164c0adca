//! Being on time: the clock, how the host is asked to help, and how late it was.
//!
//! Three things make a server late. The host does not run it when its alarm rings: `scheduling`.
//! The processor sleeps and takes its time to wake up: `wakefulness`. What is left, the loop makes
//! up for by waking early and spinning: `vigil`.

mod clock;
mod floor;
mod lateness;
mod scheduling;
mod vigil;
mod wakefulness;

pub(super) use clock::Clock;
pub use floor::{typical_read, wake_up_floor};
pub(super) use lateness::Lateness;
pub use lateness::{LatenessBound, LatenessNs};
pub use scheduling::Scheduling;
pub use vigil::Spin;
pub(super) use vigil::Vigil;
pub(super) use wakefulness::Wakefulness;
