//! The numbers that a fit leaves open, with what is known of them before anything is measured.

use crate::unknown::normal;

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unknown {
    /// Its key in a profile.
    pub(super) key: &'static str,
    /// What is written behind its number.
    pub(super) unit: &'static str,
    spread: Spread,
    pub(super) source: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Spread {
    LogNormal { median: f64, sigma: f64, min: f64, max: f64 },
    Normal { mean: f64, sd: f64, min: f64 },
    Uniform { low: f64, high: f64 },
}

use Spread::{LogNormal, Normal, Uniform};

const FACTS: &str = "docs/internals/drive-facts.md";

/// A uniform number has this deviation, in widths of its range.
const UNIFORM_SD: f64 = 0.288_675_134_594_812_9;

/// The seeks of drives of one kind, in ms; the same as in the profiles of such drives.
struct Kind {
    /// Median, sigma, least and most.
    short: [f64; 4],
    /// Mean and deviation.
    average: [f64; 2],
    /// Lowest and highest.
    shape: [f64; 2],
    /// Median of the growth of the margin.
    growth: f64,
}

impl Kind {
    fn of(rpm: f64) -> Self {
        let (short, average, shape, growth) = match rpm {
            ..6_500.0 => ([3.0, 0.45, 1.5, 6.5], [13.0, 0.8], [0.8, 1.3], 1.2),
            9_000.0.. => ([1.2, 0.2, 0.4, 2.5], [5.1, 0.3], [0.6, 1.0], 0.4),
            _ => ([2.3, 0.45, 0.7, 5.0], [9.6, 0.6], [0.8, 1.3], 0.7),
        };
        Self { short, average, shape, growth }
    }
}

impl Unknown {
    /// What every fit leaves open of a drive of this speed; with `writes` what only they show, too.
    pub(super) fn all(rpm: f64, writes: bool) -> Vec<Self> {
        let kind = Kind::of(rpm);
        let ms = |key, spread| Self { key, unit: "ms", spread, source: FACTS };
        let bare = |key, spread| Self { key, unit: "", spread, source: FACTS };
        let [median, sigma, min, max] = kind.short;
        let [mean, sd] = kind.average;
        let [low, high] = kind.shape;
        let growth = LogNormal { median: kind.growth, sigma: 0.65, min: 0.0, max: 5.0 };
        let mut all = vec![
            ms("seek_short", LogNormal { median, sigma, min, max }),
            ms("seek_average", Normal { mean, sd, min: 0.2 }),
            bare("seek_shape", Uniform { low, high }),
            bare("guard_growth", growth),
        ];
        // First the one that decides most: draws are spread evenly over it.
        all.rotate_right(1);
        if writes {
            all.extend(Self::of_writes());
        }
        all
    }

    /// What only writes show.
    pub(super) fn of_writes() -> [Self; 1] {
        let spread = LogNormal { median: 1.0, sigma: 0.4, min: 0.2, max: 4.0 };
        [Self { key: "write_settle", unit: "ms", spread, source: FACTS }]
    }

    /// The number at a standard normal deviate.
    pub(super) fn at(&self, score: f64) -> f64 {
        match self.spread {
            LogNormal { median, sigma, min, max } => {
                (median * libm::exp(sigma * score)).clamp(min, max)
            }
            Normal { mean, sd, min } => (mean + sd * score).max(min),
            Uniform { low, high } => low + (high - low) * normal::cdf(score),
        }
    }

    /// The deviate of a number, within six.
    pub(super) fn score(&self, value: f64) -> f64 {
        let score = match self.spread {
            LogNormal { median, sigma, .. } => libm::log(value / median) / sigma,
            Normal { mean, sd, .. } => (value - mean) / sd,
            Uniform { .. } => 0.0,
        };
        score.clamp(-12.0, 12.0)
    }

    /// A number that the figures follow more evenly than they follow the deviate.
    pub(super) fn term(&self, score: f64) -> f64 {
        match self.spread {
            LogNormal { median, sigma, min, max } => {
                let bound = |value: f64| libm::log(value.max(1e-9) / median) / sigma;
                score.clamp(bound(min), bound(max))
            }
            Normal { .. } => score,
            Uniform { .. } => (normal::cdf(score) - 0.5) / UNIFORM_SD,
        }
    }

    /// The table of its prior, as a profile has it.
    pub(super) fn table(&self) -> String {
        let Self { unit, source, .. } = self;
        let number = |value: f64| match *unit {
            "" => format!("{value}"),
            unit => format!("\"{value}{unit}\""),
        };
        let spread = match self.spread {
            LogNormal { median, sigma, min, max } => format!(
                "median = {}, sigma = {sigma}, min = {}, max = {}",
                number(median),
                number(min),
                number(max)
            ),
            Normal { mean, sd, min } => {
                format!("mean = {}, sd = {}, min = {}", number(mean), number(sd), number(min))
            }
            Uniform { low, high } => format!("low = {}, high = {}", number(low), number(high)),
        };
        format!("{{ {spread}, source = \"{source}\" }}")
    }
}
