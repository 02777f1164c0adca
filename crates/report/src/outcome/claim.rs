//! The meaning of an outcome's numbers, in a clause.

use drivelab_analysis::outcome::{Outcome, Series};
use drivelab_analysis::{figures, metric};
use drivelab_core::counted;
use drivelab_stats::{Better, Comparison, Verdict};

use crate::specimens::{forecast, on_drives};

/// No one makes as many runs: with this number the scatter of a run is what is wrong.
const RUNS_HOPELESS: u32 = 101;

/// One clause about `to` against `from`, true to the verdict, with the figures of both arms.
pub(crate) fn claim(outcome: &Outcome, series: &Series, names: &[&str]) -> String {
    let (from, to) = (names[outcome.from], names[outcome.to]);
    let matters = figures::percent(series.margin);
    let ratio = ratio(outcome, series);
    let show = |arm: usize| series.show(outcome.mean(series, arm));
    let (mine, theirs) = (show(outcome.to), show(outcome.from));
    let size = format!("{mine} against {theirs}; {ratio}");
    let figures = format!("`{to}` has {mine}, `{from}` {theirs} ({ratio})");
    if outcome.withheld().is_some() {
        return figures;
    }
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
            "{} ({size}); the margin is {matters}{}",
            against(outcome, series, from, to),
            more(outcome)
        ),
        Verdict::Inconclusive => format!("{figures}{}", more(outcome)),
    }
}

/// The ratio with its interval, what one more drive will do, and which way it reads.
fn ratio(outcome: &Outcome, series: &Series) -> String {
    let comparison = &outcome.adjusted.comparison;
    let interval = comparison.ci95.map_or_else(
        || match comparison.n {
            1 => "one run each, so no interval".to_owned(),
            _ => "the runs of an arm do not vary, so no interval".to_owned(),
        },
        |limits| format!("95 % interval {}", figures::range(limits)),
    );
    let on = if outcome.foreseen.is_some() { " on the mean of such drives" } else { "" };
    let interval = match &outcome.foreseen {
        Some(it) => format!("{interval}; {}", forecast(it)),
        None => interval,
    };
    let times = figures::times(comparison.ratio);
    match Reading::of(series) {
        Reading::Amount => format!("{times}{on}, {interval}; {}", direction(series.better)),
        Reading::Speed => format!("{times} as fast{on}, {interval}"),
        Reading::Quality => format!("{times} as good{on}, {interval}"),
    }
}

/// The meaning of a ratio above 1: words and ratio then have one direction.
#[derive(Debug, Clone, Copy)]
enum Reading {
    /// More of what is measured.
    Amount,
    /// Less time.
    Speed,
    /// Less of what is measured, which is not a time.
    Quality,
}

impl Reading {
    fn of(series: &Series) -> Self {
        match series.better {
            Better::More => Self::Amount,
            Better::Less if series.is_time() => Self::Speed,
            Better::Less => Self::Quality,
        }
    }
}

/// Compares one arm with the other in a sentence.
fn against(outcome: &Outcome, series: &Series, from: &str, to: &str) -> String {
    let ratio = outcome.adjusted.comparison.ratio;
    let label = metric::label(&series.metric);
    let percent = figures::percent_change(ratio);
    let times = figures::significant(ratio);
    match (Reading::of(series), ratio) {
        (Reading::Amount, TWICE..) => format!("`{to}` gives {times} times the {label} of `{from}`"),
        (Reading::Amount, 1.0..) => format!("`{to}` gives {percent} more {label} than `{from}`"),
        (Reading::Amount, _) => format!("`{to}` gives {percent} less {label} than `{from}`"),
        (reading, TWICE..) => {
            format!("`{to}` is {times} times as {} as `{from}` in {label}", reading.words()[0])
        }
        (reading, 1.0..) => {
            format!("`{to}` is {percent} {} than `{from}` in {label}", reading.words()[1])
        }
        (reading, _) => {
            format!("`{to}` is {percent} {} than `{from}` in {label}", reading.words()[2])
        }
    }
}

impl Reading {
    /// The words for "twice as much", then for "more" and "less".
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Amount => ["much", "more", "less"],
            Self::Speed => ["fast", "faster", "slower"],
            Self::Quality => ["good", "better", "worse"],
        }
    }
}

/// From here on a factor reads better than a percentage.
const TWICE: f64 = 2.0;

/// `6.1 % more`, `2.15 times as fast`; `None` where both arms read the same.
fn change(outcome: &Outcome, series: &Series) -> Option<String> {
    let ratio = outcome.adjusted.comparison.ratio;
    let [much, more, less] = Reading::of(series).words();
    let percent = figures::percent_change(ratio);
    match ratio {
        // A change that rounds to none is none for a reader.
        _ if figures::times(ratio) == figures::times(1.0) => None,
        TWICE.. => Some(format!("{} times as {much}", figures::significant(ratio))),
        1.0.. => Some(format!("{percent} {more}")),
        _ => Some(format!("{percent} {less}")),
    }
}

