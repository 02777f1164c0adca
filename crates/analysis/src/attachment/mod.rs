//! The attachment of the arms of a comparison: how they differed, and whether that was intended.
//!
//! A benchmark of AHCI against IDE whose disk had queue depth 1 in both measures nothing of the
//! kind, and one whose scheduler changed too does not show which of the two it measured. Both look
//! like any other result until the attachment is examined.

mod difference;
mod facts;
mod line;
mod question;
mod seen;
mod warning;

pub use difference::{Difference, Row, difference};
pub use facts::{Facts, facts};
pub use line::line;
pub use question::{ArmSettings, Question, Sample};
pub use warning::Unchanged;
