//! The permutation test of Welch's t: without a difference, any of the runs may be of either arm.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::groups::Shift;
use crate::distribution::normal;
use crate::numbers::{float, mean, standard_deviation};

/// Up to here all divisions into two groups are tried.
const EXACT_MAX: u64 = 20_000;
/// Random divisions above: a p of 5 % is then known to 0.3 points (two standard errors).
const RANDOM: u32 = 20_000;
/// Above this size of both groups, the permutation distribution of t is taken as normal (Janssen
/// 1997): 20,000 divisions of 200,000 runs would take minutes, and find the same.
const NORMAL_ABOVE: usize = 10_000;
/// Values of t that differ by less are equal: rounding.
const TIE: f64 = 1e-9;

/// Returns the two-sided p value of "both groups are draws of one level".
pub(super) fn p_value(shift: &Shift, seed: u64) -> f64 {
    if shift.a.len().min(shift.b.len()) > NORMAL_ABOVE {
        return by_normal(shift);
    }
    by_permutation(shift, seed)
}

fn by_normal(shift: &Shift) -> f64 {
    (2.0 * normal::upper_tail(libm::sqrt(squared_t(&shift.a, &shift.b)))).min(1.0)
}

fn by_permutation(shift: &Shift, seed: u64) -> f64 {
    let pooled = [&shift.a[..], &shift.b].concat();
    let split = shift.a.len();
    // The observed division is among those tried, and must count in spite of rounding.
    let observed = squared_t(&shift.a, &shift.b) * (1.0 - TIE);
    let is_as_large = |all: &[f64]| squared_t(&all[..split], &all[split..]) >= observed;
    if divisions(pooled.len(), split) <= EXACT_MAX {
        let (mut all, mut large) = (0.0, 0.0);
        every(&pooled, split, &mut |divided| {
            all += 1.0;
            large += f64::from(u8::from(is_as_large(divided)));
        });
        return large / all;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut shuffled = pooled;
    // The observed division counts as one, so that p is never 0.
    let mut large = 1_u32;
    for _ in 0..RANDOM {
        // Only the first group has to be drawn: the rest is the other one.
        for at in 0..split {
            let rest = shuffled.len() - at;
            shuffled.swap(at, at + below(rest, &mut random));
        }
        large += u32::from(is_as_large(&shuffled));
    }
    f64::from(large) / f64::from(RANDOM + 1)
}

/// A number below `end`; its bias is below 2^-32.
fn below(end: usize, random: &mut Xoshiro256PlusPlus) -> usize {
    let end = u32::try_from(end).unwrap_or(u32::MAX);
    let scaled = (random.next_u64() >> 32) * u64::from(end);
    usize::try_from(scaled >> 32).unwrap_or(0)
}

/// The square of Welch's t; infinite where the groups differ and do not vary.
fn squared_t(a: &[f64], b: &[f64]) -> f64 {
    let difference = mean(b) - mean(a);
    let error = squared_error(a) + squared_error(b);
    let squared = difference * difference;
    if error > 0.0 {
        squared / error
    } else if squared > 0.0 {
        f64::INFINITY
    } else {
        0.0
    }
}

fn squared_error(group: &[f64]) -> f64 {
    standard_deviation(group).powi(2) / float(group.len())
}

/// The number of ways to take `some` of `all`; at most one more than are ever tried.
fn divisions(all: usize, some: usize) -> u64 {
    let mut ways = 1_u64;
    for step in 1..=some {
        let (top, bottom) = ((all - some + step) as u64, step as u64);
        // Without a remainder: `ways` is a binomial coefficient after each step.
        ways = ways.saturating_mul(top) / bottom;
        if ways > EXACT_MAX {
            return EXACT_MAX + 1;
        }
    }
    ways
}

/// Visits every division of `values` into a first part of `split` and the rest.
fn every(values: &[f64], split: usize, visit: &mut impl FnMut(&[f64])) {
    debug_assert!(split <= values.len());
    let mut chosen: Vec<usize> = (0..split).collect();
    let mut divided = vec![0.0; values.len()];
    loop {
        let (mut first, mut second) = (0, split);
        for (index, value) in values.iter().enumerate() {
            let at = if chosen.contains(&index) { &mut first } else { &mut second };
            divided[*at] = *value;
            *at += 1;
        }
        visit(&divided);
        // The next combination in order: the last index that can move on does.
        let Some(moves) = (0..split).rev().find(|&i| chosen[i] < values.len() - split + i) else {
            return;
        };
        chosen[moves] += 1;
        for later in moves + 1..split {
            chosen[later] = chosen[later - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Better;
    use crate::unpaired::Groups;

    #[test]
    fn many_runs_have_the_p_value_that_permutations_approach() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut value = || 100.0 + f64::from(u32::try_from(below(1000, &mut random)).unwrap());
        let a: Vec<f64> = (0..400).map(|_| value()).collect();
        for shift in [0.0, 20.0, 40.0] {
            let b = a.iter().map(|_| value() + shift).collect();
            let groups = Groups { a: a.clone(), b }.shift(Better::More);
            let (exact, normal) = (p_value(&groups, 1), by_normal(&groups));
            assert!((exact - normal).abs() < 0.01, "{exact} {normal}");
        }
    }
}
