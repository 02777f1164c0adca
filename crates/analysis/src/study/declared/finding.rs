//! Claims, and whether the figures bear them out.

use drivelab_core::counted;
use drivelab_core::plan::BLOCKS_MIN;
use drivelab_core::{Invalid, invalid};
use drivelab_stats::{ALPHA_DEFAULT, effects};
use serde::Serialize;

use crate::outcome::{self, Series, geometric_mean};
use crate::specimens::Sampled;
use crate::study::{ArmInfo, Experiment};
use crate::{figures, metric, suggest};
use drivelab_core::question::Finding;

/// The answer to a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The whole interval lies within the bounds.
    Holds,
    /// The whole interval lies outside the bounds.
    DoesNotHold,
    /// The interval lies across a bound, and contains the published figure: it is possible, and the
    /// claim undecided.
    Consistent,
    /// The interval lies across a bound, or there is none.
    CannotTell,
}

impl Answer {
    /// The words that open its sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "Holds",
            Self::DoesNotHold => "Does not hold",
            Self::Consistent => "Consistent",
            Self::CannotTell => "Cannot tell",
        }
    }
}

/// A finding with its figure.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingResult {
    /// The statement.
    pub finding: Finding,
    /// The answer.
    pub answer: Answer,
    /// The geometric mean of the arm, or the ratio of two; none where it was not measured.
    pub value: Option<f64>,
    /// Its interval; the intervals of all findings hold together.
    pub ci95: Option<[f64; 2]>,
    /// The figure of one more drive lies between these, where each block simulated another one.
    pub prediction95: Option<[f64; 2]>,
    /// The reason why there is no answer, where the interval does not show it.
    pub why: Option<String>,
    /// The metric that gives the value its unit; none for a ratio.
    unit: Option<String>,
}

/// The numbers of a finding as text with units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    value: String,
    ci95: Option<String>,
    prediction95: Option<String>,
    bounds: Option<String>,
}

/// The figure that a finding names: a metric of one arm, or its ratio to that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FigureRef<'a> {
    /// `workload.metric`.
    metric: &'a str,
    /// The arm, by index.
    arm: usize,
    /// The arm that it is divided by.
    over: Option<usize>,
}

impl<'a> FigureRef<'a> {
    /// Reads `WORKLOAD.METRIC of ARM` or `WORKLOAD.METRIC of ARM over ARM`.
    fn parse(text: &'a str, arms: &[&str]) -> Result<Self, Invalid> {
        let form = "a figure is `WORKLOAD.METRIC of ARM` or `WORKLOAD.METRIC of ARM over ARM`";
        let (metric, rest) = text.split_once(" of ").ok_or(form)?;
        if let Some(arm) = arm_named(arms, rest) {
            return Ok(Self { metric: metric.trim(), arm, over: None });
        }
        // The name of an arm may contain ` over `, too: every split is tried.
        for (at, between) in rest.match_indices(" over ") {
            let both = (arm_named(arms, &rest[..at]), arm_named(arms, &rest[at + between.len()..]));
            if let (Some(arm), over @ Some(_)) = both {
                return Ok(Self { metric: metric.trim(), arm, over });
            }
        }
        let named =
            rest.split(" over ").find(|name| arm_named(arms, name).is_none()).unwrap_or(rest);
        Err(invalid!("there is no arm `{named}`; {}", suggest::among(named, arms)))
    }
}

/// A figure as it was measured: a value for each block.
struct Measured {
    mean: f64,
    logs: Vec<f64>,
    unit: Option<String>,
    series: usize,
    arms: Vec<usize>,
}

/// Holds every finding against the mean over blocks and, where each block simulated another drive,
/// against one more of them: a claim about drives that is not true of nearly all of them is open.
/// `flawed` says why runs of a workload in some arms may not decide.
pub(crate) fn answers(
    experiment: &Experiment,
    series: &[Series],
    sampled: &Sampled<'_>,
    flawed: &dyn Fn(usize, &[usize]) -> Option<String>,
) -> Vec<FindingResult> {
    let measured: Vec<Result<Measured, Invalid>> = experiment
        .findings
        .iter()
        .map(|finding| measured(finding, &experiment.arms, series))
        .collect();
    let rows: Vec<Vec<f64>> = measured.iter().flatten().map(|figure| figure.logs.clone()).collect();
    let mut effects = effects(&rows, ALPHA_DEFAULT, experiment.seed).into_iter();
    let answers = experiment.findings.iter().zip(measured).map(|(finding, measured)| {
        let finding = finding.clone();
        let figure = match measured {
            Ok(figure) => figure,
            Err(Invalid(why)) => {
                let why = finding.cannot_tell.clone().unwrap_or(why);
                return FindingResult::open(finding, why);
            }
        };
        let effect = effects.next().expect("one effect for each measured figure");
        // The figure of one arm has a unit, the ratio of two has none.
        let value = if figure.unit.is_some() { figure.mean } else { effect.ratio };
        let prediction95 = figure.one_more(series, sampled);
        let workload = series[figure.series].workload;
        // More blocks do not mend flawed runs: that they are flawed is said first.
        let declared = finding.cannot_tell.clone();
        let why = declared
            .or_else(|| flawed(workload, &figure.arms))
            .or_else(|| doubt(&finding, figure.logs.len()));
        let (answer, why) = match (why, effect.ci95) {
            (None, Some(interval)) => decided(&finding, interval, prediction95),
            (why, _) => (Answer::CannotTell, why),
        };
        let (value, ci95) = (Some(value), effect.ci95);
        FindingResult { finding, answer, value, ci95, prediction95, why, unit: figure.unit }
    });
    answers.collect()
}

