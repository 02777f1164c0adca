//! Claims that are decided without the figure: by what the processor did, and by what two runs of
//! one arm differ by, here or on another machine.

use drivelab_core::counted;
use drivelab_core::question::Finding;
use drivelab_stats::ALPHA_DEFAULT;
use drivelab_stats::distribution::student;
use drivelab_stats::numbers::{float, standard_deviation};

use super::finding::{Answer, FindingResult, judged};
use crate::figures;
use crate::outcome::Series;

/// Percent are published without decimals.
const ROUNDING: f64 = 0.5;

/// Holds a claim about a figure of the processor against what storage can have changed in it: the
/// time in which the processor did not work, if it did the same work in both arms.
pub(super) fn of_processor(finding: Finding, [first, second]: [f64; 2]) -> FindingResult {
    let lo = (second - ROUNDING) / (first + ROUNDING);
    let interval = [lo, (second + ROUNDING) / (first - ROUNDING)];
    debug_assert!(interval[0] < interval[1], "shares of a time are positive");
    let answer = match judged(&finding, interval) {
        Answer::CannotTell if finding.published_value.is_some_and(|it| within(interval, it)) => {
            Answer::Consistent
        }
        answer => answer,
    };
    let why = format!(
        "the processor worked {first:.0} and {second:.0} % of the time: storage decides the rest"
    );
    FindingResult {
        answer,
        value: Some(second / first),
        ci95: Some(interval),
        ..FindingResult::open(finding, why)
    }
}

fn within([lo, hi]: [f64; 2], value: f64) -> bool {
    lo <= value && value <= hi
}

/// Answers a claim that is no evidence: its published ratio is one that two runs of one arm give,
/// of one drive with other addresses. Nothing if it is evidence, or if no workload repeats it.
pub(super) fn repeated(
    finding: &Finding,
    series: &[Series],
    (figure, arms): (usize, &[usize]),
) -> Option<(Answer, Option<String>)> {
    let (again, published) = finding.again.as_ref().zip(finding.published_value)?;
    let own = &series[figure];
    let other = series
        .iter()
        .find(|it| it.metric == own.metric && it.name == format!("{again}.{}", own.metric))?;
    let pairs = arms.iter().flat_map(|arm| own.values[*arm].iter().zip(&other.values[*arm]));
    let differences: Vec<f64> = pairs.map(|(one, two)| libm::log(two / one)).collect();
    let within = factor(&differences)?;
    let is_evidence = libm::log(published).abs() > libm::log(within);
    (!is_evidence).then(|| {
        let pairs = counted(differences.len(), "pair");
        let factor = figures::times(within);
        let why = format!("95 % of two runs of one arm stay within {factor} ({pairs})");
        (Answer::NoEvidence, Some(why))
    })
}

/// Answers a claim whose figure no run has by runs of one arm on another machine: a ratio that two
/// of them give as well is no evidence. `why` says for what reason there is no figure.
pub(super) fn of_elsewhere(finding: Finding, why: String) -> FindingResult {
    let Some((other, published)) = finding.elsewhere.as_ref().zip(finding.published_value) else {
        return FindingResult::open(finding, why);
    };
    let logs: Vec<f64> = other.runs.iter().map(|run| libm::log(*run)).collect();
    // The difference of two runs has twice the variance of one.
    let spread = libm::sqrt(2.0) * standard_deviation(&logs);
    let freedom = float(logs.len() - 1);
    let within = libm::exp(student::quantile(1.0 - ALPHA_DEFAULT / 2.0, freedom) * spread);
    let (factor, runs) = (figures::times(within), counted(other.runs.len(), "run"));
    let seen = format!("95 % of two runs of one arm stay within {factor} ({runs} of {})", other.of);
    if libm::log(published).abs() > libm::log(within) {
        return FindingResult::open(finding, format!("{why}; elsewhere {seen}"));
    }
    FindingResult { answer: Answer::NoEvidence, ..FindingResult::open(finding, seen) }
}

/// Two pairs show next to nothing of how runs vary.
const PAIRS_MIN: usize = 6;

/// The factor within which 95 % of two runs of one arm stay.
fn factor(differences: &[f64]) -> Option<f64> {
    // No run is the first of its pair: the mean is known to be nought.
    let n = float(differences.len());
    let variance = differences.iter().map(|it| it * it).sum::<f64>() / n;
    let is_known = differences.len() >= PAIRS_MIN && variance.is_finite();
    is_known
        .then(|| libm::exp(student::quantile(1.0 - ALPHA_DEFAULT / 2.0, n) * libm::sqrt(variance)))
}

#[cfg(test)]
mod tests {
    use drivelab_core::question::Elsewhere;

    use super::*;

    #[test]
    fn storage_can_change_what_the_processor_leaves() {
        let claim = |published_value, at_least, at_most| Finding {
            published_value: Some(published_value),
            at_least: Some(at_least),
            at_most: Some(at_most),
            ..Finding::default()
        };
        let check = |claim, shares, expected| {
            let found = of_processor(claim, shares);
            assert_eq!(found.answer, expected, "{found:?}");
        };
        check(claim(0.98, 0.95, 1.01), [99.0, 98.0], Answer::Holds);
        check(claim(2.0, 1.9, 2.1), [99.0, 98.0], Answer::DoesNotHold);
        check(claim(0.99, 0.985, 1.01), [99.0, 98.0], Answer::Consistent);
        check(claim(1.2, 0.99, 1.21), [50.0, 50.0], Answer::CannotTell);
    }

    #[test]
    fn a_ratio_that_two_runs_elsewhere_give_is_no_evidence() {
        let claim = |published| Finding {
            published_value: Some(published),
            elsewhere: Some(Elsewhere {
                runs: vec![20.0, 30.0, 20.0, 30.0, 20.0, 30.0],
                of: "a tool".to_owned(),
            }),
            ..Finding::default()
        };
        // The standard deviation is .222, that of two runs .314, and t of five degrees 2.571.
        let within = libm::exp(0.222 * core::f64::consts::SQRT_2 * 2.571);
        for (published, expected) in [
            (within * 0.99, Answer::NoEvidence),
            (within * 1.01, Answer::CannotTell),
            (1.0 / within * 1.01, Answer::NoEvidence),
            (1.0 / within * 0.99, Answer::CannotTell),
        ] {
            let found = of_elsewhere(claim(published), "it is withheld".to_owned());
            assert_eq!(found.answer, expected, "{published}: {found:?}");
            let why = found.why.unwrap();
            assert!(why.contains("x2.24 (6 runs of a tool)"), "{why}");
        }
        let bare = Finding { elsewhere: None, ..claim(1.0) };
        let found = of_elsewhere(bare, "it is withheld".to_owned());
        assert_eq!(found.why.as_deref(), Some("it is withheld"));
    }

    #[test]
    fn the_factor_covers_two_runs_of_one_arm() {
        // Twelve pairs whose logarithms differ by 0.1: t of 12 degrees is 2.179.
        let differences: Vec<f64> =
            (0..12).map(|it| if it % 2 == 0 { 0.1 } else { -0.1 }).collect();
        assert!((factor(&differences).unwrap() - libm::exp(0.2179)).abs() < 1e-3);
        assert_eq!(factor(&differences[..3]), None);
        assert_eq!(factor(&[f64::INFINITY; 8]), None);
    }
}
