//! The language of the laboratory: units, requests, workloads, dispatch, plans and records.
//!
//! Everything that two crates must agree on is defined here and nowhere else. There is no I/O, no
//! clock and no `unsafe` in this crate; time is integer nanoseconds and is always an argument.
#![forbid(unsafe_code)]

pub mod config;
pub mod control;
pub mod crash;
pub mod device;
pub mod disk;
pub mod dispatch;
pub mod factor;
pub mod foreign;
pub mod histogram;
pub mod label;
pub mod loopback;
pub mod matrix;
pub mod measurements;
pub mod numbers;
pub mod plan;
pub mod question;
pub mod recipe;
pub mod record;
pub mod request;
pub mod rng;
pub mod target;
pub mod units;
pub mod usage;
pub mod verification;
mod words;
pub mod workload;

pub use control::Control;
pub use device::{Destaged, Device};
pub use disk::Disk;
pub use foreign::{TraceEntry, csv};
pub use histogram::Histogram;
pub use plan::StageName;
pub use request::{Completion, IoError, Op, Request, RequestId, ServedBy};
pub use rng::{Rng, hypercube};
pub use target::{Rejected, Target, TargetError};
pub use units::{Bytes, Lba, Ratio, Sectors, Span, Time};
pub use words::{
    AtPath, Invalid, Refusal, RefusalKind, counted, hexadecimal, outline, path_hint, shown,
    shown_in_line, shown_json,
};
pub use workload::{IoEngine, JOBS_MAX, JobSchedule, Polling, Requests, Shape, Workload};
