//! What the numbers of an outcome say, in a clause.

use drivelab_core::plan::BLOCKS_MIN;
use drivelab_stats::{Better, Verdict};

use super::{Outcome, Series};
use crate::{figures, metric};

/// Nobody makes as many runs: with this number the scatter of a run is what is wrong.
const RUNS_HOPELESS: u32 = 101;

/// One clause about `to` against `from`, true to the verdict.
pub(crate) fn claim(outcome: &Outcome, series: &Series, names: &[&str]) -> String {
    let comparison = &outcome.adjusted.comparison;
    let (from, to) = (names[outcome.from], names[outcome.to]);
    let matters = figures::percent(series.margin);
    let size = size(outcome, series);
    let interval = comparison.ci95.map_or_else(
        || "one run each, so no interval".to_owned(),
        |limits| format!("95 % interval {}", figures::range(limits)),
    );
    let interval = format!("{interval}; {}", direction(series.better));
    let more = comparison.runs_needed.map_or_else(String::new, |runs| more(runs, comparison.n));
    match (outcome.verdict(), series.better) {
        (Verdict::Faster | Verdict::Slower, Better::More) => {
            format!("`{to}` gives {size} of `{from}` ({interval})")
        }
        (Verdict::Faster | Verdict::Slower, Better::Less) => {
            format!("`{to}` against `{from}` is {size} ({interval}, and above 1 means less)")
        }
        (Verdict::NoPracticalDifference, _) => {
            format!("`{to}` and `{from}` are within the {matters} that matter ({size}; {interval})")
        }
        (Verdict::Different, _) => format!(
            "`{to}` against `{from}` is {size} ({interval}), and {matters} is what matters{more}"
        ),
        (Verdict::Inconclusive, _) => {
            format!("`{to}` against `{from}` is {size} ({interval}){more}")
        }
    }
}

/// Which way is better, in words that stand beside every verdict.
pub(crate) fn direction(better: Better) -> &'static str {
    match better {
        Better::More => "more is better",
        Better::Less => "less is better",
    }
}

/// What it would take to settle it.
fn more(runs: u32, n: usize) -> String {
    match runs {
        RUNS_HOPELESS.. => format!(
            "; about {runs} runs of each would settle it: more runs will not help, make each run \
             longer or use a quieter machine"
        ),
        _ if n < BLOCKS_MIN as usize => format!("; at least {runs} runs of each are needed"),
        _ => format!("; about {runs} runs of each would settle it"),
    }
}

/// The ratio with the name of what it is a ratio of.
fn size(outcome: &Outcome, series: &Series) -> String {
    let times = figures::times(outcome.adjusted.comparison.ratio);
    match series.better {
        Better::More => format!("{times} the {}", metric::label(&series.metric)),
        Better::Less => format!("{times} in {}", metric::label(&series.metric)),
    }
}

/// `x1.53, 1.48 to 1.58`.
pub(crate) fn ratio_and_range(outcome: &Outcome) -> String {
    let comparison = &outcome.adjusted.comparison;
    let times = figures::times(comparison.ratio);
    match comparison.ci95 {
        Some(limits) => format!("{times}, {}", figures::range(limits)),
        None => times,
    }
}

/// The words that open an answer; `asked` where the question is one for a gain.
pub(crate) fn lead(verdict: Verdict, asked: bool) -> &'static str {
    match (verdict, asked) {
        (Verdict::Faster, true) => "Yes,",
        (Verdict::Slower, true) => "No, it is slower",
        (Verdict::Faster, false) => "Faster",
        (Verdict::Slower, false) => "Slower",
        (Verdict::NoPracticalDifference, true) => "No, there is no practical difference",
        (Verdict::NoPracticalDifference, false) => "No practical difference",
        (Verdict::Different, _) => "A difference, but perhaps too small to matter,",
        (Verdict::Inconclusive, _) => "Nothing can be concluded yet",
    }
}

#[cfg(test)]
mod tests {
    use super::more;

    #[test]
    fn what_would_settle_it_is_more_runs_only_where_somebody_makes_them() {
        let check = |runs, n, words: &str| assert!(more(runs, n).contains(words), "{runs} {n}");
        check(6, 1, "at least 6 runs of each are needed");
        check(69, 20, "about 69 runs of each would settle it");
        check(319, 40, "about 319 runs of each would settle it: more runs will not help");
        check(101, 3, "make each run longer or use a quieter machine");
        assert!(!more(100, 40).contains("will not help"));
    }
}
