//! The outcomes of a power cut that the rules leave open, chosen at random or enumerated by a test.

use std::collections::BTreeSet;

use drivelab_core::crash::Outcome;
use drivelab_core::{Ratio, Rng};

/// A source of the choices that a power cut leaves open.
pub trait Choose {
    /// One of `options` possibilities, from 0; among a sector's values 0 is the durable one.
    fn choose(&mut self, options: usize) -> usize;

    /// Returns the number of writes, of those that a physical sector received, oldest first, that
    /// it keeps. They are named by their positions in the order of submissions.
    fn point(&mut self, writes: &[u64]) -> usize {
        self.choose(writes.len() + 1)
    }
}

/// Random choices from a seed.
///
/// A real cut loses all of the cache, or all except data in flight, or almost nothing: so the share
/// of sectors that keep a later value is drawn first, once per cut.
#[derive(Debug, Clone)]
pub struct Dice {
    rng: Rng,
    survivors: Ratio,
}

impl Dice {
    /// Dice for `seed`.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let shares = [0, 10, 50, 90];
        let drawn = usize::try_from(rng.below(shares.len() as u64)).expect("below four");
        Self { rng, survivors: Ratio::percent(shares[drawn]) }
    }
}

impl Choose for Dice {
    fn choose(&mut self, options: usize) -> usize {
        debug_assert!(options > 0, "the durable value is always possible");
        if options < 2 || !self.rng.chance(self.survivors) {
            return 0;
        }
        // 0 is the durable value; every later one is equally likely.
        let later = self.rng.below(options as u64 - 1);
        1 + usize::try_from(later).expect("below a usize")
    }
}

/// Keeps only what is durable.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeepNothing;

impl Choose for KeepNothing {
    fn choose(&mut self, _: usize) -> usize {
        0
    }
}

/// The combination of choices with this number: from 0 on, each combination has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered(u64);

impl Choose for Numbered {
    fn choose(&mut self, options: usize) -> usize {
        // The digits of the number, in the mixed radix of the numbers of options.
        debug_assert!(options > 0, "the durable value is always possible");
        let options = options as u64;
        let chosen = self.0 % options;
        self.0 /= options;
        usize::try_from(chosen).expect("below the number of options")
    }
}

/// Choices that lose only the data of these `writes`, out of the data that `of` loses; writes are
/// named by their positions in the order of submissions.
pub fn lose_only(writes: BTreeSet<u64>, of: Box<dyn Choose>) -> impl Choose {
    LoseOnly { writes, of }
}

struct LoseOnly {
    writes: BTreeSet<u64>,
    of: Box<dyn Choose>,
}

impl Choose for LoseOnly {
    fn choose(&mut self, options: usize) -> usize {
        self.of.choose(options)
    }

    fn point(&mut self, writes: &[u64]) -> usize {
        // A write that must not be lost also keeps the earlier ones: a sector receives them in
        // order.
        let newest = writes.iter().rposition(|write| !self.writes.contains(write));
        self.of.point(writes).max(newest.map_or(0, |index| index + 1))
    }
}

/// Counts the combinations of choices, and keeps everything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count(pub(super) u64);

impl Choose for Count {
    fn choose(&mut self, options: usize) -> usize {
        debug_assert!(options > 0, "the durable value is always possible");
        self.0 = self.0.saturating_mul(options as u64);
        options - 1
    }
}

/// Returns the choices of an outcome.
pub fn of_outcome(outcome: Outcome) -> Box<dyn Choose> {
    match outcome {
        Outcome::Nothing => Box::new(KeepNothing),
        Outcome::Everything => Box::new(KeepAll),
        Outcome::Drawn(seed) => Box::new(Dice::new(u64::from(seed))),
        Outcome::Numbered(number) => Box::new(Numbered(number)),
    }
}

/// Keeps the newest value of every sector: an orderly power-off.
#[derive(Debug, Clone, Copy)]
pub struct KeepAll;

impl Choose for KeepAll {
    fn choose(&mut self, options: usize) -> usize {
        debug_assert!(options > 0, "the durable value is always possible");
        options - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_choose_has_a_number() {
        let chosen = |number| {
            let mut choices = Numbered(number);
            [choices.choose(2), choices.choose(3), choices.choose(1)]
        };
        let all: BTreeSet<_> = (0..6).map(chosen).collect();
        assert_eq!((all.len(), chosen(0)), (6, [0, 0, 0]));
        let mut count = Count(1);
        for options in [2, 3, 1] {
            count.choose(options);
        }
        assert_eq!(count.0, 6);
    }

    #[test]
    fn writes_are_lost_by_name() {
        let check = |writes: &[u64], of: Box<dyn Choose>, expected| {
            let mut lose = lose_only(writes.iter().copied().collect(), of);
            assert_eq!(lose.point(&[3, 5, 8]), expected, "{writes:?}");
        };
        check(&[], Box::new(KeepNothing), 3);
        check(&[8], Box::new(KeepNothing), 2);
        check(&[5], Box::new(KeepNothing), 3);
        check(&[5, 8], Box::new(KeepNothing), 1);
        check(&[3, 5, 8], Box::new(KeepNothing), 0);
        check(&[3, 5, 8], Box::new(Numbered(2)), 2);
        check(&[3, 5, 8], Box::new(KeepAll), 3);
    }
}
