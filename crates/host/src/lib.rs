//! Inspects the attachment of disks, and finds faults in it.
//!
//! Reads `/sys`, `/proc` and the kernel log below a root that is an argument, so a captured tree of
//! another machine is read in the same way as this machine's. Nothing is written, no device is
//! opened, and nothing that is read is trusted: see [`Root`].
#![forbid(unsafe_code)]

mod advice;
pub mod bus;
pub mod capture;
mod described;
pub mod device;
mod finding;
pub mod fingerprint;
mod forced;
mod found;
mod inspection;
pub mod log;
mod origin;
mod outline;
pub mod root;
mod select;
mod speed;
pub mod tools;
mod usage;
pub mod watch;

pub use advice::{
    ADVICE_SCHEMA, Advice, Disk, Disturbance, State, Step, Trap, TrapId, advise, advised,
};
pub use device::{Device, Kind};
pub use drivelab_core::outline::Severity;
pub use found::{Finding, FindingId};
pub use inspection::{
    Environment, Inspection, Options, SCHEMA, inspect, inspect_within, record_within,
};
pub use log::KernelLog;
pub use outline::{outline, watched};
pub use root::{Problem, Reader, Root};
pub use select::{InspectError, Wanted, device_number};
pub use speed::Speed;
pub use usage::Linux;
