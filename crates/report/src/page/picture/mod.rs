//! Pictures that need no script.

pub(crate) mod axis;
pub(crate) mod dots;
pub(crate) mod forest;
mod scale;
