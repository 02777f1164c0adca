//! The figure of one more drive of a kind, from simulated drives that fit the same description.

use crate::distribution::{normal, student};
use crate::numbers::{float, mean, standard_deviation};

/// The prediction of one figure of one more drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The middle of the prediction: the geometric mean over the drives.
    pub median: f64,
    /// One more drive lies between these with 95 %.
    pub range95: [f64; 2],
    /// The deviation of the logarithm among drives, without the error of the model.
    pub sigma: f64,
}

/// The share of drives in a range.
const WITHIN: f64 = 0.95;

/// Predicts a positive figure from `drives`, one value a drive.
///
/// The logarithms are taken as normal: Student's prediction interval, `t (n - 1) s sqrt(1 + 1 / n)`
/// widened by `model_sigma`, the deviation of the logarithm of a real drive's figure from the
/// model.
/// `None` where there is no drive, or one whose figure is not a positive number.
pub fn predict(drives: &[f64], model_sigma: f64) -> Option<Prediction> {
    let logs: Vec<f64> = drives.iter().map(|value| libm::log(*value)).collect();
    if logs.is_empty() || !logs.iter().all(|log| log.is_finite()) {
        return None;
    }
    let (n, centre) = (float(logs.len()), mean(&logs));
    // One drive shows no scatter; the error of the model is then all.
    let sigma = if logs.len() > 1 { standard_deviation(&logs) } else { 0.0 };
    // The scatter of one more drive, and the error of the centre of `n`.
    let own = sigma * sigma * (1.0 + 1.0 / n);
    let both = own + model_sigma * model_sigma;
    let tail = 0.5 + 0.5 * WITHIN;
    // Welch and Satterthwaite: the model's part is known, so it adds no doubt about the scatter.
    let half = if own > 0.0 {
        let freedom = (n - 1.0) * (both / own) * (both / own);
        student::quantile(tail, freedom) * libm::sqrt(both)
    } else {
        normal::quantile(tail) * model_sigma
    };
    let range95 = [libm::exp(centre - half), libm::exp(centre + half)];
    debug_assert!(range95[0] <= range95[1], "{range95:?}");
    Some(Prediction { median: libm::exp(centre), range95, sigma })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_drives_are_predicted_by_students_interval() {
        // Logarithms -1, 0 and 1: deviation 1, t of two degrees of freedom 4.302653.
        let drives = [-1.0, 0.0, 1.0].map(libm::exp);
        let found = predict(&drives, 0.0).unwrap();
        let half = 4.302_653 * libm::sqrt(4.0 / 3.0);
        assert!((found.median - 1.0).abs() < 1e-12 && (found.sigma - 1.0).abs() < 1e-12);
        assert!((libm::log(found.range95[1]) - half).abs() < 1e-4, "{found:?}");
        assert!((libm::log(found.range95[0]) + half).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn drives_that_are_alike_leave_the_error_of_the_model() {
        for drives in [&[7.0][..], &[7.0, 7.0, 7.0]] {
            let found = predict(drives, 0.05).unwrap();
            assert!((libm::log(found.range95[1] / 7.0) - 0.05 * 1.96).abs() < 1e-4, "{found:?}");
            let exact = predict(drives, 0.0).unwrap().range95;
            assert_eq!(exact.map(f64::to_bits), [found.median.to_bits(); 2]);
        }
        assert_eq!(predict(&[], 0.05), None);
    }

    #[test]
    fn a_figure_without_a_logarithm_is_not_predicted() {
        for figure in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(predict(&[7.0, figure], 0.05), None, "{figure}");
        }
    }
}
