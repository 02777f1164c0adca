//! A study's result for scripts: schema `drivelab.study/1`.

use drivelab_analysis::attachment::Difference;
use drivelab_analysis::outcome::Withheld;
use drivelab_analysis::study::{
    ArmInfo, DepthPoint, FindingResult, FoundEffect, InteractionResult, Price, StudyResult,
    WorkloadInfo,
};
use drivelab_core::StageName;
use drivelab_core::matrix::Matrix;
use drivelab_core::plan::Scale;
use drivelab_stats::Contrast;
use serde::Serialize;
use serde_json::{Value, json};

use super::hosts::{self, HostsJson};
use crate::cells;
use crate::outcome::{MetricJson, document};

/// The schema that this version writes.
pub const STUDY_SCHEMA: &str = "drivelab.study/1";

#[derive(Serialize)]
struct StudyJson<'a> {
    schema: &'static str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    article: Option<u32>,
    stage: StageName,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<Scale>,
    seed: u64,
    blocks: u32,
    blocks_used: usize,
    design: drivelab_core::plan::Design,
    primary: &'a str,
    candidate: &'a str,
    margin: f64,
    verdict: drivelab_stats::Verdict,
    arms: &'a [ArmInfo],
    workloads: &'a [WorkloadInfo],
    metrics: Vec<MetricJson<'a>>,
    contrasts: Vec<ContrastJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interactions: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    price: Vec<Value>,
    depth: Vec<DepthJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<HostsJson<'a>>,
    attached: &'a Difference,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    withheld: &'a [Withheld],
    risks: Vec<&'a str>,
    notes: &'a [String],
    reproduce: &'a str,
    drivelab: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    matrix: Option<&'a Matrix>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursors: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<Vec<Value>>,
}

#[derive(Serialize)]
struct ContrastJson<'a> {
    name: &'a str,
    arms: [&'a str; 2],
    metrics: Vec<MetricJson<'a>>,
}

#[derive(Serialize)]
struct DepthJson<'a> {
    arm: &'a str,
    #[serde(flatten)]
    point: &'a DepthPoint,
}

/// The result as one JSON document: the same result, the same bytes.
pub fn json(result: &StudyResult) -> String {
    let names = result.names();
    let metric = |outcome| MetricJson::new(outcome, result.series_of(outcome), &names);
    let contrasts = result.contrasts.iter().map(|contrast| ContrastJson {
        name: &contrast.name,
        arms: [names[contrast.from], names[contrast.to]],
        metrics: contrast.outcomes.iter().map(metric).collect(),
    });
    let depth = result.depth.iter().flat_map(|curve| {
        let arm = names[curve.arm];
        curve.points.iter().map(move |point| DepthJson { arm, point })
    });
    document(&StudyJson {
        schema: STUDY_SCHEMA,
        title: &result.experiment.title,
        article: result.experiment.article,
        stage: result.experiment.stage,
        scale: result.experiment.scale,
        seed: result.experiment.seed,
        blocks: result.experiment.blocks,
        blocks_used: result.used.len(),
        design: result.experiment.design,
        primary: &result.series_of(result.primary()).name,
        candidate: names[result.candidate],
        margin: result.experiment.margin,
        verdict: result.verdict(),
        arms: &result.experiment.arms,
        workloads: &result.experiment.workloads,
        metrics: result.outcomes.iter().map(metric).collect(),
        contrasts: contrasts.collect(),
        interactions: result.interactions.iter().map(|one| interaction(result, one)).collect(),
        findings: result.findings.iter().map(finding).collect(),
        price: result.prices.iter().map(|price| self::price(result, price)).collect(),
        depth: depth.collect(),
        hosts: result.hosts.as_ref().map(|it| hosts::json(it, &names)),
        attached: &result.attached,
        withheld: &result.withheld,
        risks: result.experiment.risks.iter().map(|risk| risk.sentence.as_str()).collect(),
        notes: &result.notes,
        reproduce: &result.experiment.reproduce,
        drivelab: crate::VERSION,
        matrix: result.experiment.cells.as_ref().map(|cells| &cells.matrix),
        cursors: result
            .experiment
            .cells
            .as_ref()
            .map(|cells| cells.matrix.cursors.iter().map(ToString::to_string).collect()),
        cells: result.experiment.cells.as_ref().map(|cells| cells::means(cells, &names)),
    })
}

