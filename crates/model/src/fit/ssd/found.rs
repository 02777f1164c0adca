//! What a fit of writes came to.

use super::service::WriteNumbers;
use super::written::What;
use crate::fit::outcome::{FittedFigure, LeftOpen};

/// What was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) middle: Option<WriteNumbers>,
    /// One for each draw of the reads.
    pub(super) draws: Vec<WriteNumbers>,
    /// The figures that were met.
    pub(super) met: Vec<What>,
    pub(super) figures: Vec<FittedFigure>,
    pub(super) left_open: Vec<LeftOpen>,
    pub(super) simulations: usize,
    /// Figures that no drive of the class has.
    pub(super) notes: Vec<String>,
}
