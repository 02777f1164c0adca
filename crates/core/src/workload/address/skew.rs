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
    /// In a bell around the middle of the ranks.
    Normal(Normal),
}

impl Skew {
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Zipf(zipf) => zipf.draw(rng),
            Self::Pareto(pareto) => pareto.draw(rng),
            Self::Normal(normal) => normal.draw(rng),
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

/// The mean of twelve numbers that are equally likely, whose standard deviation is a twelfth of the
/// range, moved by an equally likely part of `spread`: fio's `normal`.
#[derive(Debug, Clone)]
pub(in crate::workload) struct Normal {
    count: u64,
    spread: u64,
}

impl Normal {
    const DRAWS: u64 = 12;

    /// Ranks below `count`, which is above zero; `deviation` is in percent of it, at most a half.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "ranks are block counts, far below 2^53; never negative"
    )]
    pub(super) fn new(count: u64, deviation: f64) -> Self {
        debug_assert!(count > 0 && deviation >= 0.0);
        let spread = libm::ceil(count as f64 * deviation / 100.0) as u64;
        Self { count, spread: spread.min(count / 2) }
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        let sum: u128 = (0..Self::DRAWS).map(|_| u128::from(rng.below(self.count))).sum();
        let mean = u64::try_from(sum / u128::from(Self::DRAWS)).expect("a mean of 64-bit numbers");
        let moved = if self.spread > 0 { rng.below(self.spread) } else { 0 };
        (mean + moved).saturating_sub(self.spread / 2).min(self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_bell_have_its_deviation() {
        let (count, draws) = (12_000_u64, 100_000_u32);
        // A uniform part of 6000 adds 6000^2 / 12 to the variance of 1000^2.
        for (deviation, expected) in [(0.0, 1000.0), (50.0, 2000.0)] {
            let normal = Normal::new(count, deviation);
            let mut rng = Rng::new(6);
            let mut squares = 0.0;
            for _ in 0..draws {
                let rank = u32::try_from(normal.draw(&mut rng)).unwrap();
                assert!(u64::from(rank) < count);
                squares += (f64::from(rank) - 6000.0).powi(2);
            }
            let found = (squares / f64::from(draws)).sqrt();
            // The relative error of a deviation of n draws is 1 / sqrt(2 n): .2 %; five of them.
            assert!((found / expected - 1.0).abs() < 0.012, "{deviation}: {found}");
        }
    }

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
