//! What a modelled drive says of a run on it.

mod flash;
mod served;

pub use flash::FlashWritten;
pub use served::{LatenessNs, Served};
