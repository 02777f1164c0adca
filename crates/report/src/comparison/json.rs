//! A comparison for scripts: schema `drivelab.compare/1`.

use drivelab_analysis::attachment::Difference;
use drivelab_analysis::comparison::{CompareResult, Source, WorkRow};
use drivelab_analysis::outcome::Withheld;
use serde::Serialize;

use crate::outcome::{MetricJson, document};
use drivelab_core::record::label_names;

/// The schema that this version writes.
pub const COMPARE_SCHEMA: &str = "drivelab.compare/1";

#[derive(Serialize)]
struct CompareJson<'a> {
    schema: &'static str,
    source: &'a str,
    primary: &'a str,
    verdict: drivelab_stats::Verdict,
    margin: f64,
    seed: u64,
    blocks_used: usize,
    /// `paired` or `unpaired`.
    design: &'static str,
    arms: Vec<ArmJson<'a>>,
    metrics: Vec<MetricJson<'a>>,
    /// The attachment of the arms.
    attached: &'a Difference,
    /// The keys in which the work of the runs differs, with the values of each arm.
    work: &'a [WorkRow],
    /// Why verdicts are withheld, and what to do about it.
    withheld: &'a [Withheld],
    notes: &'a [String],
    drivelab: &'static str,
}

#[derive(Serialize)]
struct ArmJson<'a> {
    name: &'a str,
}

/// The result as one JSON document: the same result, the same bytes.
pub fn json(result: &CompareResult) -> String {
    let names = result.names();
    let metrics = result.outcomes.iter().map(|outcome| {
        let facts = &result.facts[outcome.series];
        MetricJson::new(outcome, &result.series[outcome.series], &names)
            .with_labels(label_names(&facts.remarks))
    });
    document(&CompareJson {
        schema: COMPARE_SCHEMA,
        source: match &result.source {
            Source::Runs => "runs",
            Source::Pairs { .. } => "pairs",
            Source::Foreign { tool } => tool,
        },
        primary: &result.series[result.primary().series].name,
        verdict: result.verdict(),
        margin: result.margin,
        seed: result.seed,
        // Runs that are not paired form no blocks.
        blocks_used: if result.unpaired.is_some() { 0 } else { result.blocks.len() },
        design: if result.unpaired.is_some() { "unpaired" } else { "paired" },
        arms: names.iter().map(|name| ArmJson { name }).collect(),
        metrics: metrics.collect(),
        attached: &result.attached,
        work: &result.work,
        withheld: &result.withheld,
        notes: &result.notes,
        drivelab: crate::VERSION,
    })
}
