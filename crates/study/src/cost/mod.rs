//! A program whose I/O is counted, as a file.

mod file;

pub use file::{CostFile, DriveClass};
