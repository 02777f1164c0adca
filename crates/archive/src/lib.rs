//! Keeps runs: what was measured, where and when, in one file that lasts.
//!
//! A run is kept whole: its record as it was, its figures as rows that a query can compare, and
//! what a person says of it (label, tags). The only crate that knows SQL.

mod archive;
mod entry;
mod error;
mod filter;
mod pack;
mod schema;

pub use archive::{Archive, Checked, Merged};
pub use entry::{Entry, Place, RunId};
pub use error::ArchiveError;
pub use filter::Filter;
