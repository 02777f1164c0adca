//! Step-down max-T adjustment with sign flips.

use crate::sign_flip::{SignTable, TIE, Tosses};

/// Returns the adjusted p values of several metrics measured in the same blocks.
///
/// `rows` holds the log ratios of each metric, block by block. All metrics of a block change sign
/// together, so their correlation is kept: twelve metrics that say the same count as one, which
/// Holm's method cannot see. Controls the chance of any false alarm (Westfall & Young 1993,
/// algorithm 2.8).
///
/// # Panics
/// If the rows differ in length.
pub fn max_t(rows: &[Vec<f64>], seed: u64) -> Vec<f64> {
    let blocks = rows.first().map_or(0, Vec::len);
    max_t_of(rows, &Tosses::new(blocks, seed))
}

/// [`max_t`] with flips that are drawn already.
pub(super) fn max_t_of(rows: &[Vec<f64>], tosses: &Tosses) -> Vec<f64> {
    let blocks = rows.first().map_or(0, Vec::len);
    assert!(rows.iter().all(|r| r.len() == blocks), "metrics of one family share their blocks");
    let standard: Vec<Vec<f64>> = rows.iter().map(|r| standardised(r)).collect();
    let tables: Vec<SignTable> = standard.iter().map(|r| SignTable::new(r)).collect();
    let observed: Vec<f64> = standard.iter().map(|r| r.iter().sum::<f64>().abs()).collect();
    // From the weakest to the strongest metric.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&i, &j| observed[i].total_cmp(&observed[j]));

    // Sums of flipped signs differ from the observed one by rounding alone.
    let slack = TIE * f64::from(u32::try_from(blocks).unwrap_or(u32::MAX));
    let mut as_large = vec![0_u32; rows.len()];
    for signs in tosses.batches() {
        let mut largest: Vec<f64> = Vec::new();
        for &i in &order {
            let sums = tables[i].sums(signs);
            largest.resize(sums.len(), 0.0);
            for (largest, sum) in largest.iter_mut().zip(sums) {
                *largest = largest.max(sum.abs());
                as_large[i] += u32::from(*largest >= observed[i] - slack);
            }
        }
    }

    // Step down: a metric's p is never below that of a stronger one.
    let mut adjusted = vec![1.0; rows.len()];
    let mut running = 0.0_f64;
    for &i in order.iter().rev() {
        running = running.max(tosses.flips().p_value(as_large[i]));
        adjusted[i] = running;
    }
    adjusted
}

/// Scales a row to a sum of squares of 1.
///
/// Flips leave the sum of squares alone, and Student's t grows with |sum| / sqrt(sum of squares):
/// comparing these sums compares t values, and makes metrics of any scale comparable.
fn standardised(row: &[f64]) -> Vec<f64> {
    let length = row.iter().map(|d| d * d).sum::<f64>().sqrt();
    if length > 0.0 { row.iter().map(|d| d / length).collect() } else { row.to_vec() }
}
