//! From entries to rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drivelab_core::config::Choice as _;
use drivelab_core::hexadecimal;
use drivelab_core::record::Origin;
use sha2::{Digest as _, Sha256};

use super::row::digest_columns;
use super::watch::Watch;
use crate::entry::{Digest, Entry};
use crate::error::ArchiveError;
use crate::filter::millis;
use crate::pack::{DOCUMENT_BYTES_MAX, pack};
use crate::store::{Present, Row, Store, Value};

/// The longest name that is kept: sixteen times the longest path of Linux.
const NAME_BYTES_MAX: usize = 64 << 10;

const RUNS: [&str; 16] = [
    "id", "time_ms", "origin", "target", "drive", "host", "devices", "suite", "label", "tested",
    "study", "block", "arm", "task", "position", "spark",
];
const RECORDS: [&str; 3] = ["run", "bytes", "record"];
const DIGESTS: [&str; 8] =
    ["run", "version", "common", "ended_s", "seed", "content", "flaws", "figures"];
const FIGURES: [&str; 6] = ["run", "position", "name", "unit", "better", "value"];
const TAGS: [&str; 2] = ["run", "tag"];

/// The revision of the digests that this version makes and reads: another one with every change to
/// what `drivelab_analysis::digest` says of the same record. A digest of any other revision counts
/// as none, and the record is read instead.
pub(super) const REVISION: &str = "3";

/// Entries as rows: those of each table, with the number of the entry.
pub(super) struct Rows {
    runs: Vec<Row>,
    records: Vec<Row>,
    digests: Vec<(usize, Row)>,
    figures: Vec<(usize, Row)>,
    tags: Vec<(usize, Row)>,
    /// The shared text of each digest, with its key.
    commons: Vec<(usize, String, Arc<str>)>,
}

impl Rows {
    /// The rows of entries.
    pub(super) fn of(entries: &[Entry], watch: &Watch) -> Result<Self, ArchiveError> {
        entries.iter().try_for_each(refuse_odd)?;
        let mut rows = Self {
            runs: entries.iter().map(run).collect(),
            records: Vec::new(),
            digests: Vec::new(),
            figures: Vec::new(),
            tags: Vec::new(),
            commons: Vec::new(),
        };
        for (number, entry) in entries.iter().enumerate() {
            // Packing the documents is what takes the time.
            watch.at(number as u64, entries.len() as u64);
            rows.records.push(record(entry));
            rows.figures.extend(figures(entry).map(|row| (number, row)));
            rows.tags.extend(tags(entry).map(|row| (number, row)));
            if let Some(digest) = entry.digest.as_ref().filter(|_| has_digest(entry)) {
                let common = key(&digest.common);
                rows.digests.push((number, digest_row(&entry.id.to_string(), &common, digest)));
                rows.commons.push((number, common, Arc::clone(&digest.common)));
            }
        }
        debug_assert_eq!(rows.runs.len(), rows.records.len(), "each run has a record");
        Ok(rows)
    }

    /// The packed document of an entry.
    pub(super) fn document(&self, number: usize) -> &[u8] {
        match &self.records[number].0[2] {
            Value::Blob(bytes) => bytes,
            _ => &[],
        }
    }

    /// Adds those of the entries that are `wanted`.
    pub(super) fn add(
        &self,
        store: &mut dyn Store,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(), ArchiveError> {
        // First: digests refer to them.
        let commons = self.commons.iter().filter(|(number, ..)| wanted(*number));
        let commons = commons.map(|(_, key, common)| (key.clone(), Arc::clone(common)));
        add_commons(store, &commons.collect())?;
        for (table, columns, rows) in
            [("runs", &RUNS[..], &self.runs), ("records", &RECORDS, &self.records)]
        {
            let rows = rows.iter().enumerate().filter(|(number, _)| wanted(*number));
            let rows: Vec<&Row> = rows.map(|(_, row)| row).collect();
            store.add(table, columns, &rows, Present::Refuse)?;
        }
        for (table, columns, rows) in [
            ("digests", &DIGESTS[..], &self.digests),
            ("figures", &FIGURES, &self.figures),
            ("tags", &TAGS, &self.tags),
        ] {
            let rows = rows.iter().filter(|(number, _)| wanted(*number)).map(|(_, row)| row);
            store.add(table, columns, &rows.collect::<Vec<_>>(), Present::Refuse)?;
        }
        Ok(())
    }

    /// Returns true if the first entry is present.
    pub(super) fn first_is_there(&self, store: &mut dyn Store) -> Result<bool, ArchiveError> {
        let Some(first) = self.runs.first() else { return Ok(false) };
        Ok(!store.rows("SELECT id FROM runs WHERE id = $1", &first.0[..1])?.is_empty())
    }
}

/// Returns true for an entry that is read by its digest: the parts of a study or a job file are
/// only read with their whole, and then in full.
fn has_digest(entry: &Entry) -> bool {
    is_digested(entry.origin, entry.position.is_some())
}

/// Returns true if a run of this origin is read by its digest.
pub fn is_digested(origin: Origin, is_part: bool) -> bool {
    !is_part || origin == Origin::Fleet
}

/// The key of a shared text: 128 bits of its hash, in hexadecimal digits.
pub(super) fn key(common: &str) -> String {
    hexadecimal(&Sha256::digest(common)[..16])
}

/// Adds the shared texts that are missing. In the order of their keys: two transactions that add
/// the same ones in another order would wait for each other.
fn add_commons(
    store: &mut dyn Store,
    commons: &BTreeMap<String, Arc<str>>,
) -> Result<(), ArchiveError> {
    let text = "INSERT INTO commons (id, text) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    for (key, common) in commons {
        store.execute(text, &[key.clone().into(), common.to_string().into()])?;
    }
    Ok(())
}

