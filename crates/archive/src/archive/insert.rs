//! From entries to rows.

use std::collections::BTreeSet;

use drivelab_core::config::Choice as _;

use super::watch::Watch;
use crate::entry::{Entry, Place};
use crate::error::ArchiveError;
use crate::filter::millis;
use crate::pack::{DOCUMENT_BYTES_MAX, pack};
use crate::store::{Present, Row, Store, Value};

/// The longest name that is kept: sixteen times the longest path of Linux.
const NAME_BYTES_MAX: usize = 64 << 10;

const RUNS: [&str; 18] = [
    "record",
    "id",
    "time_ms",
    "origin",
    "target",
    "drive",
    "host",
    "devices",
    "suite",
    "label",
    "tested",
    "study",
    "block",
    "arm",
    "task",
    "place",
    "spark",
    "record_bytes",
];
const FIGURES: [&str; 6] = ["run", "place", "name", "unit", "better", "value"];
const TAGS: [&str; 2] = ["run", "tag"];

/// Entries as rows: those of each table, with the number of the entry.
pub(super) struct Rows {
    runs: Vec<Row>,
    figures: Vec<(usize, Row)>,
    tags: Vec<(usize, Row)>,
}

impl Rows {
    /// The rows of entries.
    pub(super) fn of(entries: &[Entry], watch: &Watch) -> Result<Self, ArchiveError> {
        entries.iter().try_for_each(refuse_odd)?;
        // Packing the documents is what takes the time.
        let run = |(number, entry): (u64, &Entry)| {
            watch.at(number, entries.len() as u64);
            run(entry)
        };
        let runs = (0..).zip(entries).map(run).collect();
        let mut rows = Self { runs, figures: Vec::new(), tags: Vec::new() };
        for (number, entry) in entries.iter().enumerate() {
            let of_entry = |row| (number, row);
            rows.figures.extend(figures(entry).map(of_entry));
            rows.tags.extend(tags(entry).map(of_entry));
        }
        Ok(rows)
    }

    /// The packed document of an entry.
    pub(super) fn document(&self, number: usize) -> &[u8] {
        match &self.runs[number].0[0] {
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
        let runs = self.runs.iter().enumerate().filter(|(number, _)| wanted(*number));
        let runs: Vec<&Row> = runs.map(|(_, row)| row).collect();
        store.add("runs", &RUNS, &runs, Present::Refuse)?;
        for (table, columns, rows) in
            [("figures", &FIGURES[..], &self.figures), ("tags", &TAGS, &self.tags)]
        {
            let rows = rows.iter().filter(|(number, _)| wanted(*number)).map(|(_, row)| row);
            store.add(table, columns, &rows.collect::<Vec<_>>(), Present::Refuse)?;
        }
        Ok(())
    }

    /// Whether the first entry is there.
    pub(super) fn first_is_there(&self, store: &mut dyn Store) -> Result<bool, ArchiveError> {
        let Some(first) = self.runs.first() else { return Ok(false) };
        Ok(!store.rows("SELECT id FROM runs WHERE id = $1", &first.0[1..2])?.is_empty())
    }
}

/// The row of an entry, in the order of [`RUNS`].
fn run(entry: &Entry) -> Row {
    let place = entry.place.as_ref();
    let of_place = |text: fn(&Place) -> String| Value::from(place.map(text));
    Row(vec![
        pack(&entry.document).into(),
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
        of_place(|place| place.whole.to_string()),
        place.map(|place| i64::from(place.block)).into(),
        of_place(|place| place.arm.clone()),
        of_place(|place| place.task.clone()),
        of_place(|place| place.json.clone()),
        entry.spark.clone().into(),
        millis(entry.document.len() as u64).into(),
    ])
}

fn figures(entry: &Entry) -> impl Iterator<Item = Row> {
    (0_i64..).zip(&entry.figures).map(|(place, figure)| {
        let better = serde_json::to_value(figure.better).expect("plain data is always JSON");
        Row(vec![
            entry.id.to_string().into(),
            place.into(),
            figure.name.clone().into(),
            figure.unit.clone().into(),
            better.as_str().unwrap_or_default().to_owned().into(),
            figure.value.into(),
        ])
    })
}

fn tags(entry: &Entry) -> impl Iterator<Item = Row> {
    let tags: BTreeSet<&String> = entry.tags.iter().collect();
    tags.into_iter().map(|tag| Row(vec![entry.id.to_string().into(), tag.clone().into()]))
}

/// The name of the run that was kept of the same document, where there is one.
pub(super) fn same(
    store: &mut dyn Store,
    entry: &Entry,
    packed: &[u8],
) -> Result<Option<String>, ArchiveError> {
    let text = "SELECT id FROM runs WHERE record_bytes = $1 AND record = $2 AND study IS NULL";
    let values = [millis(entry.document.len() as u64).into(), packed.to_vec().into()];
    store.rows(text, &values)?.first().map(|row| row.get(0)).transpose()
}

fn refuse_odd(entry: &Entry) -> Result<(), ArchiveError> {
    if let Some(odd) = entry.figures.iter().find(|figure| !figure.value.is_finite()) {
        return Err(ArchiveError::NotANumber(odd.name.clone()));
    }
    let named = |what, name: &Option<String>| (what, name.as_ref().map_or(0, String::len));
    let longest = |names: &[String]| names.iter().map(String::len).max().unwrap_or(0);
    let bytes = entry.document.len();
    if bytes as u64 > DOCUMENT_BYTES_MAX {
        let limit = usize::try_from(DOCUMENT_BYTES_MAX).unwrap_or(usize::MAX);
        return Err(ArchiveError::TooLong { what: "record", bytes, limit });
    }
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
