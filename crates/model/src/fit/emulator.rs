//! What a simulation would give, from a few hundred of them: a parabola in every unknown.

use super::linear::least_squares;

/// A quadratic polynomial for each figure.
#[derive(Debug, Clone)]
pub(super) struct Emulator {
    centre: Vec<f64>,
    scale: Vec<f64>,
    /// A row a figure.
    coefficients: Vec<Vec<f64>>,
    /// The variance of the error of each figure: what chance in the simulations leaves in the
    /// coefficients.
    variances: Vec<f64>,
}

impl Emulator {
    /// The polynomials nearest to `figures`, a row of them for each row of `terms`.
    pub(super) fn new(terms: &[Vec<f64>], figures: &[Vec<f64>]) -> Self {
        let n = float(terms.len());
        let width = terms.first().map_or(0, Vec::len);
        let mean = |at: usize| terms.iter().map(|row| row[at]).sum::<f64>() / n;
        let centre: Vec<f64> = (0..width).map(mean).collect();
        let spread = |at: usize| {
            let off = |row: &Vec<f64>| (row[at] - centre[at]) * (row[at] - centre[at]);
            libm::sqrt(terms.iter().map(off).sum::<f64>() / n).max(1e-6)
        };
        let scale: Vec<f64> = (0..width).map(spread).collect();
        let mut made = Self { centre, scale, coefficients: Vec::new(), variances: Vec::new() };
        let rows: Vec<Vec<f64>> = terms.iter().map(|row| made.products(row)).collect();
        made.coefficients = least_squares(&rows, figures);
        let free = float(rows.len().saturating_sub(rows[0].len()).max(1));
        let variance = |(figure, coefficients): (usize, &Vec<f64>)| {
            let off = rows.iter().zip(figures).map(|(row, values)| {
                let error = dot(row, coefficients) - values[figure];
                error * error
            });
            off.sum::<f64>() / free * float(coefficients.len()) / n
        };
        made.variances = made.coefficients.iter().enumerate().map(variance).collect();
        made
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
        let mut row = vec![1.0];
        row.extend(&x);
        for (at, left) in x.iter().enumerate() {
            row.extend(x[at..].iter().map(|right| left * right));
        }
        row
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
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
