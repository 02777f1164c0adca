//! The values drawn for a drive.

/// An unknown of the drive as it was drawn, block by block.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// Its values, in any unit.
    pub values: Vec<f64>,
    /// Position of each in its prior, as a standard normal deviate.
    pub scores: Vec<f64>,
}
