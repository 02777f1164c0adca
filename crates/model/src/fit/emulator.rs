//! An emulator of the simulation from a few hundred runs: a parabola in every unknown.

use super::linear::least_squares;

/// A quadratic polynomial for each figure.
#[derive(Debug, Clone)]
pub(super) struct Emulator {
    centre: Vec<f64>,
    scale: Vec<f64>,
    /// One row for each figure.
    coefficients: Vec<Vec<f64>>,
    /// The variance of the error of each figure, due to random errors of the simulations in the
    /// coefficients.
    variances: Vec<f64>,
}

impl Emulator {
    /// The least-squares polynomials through `figures`, with one row for each row of `terms`.
    pub(super) fn new(terms: &[Vec<f64>], figures: &[Vec<f64>]) -> Self {
        let n = float(terms.len());
        debug_assert_eq!(terms.len(), figures.len(), "one row of figures for each drive");
        let width = terms.first().map_or(0, Vec::len);
        let centre: Vec<f64> =
            (0..width).map(|term| terms.iter().map(|row| row[term]).sum::<f64>() / n).collect();
        // A common scale of all terms keeps the normal equations well conditioned.
        let scale: Vec<f64> = (0..width)
            .map(|term| {
                let squares =
                    terms.iter().map(|row| (row[term] - centre[term]) * (row[term] - centre[term]));
                libm::sqrt(squares.sum::<f64>() / n).max(1e-6)
            })
            .collect();
        let mut emulator = Self { centre, scale, coefficients: Vec::new(), variances: Vec::new() };
        let rows: Vec<Vec<f64>> = terms.iter().map(|row| emulator.products(row)).collect();
        emulator.coefficients = least_squares(&rows, figures);
        let degrees_of_freedom = float(rows.len().saturating_sub(rows[0].len()).max(1));
        for (figure, coefficients) in emulator.coefficients.iter().enumerate() {
            let squares = rows.iter().zip(figures).map(|(row, values)| {
                let error = dot(row, coefficients) - values[figure];
                error * error
            });
            // The residual variance times the mean leverage of a point.
            let residual = squares.sum::<f64>() / degrees_of_freedom;
            emulator.variances.push(residual * float(coefficients.len()) / n);
        }
        emulator
    }

    /// The figures at `terms`.
    pub(super) fn figures(&self, terms: &[f64]) -> Vec<f64> {
        let row = self.products(terms);
        self.coefficients.iter().map(|coefficients| dot(&row, coefficients)).collect()
    }

    pub(super) fn variances(&self) -> &[f64] {
        &self.variances
    }

    fn products(&self, terms: &[f64]) -> Vec<f64> {
        let scaled = terms.iter().zip(&self.centre).zip(&self.scale);
        let x: Vec<f64> = scaled.map(|((term, centre), scale)| (term - centre) / scale).collect();
        // Constant, linear and all quadratic terms.
        let mut row = vec![1.0];
        row.extend(&x);
        for (at, left) in x.iter().enumerate() {
            row.extend(x[at..].iter().map(|right| left * right));
        }
        row
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    debug_assert_eq!(left.len(), right.len(), "vectors of different lengths");
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[expect(clippy::cast_precision_loss, reason = "a count of simulations")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::Rng;

    #[test]
    fn a_smooth_figure_is_met_between_its_simulations() {
        let mut rng = Rng::new(3);
        let figure = |x: &[f64]| 1.0 + x[0] - 0.3 * x[1] + 0.2 * x[0] * x[1] + 0.1 * x[0] * x[0];
        let terms: Vec<Vec<f64>> =
            (0..40).map(|_| vec![rng.unit() * 4.0 - 2.0, 7.0 + rng.unit()]).collect();
        let figures: Vec<Vec<f64>> = terms.iter().map(|row| vec![figure(row)]).collect();
        let emulator = Emulator::new(&terms, &figures);
        let at = [0.4, 7.3];
        assert!((emulator.figures(&at)[0] - figure(&at)).abs() < 1e-6);
        assert!(emulator.variances()[0] < 1e-12);
    }
}
