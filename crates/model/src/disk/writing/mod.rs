//! Writes on their way to the medium, and at it.

mod cache;
mod partial;

pub(super) use cache::WriteCache;
