//! Distributions that use blocks unevenly.

use super::zipf::Zipf;
use crate::rng::Rng;

/// Draws the rank of a block among all, the hottest first.
#[derive(Debug, Clone)]
pub(in crate::workload) enum Skew {
    /// In proportion to a power of the rank.
    Zipf(Zipf),
    /// Self-similar: a share of the blocks gets the remaining share of the requests, and the same
    /// applies within those blocks.
    Pareto(Pareto),
}

impl Skew {
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Zipf(zipf) => zipf.draw(rng),
            Self::Pareto(pareto) => pareto.draw(rng),
        }
    }
}

/// Gray et al. 1994, "Quickly generating billion-record synthetic databases", section 3.3: with
/// `share` = 0.2 a fifth of the blocks gets four fifths of the requests. fio calls it `pareto`.
#[derive(Debug, Clone)]
pub(in crate::workload) struct Pareto {
    count: u64,
    power: f64,
}

impl Pareto {
    /// Ranks below `count`, which is above zero; `share` lies above 0 and below 1.
    pub(super) fn new(count: u64, share: f64) -> Self {
        debug_assert!(count > 0 && share > 0.0 && share < 1.0);
        Self { count, power: libm::log(share) / libm::log(1.0 - share) }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "ranks are block counts, far below 2^53; never negative, held below the count"
    )]
    fn draw(&self, rng: &mut Rng) -> u64 {
        // The inverse of the distribution function.
        let rank = self.count as f64 * libm::pow(rng.unit(), self.power);
        (rank as u64).min(self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_blocks_takes_four_fifths_of_the_requests() {
        let (count, draws) = (1000, 100_000_u32);
        for (share, hot) in [(0.2, 200), (0.5, 500), (0.1, 100)] {
            let pareto = Pareto::new(count, share);
            let mut rng = Rng::new(5);
            let mut within = 0_u32;
            for _ in 0..draws {
                let rank = pareto.draw(&mut rng);
                assert!(rank < count);
                within += u32::from(rank < hot);
            }
            let expected = (1.0 - share) * f64::from(draws);
            // The standard deviation is at most 0.5 * sqrt(draws) = 158: four of them.
            assert!((f64::from(within) - expected).abs() < 640.0, "{share}: {within}");
        }
    }
}
