//! How the arms of a comparison were attached: what differed, and whether that is what was meant.
//!
//! A benchmark of AHCI against IDE whose disk had queue depth 1 in both measures nothing of the
//! kind, and one whose scheduler changed too cannot tell which of both it measured. Both look like
//! any other result until somebody asks.

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
