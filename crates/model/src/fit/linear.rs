//! Small systems of linear equations.

/// A symmetric positive matrix, as the lower triangle `L` of `L L^T`.
#[derive(Debug, Clone)]
pub(super) struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Factors `matrix`, after an increase of its diagonal if it is not positive definite.
    pub(super) fn of(matrix: &[Vec<f64>]) -> Self {
        let largest = (0..matrix.len()).map(|at| matrix[at][at]).fold(1e-300, f64::max);
        let mut added = 0.0;
        loop {
            if let Some(rows) = factor(matrix, added) {
                // Rounding makes nearly singular matrices fail; the least increase changes them
                // least.
                return Self { rows };
            }
            added = f64::max(added * 10.0, largest * 1e-12);
        }
    }

    /// `L^-1 values`.
    pub(super) fn whitened(&self, values: &[f64]) -> Vec<f64> {
        let mut white: Vec<f64> = Vec::with_capacity(values.len());
        debug_assert_eq!(self.rows.len(), values.len(), "one value for each row");
        for (row, value) in self.rows.iter().zip(values) {
            let before: f64 = row.iter().zip(&white).map(|(factor, known)| factor * known).sum();
            white.push((value - before) / row[row.len() - 1]);
        }
        white
    }

    /// `L values`.
    pub(super) fn coloured(&self, values: &[f64]) -> Vec<f64> {
        let rows = self.rows.iter();
        rows.map(|row| row.iter().zip(values).map(|(factor, x)| factor * x).sum()).collect()
    }

    /// The solution of `matrix x = values`.
    fn solve(&self, values: &[f64]) -> Vec<f64> {
        let mut x = self.whitened(values);
        for at in (0..x.len()).rev() {
            // Back substitution with the transposed factor.
            let known = (at + 1..x.len()).map(|row| self.rows[row][at] * x[row]).sum::<f64>();
            x[at] = (x[at] - known) / self.rows[at][at];
        }
        x
    }

    /// The logarithm of the determinant of the matrix.
    pub(super) fn log_determinant(&self) -> f64 {
        self.rows.iter().map(|row| 2.0 * libm::log(row[row.len() - 1])).sum()
    }
}

fn factor(matrix: &[Vec<f64>], added: f64) -> Option<Vec<Vec<f64>>> {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
    for (at, wanted) in matrix.iter().enumerate() {
        let mut row: Vec<f64> = Vec::with_capacity(at + 1);
        for column in 0..at {
            let above: &[f64] = &rows[column];
            let before: f64 = row.iter().zip(above).map(|(left, right)| left * right).sum();
            row.push((wanted[column] - before) / above[column]);
        }
        let left = wanted[at] + added - row.iter().map(|value| value * value).sum::<f64>();
        // Rounding can make the last pivots zero, negative or NaN.
        if left.is_nan() || left <= 0.0 {
            return None;
        }
        row.push(libm::sqrt(left));
        rows.push(row);
    }
    Some(rows)
}

/// Returns the least-squares coefficients of `terms` for each column of `values`.
pub(super) fn least_squares(terms: &[Vec<f64>], values: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = terms.first().map_or(0, Vec::len);
    // The normal equations: their condition suffices for the scaled terms of an emulator.
    let mut products = vec![vec![0.0; count]; count];
    for row in terms {
        for (left, products) in row.iter().zip(&mut products) {
            for (right, product) in row.iter().zip(products) {
                *product += left * right;
            }
        }
    }
    let factor = Cholesky::of(&products);
    let columns = values.first().map_or(0, Vec::len);
    (0..columns)
        .map(|column| {
            let mut right = vec![0.0; count];
            for (row, values) in terms.iter().zip(values) {
                for (term, sum) in row.iter().zip(&mut right) {
                    *sum += term * values[column];
                }
            }
            factor.solve(&right)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_is_found_again() {
        let at = |x: f64| vec![1.0, x, x * x];
        let terms: Vec<Vec<f64>> = (0..9).map(|x| at(f64::from(x))).collect();
        let value = |row: &Vec<f64>| vec![2.0 - 3.0 * row[1] + 0.5 * row[2], row[1]];
        let found = least_squares(&terms, &terms.iter().map(value).collect::<Vec<_>>());
        for (found, expected) in found.iter().flatten().zip([2.0, -3.0, 0.5, 0.0, 1.0, 0.0]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn factors_colour_and_whiten() {
        let factor = Cholesky::of(&[vec![4.0, 2.0], vec![2.0, 5.0]]);
        assert_eq!(factor.coloured(&[1.0, 1.0]), [2.0, 3.0]);
        assert_eq!(factor.whitened(&[2.0, 3.0]), [1.0, 1.0]);
        assert!((factor.log_determinant() - libm::log(16.0)).abs() < 1e-12);
        // A matrix of rank one is helped along.
        assert!(Cholesky::of(&[vec![1.0, 1.0], vec![1.0, 1.0]]).log_determinant() < -20.0);
    }
}
