//! The steady state of a run, judged by its figures second by second.

use drivelab_core::record::{JobRecord, RunRecord};
use drivelab_stats::{Steadiness, SteadyState, steady_state};

use super::pass;

/// Judges the requests completed in each full second against the smallest effect that matters.
pub fn steadiness(job: &JobRecord, margin: f64) -> Steadiness {
    // The second in which a run ends is cut short: its count says nothing about the drive.
    let full = usize::try_from(job.elapsed_ns / 1_000_000_000).unwrap_or(usize::MAX);
    let seconds = job.seconds.iter().take(full);
    #[expect(clippy::cast_precision_loss, reason = "requests in a second are far below 2^52")]
    let series: Vec<f64> = seconds.map(|second| second.ios as f64).collect();
    steady_state(&series, margin)
}

/// A warning if the run was not steady; `None` where it was, where it was too short or noisy to
/// decide, or where its rate changed because the position did.
pub fn warning(record: &RunRecord, margin: f64) -> Option<String> {
    let total = record.total.as_ref().filter(|_| !pass::is_of_reads(record))?;
    of_job(total, margin)
}

fn of_job(job: &JobRecord, margin: f64) -> Option<String> {
    let found = steadiness(job, margin);
    let reason = found.reasons.first()?;
    let unsteady = found.state == SteadyState::Unsteady;
    unsteady.then(|| format!("the run did not reach steady state: {}", reason.advice()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::record::{Second, Tally};
    use drivelab_core::units::Span;

    fn job(ios: impl Fn(u64) -> u64) -> JobRecord {
        let second = |at| Second { ios: ios(at), ..Second::default() };
        let seconds: Vec<Second> = (0..60).map(second).collect();
        let elapsed = Span::from_secs(60);
        Tally { seconds, elapsed, ..Tally::default() }.record()
    }

    #[test]
    fn a_run_that_falls_off_is_named_and_a_steady_one_is_not() {
        let steady = job(|at| 1000 + (at * 7) % 5);
        assert_eq!(steadiness(&steady, 0.03).state, SteadyState::Steady);
        assert_eq!(of_job(&steady, 0.03), None);
        let falling = job(|at| 1000 - 8 * at);
        assert_eq!(steadiness(&falling, 0.03).state, SteadyState::Unsteady);
        assert!(of_job(&falling, 0.03).is_some_and(|text| text.contains("steady state")));
    }

    #[test]
    fn the_second_that_is_cut_short_does_not_count() {
        let cut = job(|at| if at == 59 { 1 } else { 1000 + at % 2 });
        let shorter = JobRecord { elapsed_ns: 59_100_000_000, ..cut };
        assert_eq!(steadiness(&shorter, 0.03).state, SteadyState::Steady);
    }
}
