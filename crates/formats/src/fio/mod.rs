//! fio: its job files and its results.

pub mod job;
pub mod results;
