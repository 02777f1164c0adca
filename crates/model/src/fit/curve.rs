//! The seek curve that is searched for: smooth, from a settled short seek to the full stroke.

use drivelab_core::Rng;

/// A seek takes `short + (full - short) * (shape * sqrt(x) + (1 - shape) * x)` milliseconds at a
/// share x of the stroke. It rises everywhere: an arm accelerates, then coasts.
///
/// Three numbers are all that a distribution at depth 1 fixes. A table with more points meets it
/// better and a queue worse: its steps decide which requests lie near, and no drive has them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Curve {
    pub(super) short: f64,
    pub(super) full: f64,
    pub(super) shape: f64,
}

/// The settled short seek of 7200 rpm drives is 2.3 ms beside a mean of 9.6 ms, log-normal with
/// this sigma; the shape lies between 0.8 and 1.3 (docs/internals/drive-facts.md).
const SHORT_SHARE: f64 = 0.24;
const SHORT_SIGMA: f64 = 0.45;
const SHAPE: f64 = 1.0;
const SHAPE_SIGMA: f64 = 0.15;
/// Beyond it a curve would fall again before the full stroke.
const SHAPE_MOST: f64 = 2.0;
/// No seek of any measured drive is shorter or longer.
const SHORTEST: f64 = 0.1;
const LONGEST: f64 = 60.0;

impl Curve {
    /// A common curve whose time is `average` at a third of the stroke.
    pub(super) fn usual(average: f64) -> Self {
        let short = (average * SHORT_SHARE).max(SHORTEST);
        let full = short + (average - short).max(0.1) / libm::sqrt(1.0 / 3.0);
        Self { short, full, shape: SHAPE }
    }

    /// The time at a share of the stroke.
    pub(super) fn at(&self, share: f64) -> f64 {
        let form = self.shape * libm::sqrt(share) + (1.0 - self.shape) * share;
        self.short + (self.full - self.short) * form
    }

    /// Moves one of the three numbers, or both times together, by random steps.
    pub(super) fn moved(&self, rng: &mut Rng, width: f64) -> Self {
        let mut moved = *self;
        let factor = libm::exp(turn(rng) * width);
        match rng.below(4) {
            0 => moved.short *= factor,
            1 => moved.full *= factor,
            2 => moved.shape = (moved.shape + turn(rng) * width).clamp(0.0, SHAPE_MOST),
            _ => (moved.short, moved.full) = (moved.short * factor, moved.full * factor),
        }
        moved.short = moved.short.clamp(SHORTEST, LONGEST);
        moved.full = moved.full.clamp(moved.short, LONGEST);
        moved
    }

    /// How far it departs from a usual curve: the sum of the squares of what is off, in deviations.
    pub(super) fn departure(&self, usual: &Self) -> f64 {
        let short = libm::log(self.short / usual.short) / SHORT_SIGMA;
        let shape = (self.shape - usual.shape) / SHAPE_SIGMA;
        short * short + shape * shape
    }
}

/// From -1 to 1; the cube makes small steps likely and large ones possible.
pub(super) fn turn(rng: &mut Rng) -> f64 {
    let turn = rng.unit() * 2.0 - 1.0;
    turn * turn * turn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_rises() {
        let mut rng = Rng::new(5);
        let mut curve = Curve::usual(9.0);
        for step in 0..2_000 {
            curve = curve.moved(&mut rng, 1.0);
            let times: Vec<f64> = (0..=50).map(|part| curve.at(f64::from(part) / 50.0)).collect();
            assert!(times[0] >= SHORTEST && times[50] <= LONGEST + 1e-9, "step {step}: {curve:?}");
            assert!(times.is_sorted(), "step {step}: {curve:?}");
        }
    }
}
