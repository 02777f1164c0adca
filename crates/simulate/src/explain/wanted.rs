//! An explanation that is asked for.

use drivelab_analysis::explanation::Question;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;

use super::cache::Cache;
use super::library::Cause;

/// An explanation that is asked for.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The figures.
    pub question: &'a Question,
    /// The drive, as it should be.
    pub spec: &'a DriveSpec,
    /// Its profile.
    pub profile: &'a Profile,
    /// The causes to choose among.
    pub causes: &'a [Cause],
    /// Drives that are simulated.
    pub specimens: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// Rates that were simulated before.
    pub cache: &'a Cache,
    /// True if the next measurement is wanted, too.
    pub chooses_next: bool,
}
