//! The Cholesky factor of a covariance matrix.

/// The lower triangle L of a positive definite matrix S = L L', row by row.
#[derive(Debug, Clone)]
pub(super) struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Factors a symmetric matrix; `None` if it is not positive definite.
    pub(super) fn new(matrix: &[Vec<f64>]) -> Option<Self> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
        for (i, given) in matrix.iter().enumerate() {
            let mut row = Vec::with_capacity(i + 1);
            for (j, entry) in given.iter().enumerate().take(i + 1) {
                let above: &[f64] = if j < i { &rows[j] } else { &row };
                let known: f64 = row.iter().zip(above).map(|(a, b)| a * b).take(j).sum();
                let rest = entry - known;
                row.push(if i == j {
                    if rest.is_nan() || rest <= 0.0 {
                        return None;
                    }
                    libm::sqrt(rest)
                } else {
                    rest / rows[j][j]
                });
            }
            rows.push(row);
        }
        Some(Self { rows })
    }

    /// The logarithm of the determinant of S.
    pub(super) fn log_determinant(&self) -> f64 {
        let diagonal = self.rows.iter().filter_map(|row| row.last());
        diagonal.map(|it| 2.0 * libm::log(*it)).sum()
    }

    /// d' S⁻¹ d, the squared distance of Mahalanobis.
    pub(super) fn distance(&self, difference: &[f64]) -> f64 {
        debug_assert_eq!(self.rows.len(), difference.len(), "one difference a dimension");
        let mut solved: Vec<f64> = Vec::with_capacity(difference.len());
        for (row, d) in self.rows.iter().zip(difference) {
            let known: f64 = row.iter().zip(&solved).map(|(a, b)| a * b).sum();
            solved.push((d - known) / row[solved.len()]);
        }
        solved.iter().map(|it| it * it).sum()
    }
}