fn interaction(result: &StudyResult, one: &InteractionResult) -> Value {
    let level = |factor: usize, level: usize| &one.levels[factor][level];
    let cells = one.cells.iter().map(|([first, second], value)| {
        json!({
            "levels": {&one.factors[0]: level(0, *first), &one.factors[1]: level(1, *second)},
            "value": value,
        })
    });
    let (mut main, mut simple, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for FoundEffect { contrast, mean, prediction95 } in &one.effects {
        let (ratio, ci95) = (mean.ratio, mean.ci95);
        let (list, mut found) = match *contrast {
            Contrast::Main { factor, to } => (
                &mut main,
                json!({
                    "factor": one.factors[factor],
                    "from": level(factor, 0), "to": level(factor, to),
                    "ratio": ratio, "ci95": ci95,
                }),
            ),
            Contrast::Simple { factor, to, at } => (
                &mut simple,
                json!({
                    "factor": one.factors[factor],
                    "from": level(factor, 0), "to": level(factor, to),
                    "at": {&one.factors[1 - factor]: level(1 - factor, at)},
                    "ratio": ratio, "ci95": ci95,
                }),
            ),
            Contrast::Interaction { to } => (
                &mut all,
                json!({
                    "to": [level(0, to[0]), level(1, to[1])], "ratio": ratio, "ci95": ci95,
                }),
            ),
        };
        foreseen(&mut found, *prediction95);
        list.push(found);
    }
    let strongest = &one.strongest.mean;
    let mut found = json!({
        "factors": one.factors,
        "metric": result.series[one.series].name,
        "cells": cells.collect::<Vec<Value>>(),
        "main": main,
        "simple": simple,
        "interaction": {
            "ratio": strongest.ratio, "ci95": strongest.ci95, "verdict": one.verdict, "all": all,
        },
    });
    foreseen(&mut found["interaction"], one.strongest.prediction95);
    withheld(&mut found["interaction"], one.withheld.as_deref());
    found
}

/// Adds what is predicted of one more drive, where blocks simulated different ones.
fn foreseen(found: &mut Value, prediction95: Option<[f64; 2]>) {
    if let Some(prediction95) = prediction95 {
        found["prediction95"] = json!(prediction95);
    }
}

/// Adds why nothing may be concluded although there are figures.
fn withheld(found: &mut Value, why: Option<&str>) {
    if let Some(why) = why {
        found["withheld"] = json!(why);
    }
}

fn finding(one: &FindingResult) -> Value {
    let finding = &one.finding;
    let mut found = json!({
        "name": finding.name,
        "figure": finding.figure,
        "published": finding.published,
        "published_value": finding.published_value,
        "source": finding.source,
        "at_least": finding.at_least,
        "at_most": finding.at_most,
        "verdict": one.answer,
        "value": one.value,
        "ci95": one.ci95,
        "why": one.why,
        "shown": one.shown(),
    });
    foreseen(&mut found, one.prediction95);
    found
}

fn price(result: &StudyResult, price: &Price) -> Value {
    let series = &result.series[price.series];
    let arms = price.arms.iter().map(|arm| {
        let mut found = json!({
            "arm": result.experiment.arms[arm.arm].name,
            "price_usd": arm.usd,
            "value": arm.value,
            "ci95": arm.ci95,
            "ratio": arm.ratio.map(|(ratio, _)| ratio),
            "ratio_ci95": arm.ratio.and_then(|(_, limits)| limits),
        });
        withheld(&mut found, arm.withheld.as_deref());
        found
    });
    json!({
        "metric": format!("{}_per_usd", series.name),
        "arms": arms.collect::<Vec<Value>>(),
    })
}
