//! Many hosts: how each is reached, what is asked of it, and what came of it.

mod ask;
mod collected;
mod each;
mod reach;

pub use ask::{Request, ask};
pub use collected::Collected;
pub use each::each;
pub use reach::{Reach, Ssh};
