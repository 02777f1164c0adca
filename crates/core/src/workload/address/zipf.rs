//! Zipf-distributed ranks: a few blocks are hot, most are cold.

use crate::rng::Rng;

/// Draws ranks 0..n with probability proportional to 1 / (rank + 1)^theta.
///
/// Rejection-inversion after Hörmann and Derflinger 1996, "Rejection-inversion to generate variates
/// from monotone discrete distributions": constant time and memory for any n, exact for any theta
/// above 0, theta = 1 included. `libm` keeps the draws equal on every machine.
#[derive(Debug, Clone)]
pub(in crate::workload) struct Zipf {
    theta: f64,
    largest: u64,
    /// The integral of the density's hat up to and including rank 1, and up to the largest rank.
    integral_low: f64,
    integral_high: f64,
    /// Below this distance from the drawn rank no density need be evaluated.
    sure: f64,
}

#[expect(clippy::cast_precision_loss, reason = "ranks are block counts, far below 2^53")]
impl Zipf {
    /// Ranks below `n`, which is above zero.
    pub(super) fn new(n: u64, theta: f64) -> Self {
        debug_assert!(n > 0 && theta > 0.0);
        let mut zipf = Self { theta, largest: n, integral_low: 0.0, integral_high: 0.0, sure: 0.0 };
        zipf.integral_low = zipf.integral(1.5) - 1.0;
        zipf.integral_high = zipf.integral(n as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// The next rank, from 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 1..=n before the cast"
    )]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let height = self.integral_high + rng.unit() * (self.integral_low - self.integral_high);
            let x = self.inverse(height);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.largest as f64);
            if rank - x <= self.sure || height >= self.integral(rank + 0.5) - self.density(rank) {
                debug_assert!(rank >= 1.0 && rank <= self.largest as f64);
                return rank as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// (x^(1-theta) - 1) / (1 - theta), which tends to ln x where theta is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let scaled = (1.0 - self.theta) * log;
        // Below 1e-8 the error of the limit is less than the rounding of the quotient.
        if scaled.abs() < 1e-8 { log } else { libm::expm1(scaled) / (1.0 - self.theta) }
    }

    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.theta)).max(-1.0);
        let log = if scaled.abs() < 1e-8 { area } else { libm::log1p(scaled) / (1.0 - self.theta) };
        libm::exp(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_law() {
        for theta in [0.5, 1.0, 1.2] {
            let n: u32 = 50;
            let zipf = Zipf::new(u64::from(n), theta);
            let mut rng = Rng::new(11);
            let draws = 400_000_u32;
            let mut counts = vec![0_u32; n as usize];
            for _ in 0..draws {
                counts[usize::try_from(zipf.draw(&mut rng)).unwrap()] += 1;
            }
            let weight = |rank: u32| 1.0 / f64::from(rank + 1).powf(theta);
            let total: f64 = (0..n).map(weight).sum();
            for (rank, count) in (0..n).zip(counts) {
                let expected = f64::from(draws) * weight(rank) / total;
                let away = (f64::from(count) - expected).abs() / expected.sqrt();
                assert!(away < 5.0, "theta {theta} rank {rank}: {count} for {expected}");
            }
        }
    }
}
