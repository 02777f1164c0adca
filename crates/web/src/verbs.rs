//! The verbs: each as the command line has it.

use std::collections::BTreeMap;

use drivelab_analysis::comparison::{self, CompareOptions};
use drivelab_analysis::run::Dated;
use drivelab_core::control::Event;
use drivelab_core::record::RunRecord;
use drivelab_core::units::{Ratio, Span};
use drivelab_core::workload::{OPTIONS, WorkloadOptions};
use drivelab_core::{Control, Refusal, StageName};
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::profile::{self, Profile};
use drivelab_report::text::json_text;
use drivelab_report::{self as report};
use drivelab_simulate::predict::{self, Given, Wanted};
use drivelab_simulate::{Embedded, LoadPlan, ModelKeys, Source as _, model, study, watch};
use drivelab_study::StudyFile;
use drivelab_study::embedded::{self, STUDIES};
use serde::Serialize;
use serde_json::{Value, json};

use crate::asked::{Asked, Compare, Load, Predict, Study};

/// The prefix that makes a TARGET a modelled drive.
const PREFIX: &str = "drive:";

/// The longest film, in virtual time.
const FILM_MAX: Span = Span::from_secs(60);

/// Progress of an answer: runs that are done, of all.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// One result, in the forms that the page uses: a form more makes the module larger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The document that the command line prints with `--json`.
    pub json: String,
    /// The page of a study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
}

/// Answers a question.
pub(crate) fn answer(asked: Asked, progress: Progress<'_>) -> Result<Value, Refusal> {
    Ok(match asked {
        Asked::Drives => drives()?,
        Asked::Studies => studies(),
        Asked::Run(load) => json!(run(&load)?),
        Asked::Watch { load, us } => json!(film(&load, Span::from_ns(us.saturating_mul(1000)))?),
        Asked::Study(asked) => json!(conclude(&asked, progress)?),
        Asked::Compare(asked) => json!(compare(&asked)?),
        Asked::Predict(asked) => predicted(&asked)?,
    })
}

fn drives() -> Result<Value, Refusal> {
    let drives = profile::names().into_iter().map(|name| {
        let profile = Embedded.profile(&Embedded.spec(name)?)?;
        Ok(json!({
            "name": name,
            "model": profile.model,
            "capacity_bytes": profile.capacity().bytes().get(),
            "rotates": profile.rotates(),
            "rpm": profile.rpm(),
        }))
    });
    let drives = drives.collect::<Result<Vec<Value>, Refusal>>()?;
    Ok(json!({ "drives": drives, "keys": &Options::KEYS[..] }))
}

/// The studies that can run without files.
fn studies() -> Value {
    let mut found = Vec::new();
    for (name, text) in STUDIES {
        if let Ok(study) = StudyFile::parse(name, text, &ModelKeys)
            && study.stage == StageName::Simulate
        {
            let title = study.title;
            found.push(json!({ "name": name, "title": title, "text": text }));
        }
    }
    json!(found)
}

/// A drive and its profile.
fn drive_of(target: &str) -> Result<(DriveSpec, Profile), Refusal> {
    let spec = Embedded.spec(target)?;
    let profile = Embedded.profile(&spec)?;
    Ok((spec, profile))
}

/// The options of a workload, with the defaults of the flags.
fn options(given: &BTreeMap<String, String>) -> Result<WorkloadOptions, Refusal> {
    let mut options = WorkloadOptions::default();
    for option in OPTIONS.iter().filter(|option| option.is_flag) {
        if let Some(default) = option.default {
            options.set(option.name, default).map_err(Refusal::request)?;
        }
    }
    for (name, value) in given {
        let known = OPTIONS.iter().any(|option| option.is_flag && option.name == *name);
        if !known || !options.set(name, value).map_err(Refusal::request)? {
            let message = format!("there is no option `{name}` of a workload");
            return Err(Refusal::request(message).hint("`drivelab run --help` lists them"));
        }
    }
    Ok(options)
}

