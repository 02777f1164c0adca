//! Ordinary least squares with few columns.

use crate::numbers::{float, mean};

/// A pivot below this share of its column says that the column is a combination of earlier ones.
const DEPENDENT: f64 = 1e-9;

/// A linear model with an intercept, fitted.
pub(super) struct Fit {
    /// One for each column; zero where the column is a combination of others.
    pub(super) coefficients: Vec<f64>,
    /// The columns around their means.
    pub(super) centred: Vec<Vec<f64>>,
    pub(super) fitted: Vec<f64>,
    /// Mean square of the residuals.
    pub(super) variance: f64,
    /// Degrees of freedom that are left for it.
    pub(super) freedom: f64,
    /// Factor of X'X, lower triangle; a row of zeros where the column was dropped.
    factor: Vec<Vec<f64>>,
}

impl Fit {
    /// Fits `y`; `None` where no degree of freedom is left.
    pub(super) fn new(y: &[f64], columns: &[Vec<f64>]) -> Option<Self> {
        let mut centred: Vec<Vec<f64>> = Vec::with_capacity(columns.len());
        for column in columns {
            debug_assert_eq!(column.len(), y.len(), "a column has a value for each row");
            let centre = mean(column);
            centred.push(column.iter().map(|x| x - centre).collect());
        }
        let factor = cholesky(&centred);
        let used = (0..factor.len()).filter(|at| factor[*at][*at] > 0.0).count();
        let freedom = y.len().checked_sub(used + 1).filter(|freedom| *freedom > 0)?;
        let centre = mean(y);
        let around: Vec<f64> = y.iter().map(|y| y - centre).collect();
        let moments: Vec<f64> = centred.iter().map(|column| dot(column, &around)).collect();
        let coefficients = backward(&factor, &forward(&factor, &moments));
        let fitted: Vec<f64> = (0..y.len())
            .map(|row| {
                let parts = coefficients.iter().zip(&centred);
                centre + parts.map(|(b, column)| b * column[row]).sum::<f64>()
            })
            .collect();
        let squares: f64 = y.iter().zip(&fitted).map(|(y, f)| (y - f) * (y - f)).sum();
        let freedom = float(freedom);
        Some(Self { coefficients, centred, fitted, variance: squares / freedom, freedom, factor })
    }

    /// The factor by which estimating the mean of this row adds to the variance of a prediction.
    pub(super) fn leverage(&self, row: usize) -> f64 {
        let values: Vec<f64> = self.centred.iter().map(|column| column[row]).collect();
        let solved = forward(&self.factor, &values);
        1.0 / float(self.fitted.len()) + dot(&solved, &solved)
    }

    /// Standard errors of the coefficients, in units of the residuals' deviation.
    pub(super) fn error(&self, column: usize) -> f64 {
        let unit: Vec<f64> =
            (0..self.factor.len()).map(|at| float(usize::from(at == column))).collect();
        let solved = forward(&self.factor, &unit);
        dot(&solved, &solved).sqrt()
    }

    /// Coefficients moved by independent standard deviates, as far as the data leave them open;
    /// `scale` is the deviation of the residuals.
    pub(super) fn moved(&self, deviates: &[f64], scale: f64) -> Vec<f64> {
        let by = backward(&self.factor, deviates);
        self.coefficients.iter().zip(by).map(|(b, by)| b + scale * by).collect()
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Cholesky's factor of the columns' products.
fn cholesky(columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = columns.len();
    let mut lower = vec![vec![0.0; count]; count];
    for row in 0..count {
        for column in 0..=row {
            let (above, on) = (&lower[row][..column], &lower[column][..column]);
            let rest = dot(&columns[row], &columns[column]) - dot(above, on);
            // A pivot near zero means a column that earlier ones explain: it is dropped, not
            // divided by.
            lower[row][column] = if row == column {
                let whole = dot(&columns[row], &columns[row]);
                if rest > DEPENDENT * whole { rest.sqrt() } else { 0.0 }
            } else if lower[column][column] > 0.0 {
                rest / lower[column][column]
            } else {
                0.0
            };
        }
        if lower[row][row] <= 0.0 {
            lower[row].fill(0.0);
        }
    }
    lower
}

/// Solves L z = b; zero where a column was dropped.
fn forward(lower: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut z: Vec<f64> = Vec::with_capacity(b.len());
    for (row, b) in lower.iter().zip(b) {
        let at = z.len();
        let rest = b - dot(&row[..at], &z);
        z.push(if row[at] > 0.0 { rest / row[at] } else { 0.0 });
    }
    z
}

/// Solves L' x = z; zero where a column was dropped.
fn backward(lower: &[Vec<f64>], z: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; z.len()];
    for at in (0..z.len()).rev() {
        let later: f64 = (at + 1..z.len()).map(|row| lower[row][at] * x[row]).sum();
        if lower[at][at] > 0.0 {
            x[at] = (z[at] - later) / lower[at][at];
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::Fit;

    #[test]
    fn a_plane_is_found_and_a_repeated_column_is_dropped() {
        let x = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let z = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0];
        let y: Vec<f64> = x.iter().zip(z).map(|(x, z)| 2.0 + 0.5 * x - 3.0 * z).collect();
        let fit = Fit::new(&y, &[x.to_vec(), z.to_vec(), x.to_vec()]).unwrap();
        assert!((fit.coefficients[0] - 0.5).abs() < 1e-12, "{:?}", fit.coefficients);
        assert!((fit.coefficients[1] + 3.0).abs() < 1e-12);
        assert_eq!(fit.coefficients[2].to_bits(), 0.0_f64.to_bits());
        assert!(fit.variance < 1e-24 && (fit.freedom - 4.0).abs() < 1e-12);
        let leverages: f64 = (0..7).map(|row| fit.leverage(row)).sum();
        // One for each coefficient that was estimated, the intercept among them.
        assert!((leverages - 3.0).abs() < 1e-12, "{leverages}");
    }

    #[test]
    fn errors_are_those_of_the_textbook() {
        let fit = Fit::new(&[1.0, 3.0, 2.0, 5.0], &[vec![0.0, 1.0, 2.0, 3.0]]).unwrap();
        // Slope 1.1, residuals -0.1 0.8 -1.3 0.6: sum of squares 2.7; sum of x squares is 5.
        assert!((fit.coefficients[0] - 1.1).abs() < 1e-12);
        assert!((fit.variance - 1.35).abs() < 1e-12);
        assert!((fit.error(0) - 1.0 / 5.0_f64.sqrt()).abs() < 1e-12);
        assert!(Fit::new(&[1.0, 2.0], &[vec![0.0, 1.0]]).is_none());
    }
}
