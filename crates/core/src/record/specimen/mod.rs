//! The simulated specimen of the drives that fit a profile.

pub mod unknown;

use serde::{Deserialize, Serialize};

/// One of the drives that fit a profile: the values of its unknown numbers in a run.
///
/// All arms of a block have the same specimen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Specimen {
    /// Its number among the specimens of the study, from 0; `None` for the median drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// One entry for each unknown of the profile, in the order of the profile.
    pub drawn: Vec<Drawn>,
    /// Deviation of the model from a real drive with exactly these numbers: the standard
    /// deviation of the logarithm of any rate; 0 if the profile knows the drive exactly.
    pub model_sigma: f64,
    /// The profile that the drive's own differs from in numbers only: the same mechanisms, which
    /// the model gets wrong alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant_of: Option<String>,
}

/// The value of an unknown in one specimen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// The key of the profile, for example `guard_growth`.
    pub name: String,
    /// Its value, in the unit of the profile (times in ns; the index of a choice).
    pub value: f64,
    /// Position of the value in its prior, as a standard normal deviate: 0 is the median.
    pub score: f64,
}
