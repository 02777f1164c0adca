//! The archive: a file or a database of a server, in which runs are kept, found, named and deleted.

mod insert;
mod merge;
mod watch;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use drivelab_core::config::Choice as _;
use drivelab_core::record::{Kept, KeptFigure, Origin, RUN_SCHEMA, RunRecord};

use crate::entry::{Entry, Part, RunId, Whole};
use crate::error::ArchiveError;
use crate::filter::{Filter, is_figure, millis};
use crate::pack::{unpack, unpack_head};
use crate::schema;
use crate::store::{self, Patience, Row, Store, Value};
use insert::{Rows, same};
use watch::Watch;

/// Parameters of one statement: databases have a limit.
const HEADS_AT_ONCE: usize = 500;

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    place: PathBuf,
    store: RefCell<Box<dyn Store>>,
    patience: Patience,
    watch: Watch,
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
    /// Opens the archive at `place`: a file, which is made where there is none, or
    /// `postgres://USER@HOST/DATABASE`. Whenever another process writes to it, or the server does
    /// not answer, `patience` decides how long to wait.
    ///
    /// # Errors
    /// No archive, one of a later version, one that is busy, or one that cannot be written.
    pub fn open(place: &Path, patience: Patience) -> Result<Self, ArchiveError> {
        let named = store::shown(place);
        let opened = store::open(place, patience).and_then(|mut store| {
            schema::bring_up_to_date(&mut *store)?;
            Ok(store)
        });
        let store = RefCell::new(opened.map_err(|error| error.at(&named))?);
        Ok(Self { place: named, store, patience, watch: Watch::default() })
    }

    /// Calls `seen` while much is read or written, with the runs that are done and all of them.
    pub fn watch(&mut self, seen: impl Fn(u64, u64) + 'static) {
        self.watch = Watch::new(seen);
    }

    /// Where it is; without the password of a server.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// Does `work`, again where the connection was lost.
    fn read<T>(
        &self,
        mut work: impl FnMut(&mut dyn Store) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        self.store.borrow_mut().persistently(|store, _| work(store))
    }

    /// Keeps runs, all or none: they are on the disk when this returns.
    ///
    /// # Errors
    /// A figure that is no number, or a disk that is full.
    pub fn keep(&mut self, entries: &[Entry]) -> Result<(), ArchiveError> {
        let rows = Rows::of(entries, &self.watch)?;
        self.store.get_mut().transaction(&[], |store, again| {
            // One is there only if all are.
            if again && rows.first_is_there(store)? {
                return Ok(());
            }
            rows.add(store, |_| true)
        })
    }

    /// Keeps those of which the same document is not there yet, each with its parts, which follow
    /// it; all or none.
    ///
    /// # Errors
    /// As [`Self::keep`].
    pub fn keep_new(&mut self, entries: &[Entry]) -> Result<Merged, ArchiveError> {
        let rows = Rows::of(entries, &self.watch)?;
        // Documents of one length may be the same.
        let keys: Vec<i64> = entries.iter().map(|it| millis(it.document.len() as u64)).collect();
        self.store.get_mut().transaction(&keys, |store, again| {
            let (mut merged, mut is_new) = (Merged::default(), true);
            let (mut new, mut arriving) = (BTreeSet::new(), BTreeSet::new());
            for (number, entry) in entries.iter().enumerate() {
                if entry.place.is_none() {
                    let there = same(store, entry, rows.document(number))?;
                    let is_ours = again && there.as_ref() == Some(&entry.id.to_string());
                    is_new = there.is_none() && arriving.insert(rows.document(number));
                    merged.added += u64::from(is_new || is_ours);
                    merged.present += u64::from(!is_new && !is_ours);
                }
                if is_new {
                    new.insert(number);
                }
            }
            rows.add(store, |number| new.contains(&number))?;
            Ok(merged)
        })
    }

    /// The runs that `filter` means, the oldest first.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Kept>, ArchiveError> {
        let condition = filter.condition();
        // The figure that is shown is the first parameter, where one is asked for.
        let shown = match filter.metric {
            Some(_) => is_figure("shown", 1),
            None => "shown.place = 0".to_owned(),
        };
        let latest = filter.latest.map_or(i64::MAX, millis);
        let text = format!(
            "SELECT runs.id, time_ms, origin, target, drive, host, suite, label, spark, \
             shown.name, shown.value, shown.unit, tested, \
             (SELECT count(*) FROM runs part WHERE part.study = runs.id) \
             FROM runs LEFT JOIN figures shown ON shown.run = runs.id AND {shown} \
             WHERE {} ORDER BY runs.id DESC LIMIT {latest}",
            condition.text
        );
        self.read(|store| {
            let rows = store.rows(&text, &condition.values)?;
            let mut kept = rows.iter().rev().map(kept).collect::<Result<Vec<_>, _>>()?;
            add_tags(store, &mut kept)?;
            Ok(kept)
        })
    }

    /// The names of all figures, those that most runs have first.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn figure_names(&self) -> Result<Vec<String>, ArchiveError> {
        let text = "SELECT name FROM figures GROUP BY name ORDER BY count(*) DESC, name";
        self.read(|store| store.rows(text, &[])?.iter().map(|row| row.get(0)).collect())
    }

    /// The one run whose id is or begins with `text`; a part only where no whole is meant.
    ///
    /// # Errors
    /// No such run, or several.
    pub fn find(&self, text: &str) -> Result<RunId, ArchiveError> {
        let begins = text.to_ascii_uppercase();
        // Beyond every letter and digit of an id.
        let range = [begins.clone().into(), format!("{begins}~").into()];
        let found = |which: &str| {
            let text = format!(
                "SELECT count(*), min(id) FROM runs WHERE id >= $1 AND id < $2 AND study IS {which}"
            );
            let rows = self.read(|store| store.rows(&text, &range))?;
            let row = rows.first().expect("a sum is one row");
            Ok::<_, ArchiveError>((row.get::<i64>(0)?, row.get::<Option<String>>(1)?))
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
        let name: Value = id.to_string().into();
        let one = "SELECT record, record_bytes, id, time_ms, label, origin FROM runs WHERE id = $1";
        let all = "SELECT record, record_bytes, id, place FROM runs WHERE study = $1 ORDER BY id";
        let (found, parts) = self.read(|store| {
            let name = std::slice::from_ref(&name);
            Ok((store.rows(one, name)?, store.rows(all, name)?))
        })?;
        let row = found.first().ok_or_else(|| ArchiveError::NoSuchRun(id.to_string()))?;
        let part = |row: &Row| {
            let place = row.get::<Option<String>>(3)?.unwrap_or_default();
            Ok(Part { place, document: document(row)? })
        };
        Ok(Whole {
            id,
            time_ms: row.get::<i64>(3)?.unsigned_abs(),
            origin: origin(row, 5)?,
            label: row.get(4)?,
            document: document(row)?,
            parts: parts.iter().map(part).collect::<Result<_, ArchiveError>>()?,
        })
    }

    /// The documents of runs by their ids, `null` in the place of each distribution: much less to
    /// read where only what the runs did is asked for.
    ///
    /// # Errors
    /// A damaged record.
    pub fn heads(&self, ids: &[&str]) -> Result<BTreeMap<String, String>, ArchiveError> {
        let mut found = BTreeMap::new();
        for some in ids.chunks(HEADS_AT_ONCE) {
            let places: Vec<String> = (1..=some.len()).map(|place| format!("${place}")).collect();
            let places = places.join(", ");
            let text = format!("SELECT record, record_bytes, id FROM runs WHERE id IN ({places})");
            let ids: Vec<Value> = some.iter().map(|id| (*id).to_owned().into()).collect();
            for row in self.read(|store| store.rows(&text, &ids))? {
                let (bytes, length): (Vec<u8>, i64) = (row.get(0)?, row.get(1)?);
                let run: String = row.get(2)?;
                let head = unpack_head(&bytes, length.unsigned_abs());
                let head = head.map_err(|why| ArchiveError::Damaged { run: run.clone(), why })?;
                found.insert(run, head);
            }
        }
        Ok(found)
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
        let label: Value = label.map(str::to_owned).into();
        self.store.get_mut().transaction(&[], |store, _| {
            for id in ids {
                let values = [label.clone(), id.to_string().into()];
                if store.execute("UPDATE runs SET label = $1 WHERE id = $2", &values)? == 0 {
                    return Err(ArchiveError::NoSuchRun(id.to_string()));
                }
            }
            Ok(())
        })
    }

    /// Deletes runs with their parts.
    ///
    /// # Errors
    /// An id that is not there: then nothing is deleted.
    pub fn delete(&mut self, ids: &[RunId]) -> Result<(), ArchiveError> {
        self.store.get_mut().transaction(&[], |store, again| {
            for id in ids {
                let name = [id.to_string().into()];
                let deleted = store.execute("DELETE FROM runs WHERE id = $1", &name)?;
                // What is missing now was there the first time.
                if deleted == 0 && !again {
                    return Err(ArchiveError::NoSuchRun(id.to_string()));
                }
                store.execute("DELETE FROM runs WHERE study = $1", &name)?;
            }
            Ok(())
        })
    }

    /// Reads everything back.
    ///
    /// # Errors
    /// An archive that cannot be read at all; damage within it is an answer.
    pub fn check(&self) -> Result<Checked, ArchiveError> {
        self.read(|store| {
            let all = if self.watch.is_set() { runs(store)? } else { 0 };
            let (mut found, mut read) = (Checked { whole: 0, damage: store.damage()? }, 0);
            store.each("SELECT record, record_bytes, id FROM runs", &[], &mut |row| {
                match packed(&row)?.and_then(|text| readable(&text)) {
                    Ok(()) => found.whole += 1,
                    Err(why) => {
                        found.damage.push(format!("run {}: {why}", row.get::<String>(2)?));
                    }
                }
                read += 1;
                self.watch.at(read, all);
                Ok(())
            })?;
            let lost = "SELECT id, study FROM runs WHERE study NOT IN (SELECT id FROM runs)";
            for row in store.rows(lost, &[])? {
                let (part, whole): (String, String) = (row.get(0)?, row.get(1)?);
                found.damage.push(format!("run {part}: what it is a part of, {whole}, is missing"));
            }
            Ok(found)
        })
    }
}

