//! Copies of blocks: they look like data and carry none.

use std::collections::{BTreeMap, BTreeSet};

use crate::pair::Pair;

/// Blocks from which a common multiple is a sign: by chance six even counts come once in 2^5.
const DISTINCT_MIN: usize = 6;

/// All values of a block, metric by metric. Values are positive, so bits order and compare them.
type Key = Vec<(u64, u64)>;

/// Returns the indices of the blocks without copies; `metrics` are measured in the same blocks.
///
/// Three signs distinguish copies from honest ties. If all blocks are the same, they are one run:
/// nothing in them says how runs vary. If blocks repeat though in some metric no value ever repeats
/// alone, its unit is fine enough that repeated blocks cannot be chance. A coarse unit repeats
/// single values all the time; but if each of six or more blocks occurs a multiple of g > 1 times,
/// the data are g copies of a smaller set. All else is left alone.
pub(crate) fn without_copies(metrics: &[&[Pair]]) -> Vec<usize> {
    debug_assert!(metrics.iter().all(|pairs| pairs.len() == metrics[0].len()));
    let blocks = keys(metrics);
    let mut counts: BTreeMap<&Key, usize> = BTreeMap::new();
    for key in &blocks {
        *counts.entry(key).or_default() += 1;
    }
    // One distinct block means that all are copies; below six, a common multiple may be chance.
    let copies = match counts.len() {
        1 => blocks.len(),
        distinct if distinct < DISTINCT_MIN => 1,
        _ => counts.values().copied().fold(0, greatest_common_divisor),
    };
    let repeated = counts.len() < blocks.len();
    if copies < 2 && (!repeated || all_coarse(&counts, metrics.len())) {
        return (0..blocks.len()).collect();
    }
    let mut left: BTreeMap<&Key, usize> =
        counts.into_iter().map(|(key, count)| (key, keep(count, copies))).collect();
    let mut first = Vec::with_capacity(blocks.len());
    for (index, key) in blocks.iter().enumerate() {
        let quota = left.get_mut(key).expect("every key was counted");
        if *quota > 0 {
            *quota -= 1;
            first.push(index);
        }
    }
    first
}

/// Whole copies shrink each count alike; otherwise every block stays once.
fn keep(count: usize, copies: usize) -> usize {
    if copies > 1 { count / copies } else { 1 }
}

fn keys(metrics: &[&[Pair]]) -> Vec<Key> {
    let blocks = metrics.first().map_or(0, |pairs| pairs.len());
    let mut keys = Vec::with_capacity(blocks);
    for block in 0..blocks {
        let pairs = metrics.iter().map(|pairs| pairs[block]);
        keys.push(pairs.map(|pair| (pair.a.to_bits(), pair.b.to_bits())).collect());
    }
    keys
}

/// True if in every metric two different blocks share their value of one arm.
fn all_coarse(counts: &BTreeMap<&Key, usize>, metrics: usize) -> bool {
    (0..metrics).all(|metric| {
        repeats(counts.keys().map(|key| key[metric].0))
            || repeats(counts.keys().map(|key| key[metric].1))
    })
}

fn repeats(values: impl Iterator<Item = u64>) -> bool {
    let mut seen = BTreeSet::new();
    values.into_iter().any(|value| !seen.insert(value))
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
