//! The questions about the figures: contrasts, interactions and findings.

use std::collections::BTreeSet;

use drivelab_core::config::{Choice as _, ConfigError, Section};
use drivelab_core::factor;
use drivelab_core::question::{ContrastInfo, Elsewhere, Finding, Interaction};

use super::arm::{Arm, arm_named};
use crate::metric;
use drivelab_core::{Invalid, StageName, invalid};

/// `factor = "scheduler"`, or several: `factor = "scheduler, nr-requests"`.
pub(super) fn factors(top: &mut Section) -> Result<Vec<String>, ConfigError> {
    let text: String = top.take("factor")?.unwrap_or_default();
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut factors = Vec::new();
    for name in names {
        let known = factor::read(name).map_err(|wrong| top.error(wrong))?;
        factors.push(known.to_owned());
    }
    Ok(factors)
}

/// `asks = "gain"`.
pub(super) fn asks_gain(top: &mut Section) -> Result<bool, ConfigError> {
    let asks = top.take_with("asks", |text| match text {
        "gain" => Ok(true),
        _ => Err(invalid!("`{text}` is unknown here: write `asks = \"gain\"` or omit it")),
    })?;
    Ok(asks.unwrap_or(false))
}

pub(super) fn contrasts(top: &mut Section, arms: &[Arm]) -> Result<Vec<ContrastInfo>, ConfigError> {
    let mut contrasts = Vec::new();
    for mut section in top.sections("contrast")? {
        let (from, to): (String, String) = (section.require("from")?, section.require("to")?);
        contrasts.push(ContrastInfo {
            name: section.require("name")?,
            from: arm_named(&section, arms, &from)?,
            to: arm_named(&section, arms, &to)?,
        });
        section.finish()?;
    }
    Ok(contrasts)
}

pub(super) fn interactions(
    top: &mut Section,
    arms: &[Arm],
) -> Result<Vec<Interaction>, ConfigError> {
    let mut interactions = Vec::new();
    for mut section in top.sections("interaction")? {
        let factors: Vec<String> = section.list("factors")?.unwrap_or_default();
        check_interaction(&factors, arms).map_err(|wrong| section.error(wrong))?;
        section.finish()?;
        interactions.push(Interaction { factors });
    }
    Ok(interactions)
}

fn check_interaction(factors: &[String], arms: &[Arm]) -> Result<(), Invalid> {
    let different: BTreeSet<&String> = factors.iter().collect();
    if different.len() < 2 || different.len() != factors.len() {
        return Err(
            "an interaction needs at least two factors: `factors = [\"mode\", \"caching\"]`".into(),
        );
    }
    // A main effect averages over the other factor, so every combination must exist.
    let mut combinations = 1_usize;
    for factor in factors {
        let missing = arms.iter().find(|arm| arm.level(factor).is_none());
        if let Some(arm) = missing {
            let name = &arm.name;
            return Err(invalid!(
                "arm `{name}` has no level of `{factor}`: add `levels = {{ {factor} = \"...\" }}`"
            ));
        }
        let levels: BTreeSet<_> = arms.iter().map(|arm| arm.level(factor)).collect();
        if levels.len() < 2 {
            return Err(invalid!("every arm has the same level of `{factor}`"));
        }
        combinations = combinations.saturating_mul(levels.len());
    }
    let mut present: BTreeSet<Vec<&str>> = BTreeSet::new();
    for arm in arms {
        present.insert(factors.iter().filter_map(|factor| arm.level(factor)).collect());
    }
    debug_assert!(present.len() <= combinations, "every arm has one of the combinations");
    if present.len() < combinations {
        return Err(invalid!(
            "the levels of `{}` have {combinations} combinations, but the arms cover {}: add the \
             missing arms",
            factors.join("`, `"),
            present.len()
        ));
    }
    Ok(())
}

/// Fewer runs show next to nothing of how they vary.
const RUNS_ELSEWHERE_MIN: usize = 6;

/// The names that a figure may have.
pub(super) struct Names<'a> {
    pub(super) arms: &'a [Arm],
    pub(super) workloads: &'a [String],
    /// The metrics of each workload; `None` where only a run has them.
    pub(super) metrics: &'a [Option<Vec<String>>],
}

/// A finding at one stage.
pub(super) type Restated = (StageName, Finding);

