//! What happens to a write before and at the medium.

mod cache;
mod partial;

pub(super) use cache::WriteCache;
