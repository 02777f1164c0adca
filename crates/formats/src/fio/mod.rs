//! fio: its job files, its results and its logs.

pub mod histogram_log;
pub mod job;
pub mod logs;
pub mod results;
mod sections;
pub mod text;
