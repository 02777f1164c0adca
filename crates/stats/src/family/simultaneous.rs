//! Intervals that hold together: max-T with sign flips of the residuals.

use crate::distribution::student;
use crate::numbers::{float, mean};
use crate::sign_flip::{SignTable, Tosses};

/// The number of standard errors that the intervals of a family reach to either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Critical {
    /// For differences: all intervals contain their truth with confidence 1 - alpha.
    pub difference: f64,
    /// For equivalence: the same with confidence 1 - 2 alpha (two one-sided tests).
    pub equivalence: f64,
}

impl Critical {
    /// Returns the values that hold for `members` comparisons of `blocks` blocks under any
    /// dependence (Bonferroni), rather too large.
    pub fn bonferroni(blocks: usize, members: usize, alpha: f64) -> Self {
        if blocks < 2 {
            return Self { difference: f64::INFINITY, equivalence: f64::INFINITY };
        }
        Self {
            difference: student_critical(alpha / float(members), blocks),
            equivalence: student_critical(2.0 * alpha / float(members), blocks),
        }
    }
}

fn student_critical(outside: f64, blocks: usize) -> f64 {
    student::quantile(1.0 - 0.5 * outside, float(blocks) - 1.0)
}

/// Returns the critical values of |t| for metrics measured in the same blocks.
///
/// `rows` holds the log ratios of each metric, block by block. The error of the means is imitated
/// by flipping the signs of the residuals, all metrics of a block together, so that their
/// correlation is kept; the largest |t| of each flip is noted. Inverting that test metric by metric
/// gives the intervals. (The wild bootstrap with Rademacher weights, after Westfall & Young 1993;
/// that it covers with few blocks is shown by simulation, docs/internals/known-truth.md.)
///
/// # Panics
/// If the rows differ in length.
pub fn simultaneous(rows: &[Vec<f64>], alpha: f64, seed: u64) -> Critical {
    let blocks = rows.first().map_or(0, Vec::len);
    simultaneous_of(rows, alpha, &Tosses::new(blocks, seed))
}

/// [`simultaneous`] with flips that are drawn already.
pub(super) fn simultaneous_of(rows: &[Vec<f64>], alpha: f64, tosses: &Tosses) -> Critical {
    let blocks = rows.first().map_or(0, Vec::len);
    assert!(rows.iter().all(|r| r.len() == blocks), "metrics of one family share their blocks");
    // Few blocks or values in coarse steps have few different flips, and may have no finite value.
    // At half the level the limit rarely cuts off an estimate that is large by chance: always
    // taking the smaller of two right values would be wrong a little too often.
    let limit = Critical::bonferroni(blocks, rows.len().max(1), 0.5 * alpha);
    let residuals: Vec<Vec<f64>> = rows.iter().filter_map(|row| residuals(row)).collect();
    if blocks < 2 || residuals.is_empty() {
        return limit;
    }
    let tables: Vec<SignTable> = residuals.iter().map(|row| SignTable::new(row)).collect();
    let mut largest = Vec::new();
    for signs in tosses.batches() {
        let sums: Vec<Vec<f64>> = tables.iter().map(|table| table.sums(signs)).collect();
        largest.extend(
            (0..sums[0].len())
                .map(|flip| sums.iter().map(|row| row[flip].abs()).fold(0.0, f64::max)),
        );
    }
    largest.sort_unstable_by(|a, b| b.total_cmp(a));
    let critical = |outside: f64, most: f64| {
        let sum = rank(largest.len(), outside).and_then(|rank| largest.get(rank - 1));
        sum.map_or(most, |sum| as_t(*sum, blocks).min(most))
    };
    Critical {
        difference: critical(alpha, limit.difference),
        equivalence: critical(2.0 * alpha, limit.equivalence),
    }
}

/// The rank, from 1 and from the largest, of the value that a share of `outside` may exceed; the
/// observed flip counts as one of those. `None` where there are too few flips for that.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of at most 32,768 flips"
)]
fn rank(flips: usize, outside: f64) -> Option<usize> {
    // Rounded down: a larger share than `outside` must not lie beyond.
    let rank = libm::floor(flips as f64 * outside) as usize;
    (rank > 0).then_some(rank)
}

/// The residuals of a row around its mean, with a sum of squares of 1; `None` where it does not
/// vary.
fn residuals(row: &[f64]) -> Option<Vec<f64>> {
    let centre = mean(row);
    let length = row.iter().map(|d| (d - centre) * (d - centre)).sum::<f64>().sqrt();
    (length > 0.0).then(|| row.iter().map(|d| (d - centre) / length).collect())
}

/// Student's t of a sample whose sum is `sum` and whose sum of squares is 1.
fn as_t(sum: f64, blocks: usize) -> f64 {
    let n = float(blocks);
    // t = mean / (s / sqrt n) with mean = sum / n and s^2 = (1 - sum^2 / n) / (n - 1).
    let rest = n - sum * sum;
    if rest > 0.0 { sum * ((n - 1.0) / rest).sqrt() } else { f64::INFINITY }
}
