//! The heading of a finished profile.

/// The heading of a finished profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heading<'a> {
    pub(super) model: &'a str,
    pub(super) command: &'a str,
    pub(super) seed: u64,
    pub(super) simulations: usize,
    /// The remaining error of the median drive.
    pub(super) error: f64,
    /// The gain of the median drive at depth 32.
    pub(super) gain: f64,
    /// Notes about the measurements and doubts on them.
    pub(super) notes: &'a [String],
}
