//! What a fit is asked, and what it came to.

use drivelab_core::measurements::Measurements;

/// What a fit is asked.
#[derive(Debug, Clone)]
pub(super) struct Asked<'a> {
    /// What the drive is called.
    pub(super) model: &'a str,
    /// What the header of the profile says made it.
    pub(super) command: &'a str,
    pub(super) measurements: &'a Measurements,
    pub(super) seed: u64,
    /// What the marks of the measurements say.
    pub(super) notes: Vec<String>,
}

/// One figure: what it is called, what was measured and what the median drive gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedFigure {
    /// The key in the measurements file, with the load where it is not the plain one.
    pub name: String,
    /// In the unit of the key.
    pub measured: f64,
    /// In the unit of the key.
    pub fitted: f64,
}

/// What a fit came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The profile, as a file with the source of each number.
    pub profile: String,
    /// Every figure that was fitted.
    pub figures: Vec<FittedFigure>,
    /// Root mean square of the logarithms of (fitted / measured).
    pub rms_log_error: f64,
    /// What the median drive gains at depth 32.
    pub gain: f64,
    /// What is left of each unknown: its key, and where 95 of 100 draws lie.
    pub left_open: Vec<LeftOpen>,
    /// What these measurements cannot show, and what stands in for it.
    pub not_identified: Vec<String>,
    /// Marks of the measurements, and what the fit makes of those that cast doubt on the figures.
    pub notes: Vec<String>,
}

/// What is left open of one number.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOpen {
    /// Its key in the profile.
    pub key: &'static str,
    /// Half of the draws lie below.
    pub median: f64,
    /// Between these lie 95 draws of 100.
    pub range95: [f64; 2],
    /// `ms`, `us`, or nothing.
    pub unit: &'static str,
}
