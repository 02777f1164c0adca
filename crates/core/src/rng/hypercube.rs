//! Points that cover every column of a space evenly, and separate the columns from one another.

use super::Rng;

/// Orders tried for a column; the one least like the columns before it is kept.
const TRIES: usize = 64;
/// With more rows chance alone separates the columns.
const SEPARATED_MAX: u32 = 400;

/// A Latin hypercube: `rows` points with one quantile for each of `columns` unknowns.
///
/// Each column has one quantile in every one of `rows` equal shares, in its own order. Of
/// several random orders the one is kept that is least correlated with the columns before it,
/// so that few specimens can separate their unknowns. Same seed, same points. (`McKay`, Beckman
/// and Conover 1979; Iman and Conover 1982 for the correlations.)
pub fn hypercube(seed: u64, rows: u32, columns: usize) -> Vec<Vec<f64>> {
    let tries = if rows > SEPARATED_MAX { 1 } else { TRIES };
    let mut orders: Vec<Vec<u32>> = Vec::with_capacity(columns);
    let mut points = vec![Vec::with_capacity(columns); rows as usize];
    for column in 0..columns {
        let mut rng = Rng::for_part(seed, column as u64);
        let mut best: Option<(f64, Vec<u32>)> = None;
        // The first column has nothing to be compared with.
        for _ in 0..if column == 0 { 1 } else { tries } {
            let mut order: Vec<u32> = (0..rows).collect();
            rng.shuffle(&mut order);
            let likeness = orders.iter().map(|other| correlation(&order, other).abs());
            let likeness = likeness.fold(0.0, f64::max);
            if best.as_ref().is_none_or(|(least, _)| likeness < *least) {
                best = Some((likeness, order));
            }
        }
        let (_, order) = best.expect("one order was tried");
        for (point, share) in points.iter_mut().zip(&order) {
            // Never 0 or 1, where some quantiles are infinite.
            let within = rng.unit().max(f64::EPSILON);
            point.push((f64::from(*share) + within) / f64::from(rows));
        }
        debug_assert!(
            points.iter().all(|point| point.last().is_some_and(|q| *q > 0.0 && *q < 1.0))
        );
        orders.push(order);
    }
    points
}

/// The correlation of two orders of the same numbers.
fn correlation(one: &[u32], other: &[u32]) -> f64 {
    debug_assert_eq!(one.len(), other.len());
    // Both are orders of 0..n, so they share mean and variance.
    let middle = f64::from(u32::try_from(one.len()).expect("as many as rows") - 1) / 2.0;
    let (mut both, mut alone) = (0.0, 0.0);
    for (one, other) in one.iter().zip(other) {
        let (one, other) = (f64::from(*one) - middle, f64::from(*other) - middle);
        both += one * other;
        alone += one * one;
    }
    if alone > 0.0 { both / alone } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unknown_is_drawn_once_from_each_of_equal_shares() {
        for (seed, rows) in [(1, 20_u32), (2, 7), (3, 500)] {
            let points = hypercube(seed, rows, 6);
            for column in 0..6 {
                let drawn = points.iter().map(|point| point[column]);
                let mut drawn: Vec<f64> = drawn.collect();
                assert!(drawn.iter().all(|quantile| (0.0..1.0).contains(quantile)), "{drawn:?}");
                drawn.sort_unstable_by(f64::total_cmp);
                for (place, quantile) in (0_u32..).zip(drawn) {
                    let share = f64::from(place) / f64::from(rows);
                    let next = f64::from(place + 1) / f64::from(rows);
                    assert!((share..=next).contains(&quantile), "seed {seed}: {quantile}");
                }
            }
        }
        assert_eq!(hypercube(1, 20, 6), hypercube(1, 20, 6));
        assert_ne!(hypercube(1, 20, 6), hypercube(2, 20, 6));
        // A further unknown leaves those before it as they were.
        assert_eq!(hypercube(1, 20, 3)[4], hypercube(1, 20, 6)[4][..3]);
    }

    #[test]
    fn twenty_specimens_separate_six_unknowns() {
        let mut worst = 0.0_f64;
        for seed in 0..50 {
            let points = hypercube(seed, 20, 6);
            let order = |column: usize| -> Vec<u32> {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "from 0 to 19"
                )]
                points.iter().map(|point| (point[column] * 20.0) as u32).collect()
            };
            for (one, other) in (0..6).flat_map(|one| (0..one).map(move |other| (one, other))) {
                worst = worst.max(correlation(&order(one), &order(other)).abs());
            }
        }
        // Random orders of twenty are correlated by 0.23 in the mean square, by 0.7 at worst.
        assert!(worst < 0.25, "{worst}");
    }
}
