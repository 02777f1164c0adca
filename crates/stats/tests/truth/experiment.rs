//! Experiments whose true effect is known.

use drivelab_stats::{Arm, Better, Criteria, Pair};

use crate::truth::drift::Drift;
use crate::truth::noise::Noise;
use crate::truth::random::Random;

/// Minimum effect of interest in all experiments.
pub(crate) const MARGIN: f64 = 0.03;
/// Run-to-run standard deviation of the logarithm: 3 %, as in the method's evidence.
pub(crate) const RUN_SD: f64 = 0.03;

/// One combination of circumstances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    /// True effect of arm B as a fraction.
    pub(crate) effect: f64,
    pub(crate) noise: Noise,
    pub(crate) drift: Drift,
    /// Arm B varies twice as much.
    pub(crate) unequal: bool,
    pub(crate) blocks: usize,
    /// Run-to-run standard deviation of the logarithm.
    pub(crate) run_sd: f64,
}

/// In which order the runs are made.
pub(crate) type Design = fn(blocks: usize, random: &mut Random) -> Vec<Arm>;

/// Blocks of both arms; as many begin with A as with B, in random order.
pub(crate) fn randomised_blocks(blocks: usize, random: &mut Random) -> Vec<Arm> {
    let mut firsts: Vec<Arm> =
        (0..blocks).map(|i| if i % 2 == 0 { Arm::A } else { Arm::B }).collect();
    random.shuffle(&mut firsts);
    firsts.into_iter().flat_map(|first| [first, other(first)]).collect()
}

fn other(arm: Arm) -> Arm {
    match arm {
        Arm::A => Arm::B,
        Arm::B => Arm::A,
    }
}

pub(crate) fn criteria() -> Criteria {
    Criteria::new(MARGIN, Better::More, 7).expect("3 % is a usual minimum effect")
}

impl Cell {
    /// Returns the true log ratio.
    pub(crate) fn truth(&self) -> f64 {
        libm::log1p(self.effect)
    }

    /// Makes all runs; the i-th run of each arm forms the i-th pair.
    pub(crate) fn experiment(&self, design: Design, random: &mut Random) -> Vec<Pair> {
        let slots = design(self.blocks, random);
        let drift = self.drift.draw(slots.len(), random);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (slot, arm) in slots.iter().enumerate() {
            let value = self.run(*arm, drift[slot], random);
            match arm {
                Arm::A => a.push((slot, value)),
                Arm::B => b.push((slot, value)),
            }
        }
        let pair = |((slot_a, a), (slot_b, b)): ((usize, f64), (usize, f64))| {
            Pair::new(a, b).with_first(if slot_a < slot_b { Arm::A } else { Arm::B })
        };
        a.into_iter().zip(b).map(pair).collect()
    }

    /// Returns what one run measures, in requests per second.
    fn run(&self, arm: Arm, drift: f64, random: &mut Random) -> f64 {
        let (effect, spread) = match arm {
            Arm::A => (0.0, 1.0),
            Arm::B => (self.truth(), if self.unequal { 2.0 } else { 1.0 }),
        };
        let log = effect + self.run_sd * (drift + spread * self.noise.draw(random));
        let level = if self.noise == Noise::Quantised {
            // Rounding a normal variable to its deviation moves its mean by less than 1e-8.
            libm::round(log / self.run_sd) * self.run_sd
        } else {
            log
        };
        1000.0 * libm::exp(level)
    }
}