impl Measured {
    fn one_more(&self, series: &[Series], sampled: &Sampled<'_>) -> Option<[f64; 2]> {
        let effects = outcome::effects(series, self.series, &self.arms);
        let work = (series[self.series].workload, &self.arms[..]);
        sampled.one_more(work, (&self.logs, &effects), 1)
    }
}

fn measured(finding: &Finding, arms: &[ArmInfo], series: &[Series]) -> Result<Measured, Invalid> {
    if finding.figure.is_empty() {
        return Err("no workload of the study measures it".into());
    }
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let FigureRef { metric, arm, over } = FigureRef::parse(&finding.figure, &names)?;
    let (bare, per_dollar) = match metric.strip_suffix("_per_usd") {
        Some(bare) => (bare, true),
        None => (metric, false),
    };
    let index = series.iter().position(|series| series.name == bare).ok_or_else(|| {
        let known: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
        format!("`{bare}` was not measured; {}", suggest::among(bare, &known))
    })?;
    let found = &series[index];
    let mine = values_of(&arms[arm], &found.values[arm], per_dollar)?;
    let mut logs: Vec<f64> = mine.iter().map(|value| libm::log(*value)).collect();
    if let Some(over) = over {
        let others = values_of(&arms[over], &found.values[over], per_dollar)?;
        debug_assert_eq!(others.len(), logs.len(), "every arm has a value in every block");
        for (log, other) in logs.iter_mut().zip(others) {
            *log -= libm::log(other);
        }
    }
    let unit = over.is_none().then(|| metric.rsplit('.').next().unwrap_or(metric).to_owned());
    let arms = over.into_iter().chain([arm]).collect();
    Ok(Measured { mean: geometric_mean(&mine), logs, unit, series: index, arms })
}

fn doubt(finding: &Finding, blocks: usize) -> Option<String> {
    if finding.at_least.is_none() && finding.at_most.is_none() {
        return Some("no bound is given".to_owned());
    }
    (blocks < BLOCKS_MIN as usize).then(|| {
        format!(
            "{}, but at least {BLOCKS_MIN} are needed: use `--blocks {BLOCKS_MIN}`",
            counted(blocks, "block")
        )
    })
}

/// Judges a claim by the interval of the mean and, where there is one, that of one more drive.
fn decided(
    finding: &Finding,
    of_mean: [f64; 2],
    of_drive: Option<[f64; 2]>,
) -> (Answer, Option<String>) {
    let answer = judged(finding, of_mean);
    let differs = of_drive.is_some_and(|interval| judged(finding, interval) != answer);
    if answer != Answer::CannotTell && !differs {
        return (answer, None);
    }
    // A published figure is of one drive: the interval of the mean is not about it.
    let possible = of_drive.zip(finding.published_value);
    match possible.map(|([lo, hi], value)| lo <= value && value <= hi) {
        Some(true) => (Answer::Consistent, None),
        _ if differs => (Answer::CannotTell, Some("it depends on the drive".to_owned())),
        _ => (Answer::CannotTell, Some("the 95 % interval crosses a bound".to_owned())),
    }
}

fn judged(finding: &Finding, [lo, hi]: [f64; 2]) -> Answer {
    debug_assert!(lo <= hi, "an interval from {lo} to {hi}");
    let least = finding.at_least.unwrap_or(f64::NEG_INFINITY);
    let most = finding.at_most.unwrap_or(f64::INFINITY);
    if least <= lo && hi <= most {
        Answer::Holds
    } else if hi < least || lo > most {
        Answer::DoesNotHold
    } else {
        Answer::CannotTell
    }
}

impl FindingResult {
    /// One whose figure was not measured.
    fn open(finding: Finding, why: String) -> Self {
        Self {
            finding,
            answer: Answer::CannotTell,
            value: None,
            ci95: None,
            prediction95: None,
            why: Some(why),
            unit: None,
        }
    }

    /// Returns the measured and the stated value, in one sentence.
    pub fn sentence(&self) -> String {
        let Finding { name, figure, published, source, .. } = &self.finding;
        let measured = match self.value {
            None if figure.is_empty() => "not measured".to_owned(),
            None => format!("`{figure}` is unknown"),
            Some(value) => {
                let drive = self.prediction95.map(|limits| self.range(limits));
                let drive =
                    drive.map_or_else(String::new, |it| format!("; 95 % of such drives: {it}"));
                let interval = self.ci95.map_or_else(String::new, |limits| {
                    format!(" (95 % interval {}{drive})", self.range(limits))
                });
                format!("`{figure}` is {}{interval}", self.show(value))
            }
        };
        let claim = self.bounds().map(|bounds| format!("; stated: {bounds}")).unwrap_or_default();
        let stated = if published.is_empty() {
            claim
        } else {
            format!("{}; published: {published}", claim.replace("stated", "bounds"))
        };
        let why = self.why.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        let source = if source.is_empty() { String::new() } else { format!(" [{source}]") };
        format!("{name}: {measured}{stated}{why}.{source}")
    }

