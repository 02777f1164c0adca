//! The archive: one file, in which runs are kept, found, named and deleted.

mod insert;
mod merge;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use drivelab_core::config::Choice as _;
use drivelab_core::record::{Kept, KeptFigure, Origin, RUN_SCHEMA, RunRecord};
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use crate::entry::{Entry, Part, RunId, Whole};
use crate::error::ArchiveError;
use crate::filter::{Filter, millis};
use crate::pack::unpack;
use crate::schema::{self, Trouble};
use insert::{insert, same};

/// Called again and again while another process writes, with the number of calls before: it waits
/// a little and returns whether to try again.
pub type Patience = fn(i32) -> bool;

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    database: Connection,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Runs that were read back whole.
    pub whole: u64,
    /// What is wrong, a sentence each.
    pub damage: Vec<String>,
}

/// What a merge or an import did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// Runs that were not there before.
    pub added: u64,
    /// Runs that were.
    pub present: u64,
}

impl Archive {
    /// Opens the archive at `path`, and makes it where there is none; whenever another process
    /// writes to it, `patience` decides how long to wait.
    ///
    /// # Errors
    /// No archive, one of a later version, one that is busy, or a file that cannot be written.
    pub fn open(path: &Path, patience: Patience) -> Result<Self, ArchiveError> {
        let refused = |source| Trouble::Sql(source).at(path);
        let mut database = Connection::open(path).map_err(refused)?;
        prepare(&mut database, patience).map_err(refused)?;
        schema::bring_up_to_date(&mut database).map_err(|trouble| trouble.at(path))?;
        // A reader cannot become a writer where another has written since: it would not wait.
        database.set_transaction_behavior(TransactionBehavior::Immediate);
        Ok(Self { path: path.to_owned(), database })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps runs, all or none: they are on the disk when this returns.
    ///
    /// # Errors
    /// A figure that is no number, or a disk that is full.
    pub fn keep(&mut self, entries: &[Entry]) -> Result<(), ArchiveError> {
        let all = self.database.transaction()?;
        for entry in entries {
            insert(&all, entry)?;
        }
        Ok(all.commit()?)
    }

    /// Keeps those of which the same document is not there yet, each with its parts, which follow
    /// it; all or none.
    ///
    /// # Errors
    /// As [`Self::keep`].
    pub fn keep_new(&mut self, entries: &[Entry]) -> Result<Merged, ArchiveError> {
        let all = self.database.transaction()?;
        let (mut merged, mut is_new) = (Merged::default(), true);
        for entry in entries {
            if entry.place.is_none() {
                is_new = same(&all, entry)?.is_none();
                merged.added += u64::from(is_new);
                merged.present += u64::from(!is_new);
            }
            if is_new {
                insert(&all, entry)?;
            }
        }
        all.commit()?;
        Ok(merged)
    }

    /// The runs that `filter` means, the oldest first.
    ///
    /// # Errors
    /// A file that is no archive any more.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Kept>, ArchiveError> {
        let condition = filter.condition();
        // The figure that is shown is the first parameter, where one is asked for.
        let shown = if filter.metric.is_some() { "shown.name = $1" } else { "shown.place = 0" };
        let latest = filter.latest.map_or(-1, millis);
        let text = format!(
            "SELECT runs.id, time_ms, origin, target, drive, host, suite, label, spark, \
             shown.name, shown.value, shown.unit, tested, \
             (SELECT count(*) FROM runs part WHERE part.study = runs.id) \
             FROM runs LEFT JOIN figures shown ON shown.run = runs.id AND {shown} \
             WHERE {} ORDER BY runs.id DESC LIMIT {latest}",
            condition.text
        );
        let mut query = self.database.prepare_cached(&text)?;
        let values = rusqlite::params_from_iter(condition.values);
        let rows = query.query_map(values, kept)?;
        let mut kept = rows.collect::<Result<Vec<_>, _>>()?;
        kept.reverse();
        self.add_tags(&mut kept)?;
        Ok(kept)
    }