/// All runs, and those that are parts of others.
fn runs(store: &mut dyn Store) -> Result<u64, ArchiveError> {
    let rows = store.rows("SELECT count(*) FROM runs", &[])?;
    Ok(rows.first().expect("a sum is one row").get::<i64>(0)?.unsigned_abs())
}

/// The tags of listed runs, in order.
fn add_tags(store: &mut dyn Store, kept: &mut [Kept]) -> Result<(), ArchiveError> {
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return Ok(()) };
    let text = "SELECT run, tag FROM tags WHERE run BETWEEN $1 AND $2 ORDER BY run, tag";
    let mut tags: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in store.rows(text, &[first.id.clone().into(), last.id.clone().into()])? {
        tags.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    for run in kept {
        run.tags = tags.remove(&run.id).unwrap_or_default();
    }
    Ok(())
}

/// The text of a row that begins with a document and its length, or why there is none.
fn packed(row: &Row) -> Result<Result<String, String>, ArchiveError> {
    let (bytes, length): (Vec<u8>, i64) = (row.get(0)?, row.get(1)?);
    Ok(unpack(&bytes, length.unsigned_abs()))
}

/// The document of a row that has its id behind it.
fn document(row: &Row) -> Result<String, ArchiveError> {
    let name: String = row.get(2)?;
    packed(row)?.map_err(|why| ArchiveError::Damaged { run: name, why })
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
fn kept(row: &Row) -> Result<Kept, ArchiveError> {
    let figure = match row.get(9)? {
        Some(name) => Some(KeptFigure { name, value: row.get(10)?, unit: row.get(11)? }),
        None => None,
    };
    Ok(Kept {
        id: row.get(0)?,
        time_ms: row.get::<i64>(1)?.unsigned_abs(),
        origin: origin(row, 2)?,
        target: row.get(3)?,
        drive: row.get(4)?,
        host: row.get(5)?,
        suite: row.get(6)?,
        label: row.get(7)?,
        spark: row.get(8)?,
        figure,
        commit: row.get(12)?,
        parts: row.get::<i64>(13)?.unsigned_abs(),
        tags: Vec::new(),
    })
}

fn origin(row: &Row, column: usize) -> Result<Origin, ArchiveError> {
    Origin::from_name(&row.get::<String>(column)?).map_err(|why| {
        let kind = rusqlite::types::Type::Text;
        ArchiveError::from(rusqlite::Error::FromSqlConversionFailure(column, kind, why.into()))
    })
}

#[cfg(test)]
mod tests;
