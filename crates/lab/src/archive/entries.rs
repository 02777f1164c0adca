//! Finished runs and results as archive entries.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use drivelab_analysis::cost::{Bill, METRICS};
use drivelab_analysis::digest::{Common, Own, RunDigest};
use drivelab_analysis::kept;
use drivelab_archive::{Columns, Digest, Entry, Position, RunId, RunIds, Shown, is_digested};
use drivelab_core::Invalid;
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Better, Figure, Flaw, Origin, RUN_SCHEMA, RunRecord};
use drivelab_report::run;
use drivelab_study::{KeptStudy, StudyFile, repeat};
use serde_json::Value;

use super::now_ms;
use crate::fleet::Collected;
use crate::stage::suite;

/// Marks in the picture of a run in a list.
const SPARK_MARKS: usize = 20;

/// An id for an entry of `time_ms`, behind all that this process made before.
fn id(time_ms: u64) -> RunId {
    static IDS: Mutex<RunIds> = Mutex::new(RunIds::new());
    let mut bytes = [0; 16];
    // Where the system has none, runs that two processes keep in one millisecond collide, and the
    // second is refused.
    let _ = getrandom::fill(&mut bytes);
    let mut ids = IDS.lock().unwrap_or_else(PoisonError::into_inner);
    ids.next(time_ms, u128::from_le_bytes(bytes))
}

fn shown(record: &RunRecord, is_digested: bool) -> Shown {
    let spark = record.total.as_ref().map(|job| run::spark(job, SPARK_MARKS)).unwrap_or_default();
    Shown {
        spark,
        figures: drivelab_analysis::run::metrics(record),
        digest: is_digested.then(|| digest_of_run(record)),
    }
}

/// The digest of a run, as the archive keeps it.
fn digest_of_run(record: &RunRecord) -> Digest {
    let mut record = record.clone();
    suite::complete(&mut record);
    let RunDigest { common, own } = RunDigest::of(&record);
    kept_digest(&Common::Run(Box::new((*common).clone())), own)
}

/// The digest of a run of another tool.
fn digest_of_result(result: &ImportedRun) -> Digest {
    let own = Own { flaws: result.flaws.clone(), ..Own::default() };
    kept_digest(&Common::Results { work: result.work.clone() }, own)
}

fn kept_digest(common: &Common, own: Own) -> Digest {
    Digest {
        common: common.to_json().into(),
        ended_unix_s: own.ended_unix_s,
        seed: own.seed,
        content: own.content,
        flaws: (!own.flaws.is_empty())
            .then(|| serde_json::to_string(&own.flaws).expect("plain data is always JSON")),
        values: own.values,
    }
}

/// The part of a kept digest that is the run's alone; `None` where that does not read back.
pub fn own(digest: Digest) -> Option<Own> {
    let flaws: Vec<Flaw> = match &digest.flaws {
        Some(text) => serde_json::from_str(text).ok()?,
        None => Vec::new(),
    };
    let Digest { ended_unix_s, seed, content, values, .. } = digest;
    Some(Own { ended_unix_s, seed, content, flaws, values })
}

/// A run that ended now.
pub fn run(record: &RunRecord) -> Entry {
    let origin = if record.config.suite.is_some() { Origin::Suite } else { Origin::Run };
    of_record(record, origin, now_ms())
}

/// A run that ended at `time_ms`.
pub fn of_record(record: &RunRecord, origin: Origin, time_ms: u64) -> Entry {
    let row = shown(record, is_digested(origin, false));
    Entry::of_run(id(time_ms), time_ms, (origin, record), row)
}

/// The whole that several runs are parts of.
struct Whole {
    time_ms: u64,
    origin: Origin,
    target: String,
    suite: Option<String>,
    label: Option<String>,
    shown: Shown,
    document: String,
}

/// One of its parts: the run, and its position.
type OnePart<'a> = (&'a RunRecord, Box<dyn FnOnce(RunId) -> Position + 'a>);

/// The whole, and behind it its parts, of which the first says where all were made.
fn whole(about: Whole, parts: Vec<OnePart<'_>>) -> Vec<Entry> {
    let (id, time_ms) = (id(about.time_ms), about.time_ms);
    let mut entries = Vec::new();
    for (number, (record, position)) in (0..).zip(parts) {
        let row = shown(record, is_digested(about.origin, true));
        let of_part = Entry::of_run(id.part(number), time_ms, (about.origin, record), row);
        // A part is found through its whole, whose label it must not repeat.
        entries.push(Entry { label: None, position: Some(position(id)), ..of_part });
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
        position: None,
        spark: about.shown.spark,
        figures: figures.collect(),
        digest: about.shown.digest,
        document: about.document,
    };
    // `keep_new` needs the whole before its parts.
    entries.insert(0, whole);
    entries
}

