//! The formats of other tools: job files, traces and results, one folder per tool.
//!
//! Pure, in linear time and bounded memory.
#![forbid(unsafe_code)]

pub mod ab;
pub mod asssd;
pub mod blogbench;
pub mod bonnie;
pub mod counters;
pub mod crystaldiskmark;
mod date;
pub mod diskspd;
pub mod export;
mod exported;
pub mod filesystem;
pub mod fio;
mod found;
pub mod fsmark;
pub mod hdtune;
pub mod hyperfine;
mod json;
pub mod kdiskmark;
pub mod paste;
pub mod pgbench;
pub mod phoronix;
mod quantity;
pub mod results;
mod series;
pub mod shell;
mod sign;
mod single_run;
pub mod sysbench;
pub mod tiotest;
pub mod trace;
mod web;
pub mod wrk;
mod xml;