    /// The tags of listed runs, in order.
    fn add_tags(&self, kept: &mut [Kept]) -> Result<(), ArchiveError> {
        let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return Ok(()) };
        let text = "SELECT run, tag FROM tags WHERE run BETWEEN $1 AND $2 ORDER BY run, tag";
        let mut query = self.database.prepare_cached(text)?;
        let mut tags: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in query.query_map([&first.id, &last.id], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (run, tag): (String, String) = row?;
            tags.entry(run).or_default().push(tag);
        }
        for run in kept {
            run.tags = tags.remove(&run.id).unwrap_or_default();
        }
        Ok(())
    }

    /// The one run whose id is or begins with `text`; a part only where no whole is meant.
    ///
    /// # Errors
    /// No such run, or several.
    pub fn find(&self, text: &str) -> Result<RunId, ArchiveError> {
        let begins = text.to_ascii_uppercase();
        // Beyond every letter and digit of an id.
        let end = format!("{begins}~");
        let found = |which: &str| {
            let range = "FROM runs WHERE id >= $1 AND id < $2 AND study";
            let text = format!("SELECT count(*), min(id) {range} IS {which}");
            let mut query = self.database.prepare_cached(&text)?;
            query.query_row([&begins, &end], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?))
            })
        };
        let (mut count, mut id) = found("NULL")?;
        if count == 0 {
            (count, id) = found("NOT NULL")?;
        }
        match (count, id.and_then(|id| id.parse().ok())) {
            (1, Some(id)) => Ok(id),
            (0, _) | (1, None) => Err(ArchiveError::NoSuchRun(text.to_owned())),
            (several, _) => Err(ArchiveError::Ambiguous(text.to_owned(), several.unsigned_abs())),
        }
    }

    /// A run with its parts.
    ///
    /// # Errors
    /// No such run, or a damaged record.
    pub fn whole(&self, id: RunId) -> Result<Whole, ArchiveError> {
        let text = "SELECT record, record_bytes, time_ms, label, origin FROM runs WHERE id = $1";
        let mut query = self.database.prepare_cached(text)?;
        let name = id.to_string();
        let row = |row: &Row<'_>| {
            let origin = parsed(row, 4, Origin::from_name)?;
            Ok((packed(row)?, row.get::<_, i64>(2)?.unsigned_abs(), row.get(3)?, origin))
        };
        let found = query.query_row([&name], row).optional()?;
        let (document, time_ms, label, origin) =
            found.ok_or_else(|| ArchiveError::NoSuchRun(name.clone()))?;
        let damaged = |run: &str, why| ArchiveError::Damaged { run: run.to_owned(), why };
        let document = document.text().map_err(|why| damaged(&name, why))?;
        let text = "SELECT record, record_bytes, place, id FROM runs WHERE study = $1 ORDER BY id";
        let mut query = self.database.prepare_cached(text)?;
        let mut rows = query.query([&name])?;
        let mut parts = Vec::new();
        while let Some(row) = rows.next()? {
            let document = packed(row)?.text();
            let document = document
                .map_err(|why| damaged(&row.get::<_, String>(3).unwrap_or_default(), why))?;
            let place = row.get::<_, Option<String>>(2)?.unwrap_or_default();
            parts.push(Part { place, document });
        }
        Ok(Whole { id, time_ms, origin, label, document, parts })
    }

    /// The runs that `filter` means, each with its parts, the oldest first.
    ///
    /// # Errors
    /// A damaged record.
    pub fn wholes(&self, filter: &Filter) -> Result<Vec<Whole>, ArchiveError> {
        let ids = self
            .list(filter)?
            .into_iter()
            .map(|run| run.id.parse().map_err(|_| ArchiveError::NoSuchRun(run.id)));
        ids.map(|id| self.whole(id?)).collect()
    }

    /// Names runs anew; `None` takes their name away.
    ///
    /// # Errors
    /// An id that is not there: then nothing is renamed.
    pub fn label(&mut self, ids: &[RunId], label: Option<&str>) -> Result<(), ArchiveError> {
        let all = self.database.transaction()?;
        for id in ids {
            let done = all.execute(
                "UPDATE runs SET label = $1 WHERE id = $2",
                params![label, id.to_string()],
            )?;
            if done == 0 {
                return Err(ArchiveError::NoSuchRun(id.to_string()));
            }
        }
        Ok(all.commit()?)
    }

    /// Deletes runs with their parts.
    ///
    /// # Errors
    /// An id that is not there: then nothing is deleted.
    pub fn delete(&mut self, ids: &[RunId]) -> Result<(), ArchiveError> {
        let all = self.database.transaction()?;
        for id in ids {
            let id = id.to_string();
            if all.execute("DELETE FROM runs WHERE id = $1", [&id])? == 0 {
                return Err(ArchiveError::NoSuchRun(id));
            }
            all.execute("DELETE FROM runs WHERE study = $1", [&id])?;
        }
        Ok(all.commit()?)
    }

    /// Reads everything back.
    ///
    /// # Errors
    /// A file that cannot be read at all; damage within it is an answer.
    pub fn check(&self) -> Result<Checked, ArchiveError> {
        let mut found = Checked::default();
        let mut query = self.database.prepare("PRAGMA integrity_check")?;
        for line in query.query_map((), |row| row.get::<_, String>(0))? {
            found.damage.extend(Some(line?).filter(|line| line != "ok"));
        }
        let mut query = self.database.prepare("SELECT record, record_bytes, id FROM runs")?;
        let mut rows = query.query(())?;
        while let Some(row) = rows.next()? {
            match packed(row)?.text().and_then(|text| readable(&text)) {
                Ok(()) => found.whole += 1,
                Err(why) => {
                    found.damage.push(format!("run {}: {why}", row.get::<_, String>(2)?));
                }
            }
        }
        let lost = "SELECT id, study FROM runs WHERE study NOT IN (SELECT id FROM runs)";
        let mut query = self.database.prepare(lost)?;
        let mut rows = query.query(())?;
        while let Some(row) = rows.next()? {
            let (part, whole): (String, String) = (row.get(0)?, row.get(1)?);
            found.damage.push(format!("run {part}: what it is a part of, {whole}, is missing"));
        }
        Ok(found)
    }
}

