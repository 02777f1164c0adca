//! The numbers that a fit leaves open, with what is known of them before anything is measured.

use drivelab_core::config::Section;

use crate::profile::Profile;
use crate::unknown::{Distribution, Nature, Prior};

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unknown {
    /// Its key in a profile.
    pub(super) key: &'static str,
    /// What is written behind its number.
    pub(super) unit: &'static str,
    prior: Distribution,
}

/// What every fit leaves open. First the one that decides most: draws are spread evenly over it.
const OF_READS: [&str; 4] = ["guard_growth", "seek_short", "seek_average", "seek_shape"];

/// What a write takes longer than a read to settle, which no profile leaves open: the makers'
/// average write seeks are 0.6 to 1 ms above those of reads.
pub const WRITE_SETTLE: &str = "write_settle = { median = \"1ms\", sigma = 0.4, min = \"0.2ms\", \
                                max = \"4ms\", source = \"docs/internals/drive-facts.md\" }";

/// No seek takes less, however far out a search looks.
const LEAST_MS: f64 = 0.2;

impl Unknown {
    /// What every fit leaves open of a drive of this speed, as the profile of such drives does;
    /// with `writes` what only they show, too.
    pub(super) fn all(rpm: f64, writes: bool) -> Vec<Self> {
        let kind = match rpm {
            ..6_500.0 => "generic-5400",
            9_000.0.. => "generic-10k",
            _ => "seagate-st31000333as",
        };
        let profile = Profile::embedded(kind).expect("it comes with drivelab");
        let of_reads = |key| {
            let prior = profile.prior(key).expect("a test fits a drive of each kind");
            Self::new(key, prior)
        };
        let mut all: Vec<Self> = OF_READS.into_iter().map(of_reads).collect();
        if writes {
            let mut text = Section::parse("fit", WRITE_SETTLE).expect("it is TOML");
            let key = "write_settle";
            let prior = Prior::read(&mut text, key, Nature::Time, |_| Ok(()), "fit");
            all.push(Self::new(key, &prior.expect("it is a distribution")));
        }
        all
    }

    fn new(key: &'static str, prior: &Prior) -> Self {
        let unit = if prior.nature == Nature::Time { "ms" } else { "" };
        Self { key, unit, prior: prior.distribution.clone() }
    }

    /// How many of the prior's units, nanoseconds, are one of a time here.
    fn scale(&self) -> f64 {
        if self.unit.is_empty() { 1.0 } else { 1e6 }
    }

    /// The number at a standard normal deviate.
    pub(super) fn at(&self, score: f64) -> f64 {
        let value = self.prior.at_score(score) / self.scale();
        if self.unit.is_empty() { value } else { value.max(LEAST_MS) }
    }

    /// The deviate of a number, within twelve.
    pub(super) fn score(&self, value: f64) -> f64 {
        self.prior.score_of(value * self.scale()).clamp(-12.0, 12.0)
    }

    /// A number that the figures follow more evenly than they follow the deviate.
    pub(super) fn term(&self, score: f64) -> f64 {
        self.prior.even(score)
    }
}
