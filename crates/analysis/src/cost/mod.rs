//! The I/O bill of a program: what it asked of a disk, exactly, and whether that is more than
//! before.

mod bill;
mod gate;
mod lifetime;

pub use bill::{
    Bill, CallCost, DriveCost, FileCost, FlashCost, KERNEL, Ledger, METRICS, Metric, ProcessCost,
    Requests, SCHEMA, Varying, WAIT_MIN, varying,
};
pub use gate::{Cause, Change, Gate, Limit, Tolerance, against, within};
pub use lifetime::{Endurance, Lifetime, lifetime};
