//! The hosts of a fleet, with the data collected from each and the gaps.

/// The data collected from one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectedHost {
    /// The host.
    pub host: String,
    /// Its entry in the archive.
    pub id: Option<String>,
    /// Drives that were inspected.
    pub disks: usize,
    /// Runs that were kept.
    pub runs: usize,
    /// Runs that failed: the target, and why.
    pub failed: Vec<(String, String)>,
    /// Why nothing was kept.
    pub why: Option<String>,
}

impl CollectedHost {
    /// True if everything that was asked for is kept.
    pub fn is_whole(&self) -> bool {
        self.why.is_none() && self.failed.is_empty()
    }
}
