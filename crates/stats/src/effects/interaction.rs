//! Effects of two factors, and their interaction.
//!
//! Every effect is a contrast of log values within a block, so that the level of a block drops out,
//! as it does in a comparison of two arms.

use serde::{Deserialize, Serialize};

use super::Effect;
use crate::criteria::Better;
use crate::numbers::float;

/// Arms laid out by two factors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factorial {
    /// The levels of both factors in each arm, by index; the first level is the base.
    arms: Vec<[usize; 2]>,
    /// Number of levels of each factor.
    levels: [usize; 2],
}

/// A layout that separates no effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FactorialError {
    /// A factor that never varies has no effect.
    #[error("factor {0} has a single level")]
    SingleLevel(usize),
    /// A combination of levels that no arm has.
    #[error("no arm has level {} of the first factor with level {} of the second", .0[0], .0[1])]
    Missing([usize; 2]),
}

/// One effect of a factorial design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contrast {
    /// A factor from its first level to `to`, averaged over the levels of the other.
    Main {
        /// 0 or 1.
        factor: usize,
        /// The level, not the first.
        to: usize,
    },
    /// The effect of a factor where the other factor is at level `at`.
    Simple {
        /// 0 or 1.
        factor: usize,
        /// The level, not the first.
        to: usize,
        /// The level of the other factor.
        at: usize,
    },
    /// The change in the effect of each factor with that of the other: a ratio of ratios.
    Interaction {
        /// The levels, neither the first.
        to: [usize; 2],
    },
}

/// The conclusion from the interval of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interacts {
    /// The effect of one factor depends on the other, beyond the margin.
    Interact,
    /// It does not, or by less than matters.
    Independent,
    /// Nothing is shown.
    NotShown,
}

impl Factorial {
    /// Lays out arms by the levels of two factors; every combination must have an arm.
    pub fn new(arms: Vec<[usize; 2]>) -> Result<Self, FactorialError> {
        let levels = [0, 1].map(|factor| {
            let highest = arms.iter().map(|arm| arm[factor]).max();
            highest.map_or(0, |level| level + 1)
        });
        if let Some(factor) = levels.iter().position(|count| *count < 2) {
            return Err(FactorialError::SingleLevel(factor));
        }
        for first in 0..levels[0] {
            for second in 0..levels[1] {
                if !arms.contains(&[first, second]) {
                    return Err(FactorialError::Missing([first, second]));
                }
            }
        }
        Ok(Self { arms, levels })
    }

    /// Returns every effect: main effects, simple effects, interactions.
    pub fn contrasts(&self) -> Vec<Contrast> {
        let mut all = Vec::new();
        for factor in 0..2 {
            all.extend((1..self.levels[factor]).map(|to| Contrast::Main { factor, to }));
        }
        for factor in 0..2 {
            for to in 1..self.levels[factor] {
                let others = 0..self.levels[1 - factor];
                all.extend(others.map(|at| Contrast::Simple { factor, to, at }));
            }
        }
        for first in 1..self.levels[0] {
            let seconds = 1..self.levels[1];
            all.extend(seconds.map(|second| Contrast::Interaction { to: [first, second] }));
        }
        all
    }

    /// Returns the log ratio of a contrast in each block, positive where it is better; `values`
    /// holds a value above zero for each arm and block.
    pub fn row(&self, contrast: Contrast, values: &[Vec<f64>], better: Better) -> Vec<f64> {
        assert_eq!(values.len(), self.arms.len(), "every arm has its values");
        let weights: Vec<f64> = self.arms.iter().map(|arm| self.weight(contrast, *arm)).collect();
        let sign = match better {
            Better::More => 1.0,
            Better::Less => -1.0,
        };
        let blocks = values.first().map_or(0, Vec::len);
        let mut row = Vec::with_capacity(blocks);
        for block in 0..blocks {
            // Arms without weight may have no value: they must not enter as 0 times a NaN.
            let parts = values.iter().zip(&weights).filter(|(_, weight)| weight.abs() > 0.0);
            row.push(sign * parts.map(|(arm, weight)| weight * libm::log(arm[block])).sum::<f64>());
        }
        row
    }

    fn weight(&self, contrast: Contrast, arm: [usize; 2]) -> f64 {
        let cell = self.share(arm);
        match contrast {
            Contrast::Main { factor, to } => {
                step(arm[factor], to) * cell / float(self.levels[1 - factor])
            }
            Contrast::Simple { factor, to, at } if arm[1 - factor] == at => {
                step(arm[factor], to) * cell
            }
            Contrast::Simple { .. } => 0.0,
            Contrast::Interaction { to } => step(arm[0], to[0]) * step(arm[1], to[1]) * cell,
        }
    }

    /// Arms with the same levels share their cell.
    fn share(&self, arm: [usize; 2]) -> f64 {
        1.0 / float(self.arms.iter().filter(|other| **other == arm).count())
    }
}

/// The weight of a level in a step from the first one to `to`.
fn step(level: usize, to: usize) -> f64 {
    match level {
        0 => -1.0,
        level if level == to => 1.0,
        _ => 0.0,
    }
}

/// Judges an interaction against the smallest effect that matters, a fraction; with too few blocks
/// nothing is shown.
pub fn interacts(effect: &Effect, margin: f64, enough_blocks: bool) -> Interacts {
    match (enough_blocks, effect.is_within(margin), effect.is_shown()) {
        (true, true, _) => Interacts::Independent,
        (true, false, true) => Interacts::Interact,
        _ => Interacts::NotShown,
    }
}
