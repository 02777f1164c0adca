//! Being on time: the clock, how the host is asked to help, and how late it was.
//!
//! Three things make a server late. The host does not run it when its alarm rings: `scheduling`.
//! The processor sleeps and takes its time to wake up: `cpu_latency`. What is left, the loop makes
//! up for by waking early and spinning: `spin_policy`.

mod clock;
mod cpu_latency;
mod lateness;
mod scheduling;
mod spin_policy;
mod wakeup_latency;

pub(super) use clock::Clock;
pub(super) use cpu_latency::CpuLatencyRequest;
pub(super) use lateness::Lateness;
pub use lateness::{LatenessBound, LatenessNs};
pub use scheduling::Scheduling;
pub use spin_policy::Spin;
pub(super) use spin_policy::SpinPolicy;
pub use wakeup_latency::{typical_read, wakeup_latency};