/// A study or a matrix with its runs; `figures` are what it came to.
pub fn study(
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
        let position = move |whole| Position {
            whole,
            block: part.block,
            arm: part.arm.to_owned(),
            task: part.task,
            json: part.place,
        };
        (part.record, Box::new(position))
    });
    let about = Whole {
        time_ms,
        origin: if is_matrix { Origin::Matrix } else { Origin::Study },
        target: target.or(drive).unwrap_or_else(|| kept.header.target.clone()),
        suite: asked.map(|asked| repeat::stem(&asked.study)),
        label,
        shown: Shown { figures, ..Shown::default() },
        document: kept.document(),
    };
    whole(about, parts.collect())
}

/// A job file with several jobs; `document` is what is printed of it.
pub fn jobs(file: &str, document: &Value, records: &[RunRecord]) -> Vec<Entry> {
    let parts = (0..).zip(records).map(|(number, record)| -> OnePart<'_> {
        let task = record.label.clone().unwrap_or_default();
        let json = serde_json::json!({ "job": task, "number": number }).to_string();
        (
            record,
            Box::new(move |whole| Position { whole, block: 0, arm: String::new(), task, json }),
        )
    });
    let total = serde_json::from_value(document["total"].clone()).ok();
    let figures = total.as_ref().map(drivelab_analysis::run::of_load).unwrap_or_default();
    let target = document["target"].as_str().unwrap_or_default().to_owned();
    let about = Whole {
        time_ms: now_ms(),
        origin: Origin::Jobs,
        target,
        suite: Some(repeat::stem(file)),
        label: None,
        shown: Shown { figures, ..Shown::default() },
        document: kept::jobs(document),
    };
    whole(about, parts.collect())
}

/// The data collected from a host, followed by its runs.
pub fn collection(collected: &Collected, label: Option<&String>) -> Vec<Entry> {
    let parts = (0..).zip(&collected.runs).map(|(block, run)| -> OnePart<'_> {
        let (arm, task) = (run.target.clone(), "run".to_owned());
        let json = serde_json::json!({ "target": run.target }).to_string();
        (&run.record, Box::new(move |whole| Position { whole, block, arm, task, json }))
    });
    let figures = collected.runs.iter().filter_map(|run| {
        let first = drivelab_analysis::run::metrics(&run.record).into_iter().next()?;
        Some(Figure { name: format!("{}.{}", run.target, first.name), ..first })
    });
    let about = Whole {
        time_ms: now_ms(),
        origin: Origin::Fleet,
        target: collected.host.clone(),
        suite: None,
        label: label.cloned(),
        shown: Shown { figures: figures.collect(), ..Shown::default() },
        document: collected.document(),
    };
    let mut entries = whole(about, parts.collect());
    let Columns { host, devices, drive, digest, .. } = columns_of_collection(collected);
    let first = &mut entries[0];
    (first.host, first.devices, first.drive, first.digest) = (host, devices, drive, digest);
    entries
}

/// The columns that follow from what was collected from a host; its figures are those of its runs.
fn columns_of_collection(collected: &Collected) -> Columns {
    let devices = collected.inspection.devices.iter();
    let drives: Vec<_> = devices.filter(|device| device.is_drive()).collect();
    let models: BTreeSet<&str> = drives.iter().filter_map(|it| it.model.as_deref()).collect();
    let models = models.into_iter().collect::<Vec<_>>().join(", ");
    Columns {
        target: collected.host.clone(),
        host: collected.inspection.host.as_ref().map(|host| host.id.clone()),
        devices: drives.iter().map(|it| it.name.clone()).collect(),
        drive: Some(models).filter(|models| !models.is_empty()),
        digest: Some(kept_digest(&collected.common(), Own::default())),
        ..Columns::default()
    }
}

/// A measurement for a model: the file that was written, and what is printed of it.
pub fn measurement(target: &str, file: &str, printed: &Value) -> Vec<Entry> {
    let about = Whole {
        time_ms: now_ms(),
        origin: Origin::Measure,
        target: target.to_owned(),
        suite: None,
        label: None,
        shown: Shown { figures: kept::measured_figures(printed), ..Shown::default() },
        document: kept::measurement(file, printed),
    };
    let mut entries = whole(about, Vec::new());
    let spec = target.strip_prefix("drive:").and_then(|spec| spec.split(',').next());
    entries[0].drive = spec.map(str::to_owned);
    entries
}

