//! The archive: one file, in which runs are kept, found, named and deleted.

use std::path::{Path, PathBuf};

use drivelab_core::config::Choice as _;
use drivelab_core::record::{Kept, KeptFigure, Origin, RunRecord};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, named_params, params};

use crate::entry::{Entry, RunId};
use crate::error::ArchiveError;
use crate::filter::{Filter, millis};
use crate::pack::{pack, unpack};
use crate::schema;

/// How long a writer waits for another: beyond any commit, below anybody's patience.
const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

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

/// What a merge did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// Runs that were not there before.
    pub added: u64,
    /// Runs that were.
    pub present: u64,
}

impl Archive {
    /// Opens the archive at `path`, and makes it where there is none.
    ///
    /// # Errors
    /// No archive, one of a later version, or a file that cannot be written.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let refused = |source| ArchiveError::Open { path: path.to_owned(), source };
        let mut database = Connection::open(path).map_err(refused)?;
        prepare(&database).map_err(refused)?;
        schema::bring_up_to_date(&mut database).map_err(|trouble| trouble.at(path))?;
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
             shown.name, shown.value, shown.unit \
             FROM runs LEFT JOIN figures shown ON shown.run = runs.id AND {shown} \
             WHERE {} ORDER BY runs.id DESC LIMIT {latest}",
            condition.text
        );
        let mut query = self.database.prepare_cached(&text)?;
        let values = rusqlite::params_from_iter(condition.values);
        let rows = query.query_map(values, kept)?;
        let mut kept = rows.collect::<Result<Vec<_>, _>>()?;
        kept.reverse();
        Ok(kept)
    }

    /// The one run whose id is or begins with `text`.
    ///
    /// # Errors
    /// No such run, or several.
    pub fn find(&self, text: &str) -> Result<RunId, ArchiveError> {
        let asked = text.to_ascii_uppercase();
        let from = "FROM runs WHERE substr(id, 1, length($1)) = $1";
        let count = format!("SELECT count(*), min(id) {from}");
        let (count, id) = self.database.query_row(&count, [&asked], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?))
        })?;
        match (count, id.and_then(|id| id.parse().ok())) {
            (1, Some(id)) => Ok(id),
            (0, _) | (1, None) => Err(ArchiveError::NoSuchRun(text.to_owned())),
            (several, _) => Err(ArchiveError::Ambiguous(text.to_owned(), several.unsigned_abs())),
        }
    }

    /// The record of a run.
    ///
    /// # Errors
    /// No such run, or a damaged record.
    pub fn record(&self, id: RunId) -> Result<RunRecord, ArchiveError> {
        let text = "SELECT record, record_bytes FROM runs WHERE id = $1";
        let found = self.database.query_row(text, [id.to_string()], packed).optional()?;
        let (bytes, length) = found.ok_or_else(|| ArchiveError::NoSuchRun(id.to_string()))?;
        read_back(&bytes, length).map_err(|why| ArchiveError::Damaged { run: id.to_string(), why })
    }

    /// The tags of a run, in order.
    ///
    /// # Errors
    /// A file that is no archive any more.
    pub fn tags(&self, id: RunId) -> Result<Vec<String>, ArchiveError> {
        let mut query =
            self.database.prepare("SELECT tag FROM tags WHERE run = $1 ORDER BY tag")?;
        let tags = query.query_map([id.to_string()], |row| row.get(0))?;
        Ok(tags.collect::<Result<_, _>>()?)
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

    /// Deletes runs.
    ///
    /// # Errors
    /// An id that is not there: then nothing is deleted.
    pub fn delete(&mut self, ids: &[RunId]) -> Result<(), ArchiveError> {
        let all = self.database.transaction()?;
        for id in ids {
            if all.execute("DELETE FROM runs WHERE id = $1", [id.to_string()])? == 0 {
                return Err(ArchiveError::NoSuchRun(id.to_string()));
            }
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
            let (bytes, length) = packed(row)?;
            match read_back(&bytes, length) {
                Ok(_) => found.whole += 1,
                Err(why) => {
                    found.damage.push(format!("run {}: {why}", row.get::<_, String>(2)?));
                }
            }
        }
        Ok(found)
    }

    /// Takes over all runs of another archive that are not here.
    ///
    /// # Errors
    /// The other is no archive, or this one cannot be written: then nothing is taken over.
    pub fn merge(&mut self, other: &Path) -> Result<Merged, ArchiveError> {
        // Brought up to date first, so that both have the same tables.
        drop(Self::open(other)?);
        let attach = "ATTACH DATABASE $1 AS other";
        self.database.execute(attach, [other.to_string_lossy()])?;
        let merged = self.take_over();
        self.database.execute("DETACH DATABASE other", ())?;
        merged
    }

    fn take_over(&mut self) -> Result<Merged, ArchiveError> {
        let all = self.database.transaction()?;
        let count =
            |text: &str| all.query_row(text, (), |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
        let there = count("SELECT count(*) FROM other.runs")?;
        let new = "SELECT id FROM other.runs WHERE id NOT IN (SELECT id FROM main.runs)";
        all.execute_batch(&format!("CREATE TEMP TABLE new AS {new}"))?;
        for (table, id) in [("runs", "id"), ("figures", "run"), ("tags", "run")] {
            all.execute_batch(&format!(
                "INSERT INTO main.{table} SELECT * FROM other.{table} \
                 WHERE {id} IN (SELECT id FROM new)"
            ))?;
        }
        let added = count("SELECT count(*) FROM new")?;
        all.execute_batch("DROP TABLE new")?;
        all.commit()?;
        Ok(Merged { added, present: there - added })
    }
}

/// What holds for every connection: a commit is on the disk, readers do not wait for a writer, and
/// what belongs to a run goes with it.
fn prepare(database: &Connection) -> rusqlite::Result<()> {
    database.busy_timeout(BUSY_TIMEOUT)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)
}

fn insert(all: &Transaction<'_>, entry: &Entry) -> Result<(), ArchiveError> {
    if let Some(odd) = entry.figures.iter().find(|figure| !figure.value.is_finite()) {
        return Err(ArchiveError::NotANumber(odd.name.clone()));
    }
    let (id, place) = (entry.id.to_string(), entry.place.as_ref());
    let record = serde_json::to_string(&entry.record).expect("plain data is always JSON");
    let mut runs = all.prepare_cached(
        "INSERT INTO runs (id, time_ms, origin, target, drive, host, suite, label, tested, study, \
         block, arm, task, spark, record_bytes, record) VALUES (:id, :time, :origin, :target, \
         :drive, :host, :suite, :label, :tested, :study, :block, :arm, :task, :spark, :bytes, \
         :record)",
    )?;
    runs.execute(named_params! {
        ":id": id,
        ":time": millis(entry.time_ms),
        ":origin": entry.origin.name(),
        ":target": entry.record.target,
        ":drive": entry.drive,
        ":host": entry.record.host.as_ref().map(|host| &host.id),
        ":suite": entry.suite,
        ":label": entry.record.label,
        ":tested": entry.tested,
        ":study": place.map(|place| place.study.to_string()),
        ":block": place.map(|place| place.block),
        ":arm": place.map(|place| &place.arm),
        ":task": place.map(|place| &place.task),
        ":spark": entry.spark,
        ":bytes": millis(record.len() as u64),
        ":record": pack(&record),
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

fn packed(row: &Row<'_>) -> rusqlite::Result<(Vec<u8>, u64)> {
    Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
}

fn read_back(bytes: &[u8], length: u64) -> Result<RunRecord, String> {
    let text = unpack(bytes, length)?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
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
