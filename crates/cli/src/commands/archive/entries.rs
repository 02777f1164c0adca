//! What is finished, as the archive keeps it.

use std::collections::BTreeSet;

use drivelab_archive::{Columns, Entry, Place, RunId, Shown};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Figure, Origin, RUN_SCHEMA, RunRecord};
use drivelab_report::{kept, run};
use drivelab_study::{KeptStudy, StudyFile, repeat};
use serde_json::Value;

use super::keep::now_ms;
use drivelab_lab::fleet::Collected;

/// Marks in the picture of a run in a list.
const SPARK_MARKS: usize = 20;

/// A name for what was kept at `time_ms`.
fn id(time_ms: u64) -> RunId {
    let mut bytes = [0; 16];
    // Where the system has none, two runs of one millisecond collide and the second is refused.
    let _ = getrandom::fill(&mut bytes);
    RunId::new(time_ms, u128::from_le_bytes(bytes))
}

fn shown(record: &RunRecord) -> Shown {
    let spark = record.total.as_ref().map(|job| run::spark(job, SPARK_MARKS)).unwrap_or_default();
    Shown { spark, figures: run::metrics(record) }
}

/// A run that ended now.
pub(crate) fn run(record: &RunRecord) -> Entry {
    let origin = if record.config.suite.is_some() { Origin::Suite } else { Origin::Run };
    of_record(record, origin, now_ms())
}

/// A run that ended at `time_ms`.
pub(crate) fn of_record(record: &RunRecord, origin: Origin, time_ms: u64) -> Entry {
    Entry::of_run(id(time_ms), time_ms, (origin, record), shown(record))
}

/// What several runs are the parts of.
struct Whole {
    time_ms: u64,
    origin: Origin,
    target: String,
    suite: Option<String>,
    label: Option<String>,
    shown: Shown,
    document: String,
}

/// One of its parts: the run, and where it stands.
type OnePart<'a> = (&'a RunRecord, Box<dyn FnOnce(RunId) -> Place + 'a>);

/// The whole, and behind it its parts, of which the first says where all were made.
fn whole(about: Whole, parts: Vec<OnePart<'_>>) -> Vec<Entry> {
    let (id, time_ms) = (id(about.time_ms), about.time_ms);
    let mut entries = Vec::new();
    for (number, (record, place)) in (0..).zip(parts) {
        let of_part =
            Entry::of_run(id.part(number), time_ms, (about.origin, record), shown(record));
        entries.push(Entry { label: None, place: Some(place(id)), ..of_part });
    }
    let first = entries.first();
    let figures = about.shown.figures.into_iter().filter(|figure| figure.value.is_finite());
    let whole = Entry {
        id,
        time_ms,
        origin: about.origin,
        target: about.target,
        host: first.and_then(|part| part.host.clone()),
        devices: first.map(|part| part.devices.clone()).unwrap_or_default(),
        drive: first.and_then(|part| part.drive.clone()),
        suite: about.suite,
        label: about.label,
        tags: Vec::new(),
        commit: None,
        place: None,
        spark: about.shown.spark,
        figures: figures.collect(),
        document: about.document,
    };
    entries.insert(0, whole);
    entries
}

/// A study or a matrix with its runs; `figures` are what it came to.
pub(crate) fn study(
    kept: &KeptStudy,
    study: &StudyFile,
    (label, time_ms): (Option<String>, u64),
    figures: Vec<Figure>,
) -> Vec<Entry> {
    let asked = kept.header.asked.as_ref();
    let target = asked.and_then(|asked| asked.target.clone());
    let drive = study.drive.as_ref().map(|drive| format!("drive:{drive}"));
    let is_matrix = study.is_matrix_alone();
    let parts = kept.parts(study).map(|part| -> OnePart<'_> {
        let place = move |whole| Place {
            whole,
            block: part.block,
            arm: part.arm.to_owned(),
            task: part.task,
            json: part.place,
        };
        (part.record, Box::new(place))
    });
    let about = Whole {
        time_ms,
        origin: if is_matrix { Origin::Matrix } else { Origin::Study },
        target: target.or(drive).unwrap_or_else(|| kept.header.target.clone()),
        suite: asked.map(|asked| repeat::stem(&asked.study)),
        label,
        shown: Shown { spark: String::new(), figures },
        document: kept.document(),
    };
    whole(about, parts.collect())
}

/// A job file with several jobs; `document` is what is printed of it.
pub(crate) fn jobs(file: &str, document: &Value, records: &[RunRecord]) -> Vec<Entry> {
    let parts = (0..).zip(records).map(|(number, record)| -> OnePart<'_> {
        let task = record.label.clone().unwrap_or_default();
        let json = serde_json::json!({ "job": task, "number": number }).to_string();
        (record, Box::new(move |whole| Place { whole, block: 0, arm: String::new(), task, json }))
    });
    let total = serde_json::from_value(document["total"].clone()).ok();
    let figures = total.as_ref().map(run::of_load).unwrap_or_default();
    let target = document["target"].as_str().unwrap_or_default().to_owned();
    let about = Whole {
        time_ms: now_ms(),
        origin: Origin::Jobs,
        target,
        suite: Some(repeat::stem(file)),
        label: None,
        shown: Shown { spark: String::new(), figures },
        document: kept::jobs(document),
    };
    whole(about, parts.collect())
}