/// What holds for every connection: a commit is on the disk, readers do not wait for a writer, and
/// what belongs to a run goes with it.
fn prepare(database: &mut Connection, patience: Patience) -> rusqlite::Result<()> {
    use_log(database, patience)?;
    database.busy_handler(Some(patience))?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)
}

/// Gives a new file its write-ahead log. `SQLite` reads the file before it changes it, and a reader
/// that becomes a writer does not wait for another: two processes that make one archive do. So all
/// waiting is done here.
fn use_log(database: &mut Connection, patience: Patience) -> rusqlite::Result<()> {
    database.busy_handler(None::<Patience>)?;
    let mut tries = 0;
    loop {
        let done = database.pragma_update(None, "journal_mode", "WAL");
        let is_busy = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        };
        if !done.as_ref().is_err_and(is_busy) || !patience(tries) {
            return done;
        }
        tries += 1;
    }
}

/// A document as it lies in the file.
struct Packed {
    bytes: Vec<u8>,
    length: u64,
}

impl Packed {
    fn text(&self) -> Result<String, String> {
        unpack(&self.bytes, self.length)
    }
}

fn packed(row: &Row<'_>) -> rusqlite::Result<Packed> {
    Ok(Packed { bytes: row.get(0)?, length: row.get::<_, i64>(1)?.unsigned_abs() })
}

/// Whether a document says what it is, and a record of a run is one.
fn readable(document: &str) -> Result<(), String> {
    let value: serde_json::Value = serde_json::from_str(document).map_err(|it| it.to_string())?;
    match value.get("schema").and_then(serde_json::Value::as_str) {
        None => Err("it has no `schema`".to_owned()),
        Some(RUN_SCHEMA) => match serde_json::from_value::<RunRecord>(value) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        },
        Some(_) => Ok(()),
    }
}

/// A row of a list.
fn kept(row: &Row<'_>) -> rusqlite::Result<Kept> {
    let origin = parsed(row, 2, Origin::from_name)?;
    let figure = match row.get::<_, Option<String>>(9)? {
        Some(name) => Some(KeptFigure { name, value: row.get(10)?, unit: row.get(11)? }),
        None => None,
    };
    Ok(Kept {
        id: row.get(0)?,
        time_ms: row.get::<_, i64>(1)?.unsigned_abs(),
        origin,
        target: row.get(3)?,
        drive: row.get(4)?,
        host: row.get(5)?,
        suite: row.get(6)?,
        label: row.get(7)?,
        spark: row.get(8)?,
        figure,
        commit: row.get(12)?,
        parts: row.get::<_, i64>(13)?.unsigned_abs(),
        tags: Vec::new(),
    })
}

/// A column of text that means something.
fn parsed<T>(
    row: &Row<'_>,
    column: usize,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> rusqlite::Result<T> {
    read(&row.get::<_, String>(column)?).map_err(|why| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, why.into())
    })
}

#[cfg(test)]
mod tests;
