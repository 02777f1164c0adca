//! What one more drive of a kind will do at depths that nobody has measured on it.

/// How drives of one kind differ, as deviations of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Of the rate at depth 1.
    pub fit_sigma: f64,
    /// Of the gain at the greatest depth: what firmware makes of a queue.
    pub gain_sigma: f64,
}

/// What is predicted at one depth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The rate over that at the first depth.
    pub gain: f64,
    /// Deviation of the logarithm of the rate.
    pub sigma: f64,
    /// 95 of 100 drives lie within this factor of the rate, either way.
    pub factor: f64,
}

/// 95 % of a normal distribution lie within so many deviations, as profiles are documented.
const WITHIN_95: f64 = 1.96;

/// Predicts each depth from the rates of the median drive, the first of them at depth 1.
///
/// Both parts of the spread are independent. A drive whose firmware makes more of a queue than the
/// median does so at every depth: its part goes with the logarithm of the gain.
pub fn predict(rates: &[f64], spread: Spread) -> Vec<Prediction> {
    let (Some(first), Some(last)) = (rates.first(), rates.last()) else { return Vec::new() };
    let deepest = libm::log(last / first);
    let of = |rate: &f64| {
        let gain = rate / first;
        let part = if deepest > 0.0 { (libm::log(gain) / deepest).clamp(0.0, 1.0) } else { 0.0 };
        let sigma = libm::hypot(spread.fit_sigma, spread.gain_sigma * part);
        Prediction { gain, sigma, factor: libm::exp(WITHIN_95 * sigma) }
    };
    rates.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_the_gain_grows_with_the_gain() {
        let spread = Spread { fit_sigma: 0.03, gain_sigma: 0.04 };
        let found = predict(&[100.0, 100.0 * 2_f64.sqrt(), 200.0], spread);
        let sigma: Vec<f64> = found.iter().map(|one| one.sigma).collect();
        for (sigma, expected) in sigma.iter().zip([0.03, libm::hypot(0.03, 0.02), 0.05]) {
            assert!((sigma - expected).abs() < 1e-12, "{sigma} {expected}");
        }
        assert!((found[2].gain - 2.0).abs() < 1e-12);
        assert!((libm::log(found[0].factor) - 1.96 * 0.03).abs() < 1e-12);
    }

    #[test]
    fn without_a_gain_only_the_fit_is_uncertain() {
        let spread = Spread { fit_sigma: 0.03, gain_sigma: 0.5 };
        for one in predict(&[100.0, 100.0, 90.0], spread) {
            assert!((one.sigma - 0.03).abs() < 1e-12, "{one:?}");
        }
        assert!(predict(&[], spread).is_empty());
    }
}
