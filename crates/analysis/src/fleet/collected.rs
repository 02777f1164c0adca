//! What was collected from which host, and what was not.

/// What came of one host.
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
    /// Whether everything that was asked for is kept.
    pub fn is_whole(&self) -> bool {
        self.why.is_none() && self.failed.is_empty()
    }
}
