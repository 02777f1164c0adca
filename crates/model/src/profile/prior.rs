//! What a queue gains: a prior, because depth 1 cannot show it.

/// The gain of 32 outstanding random reads over one, log-normal, by kind of drive.
///
/// From single drives measured at depths 1 to 32 (docs/internals/drive-facts.md): twelve desktop
/// drives, few of the other kinds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The kind, in words.
    pub kind: &'static str,
    /// Its median.
    pub median: f64,
    /// The deviation of its logarithm.
    pub sigma: f64,
    /// By what share of the seek the firmware's margin grows, in the median drive.
    pub growth: f64,
}

impl Prior {
    /// The prior for a drive of this speed.
    pub fn of(rpm: f64) -> Self {
        let (kind, median, sigma, growth) = match rpm {
            ..6_500.0 => ("laptop and low-power drives", 1.55, 0.25, 1.2),
            9_000.0.. => ("10K and 15K SCSI drives", 1.80, 0.15, 0.4),
            _ => ("desktop SATA drives", 1.65, 0.20, 0.7),
        };
        Self { kind, median, sigma, growth }
    }
}
