//! The language of the laboratory: units, requests, workloads, dispatch, plans and records.
//!
//! Everything that two crates must agree on is said here and nowhere else. There is no I/O, no
//! clock and no `unsafe` in this crate; time is integer nanoseconds and is always an argument.
#![forbid(unsafe_code)]

mod conduct;
pub mod config;
pub mod device;
pub mod dispatch;
pub mod factor;
pub mod histogram;
mod ioengine;
pub mod jobfile;
pub mod label;
pub mod matrix;
pub mod plan;
pub mod record;
mod refusal;
pub mod request;
pub mod rng;
pub mod target;
pub mod trace;
pub mod units;
pub mod workload;

pub use conduct::Conduct;
pub use device::{Destaged, Device};
pub use histogram::Histogram;
pub use ioengine::{IoEngine, Polling};
pub use refusal::{Refusal, RefusalKind};
pub use request::{Completion, IoError, Op, Request, RequestId, ServedBy};
pub use rng::Rng;
pub use target::{Rejected, Target, TargetError};
pub use units::{Bytes, Lba, Ratio, Sectors, Span, Time};
pub use workload::{Requests, Workload};
