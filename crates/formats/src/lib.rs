//! Other tools' words: job files, traces and results, one folder a tool.
//!
//! Pure, in linear time and bounded memory.
#![forbid(unsafe_code)]

pub mod bonnie;
pub mod crystaldiskmark;
pub mod fio;
mod found;
pub mod hyperfine;
pub mod phoronix;
pub mod results;
mod single_run;
pub mod trace;
mod xml;
