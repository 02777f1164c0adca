//! Input and result of a fit.

use drivelab_core::measurements::Measurements;

/// Input of a fit.
#[derive(Debug, Clone)]
pub(super) struct FitRequest<'a> {
    /// Name of the drive.
    pub(super) model: &'a str,
    /// The command in the heading of the profile.
    pub(super) command: &'a str,
    pub(super) measurements: &'a Measurements,
    pub(super) seed: u64,
    /// Notes from the marks of the measurements.
    pub(super) notes: Vec<String>,
}

/// A figure, measured and of the median drive.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedFigure {
    /// The key in the measurements file, with the load unless it is the plain one.
    pub name: String,
    /// In the unit of the key.
    pub measured: f64,
    /// In the unit of the key.
    pub fitted: f64,
}

/// Result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The profile, as a file with the source of each number.
    pub profile: String,
    /// Every figure that was fitted.
    pub figures: Vec<FittedFigure>,
    /// Root mean square of the logarithms of (fitted / measured).
    pub rms_log_error: f64,
    /// Gain of the median drive at depth 32.
    pub gain: f64,
    /// The posterior range of each unknown.
    pub left_open: Vec<LeftOpen>,
    /// Properties that these measurements cannot show, with their assumed values.
    pub not_identified: Vec<String>,
    /// Marks of the measurements, with their effect on the fit.
    pub notes: Vec<String>,
}

/// The posterior range of a number.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOpen {
    /// Its key in the profile.
    pub key: &'static str,
    /// Median of the draws.
    pub median: f64,
    /// The middle 95 % of the draws.
    pub range95: [f64; 2],
    /// `ms`, `us`, or nothing.
    pub unit: &'static str,
}