/// Takes the findings, and the overrides in `[finding.STAGE]`.
pub(super) fn findings(
    top: &mut Section,
    names: &Names<'_>,
) -> Result<(Vec<Finding>, Vec<Restated>), ConfigError> {
    let (mut findings, mut restated) = (Vec::<Finding>::new(), Vec::new());
    for mut section in top.sections("finding")? {
        let name: String = section.require("name")?;
        if findings.iter().any(|known| known.name == name) {
            return Err(section.error(format!("two findings are named `{name}`")));
        }
        let finding = Finding {
            name,
            figure: section.take("figure")?.unwrap_or_default(),
            published: section.take("published")?.unwrap_or_default(),
            published_value: section.take("published_value")?,
            cannot_tell: section.take("cannot_tell")?,
            processor: processor(&mut section)?,
            again: section.take("again")?,
            elsewhere: elsewhere(&mut section)?,
            source: section.take("source")?.unwrap_or_default(),
            at_least: section.take("at_least")?,
            at_most: section.take("at_most")?,
        };
        names.check_finding(&finding).map_err(|wrong| section.error(wrong))?;
        for (name, stage) in StageName::NAMES {
            let Some(mut own) = section.section(name)? else { continue };
            let there = answered(&mut own, &finding)?;
            names.check_finding(&there).map_err(|wrong| own.error(wrong))?;
            own.finish()?;
            restated.push((*stage, there));
        }
        section.finish()?;
        findings.push(finding);
    }
    Ok((findings, restated))
}

/// The metrics that a finding needs: that of its figure, the one it is relative to, and the same of
/// the workload that repeats it.
pub(super) fn named(finding: &Finding, workloads: &[String]) -> Vec<String> {
    let Some((of, _)) = finding.figure.split_once(" of ") else { return Vec::new() };
    let mut named: Vec<String> = of.split(" relative to ").map(str::to_owned).collect();
    let metric = metric::split(&named[0], workloads).map(|(_, metric)| metric);
    let again = finding.again.iter().zip(metric).map(|(again, metric)| format!("{again}.{metric}"));
    named.extend(again.collect::<Vec<_>>());
    named
}

/// The claim with another figure, other bounds, or another reason why it cannot be answered.
fn answered(section: &mut Section, claim: &Finding) -> Result<Finding, ConfigError> {
    Ok(Finding {
        figure: section.take("figure")?.unwrap_or_default(),
        // Another figure need not be the one that was published.
        published_value: section.take("published_value")?,
        cannot_tell: section.take("cannot_tell")?,
        processor: processor(section)?,
        again: section.take("again")?,
        elsewhere: elsewhere(section)?.or_else(|| claim.elsewhere.clone()),
        at_least: section.take("at_least")?,
        at_most: section.take("at_most")?,
        ..claim.clone()
    })
}

/// The shares of the processor in both arms.
fn processor(section: &mut Section) -> Result<Option<[f64; 2]>, ConfigError> {
    let Some(shares) = section.list::<f64>("processor")? else { return Ok(None) };
    let known = <[f64; 2]>::try_from(shares).ok();
    let known = known.filter(|both| both.iter().all(|share| (1.0..=100.0).contains(share)));
    known
        .map(Some)
        .ok_or_else(|| section.error("`processor` has two shares in percent, from 1 to 100"))
}

/// Runs of one arm on another machine.
fn elsewhere(section: &mut Section) -> Result<Option<Elsewhere>, ConfigError> {
    let (runs, of) = (section.list::<f64>("elsewhere")?, section.take("elsewhere_of")?);
    match (runs, of) {
        (None, None) => Ok(None),
        (Some(runs), Some(of))
            if runs.len() >= RUNS_ELSEWHERE_MIN
                && runs.iter().all(|run| run.is_finite() && *run > 0.0) =>
        {
            Ok(Some(Elsewhere { runs, of }))
        }
        (Some(_), Some(_)) => Err(section.error(format!(
            "`elsewhere` has the figures of at least {RUNS_ELSEWHERE_MIN} runs, above zero"
        ))),
        _ => Err(section.error(
            "`elsewhere` and `elsewhere_of` belong together: figures, and a \
                                phrase that says of what",
        )),
    }
}

