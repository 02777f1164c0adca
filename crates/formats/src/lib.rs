//! Other tools' words: job files, traces and results, one folder a tool.
//!
//! Pure, in linear time and bounded memory.
#![forbid(unsafe_code)]

pub mod ab;
pub mod blogbench;
pub mod bonnie;
pub mod crystaldiskmark;
pub mod fio;
mod found;
pub mod fsmark;
pub mod hyperfine;
pub mod pgbench;
pub mod phoronix;
pub mod results;
mod single_run;
pub mod sysbench;
pub mod tiotest;
pub mod trace;
mod xml;
