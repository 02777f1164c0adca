//! Benchmarks of files that people know, with their original meaning.
//!
//! Each works in one folder, which it makes and removes, draws everything from a seed, and says of
//! each of its phases what that measures. The defects of the original tools are not repeated.
#![forbid(unsafe_code)]

mod bench;
mod blogbench;
mod bonnie;
mod copy;
mod fsmark;
mod metadata;
mod plan;
mod scan;
mod sqlite;
mod suite;
mod tiobench;

pub use bench::SuiteOption;
pub use suite::{About, Outcome, SUITES, Setting, Suite, help, run};

#[cfg(test)]
mod tests;
