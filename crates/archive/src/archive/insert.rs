//! From an entry to rows.

use drivelab_core::config::Choice as _;
use rusqlite::{Connection, OptionalExtension as _, named_params, params};

use crate::entry::Entry;
use crate::error::ArchiveError;
use crate::filter::millis;
use crate::pack::pack;

/// The longest name that is kept: sixteen times the longest path of Linux.
const NAME_BYTES_MAX: usize = 64 << 10;

/// Adds a run, its figures and its tags.
pub(super) fn insert(all: &Connection, entry: &Entry) -> Result<(), ArchiveError> {
    refuse_odd(entry)?;
    let (id, place) = (entry.id.to_string(), entry.place.as_ref());
    let mut runs = all.prepare_cached(
        "INSERT INTO runs (id, time_ms, origin, target, drive, host, devices, suite, label, tested, \
         study, block, arm, task, place, spark, record_bytes, record) VALUES (:id, :time, :origin, \
         :target, :drive, :host, :devices, :suite, :label, :tested, :study, :block, :arm, :task, \
         :place, :spark, :bytes, :record)",
    )?;
    runs.execute(named_params! {
        ":id": id,
        ":time": millis(entry.time_ms),
        ":origin": entry.origin.name(),
        ":target": entry.target,
        ":drive": entry.drive,
        ":host": entry.host,
        ":devices": entry.devices.join(" "),
        ":suite": entry.suite,
        ":label": entry.label,
        ":tested": entry.commit,
        ":study": place.map(|place| place.whole.to_string()),
        ":block": place.map(|place| place.block),
        ":arm": place.map(|place| &place.arm),
        ":task": place.map(|place| &place.task),
        ":place": place.map(|place| &place.json),
        ":spark": entry.spark,
        ":bytes": millis(entry.document.len() as u64),
        ":record": pack(&entry.document),
    })?;
    let mut figures = all.prepare_cached("INSERT INTO figures VALUES ($1, $2, $3, $4, $5, $6)")?;
    for (place, figure) in (0_i64..).zip(&entry.figures) {
        let better = serde_json::to_value(figure.better).expect("plain data is always JSON");
        let better = better.as_str().unwrap_or_default();
        figures.execute(params![id, place, figure.name, figure.unit, better, figure.value])?;
    }
    let mut tags = all.prepare_cached("INSERT OR IGNORE INTO tags VALUES ($1, $2)")?;
    for tag in &entry.tags {
        tags.execute(params![id, tag])?;
    }
    Ok(())
}

/// The name of the run that was kept of the same document, where there is one.
pub(super) fn same(all: &Connection, entry: &Entry) -> rusqlite::Result<Option<String>> {
    let mut query = all.prepare_cached(
        "SELECT id FROM runs WHERE record_bytes = $1 AND record = $2 AND study IS NULL",
    )?;
    let found = (millis(entry.document.len() as u64), pack(&entry.document));
    query.query_row(found, |row| row.get(0)).optional()
}

fn refuse_odd(entry: &Entry) -> Result<(), ArchiveError> {
    if let Some(odd) = entry.figures.iter().find(|figure| !figure.value.is_finite()) {
        return Err(ArchiveError::NotANumber(odd.name.clone()));
    }
    let named = |what, name: &Option<String>| (what, name.as_ref().map_or(0, String::len));
    let longest = |names: &[String]| names.iter().map(String::len).max().unwrap_or(0);
    let lengths = [
        ("target", entry.target.len()),
        named("drive", &entry.drive),
        named("host", &entry.host),
        named("suite", &entry.suite),
        named("label", &entry.label),
        named("commit", &entry.commit),
        ("tag", longest(&entry.tags)),
        ("device", longest(&entry.devices)),
        ("figure", entry.figures.iter().map(|it| it.name.len()).max().unwrap_or(0)),
    ];
    match lengths.into_iter().find(|(_, bytes)| *bytes > NAME_BYTES_MAX) {
        Some((what, bytes)) => Err(ArchiveError::TooLong { what, bytes, limit: NAME_BYTES_MAX }),
        None => Ok(()),
    }
}
