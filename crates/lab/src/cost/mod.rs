//! The I/O bill of a program: it runs in guests on metered drives, and each request is attributed.

mod attributed;
mod charged;
mod holds;
mod meter;
mod run;
mod symbols;

pub use run::{Cost, file_system, limit_value};
