//! The heading of a finished profile.

/// What stands in the heading of a finished profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heading<'a> {
    pub(super) model: &'a str,
    pub(super) command: &'a str,
    pub(super) seed: u64,
    pub(super) simulations: usize,
    /// The remaining error, and the gain at depth 32 of the median drive.
    pub(super) error: f64,
    pub(super) gain: f64,
    /// What the measurements are, and what casts doubt on them.
    pub(super) notes: &'a [String],
}
