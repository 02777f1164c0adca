//! The time that the rest of some work takes.

use super::float;
use crate::distribution::student;

/// Confidence of the prediction.
const CONFIDENCE: f64 = 0.95;

/// Returns the interval of time that `rest` more units of work take, with 95 % confidence, from
/// stretches of `[work, time]` that were observed; `None` for fewer than two of them.
///
/// A prediction, not the interval of a mean: it covers the noise of the rest as well as that of the
/// observed stretches. Assumes that the rest is like the stretches, and that the variance of a
/// stretch grows with its work.
pub fn remaining(stretches: &[[f64; 2]], rest: f64) -> Option<[f64; 2]> {
    let work: f64 = stretches.iter().map(|[work, _]| *work).sum();
    let time: f64 = stretches.iter().map(|[_, time]| *time).sum();
    if stretches.len() < 2 || stretches.iter().any(|[work, _]| *work <= 0.0) {
        return None;
    }
    let pace = time / work;
    let df = float(stretches.len() - 1);
    let squares = stretches.iter().map(|[work, time]| (time - work * pace).powi(2) / work);
    let variance = squares.sum::<f64>() / df;
    // `rest / work` is the doubt about the pace, which is known from `work` only.
    let deviation = (variance * rest * (1.0 + rest / work)).sqrt();
    let half = student::quantile(0.5 + 0.5 * CONFIDENCE, df) * deviation;
    let centre = rest * pace;
    Some([(centre - half).max(0.0), centre + half])
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn an_even_pace_has_no_width_and_one_stretch_says_nothing() {
        assert_eq!(remaining(&[[1.0, 2.0], [3.0, 6.0]], 5.0), Some([10.0, 10.0]));
        assert_eq!(remaining(&[[1.0, 2.0]], 5.0), None);
        assert_eq!(remaining(&[[1.0, 2.0], [0.0, 1.0]], 5.0), None);
    }

    #[test]
    fn it_holds_what_the_rest_really_takes_nineteen_times_of_twenty() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut step =
            || 0.5 + f64::from(u32::try_from(rng.next_u64() >> 32).unwrap()) / 2_f64.powi(32);
        let (mut held, cases) = (0_u32, 2000_u32);
        for case in 0..cases {
            // Few stretches and many, little left and much.
            let [known, rest] = [3 + case % 8, 1 + case % 50];
            let stretches: Vec<[f64; 2]> = (0..known).map(|_| [1.0, step()]).collect();
            let took: f64 = (0..rest).map(|_| step()).sum();
            let [least, most] = remaining(&stretches, f64::from(rest)).unwrap();
            held += u32::from((least..=most).contains(&took));
        }
        let share = f64::from(held) / f64::from(cases);
        assert!((0.93..0.98).contains(&share), "{share}");
    }
}
