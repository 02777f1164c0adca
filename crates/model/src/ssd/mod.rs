//! Solid-state drives, one file a mechanism.
//!
//! What each part does and where its rules come from: `docs/internals/ssd-model.md`.

pub mod flash;
pub mod ftl;
