//! Sobol' points: every column, and every two of them, evenly covered by any first 2^k points.
//!
//! Direction numbers: Joe and Kuo 2008, "Constructing Sobol sequences with better two-dimensional
//! projections", SIAM J. Sci. Comput. 30 (new-joe-kuo-6, the first 37 dimensions). A digital shift
//! from the seed (Cranley and Patterson 1976, in base 2) keeps the points off the edges and makes
//! sweeps of several seeds independent.

use drivelab_core::Rng;

/// Columns that there are direction numbers for.
pub(super) const COLUMNS_MAX: usize = 37;
const BITS: usize = 32;

/// Coefficients of the polynomial and first direction numbers of each column behind the first.
const JOE_KUO: [(u32, &[u32]); COLUMNS_MAX - 1] = [
    (0, &[1]),
    (1, &[1, 3]),
    (1, &[1, 3, 1]),
    (2, &[1, 1, 1]),
    (1, &[1, 1, 3, 3]),
    (4, &[1, 3, 5, 13]),
    (2, &[1, 1, 5, 5, 17]),
    (4, &[1, 1, 5, 5, 5]),
    (7, &[1, 1, 7, 11, 19]),
    (11, &[1, 1, 5, 1, 1]),
    (13, &[1, 1, 1, 3, 11]),
    (14, &[1, 3, 5, 5, 31]),
    (1, &[1, 3, 3, 9, 7, 49]),
    (13, &[1, 1, 1, 15, 21, 21]),
    (16, &[1, 3, 1, 13, 27, 49]),
    (19, &[1, 1, 1, 15, 7, 5]),
    (22, &[1, 3, 1, 15, 13, 25]),
    (25, &[1, 1, 5, 5, 19, 61]),
    (1, &[1, 3, 7, 11, 23, 15, 103]),
    (4, &[1, 3, 7, 13, 13, 15, 69]),
    (7, &[1, 1, 3, 13, 7, 35, 63]),
    (8, &[1, 3, 5, 9, 1, 25, 53]),
    (14, &[1, 3, 1, 13, 9, 35, 107]),
    (19, &[1, 3, 1, 5, 27, 61, 31]),
    (21, &[1, 1, 5, 11, 19, 41, 61]),
    (28, &[1, 3, 5, 3, 3, 13, 69]),
    (31, &[1, 1, 7, 13, 1, 19, 1]),
    (32, &[1, 3, 7, 5, 13, 19, 59]),
    (37, &[1, 1, 3, 9, 25, 29, 41]),
    (41, &[1, 3, 5, 13, 23, 1, 55]),
    (42, &[1, 3, 7, 3, 13, 59, 17]),
    (50, &[1, 3, 1, 3, 5, 53, 69]),
    (55, &[1, 1, 5, 5, 23, 33, 13]),
    (56, &[1, 1, 7, 7, 1, 61, 123]),
    (59, &[1, 1, 7, 9, 13, 61, 49]),
    (62, &[1, 3, 3, 5, 3, 55, 33]),
];

/// The points of one seed.
#[derive(Debug, Clone)]
pub(super) struct Sobol {
    /// Direction numbers and shift of each column.
    columns: Vec<([u32; BITS], u32)>,
}

impl Sobol {
    /// Points of this many columns, at most [`COLUMNS_MAX`].
    pub(super) fn new(columns: usize, seed: u64) -> Self {
        assert!(columns <= COLUMNS_MAX, "no direction numbers for column {columns}");
        let mut numbers = Vec::with_capacity(columns);
        for column in 0..columns {
            let bits = Rng::for_part(seed, column as u64).bits();
            let shift = u32::try_from(bits >> 32).expect("half of the bits");
            numbers.push((directions(column), shift));
        }
        Self { columns: numbers }
    }

    /// The point with this number, between 0 and 1 and neither of them.
    pub(super) fn point(&self, number: u32) -> Vec<f64> {
        // In Gray code neighbours differ in one bit; any first 2^k points are the same set.
        let gray = number ^ (number >> 1);
        let mut point = Vec::with_capacity(self.columns.len());
        for (directions, shift) in &self.columns {
            let set = directions.iter().enumerate().filter(|(bit, _)| gray >> bit & 1 == 1);
            let digits = set.fold(*shift, |digits, (_, direction)| digits ^ direction);
            // Half a step off the lower edge, so that no coordinate is 0.
            point.push((f64::from(digits) + 0.5) / 4_294_967_296.0);
        }
        point
    }
}

/// The direction numbers of a column, by bit.
fn directions(column: usize) -> [u32; BITS] {
    let mut directions = [0; BITS];
    let Some((coefficients, first)) = column.checked_sub(1).map(|index| JOE_KUO[index]) else {
        for (bit, direction) in directions.iter_mut().enumerate() {
            *direction = 1 << (BITS - 1 - bit);
        }
        return directions;
    };
    let degree = first.len();
    for bit in 0..BITS {
        directions[bit] = if let Some(number) = first.get(bit) {
            number << (BITS - 1 - bit)
        } else {
            // Bratley and Fox 1988, ACM Algorithm 659, equation 2.
            let oldest = directions[bit - degree];
            (1..degree).fold(oldest ^ (oldest >> degree), |direction, back| {
                let is_in = coefficients >> (degree - 1 - back) & 1 == 1;
                direction ^ if is_in { directions[bit - back] } else { 0 }
            })
        };
    }
    directions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the shift the points are the published ones.
    #[test]
    fn the_first_points_are_those_of_the_literature() {
        let mut sobol = Sobol::new(COLUMNS_MAX, 1);
        for (_, shift) in &mut sobol.columns {
            *shift = 0;
        }
        // From the crate `sobol` 1.0.2, which reads the authors' file.
        let check = |number, columns: [usize; 4], expected: [f64; 4]| {
            let point = sobol.point(number);
            let found = columns.map(|column| point[column] - 0.5 / 4_294_967_296.0);
            assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits), "point {number}");
        };
        check(2, [0, 1, 12, 36], [0.75, 0.25, 0.25, 0.25]);
        check(10, [0, 4, 20, 36], [0.9375, 0.3125, 0.4375, 0.4375]);
        check(
            999,
            [0, 9, 15, 23],
            [0.157_226_562_5, 0.631_835_937_5, 0.557_617_187_5, 0.352_539_062_5],
        );
    }

    #[test]
    fn every_column_is_covered_evenly() {
        let sobol = Sobol::new(COLUMNS_MAX, 3);
        let points: Vec<Vec<f64>> = (0..256).map(|number| sobol.point(number)).collect();
        for column in 0..COLUMNS_MAX {
            let mut shares = [0; 256];
            for point in &points {
                #[expect(
                    clippy::cast_sign_loss,
                    clippy::cast_possible_truncation,
                    reason = "below 256"
                )]
                let share = (point[column] * 256.0) as usize;
                shares[share] += 1;
            }
            assert!(shares.iter().all(|count| *count == 1), "seed 3, column {column}");
        }
    }
}