/// Adds the digests of runs by their ids.
pub(super) fn add_digests(
    store: &mut dyn Store,
    digests: &[(String, Digest)],
) -> Result<(), ArchiveError> {
    let (mut commons, mut rows) = (BTreeMap::new(), Vec::new());
    for (run, digest) in digests {
        let common = key(&digest.common);
        rows.push(digest_row(run, &common, digest));
        commons.entry(common).or_insert_with(|| Arc::clone(&digest.common));
    }
    add_commons(store, &commons)?;
    store.add("digests", &DIGESTS, &rows.iter().collect::<Vec<_>>(), Present::Refuse)?;
    Ok(())
}

/// The row of an entry, in the order of [`RUNS`].
fn run(entry: &Entry) -> Row {
    let position = entry.position.as_ref();
    Row(vec![
        entry.id.to_string().into(),
        millis(entry.time_ms).into(),
        entry.origin.name().to_owned().into(),
        entry.target.clone().into(),
        entry.drive.clone().into(),
        entry.host.clone().into(),
        entry.devices.join(" ").into(),
        entry.suite.clone().into(),
        entry.label.clone().into(),
        entry.commit.clone().into(),
        position.map(|position| position.whole.to_string()).into(),
        position.map(|position| i64::from(position.block)).into(),
        position.map(|position| position.arm.clone()).into(),
        position.map(|position| position.task.clone()).into(),
        position.map(|position| position.json.clone()).into(),
        entry.spark.clone().into(),
    ])
}

/// The record of an entry, in the order of [`RECORDS`].
fn record(entry: &Entry) -> Row {
    let bytes = millis(entry.document.len() as u64);
    Row(vec![entry.id.to_string().into(), bytes.into(), pack(&entry.document).into()])
}

/// The digest of a run, in the order of [`DIGESTS`].
fn digest_row(run: &str, common: &str, digest: &Digest) -> Row {
    let mut row: Vec<Value> =
        vec![run.to_owned().into(), REVISION.to_owned().into(), common.to_owned().into()];
    row.extend(digest_columns(digest));
    debug_assert_eq!(row.len(), DIGESTS.len(), "a value for each column");
    Row(row)
}

fn figures(entry: &Entry) -> impl Iterator<Item = Row> {
    (0_i64..).zip(&entry.figures).map(|(position, figure)| {
        let better = serde_json::to_value(figure.better).expect("plain data is always JSON");
        Row(vec![
            entry.id.to_string().into(),
            position.into(),
            figure.name.clone().into(),
            figure.unit.clone().into(),
            better.as_str().unwrap_or_default().to_owned().into(),
            figure.value.into(),
        ])
    })
}

fn tags(entry: &Entry) -> impl Iterator<Item = Row> {
    // A word that is given twice is one tag.
    let tags: BTreeSet<&String> = entry.tags.iter().collect();
    tags.into_iter().map(|tag| Row(vec![entry.id.to_string().into(), tag.clone().into()]))
}

/// The name of the run that was kept of the same document, where there is one.
pub(super) fn same(
    store: &mut dyn Store,
    entry: &Entry,
    packed: &[u8],
) -> Result<Option<String>, ArchiveError> {
    let text = "SELECT id FROM records JOIN runs ON runs.id = records.run \
                WHERE bytes = $1 AND record = $2 AND study IS NULL";
    // The length first: an index finds it, and few documents agree in it.
    let values = [millis(entry.document.len() as u64).into(), packed.to_vec().into()];
    store.rows(text, &values)?.first().map(|row| row.get(0)).transpose()
}

fn refuse_odd(entry: &Entry) -> Result<(), ArchiveError> {
    if let Some(odd) = entry.figures.iter().find(|figure| !figure.value.is_finite()) {
        return Err(ArchiveError::NotANumber(odd.name.clone()));
    }
    // Results of others may have names of any length.
    let bytes = entry.document.len();
    if bytes as u64 > DOCUMENT_BYTES_MAX {
        let limit = usize::try_from(DOCUMENT_BYTES_MAX).unwrap_or(usize::MAX);
        return Err(ArchiveError::TooLong { what: "record", bytes, limit });
    }
    let lengths = [
        ("target", entry.target.len()),
        ("drive", longest(entry.drive.as_ref())),
        ("host", longest(entry.host.as_ref())),
        ("suite", longest(entry.suite.as_ref())),
        ("label", longest(entry.label.as_ref())),
        ("commit", longest(entry.commit.as_ref())),
        ("tag", longest(&entry.tags)),
        ("device", longest(&entry.devices)),
        ("figure", longest(entry.figures.iter().map(|figure| &figure.name))),
    ];
    match lengths.into_iter().find(|(_, bytes)| *bytes > NAME_BYTES_MAX) {
        Some((what, bytes)) => Err(ArchiveError::TooLong { what, bytes, limit: NAME_BYTES_MAX }),
        None => Ok(()),
    }
}

/// Bytes of the longest of some names.
fn longest<'a>(names: impl IntoIterator<Item = &'a String>) -> usize {
    names.into_iter().map(String::len).max().unwrap_or(0)
}
