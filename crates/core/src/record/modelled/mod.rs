//! Facts of a modelled drive about a run on it.

mod flash;
mod served;

pub use flash::FlashWritten;
pub use served::{LatenessNs, Served};
