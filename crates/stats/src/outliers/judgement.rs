//! The criteria for a fleet, and the result.

/// Disks in a group that is judged: with fewer, chance alone needs a difference by half.
pub const PEER_GROUP_MIN: usize = 8;
/// Largest false discovery rate that may be requested: above it too many p values could count for
/// any to be bounded instead of computed.
pub const FALSE_DISCOVERY_MAX: f64 = 0.2;

/// The criteria for a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutlierCriteria {
    /// Smallest difference from the peers that matters, as a share: 0.05 is 5 %.
    pub margin: f64,
    /// Share of the reported disks that may be false alarms; above 0, at most
    /// [`FALSE_DISCOVERY_MAX`].
    pub false_discovery: f64,
}

/// Disks that may be compared: for each its runs, the latest last, all positive.
pub type PeerGroup = [Vec<f64>];

/// The result for a group.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupJudgement {
    /// Every disk was compared with its peers.
    Judged(JudgedGroup),
    /// Fewer than [`PEER_GROUP_MIN`] disks.
    TooSmall,
    /// Most disks have the same figure to the last digit: the variation by chance is unknown.
    NoVariation,
}

/// A group that was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedGroup {
    /// Runs of each disk that count.
    pub runs: usize,
    /// For each disk its figure: the geometric mean of those runs.
    pub figures: Vec<f64>,
    /// The disks that differ, by index in the group.
    pub outliers: Vec<Outlier>,
    /// Trimmed mean of all figures.
    pub centre: f64,
    /// Smallest share below the centre at which a single disk would be reported.
    pub smallest_found: f64,
}

/// A disk that differs from its peers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Its index in the group.
    pub index: usize,
    /// Its figure.
    pub figure: f64,
    /// Trimmed mean of its peers' figures.
    pub centre: f64,
    /// Range in which one more of its peers lies with 95 %.
    pub range95: [f64; 2],
    /// Its figure by that of its peers.
    pub ratio: f64,
    /// Probability that a peer lies as far beyond the margin.
    pub p: f64,
    /// Smallest false discovery rate at which it is reported.
    pub q: f64,
}