/// The bill of a program, whose counts are its figures.
pub fn bill(bill: &Bill, label: Option<&String>) -> Vec<Entry> {
    #[expect(clippy::cast_precision_loss, reason = "2^53 bytes are 8 PiB")]
    let figures = METRICS
        .iter()
        .map(|metric| Figure::new(metric.name, (metric.of)(bill) as f64, Better::Less));
    let about = Whole {
        time_ms: now_ms(),
        origin: Origin::Cost,
        target: bill.command.clone(),
        suite: None,
        label: label.cloned(),
        shown: Shown { figures: figures.collect(), ..Shown::default() },
        document: serde_json::to_string(bill).expect("plain data is always JSON"),
    };
    let mut entries = whole(about, Vec::new());
    entries[0].drive = bill.drives.first().map(|drive| drive.drive.clone());
    entries
}

/// Reads a kept document back: the columns that its row must have, where they follow from it alone.
/// The result of a study depends on the version that analysed it.
pub fn read_back(document: &str, is_digested: bool) -> Result<Option<Columns>, Invalid> {
    #[derive(serde::Deserialize)]
    struct Schema {
        schema: String,
    }
    let text = |error: serde_json::Error| error.to_string();
    let Schema { schema } = serde_json::from_str(document).map_err(text)?;
    match schema.as_str() {
        RUN_SCHEMA => {
            let record = drivelab_analysis::run::from_json(document).map_err(text)?;
            let columns = Columns::of_run(&record, drivelab_analysis::run::metrics(&record));
            let digest = is_digested.then(|| digest_of_run(&record));
            Ok(Some(Columns { digest, ..columns }))
        }
        kept::RESULTS_SCHEMA => {
            let results = kept::read_results(serde_json::from_str(document).map_err(text)?)?;
            let [run] = &results.runs[..] else { return Err("it is not one run".into()) };
            let figures = drivelab_analysis::run::figures_of(run);
            Ok(Some(Columns {
                target: run.arm.clone(),
                suite: Some(results.tool.clone()),
                figures: figures.into_iter().filter(|figure| figure.value.is_finite()).collect(),
                digest: Some(digest_of_result(run)),
                ..Columns::default()
            }))
        }
        kept::COLLECTION_SCHEMA => {
            let document = serde_json::from_str(document).map_err(text)?;
            Ok(Some(columns_of_collection(&Collected::read(&document, Vec::new())?)))
        }
        _ => Ok(None),
    }
}

/// Each run of another tool by itself.
pub fn results(results: &Imported, time_ms: u64) -> Vec<Entry> {
    let entries = kept::each_run(results).flat_map(|of_one| {
        let run = &of_one.runs[0];
        let about = Whole {
            time_ms: run.ended_unix_s.map_or(time_ms, |ended| ended.saturating_mul(1000)),
            origin: Origin::Import,
            target: run.arm.clone(),
            suite: Some(of_one.tool.clone()),
            label: None,
            shown: Shown {
                figures: drivelab_analysis::run::figures_of(run),
                digest: Some(digest_of_result(run)),
                ..Shown::default()
            },
            document: kept::results(&of_one),
        };
        whole(about, Vec::new())
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::record::Origin;

    const RECORD: &str = include_str!("../../../core/tests/records/today.json");

    #[test]
    fn only_runs_that_are_read_by_their_digests_have_one() {
        let record: RunRecord = serde_json::from_str(RECORD).unwrap();
        let about = |origin| Whole {
            time_ms: 1,
            origin,
            target: String::new(),
            suite: None,
            label: None,
            shown: Shown::default(),
            document: "{}".to_owned(),
        };
        let position = |whole| Position {
            whole,
            block: 0,
            arm: String::new(),
            task: String::new(),
            json: "{}".to_owned(),
        };
        let has_digest = |origin| {
            let parts: Vec<OnePart<'_>> = vec![(&record, Box::new(position))];
            whole(about(origin), parts)[1].digest.is_some()
        };
        assert!(has_digest(Origin::Fleet));
        assert!(![Origin::Study, Origin::Matrix, Origin::Jobs].into_iter().any(has_digest));
        assert!(run(&record).digest.is_some());
        let columns = |is_digested| read_back(RECORD, is_digested).unwrap().unwrap();
        assert!(columns(true).digest.is_some() && columns(false).digest.is_none());
    }
}
