//! What no safe call does: the one place in this crate with `unsafe`.
//!
//! Everything above calls down into it, and each block names its invariant and who keeps it.

pub(crate) mod child;
pub(crate) mod discard;
pub(crate) mod loop_device;
pub(crate) mod ring;
pub(crate) mod tsc;
