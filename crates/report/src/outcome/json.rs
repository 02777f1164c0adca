//! JSON shapes that several results share; the names are a contract with scripts.

use drivelab_analysis::outcome::{Outcome, Series};
use drivelab_analysis::specimens::Foreseen;
use drivelab_stats::{Adjustment, Cause, Comparison, OrderTest, Role, Shares, Verdict, Warning};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct MetricJson<'a> {
    name: &'a str,
    /// The arm measured against, and the arm in question.
    arms: [&'a str; 2],
    n: usize,
    /// Above 1: the second arm is better.
    ratio: f64,
    /// Null with a single block: one value has no interval.
    ci95: Option<[f64; 2]>,
    /// Holds together with those of the same role.
    ci95_family: Option<[f64; 2]>,
    /// The range of one more drive of the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    prediction95: Option<[f64; 2]>,
    /// Of all such drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<Shares>,
    /// The causes of the spread between drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    variance: Option<Vec<PartJson<'a>>>,
    hl_ratio: f64,
    /// Null below six blocks.
    hl_ci95: Option<[f64; 2]>,
    p: f64,
    verdict: Verdict,
    runs_needed: Option<u32>,
    warnings: &'a [Warning],
    role: Role,
    p_adjusted: f64,
    adjustment: Adjustment,
    tost_ci90: Option<[f64; 2]>,
    sd_log: Option<f64>,
    margin: f64,
    better: drivelab_stats::Better,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<&'a OrderTest>,
    /// One value a block, for each of `arms`.
    values: [&'a [f64]; 2],
    /// Empty where the name says the unit.
    #[serde(skip_serializing_if = "str::is_empty")]
    unit: &'a str,
    /// The nature of the numbers, if they are not plain measurements of a disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<&'static str>,
}

impl<'a> MetricJson<'a> {
    pub(crate) fn new(outcome: &'a Outcome, series: &'a Series, names: &[&'a str]) -> Self {
        let (adjusted, foreseen) = (&outcome.adjusted, outcome.foreseen.as_ref());
        let comparison: &Comparison = &adjusted.comparison;
        Self {
            name: &series.name,
            arms: [names[outcome.from], names[outcome.to]],
            n: comparison.n,
            ratio: comparison.ratio,
            ci95: comparison.ci95,
            ci95_family: adjusted.ci95_family,
            prediction95: foreseen.map(|it| it.forecast.prediction95),
            shares: foreseen.map(|it| it.forecast.shares),
            variance: foreseen.map(parts),
            hl_ratio: comparison.hl_ratio,
            hl_ci95: comparison.hl_ci95,
            p: comparison.p,
            verdict: comparison.verdict,
            runs_needed: comparison.runs_needed,
            warnings: &comparison.warnings,
            role: adjusted.role,
            p_adjusted: adjusted.p_adjusted,
            adjustment: adjusted.adjustment,
            tost_ci90: comparison.tost_ci90,
            sd_log: comparison.sd_log,
            margin: series.margin,
            better: series.better,
            order: comparison.order.as_ref(),
            values: [&series.values[outcome.from], &series.values[outcome.to]],
            unit: &series.unit,
            labels: Vec::new(),
        }
    }

    pub(crate) fn with_labels(self, labels: Vec<&'static str>) -> Self {
        Self { labels, ..self }
    }
}

/// A cause of the spread between drives.
#[derive(Debug, Serialize)]
struct PartJson<'a> {
    /// The key of the profile, `addresses` or `model`.
    cause: &'a str,
    /// The arm whose drives it belongs to, if another arm has one of the same key.
    #[serde(skip_serializing_if = "Option::is_none")]
    arm: Option<&'a str>,
    share: f64,
    ci95: [f64; 2],
}

fn parts(foreseen: &Foreseen) -> Vec<PartJson<'_>> {
    let parts = foreseen.forecast.parts.iter().map(|part| PartJson {
        cause: match part.cause {
            Cause::Unknown(index) => &foreseen.unknowns[index].key,
            Cause::Addresses => "addresses",
            Cause::Model => "model",
        },
        arm: match part.cause {
            Cause::Unknown(index) => foreseen.unknowns[index].arm.as_deref(),
            Cause::Addresses | Cause::Model => None,
        },
        share: part.share,
        ci95: part.ci95,
    });
    parts.collect()
}

/// One JSON document, ending in a line break.
pub(crate) fn document(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("plain data has a JSON form");
    text.push('\n');
    text
}