fn check_bounds(finding: &Finding) -> Result<(), Invalid> {
    if finding.published_value.is_some_and(|value| !(value.is_finite() && value > 0.0)) {
        return Err("`published_value` is not a number above zero".into());
    }
    match (finding.at_least, finding.at_most) {
        (None, None) if finding.cannot_tell.is_some() => Ok(()),
        (None, None) => Err("a finding needs a bound: `at_least`, `at_most` or both".into()),
        (Some(least), Some(most)) if least > most => Err("`at_least` is above `at_most`".into()),
        _ => Ok(()),
    }
}

impl Names<'_> {
    /// Checks the figure and the bounds; a finding that cannot be answered needs neither.
    fn check_finding(&self, finding: &Finding) -> Result<(), Invalid> {
        if !finding.figure.is_empty() {
            self.check_figure(&finding.figure)?;
        } else if finding.cannot_tell.is_none() && finding.processor.is_none() {
            return Err("a finding needs a `figure`, or `cannot_tell` with the reason why no \
                        workload measures it"
                .into());
        }
        if let Some(again) = &finding.again {
            self.check_again(again, finding)?;
        }
        if finding.elsewhere.is_some() && finding.published_value.is_none() {
            return Err("`elsewhere` needs the `published_value` of a ratio".into());
        }
        check_bounds(finding)
    }

    /// Checks that another workload repeats that of a ratio with a published value.
    fn check_again(&self, again: &str, finding: &Finding) -> Result<(), Invalid> {
        if !self.workloads.iter().any(|known| known == again) {
            let known = self.workloads.join("`, `");
            return Err(invalid!("`again` names the workload `{again}`; there are `{known}`"));
        }
        if finding.published_value.is_none() || !finding.figure.contains(" over ") {
            return Err("`again` needs a ratio as `figure`, and its `published_value`".into());
        }
        Ok(())
    }

    fn is_arm(&self, name: &str) -> bool {
        self.arms.iter().any(|arm| arm.name == name)
    }

    /// Checks `WORKLOAD.METRIC [relative to WORKLOAD.METRIC] of ARM [over ARM]`.
    fn check_figure(&self, figure: &str) -> Result<(), Invalid> {
        let (of, arms) = figure.split_once(" of ").ok_or_else(|| not_a_figure(figure))?;
        let (of, relative) =
            of.split_once(" relative to ").map_or((of, None), |(of, to)| (of, Some(to)));
        if let Some(relative) = relative {
            self.check_metric("figure", relative)?;
        }
        // Prices are compared with rates only.
        let rate = of.strip_suffix("_per_usd").and_then(|of| of.rsplit_once('.'));
        let of = match rate {
            Some((workload, rate @ ("iops" | "bytes_per_s"))) => format!("{workload}.{rate}"),
            _ => of.to_owned(),
        };
        self.check_metric("figure", &of)?;
        if self.is_arm(arms) {
            return Ok(());
        }
        let both = arms.split_once(" over ").map_or(vec![arms], |(one, other)| vec![one, other]);
        match both.into_iter().find(|name| !self.is_arm(name)) {
            None => Ok(()),
            Some(name) => {
                let known: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
                let known = known.join("`, `");
                Err(invalid!("`figure` names the arm `{name}`; there are `{known}`"))
            }
        }
    }

    /// Checks `WORKLOAD.METRIC`, the value of `key`.
    pub(super) fn check_metric(&self, key: &str, text: &str) -> Result<(), Invalid> {
        let Some((workload, metric)) = metric::split(text, self.workloads) else {
            let (workload, _) = text.rsplit_once('.').unwrap_or((text, ""));
            return Err(invalid!(
                "`{key}` names the workload `{workload}`; there are `{}`",
                self.workloads.join("`, `")
            ));
        };
        let index = self.workloads.iter().position(|known| known == workload);
        let known = index.and_then(|index| self.metrics[index].as_ref());
        match known {
            Some(known) if !known.iter().any(|name| name == metric) => Err(invalid!(
                "`{key}` names the metric `{metric}`; there are `{}`",
                known.join("`, `")
            )),
            // Some metrics are unknown until a program has printed them.
            _ => Ok(()),
        }
    }
}

fn not_a_figure(figure: &str) -> String {
    format!(
        "`{figure}` is not a figure: write `WORKLOAD.METRIC of ARM`, or `WORKLOAD.METRIC of ARM \
over ARM`"
    )
}
