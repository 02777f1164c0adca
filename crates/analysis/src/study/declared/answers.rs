//! Claims, and whether the figures bear them out.

use drivelab_core::counted;
use drivelab_core::plan::BLOCKS_MIN;
use drivelab_core::question::Finding;
use drivelab_core::{Invalid, invalid};
use drivelab_stats::{ALPHA_DEFAULT, effects};

use super::evidence::{of_elsewhere, of_processor, repeated};
use super::finding::{Answer, FindingResult, judged};
use crate::outcome::{self, Series, geometric_mean};
use crate::specimens::Sampled;
use crate::study::{ArmInfo, Experiment};
use crate::suggest;

/// The figure that a finding names: a metric of one arm, or its ratio to that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FigureRef<'a> {
    /// `workload.metric`.
    metric: &'a str,
    /// The `workload.metric` that it is divided by.
    relative: Option<&'a str>,
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
        let (metric, relative) = metric
            .split_once(" relative to ")
            .map_or((metric, None), |(metric, to)| (metric, Some(to.trim())));
        let metric = metric.trim();
        if let Some(arm) = arm_named(arms, rest) {
            return Ok(Self { metric, relative, arm, over: None });
        }
        // The name of an arm may contain ` over `, too: every split is tried.
        for (at, between) in rest.match_indices(" over ") {
            let both = (arm_named(arms, &rest[..at]), arm_named(arms, &rest[at + between.len()..]));
            if let (Some(arm), over @ Some(_)) = both {
                return Ok(Self { metric, relative, arm, over });
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
    /// Its ratio to the same figure of another workload: the model errs in both.
    is_relative: bool,
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
    let mut of_rows = effects(&rows, ALPHA_DEFAULT, experiment.seed).into_iter();
    let answers = experiment.findings.iter().zip(measured).map(|(finding, measured)| {
        let finding = finding.clone();
        if let Some(shares) = finding.processor {
            return of_processor(finding, shares);
        }
        let figure = match measured {
            Ok(figure) => figure,
            Err(Invalid(why)) => {
                let why = finding.cannot_tell.clone().unwrap_or(why);
                return of_elsewhere(finding, why);
            }
        };
        let effect = of_rows.next().expect("one effect for each measured figure");
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
            (None, Some(interval)) => repeated(&finding, series, (figure.series, &figure.arms))
                .unwrap_or_else(|| decided(&finding, (interval, prediction95), &figure.logs)),
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
        sampled.one_more(work, (&self.logs, &effects), if self.is_relative { 2 } else { 1 })
    }
}

fn measured(finding: &Finding, arms: &[ArmInfo], series: &[Series]) -> Result<Measured, Invalid> {
    if finding.figure.is_empty() {
        return Err("no workload of the study measures it".into());
    }
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let FigureRef { metric, relative, arm, over } = FigureRef::parse(&finding.figure, &names)?;
    let (bare, per_dollar) = match metric.strip_suffix("_per_usd") {
        Some(bare) => (bare, true),
        None => (metric, false),
    };
    let index = series_named(bare, series)?;
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
    if let Some(relative) = relative {
        let divisor = &series[series_named(relative, series)?];
        for (sign, arm) in [(1.0, Some(arm)), (-1.0, over)] {
            let Some(arm) = arm else { continue };
            for (log, value) in logs.iter_mut().zip(&divisor.values[arm]) {
                *log -= sign * libm::log(*value);
            }
        }
    }
    let is_ratio = over.is_some() || relative.is_some();
    let unit = (!is_ratio).then(|| metric.rsplit('.').next().unwrap_or(metric).to_owned());
    let arms = over.into_iter().chain([arm]).collect();
    let is_relative = relative.is_some();
    Ok(Measured { mean: geometric_mean(&mine), logs, unit, series: index, is_relative, arms })
}

fn series_named(name: &str, series: &[Series]) -> Result<usize, Invalid> {
    if let Some(index) = series.iter().position(|series| series.name == name) {
        return Ok(index);
    }
    let known: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    // The names of suites are checked when a study is read: its workload ran, and left this out.
    let workload = name.split_once('.').map_or(name, |(workload, _)| workload);
    let ran = known.iter().any(|it| it.split_once('.').is_some_and(|(ran, _)| ran == workload));
    if ran && !known.iter().any(|it| suggest::is_slip(name, it)) {
        return Err(invalid!(
            "no run has a figure `{name}`: at stage kernel what the processor or memory decided \
             is withheld"
        ));
    }
    Err(invalid!("`{name}` was not measured; {}", suggest::among(name, &known)))
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
    (of_mean, of_drive): ([f64; 2], Option<[f64; 2]>),
    logs: &[f64],
) -> (Answer, Option<String>) {
    let answer = judged(finding, of_mean);
    let differs = of_drive.is_some_and(|interval| judged(finding, interval) != answer);
    if answer != Answer::CannotTell && !differs {
        return (answer, None);
    }
    let Some(of_drive) = of_drive else {
        return (Answer::CannotTell, Some("the 95 % interval crosses a bound".to_owned()));
    };
    // A published figure is of one drive: the interval of the mean is not about it.
    let (is_possible, why) = match finding.published_value {
        Some(value) => (of_drive[0] <= value && value <= of_drive[1], None),
        // What was published in words alone is that the figure is within its bounds.
        None if !finding.published.is_empty()
            && judged(finding, of_drive) == Answer::CannotTell =>
        {
            (true, Some(true_of(finding, logs)))
        }
        None => (false, None),
    };
    if is_possible {
        return (Answer::Consistent, why);
    }
    let why = if differs { "it depends on the drive" } else { "the 95 % interval crosses a bound" };
    (Answer::CannotTell, Some(why.to_owned()))
}

/// The share of the simulated drives of which a claim is true.
fn true_of(finding: &Finding, logs: &[f64]) -> String {
    let each = logs.iter().map(|log| judged(finding, [libm::exp(*log); 2]));
    let count = each.filter(|answer| *answer == Answer::Holds).count();
    format!("true of {count} of {}", counted(logs.len(), "such drive"))
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
        let relative = FigureRef::parse("w.iops relative to v.iops of ahci over ide", &arms);
        assert_eq!(relative.unwrap().relative, Some("v.iops"));
        check("w.iops of ide", Ok(("w.iops", 0, None)));
        check("w.iops of ahci over ide", Ok(("w.iops", 2, Some(0))));
        check("w.iops of ahci over usb over ide", Ok(("w.iops", 1, Some(0))));
        check("w.iops of ahci over usb", Ok(("w.iops", 1, None)));
        check("w.iops", Err("WORKLOAD.METRIC of ARM"));
        check("w.iops of ahic", Err("did you mean `ahci`?"));
        check("w.iops of ahci over idea", Err("no arm `idea`"));
    }

    #[test]
    fn a_withheld_figure_is_not_called_a_misspelled_one() {
        let series = |name: &str| Series {
            name: name.into(),
            metric: "iops".into(),
            workload: 0,
            better: drivelab_stats::Better::More,
            margin: 0.03,
            unit: String::new(),
            values: vec![vec![1.0]],
        };
        let known = [series("names.create"), series("seeks.iops")];
        assert_eq!(series_named("names.create", &known).ok(), Some(0));
        let withheld = series_named("names.create_latency", &known).unwrap_err();
        assert!(withheld.0.contains("is withheld"), "{withheld}");
        let misspelled = series_named("seeks.iosp", &known).unwrap_err();
        assert!(misspelled.0.contains("did you mean `seeks.iops`?"), "{misspelled}");
    }

    #[test]
    fn a_published_figure_is_of_one_drive() {
        let finding = |at_least, at_most| Finding { at_least, at_most, ..Finding::default() };
        // A figure inside the interval for one more drive is possible; no drive, no such interval.
        let decided = |value, of_drive| {
            let finding = Finding { published_value: value, ..finding(Some(1.05), None) };
            decided(&finding, ([0.95, 1.08], of_drive), &[0.0, 0.2]).0
        };
        assert_eq!(decided(Some(1.2), Some([0.8, 1.25])), Answer::Consistent);
        assert_eq!(decided(Some(1.3), Some([0.8, 1.25])), Answer::CannotTell);
        assert_eq!(decided(None, Some([0.8, 1.25])), Answer::CannotTell);
        assert_eq!(decided(Some(1.0), None), Answer::CannotTell);
        // Words alone: the bounds are what was published.
        let words = Finding { published: "a gain".into(), ..finding(Some(1.05), None) };
        let of = |of_drive| super::decided(&words, ([0.95, 1.08], of_drive), &[0.0, 0.2]);
        let (answer, why) = of(Some([0.8, 1.25]));
        assert_eq!(
            (answer, why.as_deref()),
            (Answer::Consistent, Some("true of 1 of 2 such drives"))
        );
        assert_eq!(of(Some([0.8, 1.02])).0, Answer::CannotTell);
        assert_eq!(of(None).0, Answer::CannotTell);
        assert!(doubt(&finding(None, None), 10).is_some());
        assert!(doubt(&finding(Some(1.0), None), 5).is_some_and(|why| why.contains("--blocks 6")));
        assert!(doubt(&finding(Some(1.0), None), 6).is_none());
    }
}