fn target_of(load: &Load) -> Result<(DriveSpec, Profile), Refusal> {
    if !load.target.starts_with(PREFIX) {
        let message = format!("`{}` is not a modelled drive", load.target);
        return Err(Refusal::request(message).hint("write `drive:NAME`"));
    }
    drive_of(&load.target)
}

fn run(load: &Load) -> Result<Report, Refusal> {
    let workload = options(&load.options)?.check().map_err(Refusal::request_error)?;
    let (spec, profile) = target_of(load)?;
    let plan = LoadPlan::one(workload, load.seed);
    let record = model::simulate(&spec, &profile, &plan, &Embedded.control())?;
    let json = serde_json::to_string_pretty(&record).expect("plain data is always JSON");
    Ok(Report { json, html: None })
}

fn film(load: &Load, time: Span) -> Result<watch::Film, Refusal> {
    let mut asked = options(&load.options)?;
    let time = time.min(FILM_MAX);
    // The film ends the load.
    asked.runtime = Some(FILM_MAX);
    let workload = asked.check().map_err(Refusal::request_error)?;
    let (spec, profile) = target_of(load)?;
    watch::film(&spec, &profile, &workload, (load.seed, time))
}

fn conclude(asked: &Study, progress: Progress<'_>) -> Result<Report, Refusal> {
    let text = match &asked.text {
        Some(text) => text,
        None => embedded::text(&asked.name)
            .ok_or_else(|| Refusal::request(format!("there is no study `{}`", asked.name)))?,
    };
    let observer = |event: Event<'_>| {
        if let Event::Finished { done, of, .. } = event {
            progress(done, of);
        }
    };
    let wanted = study::Wanted {
        name: &asked.name,
        text,
        blocks: asked.blocks,
        specimens: asked.specimens,
        seed: asked.seed,
        only: &asked.only,
        drive: asked.drive.as_deref(),
    };
    let control = Control::unattended().observed_by(&observer);
    let result = study::conclude(wanted, &ModelKeys, &Embedded, &control)?;
    // The frame of the page runs no script.
    let html = report::page::still(&result);
    Ok(Report { json: report::study::json(&result), html: Some(html) })
}

fn compare(asked: &Compare) -> Result<Report, Refusal> {
    let mut arms = Vec::new();
    for (name, records) in &asked.arms {
        let records = records.iter().map(|text| {
            let record: Result<RunRecord, _> = serde_json::from_str(text);
            record.map(Dated::from).map_err(|error| {
                Refusal::request(format!("a record of arm `{name}` cannot be read: {error}"))
            })
        });
        arms.push((name.clone(), records.collect::<Result<Vec<Dated>, Refusal>>()?));
    }
    debug_assert_eq!(arms.len(), asked.arms.len(), "an arm for each that was asked");
    let margin: Ratio =
        asked.margin.as_deref().unwrap_or("3%").parse().map_err(Refusal::request)?;
    let options = CompareOptions {
        primary: asked.primary.clone(),
        margin: margin.to_f64(),
        seed: asked.seed,
        factors: asked.factors.clone(),
        unpaired: None,
    };
    let input = comparison::from_runs(&arms)?;
    let result = comparison::analyse(&input, &options).map_err(Refusal::request_error)?;
    Ok(Report { json: report::comparison::json(&result), html: None })
}

fn predicted(asked: &Predict) -> Result<Value, Refusal> {
    let (spec, profile) = drive_of(&asked.drive)?;
    let wanted = Wanted {
        spec: &spec,
        profile,
        specimens: asked.specimens.clamp(1, 10_000),
        seed: asked.seed,
        options: options(&asked.options)?,
        given: Given::new(|name| asked.options.contains_key(name)),
    };
    let predicted = predict::predict(wanted, &Embedded.control())?;
    Ok(json!({ "json": json_text(&predicted.json(&spec.to_string())) }))
}