/// The change in words next to ratio and interval; the ratio alone where it shows no difference.
pub(crate) fn sized(outcome: &Outcome, series: &Series) -> String {
    let size = match &outcome.foreseen {
        Some(foreseen) => {
            format!("{}; {}", ratio_and_range(outcome), forecast(foreseen))
        }
        None => ratio_and_range(outcome),
    };
    let depends = outcome.foreseen.as_ref().filter(|_| outcome.depends());
    if let Some(foreseen) = depends {
        return format!("{}; {size}", on_drives(&foreseen.forecast));
    }
    let change = match outcome.verdict() {
        Verdict::NoPracticalDifference | Verdict::Inconclusive => None,
        Verdict::Faster | Verdict::Slower | Verdict::Different => change(outcome, series),
    };
    change.map_or_else(|| size.clone(), |change| format!("{change}; {size}"))
}

/// The better direction, in words that accompany every verdict.
pub(crate) fn direction(better: Better) -> &'static str {
    match better {
        Better::More => "more is better",
        Better::Less => "less is better",
    }
}

/// Names what would settle the question; too few runs are named as such, because the interval next
/// to it may exclude 1 already.
fn more(outcome: &Outcome) -> String {
    let Comparison { n, runs_needed, ci95, .. } = outcome.adjusted.comparison;
    let excludes = ci95.is_some_and(|[lo, hi]| lo > 1.0 || hi < 1.0);
    settles(runs_needed, (n, outcome.runs_min), excludes)
}

/// The same from the numbers: the runs needed, the runs made with the fewest that allow a verdict,
/// and whether the interval excludes 1.
fn settles(runs: Option<u32>, (n, least): (usize, u32), excludes: bool) -> String {
    if n < least as usize {
        let needed = match runs {
            // The scatter of a few runs says little about that of many.
            Some(runs) if runs < RUNS_HOPELESS => runs.max(least),
            _ => least,
        };
        let although = if excludes { ", although the interval excludes 1" } else { "" };
        let verb = if n == 1 { "allows" } else { "allow" };
        return format!(
            "; {} of each {verb} no verdict{although}: at least {needed} are needed",
            counted(n, "run")
        );
    }
    match runs {
        None => String::new(),
        Some(RUNS_HOPELESS..) => {
            "; more runs will not help: run longer or on a quieter machine".to_owned()
        }
        Some(runs) => format!("; about {runs} runs of each would settle it"),
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
    if outcome.withheld().is_some() {
        return "The verdict is withheld";
    }
    match (outcome.verdict(), asked) {
        (Verdict::Faster, true) => "Yes,",
        (Verdict::Slower, true) => "No, it is slower",
        (Verdict::Faster, false) => "Faster",
        (Verdict::Slower, false) => "Slower",
        (Verdict::NoPracticalDifference, true) => "No, there is no practical difference",
        (Verdict::NoPracticalDifference, false) => "No practical difference",
        (Verdict::Different, _) => "A difference, but perhaps smaller than the margin,",
        (Verdict::Inconclusive, _) => "No conclusion yet",
    }
}

#[cfg(test)]
mod tests {
    use super::settles;

    #[test]
    fn what_would_settle_it_is_more_runs_only_where_people_make_them() {
        let check = |runs, n, least, words: &str| {
            let said = settles(runs, (n, least), false);
            assert!(said.contains(words), "{runs:?} {n}: {said}");
        };
        check(Some(69), 20, 6, "about 69 runs of each would settle it");
        check(Some(319), 40, 6, "more runs will not help: run longer or on a quieter machine");
        check(Some(101), 3, 6, "at least 6 are needed");
        check(None, 6, 6, "");
        assert!(!settles(Some(100), (40, 6), true).contains("will not help"));
    }

    #[test]
    fn the_runs_needed_are_those_of_the_design() {
        let check = |runs, made, excludes, words: &str| {
            assert_eq!(settles(runs, made, excludes), format!("; {words} are needed"));
        };
        check(Some(6), (1, 6), false, "1 run of each allows no verdict: at least 6");
        check(Some(4), (3, 4), false, "3 runs of each allow no verdict: at least 4");
        check(Some(6), (3, 4), false, "3 runs of each allow no verdict: at least 6");
        let although = "allow no verdict, although the interval excludes 1: at least 4";
        check(None, (3, 4), true, &format!("3 runs of each {although}"));
    }
}
