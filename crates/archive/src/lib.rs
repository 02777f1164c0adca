//! Keeps runs: what was measured, where and when, in a file that lasts or on a server.
//!
//! A run is kept whole: its record as it was, its figures as rows that a query can compare, and
//! what a person says of it (label, tags, commit). A study, a matrix or a job file is one run whose
//! runs are its parts. The only crate that knows SQL.

mod archive;
mod distrust;
mod entry;
mod error;
mod filter;
mod pack;
mod query;
mod refusal;
mod schema;
mod store;
mod when;

pub use archive::{AT_ONCE, Archive, Checked, Detail, Listed, Merged, is_digested};
pub use distrust::Distrust;
pub use entry::{
    Columns, Digest, Digested, Entry, Part, Position, ReadBack, ReadWhole, RunId, RunIds, Shown,
    Whole,
};
pub use error::{ArchiveError, DatabaseError};
pub use filter::Filter;
pub use query::Query;
pub use store::{Patience, Stop, Wait, is_server};
pub use when::{Period, since};
