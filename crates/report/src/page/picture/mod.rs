//! Pictures that need no script.

pub(super) mod dots;
pub(super) mod forest;
mod scale;
