//! Text for people: why a request was refused, and outlines that `report` draws.

pub mod outline;
mod refusal;

pub use refusal::{Refusal, RefusalKind, path_hint};
