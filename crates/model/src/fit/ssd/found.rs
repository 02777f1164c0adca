//! Result of a fit of writes.

use super::service::WriteNumbers;
use super::written::Quantity;
use crate::fit::outcome::{FittedFigure, LeftOpen};

/// Result of a fit of writes.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) middle: Option<WriteNumbers>,
    /// The numbers for each draw of the reads.
    pub(super) draws: Vec<WriteNumbers>,
    /// The fitted figures.
    pub(super) met: Vec<Quantity>,
    pub(super) figures: Vec<FittedFigure>,
    pub(super) left_open: Vec<LeftOpen>,
    pub(super) simulations: usize,
    /// Notes about figures that no drive of the class reaches.
    pub(super) notes: Vec<String>,
}
