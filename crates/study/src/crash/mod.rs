//! A crash test: its file, the cuts that it makes, and the smallest loss that explains a failure.

mod disks;
mod file;
mod minimise;
mod moments;
mod plan;

pub use disks::{CrashDisk, Layer, Stacked};
pub use file::{CrashFile, CutPoint};
pub use minimise::{Minimal, minimise};
pub use moments::Moments;
pub use plan::{Plan, plan};
