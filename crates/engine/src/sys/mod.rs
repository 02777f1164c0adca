//! Operations for which there is no safe call: the only module of this crate with `unsafe`.
//!
//! Everything above calls down into it, and each block names its invariant and its keeper.

pub(crate) mod aio;
pub(crate) mod child;
pub(crate) mod descriptors;
pub(crate) mod discard;
pub(crate) mod loop_device;
pub(crate) mod ring;
pub(crate) mod time_page;
pub(crate) mod tsc;
pub(crate) mod usage;
