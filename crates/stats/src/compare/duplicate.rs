//! Copies of blocks: they look like data and carry none.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::pair::Pair;

/// Blocks from which a common multiple is a sign: by chance six even counts come once in 2^5.
const DISTINCT_MIN: usize = 6;

/// Returns the indices of the blocks without copies; `metrics` are measured in the same blocks.
///
/// Three signs distinguish copies from honest ties. If all blocks are the same, they are one run:
/// nothing in them says how runs vary. If blocks repeat though in some metric no value ever repeats
/// alone, its unit is fine enough that repeated blocks cannot be chance. A coarse unit repeats
/// single values all the time; but if each of six or more blocks occurs a multiple of g > 1 times,
/// the data are g copies of a smaller set. All else is left alone.
pub(crate) fn without_copies(metrics: &[&[Pair]]) -> Vec<usize> {
    debug_assert!(metrics.iter().all(|pairs| pairs.len() == metrics[0].len()));
    let order = ordered(metrics);
    // Each group is the blocks of the same values, in the order of their indices.
    let groups: Vec<&[usize]> =
        order.chunk_by(|&i, &j| compare_blocks(metrics, i, j).is_eq()).collect();
    // One distinct block means that all are copies; below six, a common multiple may be chance.
    let copies = match groups.len() {
        1 => order.len(),
        distinct if distinct < DISTINCT_MIN => 1,
        _ => groups.iter().map(|group| group.len()).fold(0, greatest_common_divisor),
    };
    let repeated = groups.len() < order.len();
    if copies < 2 && (!repeated || all_coarse(metrics, &groups)) {
        return (0..order.len()).collect();
    }
    let kept = groups.iter().flat_map(|group| &group[..keep(group.len(), copies)]);
    let mut kept: Vec<usize> = kept.copied().collect();
    kept.sort_unstable();
    kept
}

/// Whole copies shrink each count alike; otherwise every block stays once.
fn keep(count: usize, copies: usize) -> usize {
    if copies > 1 { count / copies } else { 1 }
}

/// Returns the indices of all blocks, ordered by the values of the blocks, equal ones by index.
fn ordered(metrics: &[&[Pair]]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..metrics.first().map_or(0, |pairs| pairs.len())).collect();
    order.sort_by(|&i, &j| compare_blocks(metrics, i, j));
    order
}

/// Compares all values of two blocks, metric by metric.
fn compare_blocks(metrics: &[&[Pair]], i: usize, j: usize) -> Ordering {
    let mut compared = metrics.iter().map(|pairs| bits(&pairs[i]).cmp(&bits(&pairs[j])));
    compared.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Values are positive, so their bits order and compare them.
fn bits(pair: &Pair) -> (u64, u64) {
    (pair.a.to_bits(), pair.b.to_bits())
}

/// True if in every metric two different blocks share their value of one arm.
fn all_coarse(metrics: &[&[Pair]], groups: &[&[usize]]) -> bool {
    metrics.iter().all(|pairs| {
        repeats(groups.iter().map(|group| pairs[group[0]].a.to_bits()))
            || repeats(groups.iter().map(|group| pairs[group[0]].b.to_bits()))
    })
}

fn repeats(values: impl Iterator<Item = u64>) -> bool {
    let mut seen = BTreeSet::new();
    values.into_iter().any(|value| !seen.insert(value))
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