/// What was collected from a host, and behind it its runs.
pub(crate) fn collection(collected: &Collected, label: Option<&String>) -> Vec<Entry> {
    let drives: Vec<_> =
        collected.inspection.devices.iter().filter(|device| device.is_drive()).collect();
    let parts = (0..).zip(&collected.runs).map(|(block, run)| -> OnePart<'_> {
        let (arm, task) = (run.target.clone(), "run".to_owned());
        let json = serde_json::json!({ "target": run.target }).to_string();
        (&run.record, Box::new(move |whole| Place { whole, block, arm, task, json }))
    });
    let figures = collected.runs.iter().filter_map(|run| {
        let first = run::metrics(&run.record).into_iter().next()?;
        Some(Figure { name: format!("{}.{}", run.target, first.name), ..first })
    });
    let about = Whole {
        time_ms: now_ms(),
        origin: Origin::Fleet,
        target: collected.host.clone(),
        suite: None,
        label: label.cloned(),
        shown: Shown { spark: String::new(), figures: figures.collect() },
        document: collected.document(),
    };
    let mut entries = whole(about, parts.collect());
    let models: BTreeSet<&str> = drives.iter().filter_map(|it| it.model.as_deref()).collect();
    entries[0].host = collected.inspection.host.as_ref().map(|host| host.id.clone());
    entries[0].devices = drives.iter().map(|it| it.name.clone()).collect();
    entries[0].drive =
        Some(models.into_iter().collect::<Vec<_>>().join(", ")).filter(|it| !it.is_empty());
    entries
}

/// A measurement for a model: the file that was written, and what is printed of it.
pub(crate) fn measurement(target: &str, file: &str, printed: &Value) -> Vec<Entry> {
    let about = Whole {
        time_ms: now_ms(),
        origin: Origin::Measure,
        target: target.to_owned(),
        suite: None,
        label: None,
        shown: Shown { spark: String::new(), figures: kept::measured_figures(printed) },
        document: kept::measurement(file, printed),
    };
    let mut entries = whole(about, Vec::new());
    let spec = target.strip_prefix("drive:").and_then(|spec| spec.split(',').next());
    entries[0].drive = spec.map(str::to_owned);
    entries
}

/// Reads a kept document back: what its row must say, where that follows from it alone. What a
/// study came to depends on the version that analysed it.
pub(crate) fn read_back(document: &str) -> Result<Option<Columns>, String> {
    #[derive(serde::Deserialize)]
    struct Schema {
        schema: String,
    }
    let text = |error: serde_json::Error| error.to_string();
    let Schema { schema } = serde_json::from_str(document).map_err(text)?;
    match schema.as_str() {
        RUN_SCHEMA => {
            let record: RunRecord = serde_json::from_str(document).map_err(text)?;
            let figures = run::metrics(&record);
            Ok(Some(Columns::of_run(&record, figures)))
        }
        kept::RESULTS_SCHEMA => {
            let results = kept::read_results(serde_json::from_str(document).map_err(text)?)?;
            let [run] = &results.runs[..] else { return Err("it is not one run".to_owned()) };
            let figures = run::figures_of(run);
            Ok(Some(Columns {
                target: run.arm.clone(),
                suite: Some(results.tool.clone()),
                figures: figures.into_iter().filter(|figure| figure.value.is_finite()).collect(),
                ..Columns::default()
            }))
        }
        _ => Ok(None),
    }
}

/// Each run of another tool by itself.
pub(crate) fn results(results: &Imported, time_ms: u64) -> Vec<Entry> {
    let one = |of_one: Imported| {
        let run = &of_one.runs[0];
        let about = Whole {
            time_ms: run.ended_unix_s.map_or(time_ms, |ended| ended.saturating_mul(1000)),
            origin: Origin::Import,
            target: run.arm.clone(),
            suite: Some(of_one.tool.clone()),
            label: None,
            shown: Shown { spark: String::new(), figures: run::figures_of(run) },
            document: kept::results(&of_one),
        };
        whole(about, Vec::new())
    };
    kept::each_run(results).flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use drivelab_archive::Archive;

    use super::*;

    #[test]
    fn rows_of_every_released_schema_say_what_their_records_say() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [
            ("a.db", &include_bytes!("../../../../archive/tests/schemas/2026-11-23-runs.db")[..]),
            ("b.db", include_bytes!("../../../../archive/tests/schemas/2026-11-23-parts.db")),
            ("c.db", include_bytes!("../../../../archive/tests/schemas/2026-11-23-parts-index.db")),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let found = Archive::open(&path, |_| true).unwrap().check(&read_back).unwrap();
            assert_eq!(found.damage, Vec::<String>::new(), "{name}");
            assert!(found.whole >= 2, "{name}: {found:?}");
        }
    }
}
