//! Why verdicts of a comparison are withheld because of what its runs did.

mod same;
mod work;

pub use crate::outcome::Withheld;
pub(super) use same::same_runs;
pub use work::WorkRow;
pub(super) use work::{Asked, notes, reasons, rows};