    /// Returns the bounds of the claim: `at least x1.50`; none where it has no bound.
    pub fn bounds(&self) -> Option<String> {
        match (self.finding.at_least, self.finding.at_most) {
            (Some(least), Some(most)) => {
                Some(format!("{} to {}", self.show(least), self.show(most)))
            }
            (Some(least), None) => Some(format!("at least {}", self.show(least))),
            (None, Some(most)) => Some(format!("at most {}", self.show(most))),
            (None, None) => None,
        }
    }

    /// Value, interval, prediction and bounds as text with units; none where nothing was measured.
    pub fn shown(&self) -> Option<Shown> {
        Some(Shown {
            value: self.show(self.value?),
            ci95: self.ci95.map(|limits| self.range(limits)),
            prediction95: self.prediction95.map(|limits| self.range(limits)),
            bounds: self.bounds(),
        })
    }

    fn range(&self, limits: [f64; 2]) -> String {
        match &self.unit {
            Some(unit) => metric::show_range(unit, limits),
            None => figures::range(limits),
        }
    }

    fn show(&self, value: f64) -> String {
        match &self.unit {
            Some(unit) => metric::show(unit, value),
            None => figures::times(value),
        }
    }
}

fn arm_named(arms: &[&str], name: &str) -> Option<usize> {
    arms.iter().position(|arm| *arm == name.trim())
}

/// The values of an arm, divided by its price if they are per dollar.
fn values_of(arm: &ArmInfo, values: &[f64], per_dollar: bool) -> Result<Vec<f64>, Invalid> {
    let dollars = match (per_dollar, arm.price_usd) {
        (false, _) => 1.0,
        (true, Some(price)) => price,
        (true, None) => return Err(invalid!("`{}` has no `price_usd`", arm.name)),
    };
    Ok(values.iter().map(|value| value / dollars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_name_a_metric_and_one_or_two_arms() {
        let arms = ["ide", "ahci over usb", "ahci"];
        let check = |text, expected: Result<(&str, usize, Option<usize>), &str>| match (
            FigureRef::parse(text, &arms),
            expected,
        ) {
            (Ok(it), Ok(expected)) => assert_eq!((it.metric, it.arm, it.over), expected),
            (Err(error), Err(expected)) => assert!(error.0.contains(expected), "{error}"),
            (found, _) => panic!("{text}: {found:?}"),
        };
        check("w.iops of ide", Ok(("w.iops", 0, None)));
        check("w.iops of ahci over ide", Ok(("w.iops", 2, Some(0))));
        check("w.iops of ahci over usb over ide", Ok(("w.iops", 1, Some(0))));
        check("w.iops of ahci over usb", Ok(("w.iops", 1, None)));
        check("w.iops", Err("WORKLOAD.METRIC of ARM"));
        check("w.iops of ahic", Err("did you mean `ahci`?"));
        check("w.iops of ahci over idea", Err("no arm `idea`"));
    }

    #[test]
    fn an_interval_decides_only_as_a_whole() {
        let finding = |at_least, at_most| Finding {
            name: "it".into(),
            figure: "w.iops of a".into(),
            at_least,
            at_most,
            ..Finding::default()
        };
        let check = |at_least, at_most, expected| {
            let answer = judged(&finding(at_least, at_most), [0.9, 1.1]);
            assert_eq!(answer, expected, "{at_least:?} {at_most:?}");
        };
        check(Some(0.9), Some(1.1), Answer::Holds);
        check(Some(0.8), None, Answer::Holds);
        check(None, Some(1.0), Answer::CannotTell);
        check(Some(1.0), None, Answer::CannotTell);
        check(Some(1.2), None, Answer::DoesNotHold);
        check(None, Some(0.8), Answer::DoesNotHold);
        // A figure inside the interval for one more drive is possible; no drive, no such interval.
        let decided = |value, of_drive| {
            let finding = Finding { published_value: value, ..finding(Some(1.05), None) };
            decided(&finding, [0.95, 1.08], of_drive).0
        };
        assert_eq!(decided(Some(1.2), Some([0.8, 1.25])), Answer::Consistent);
        assert_eq!(decided(Some(1.3), Some([0.8, 1.25])), Answer::CannotTell);
        assert_eq!(decided(None, Some([0.8, 1.25])), Answer::CannotTell);
        assert_eq!(decided(Some(1.0), None), Answer::CannotTell);
        assert!(doubt(&finding(None, None), 10).is_some());
        assert!(doubt(&finding(Some(1.0), None), 5).is_some_and(|why| why.contains("--blocks 6")));
        assert!(doubt(&finding(Some(1.0), None), 6).is_none());
    }
}
