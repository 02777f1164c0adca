//! Copies of blocks: they look like data and carry none.

use std::collections::BTreeMap;

use crate::pair::Pair;

/// Pairs from which a common multiple is a sign: by chance six even counts come once in 2^5.
const DISTINCT_MIN: usize = 6;

/// How often each pair of values occurs. Values are positive, so bits order and compare them.
type Multiplicities = BTreeMap<(u64, u64), usize>;

/// Returns the blocks without copies, and how many were dropped.
///
/// Three signs tell copies from honest ties. If all pairs are the same, they are one run: nothing
/// in them says how runs vary. If pairs repeat though no value ever repeats alone, the unit is fine
/// enough that repeated pairs cannot be chance. A coarse unit repeats single values all the time;
/// but if each of six or more pairs occurs a multiple of g > 1 times, the data are g copies of a
/// smaller set. All else is left alone.
pub(super) fn without_copies(pairs: &[Pair]) -> (Vec<Pair>, usize) {
    let counts = count(pairs);
    let copies = match counts.len() {
        1 => pairs.len(),
        distinct if distinct < DISTINCT_MIN => 1,
        _ => counts.values().copied().fold(0, greatest_common_divisor),
    };
    let repeated = counts.len() < pairs.len();
    if copies < 2 && (!repeated || single_values_repeat(&counts)) {
        return (pairs.to_vec(), 0);
    }
    let mut left: Multiplicities = counts.into_iter().map(|(k, n)| (k, keep(n, copies))).collect();
    let mut kept = Vec::new();
    for pair in pairs {
        if let Some(quota) = left.get_mut(&key(pair)).filter(|quota| **quota > 0) {
            *quota -= 1;
            kept.push(*pair);
        }
    }
    let dropped = pairs.len() - kept.len();
    (kept, dropped)
}

/// Whole copies shrink each count alike; otherwise every pair stays once.
fn keep(count: usize, copies: usize) -> usize {
    if copies > 1 { count / copies } else { 1 }
}

fn count(pairs: &[Pair]) -> Multiplicities {
    let mut counts = Multiplicities::new();
    for pair in pairs {
        *counts.entry(key(pair)).or_default() += 1;
    }
    counts
}

fn key(pair: &Pair) -> (u64, u64) {
    (pair.a.to_bits(), pair.b.to_bits())
}

/// Says whether two different pairs share their value of one arm.
fn single_values_repeat(counts: &Multiplicities) -> bool {
    let repeats = |mut values: Vec<u64>| {
        values.sort_unstable();
        values.windows(2).any(|w| w[0] == w[1])
    };
    repeats(counts.keys().map(|k| k.0).collect()) || repeats(counts.keys().map(|k| k.1).collect())
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
