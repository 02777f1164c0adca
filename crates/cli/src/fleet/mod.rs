//! Many hosts: how each is reached, what is asked of it, and what came of it.

mod ask;
mod collected;
mod each;
mod reach;

pub(crate) use ask::{Request, ask};
pub(crate) use collected::Collected;
pub(crate) use each::each;
pub(crate) use reach::{Reach, Ssh};
