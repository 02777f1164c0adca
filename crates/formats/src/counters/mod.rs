//! Counters of a system that was watched while other programs made its load.

pub mod iostat;
pub mod prometheus;
pub mod vmstat;
