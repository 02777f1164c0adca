//! What the numbers of an outcome say, in a clause.

use drivelab_core::plan::BLOCKS_MIN;
use drivelab_stats::{Better, Verdict};

use super::{Outcome, Series};
use crate::specimens::{forecast, on_drives};
use crate::{figures, metric};

/// Nobody makes as many runs: with this number the scatter of a run is what is wrong.
const RUNS_HOPELESS: u32 = 101;

/// One clause about `to` against `from`, true to the verdict, with the figures of both arms.
pub(crate) fn claim(outcome: &Outcome, series: &Series, names: &[&str]) -> String {
    let comparison = &outcome.adjusted.comparison;
    let (from, to) = (names[outcome.from], names[outcome.to]);
    let matters = figures::percent(series.margin);
    let interval = comparison.ci95.map_or_else(
        || "one run each, so no interval".to_owned(),
        |limits| format!("95 % interval {}", figures::range(limits)),
    );
    let above = match series.better {
        Better::More => "",
        Better::Less => ", above 1 is better",
    };
    let on = if outcome.foreseen.is_some() { " on the mean of such drives" } else { "" };
    let interval = match &outcome.foreseen {
        Some(it) => format!("{interval}; {}", forecast(it)),
        None => interval,
    };
    let ratio = format!(
        "{}{on}{above}, {interval}; {}",
        figures::times(comparison.ratio),
        direction(series.better),
    );
    let show = |arm: usize| series.show(series.median(arm));
    let (mine, theirs) = (show(outcome.to), show(outcome.from));
    let size = format!("{mine} against {theirs}; {ratio}");
    let more = comparison.runs_needed.map_or_else(String::new, |runs| more(runs, comparison.n));
    if let Some(foreseen) = outcome.foreseen.as_ref().filter(|_| outcome.depends()) {
        let drives = on_drives(&foreseen.forecast);
        return format!("`{to}` against `{from}` is {drives} ({size})");
    }
    match outcome.verdict() {
        Verdict::Faster | Verdict::Slower => {
            format!("{} ({size})", against(outcome, series, from, to))
        }
        Verdict::NoPracticalDifference => {
            let label = metric::label(&series.metric);
            format!(
                "`{to}` and `{from}` differ by less than the margin of {matters} in {label} \
                 ({size})"
            )
        }
        Verdict::Different => format!(
            "{} ({size}); the margin is {matters}{more}",
            against(outcome, series, from, to)
        ),
        Verdict::Inconclusive => {
            format!("`{to}` has {mine}, `{from}` {theirs} ({ratio}){more}")
        }
    }
}

/// What one arm does more or less of than the other, as a sentence.
fn against(outcome: &Outcome, series: &Series, from: &str, to: &str) -> String {
    let (raw, label) = (raw(outcome, series), metric::label(&series.metric));
    let percent = figures::percent_change(raw);
    let times = figures::significant(raw);
    if metric::is_time(&series.metric) {
        return match raw {
            TWICE.. => format!("`{to}` takes {times} times as long as `{from}` in {label}"),
            1.0.. => format!("`{to}` takes {percent} longer than `{from}` in {label}"),
            _ => format!("`{to}` takes {percent} less time than `{from}` in {label}"),
        };
    }
    match raw {
        TWICE.. => format!("`{to}` gives {times} times the {label} of `{from}`"),
        1.0.. => format!("`{to}` gives {percent} more {label} than `{from}`"),
        _ => format!("`{to}` gives {percent} less {label} than `{from}`"),
    }
}

/// From here on a factor reads better than a percentage.
const TWICE: f64 = 2.0;

/// The ratio of the values as they were measured: above 1 is more, whether or not that is better.
fn raw(outcome: &Outcome, series: &Series) -> f64 {
    let ratio = outcome.adjusted.comparison.ratio;
    match series.better {
        Better::More => ratio,
        Better::Less => 1.0 / ratio,
    }
}

/// `6.1 % more`, `2.15 times as long`.
fn change(outcome: &Outcome, series: &Series) -> String {
    let raw = raw(outcome, series);
    let percent = figures::percent_change(raw);
    let times = figures::significant(raw);
    match (metric::is_time(&series.metric), raw) {
        (true, TWICE..) => format!("{times} times as long"),
        (true, 1.0..) => format!("{percent} longer"),
        (true, _) => format!("{percent} shorter"),
        (false, TWICE..) => format!("{times} times as much"),
        (false, 1.0..) => format!("{percent} more"),
        (false, _) => format!("{percent} less"),
    }
}

/// The change in words beside ratio and interval; the ratio alone where it is no difference.
pub(crate) fn sized(outcome: &Outcome, series: &Series) -> String {
    let size = match &outcome.foreseen {
        Some(foreseen) => {
            format!("{}; {}", ratio_and_range(outcome), forecast(foreseen))
        }
        None => ratio_and_range(outcome),
    };
    match (outcome.verdict(), &outcome.foreseen) {
        (Verdict::NoPracticalDifference, _) => size,
        (_, Some(foreseen)) if outcome.depends() => {
            format!("{}; {size}", on_drives(&foreseen.forecast))
        }
        _ => format!("{}; {size}", change(outcome, series)),
    }
}

/// Which way is better, in words that stand beside every verdict.
pub(crate) fn direction(better: Better) -> &'static str {
    match better {
        Better::More => "more is better",
        Better::Less => "less is better",
    }
}

fn more(runs: u32, n: usize) -> String {
    let is_few = n < BLOCKS_MIN as usize;
    match runs {
        // The scatter of a few runs says little about that of many.
        RUNS_HOPELESS.. if is_few => format!("; at least {BLOCKS_MIN} runs of each are needed"),
        RUNS_HOPELESS.. => {
            "; more runs will not help: run longer or on a quieter machine".to_owned()
        }
        _ if is_few => format!("; at least {runs} runs of each are needed"),
        _ => format!("; about {runs} runs of each would settle it"),
    }
}

/// `x1.53, 1.48 to 1.58`.
pub(crate) fn ratio_and_range(outcome: &Outcome) -> String {
    let comparison = &outcome.adjusted.comparison;
    let times = figures::times(comparison.ratio);
    match comparison.ci95 {
        Some(limits) if format!("x{}", figures::range(limits)) != times => {
            format!("{times}, {}", figures::range(limits))
        }
        _ => times,
    }
}

/// The words that open an answer; `asked` where the question is one for a gain.
pub(crate) fn lead(outcome: &Outcome, asked: bool) -> &'static str {
    if outcome.depends() {
        return "It depends on the drive,";
    }
    match (outcome.verdict(), asked) {
        (Verdict::Faster, true) => "Yes,",
        (Verdict::Slower, true) => "No, it is slower",
        (Verdict::Faster, false) => "Faster",
        (Verdict::Slower, false) => "Slower",
        (Verdict::NoPracticalDifference, true) => "No, there is no practical difference",
        (Verdict::NoPracticalDifference, false) => "No practical difference",
        (Verdict::Different, _) => "A difference, but perhaps smaller than the margin,",
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
        check(319, 40, "more runs will not help: run longer or on a quieter machine");
        check(101, 3, "at least 6 runs of each are needed");
        assert!(!more(100, 40).contains("will not help"));
    }
}
