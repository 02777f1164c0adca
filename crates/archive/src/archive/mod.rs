//! The archive: a file or a database of a server, in which runs are kept, found, named and deleted.

mod audit;
mod insert;
mod listing;
mod merge;
mod packed;
mod row;
mod watch;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drivelab_core::record::Kept;

use crate::entry::{Entry, Part, RunId, Whole};
use crate::error::ArchiveError;
use crate::filter::{Filter, millis};
use crate::pack::unpack_head;
use crate::schema;
use crate::store::{self, Patience, Stop, Store, Value};
use insert::{Rows, same};
use packed::{Packed, side_by_side};
use row::{document, places};
use watch::Watch;

/// Runs that are read at a time: databases limit the parameters of a statement.
pub const AT_ONCE: usize = 500;

/// An open archive.
pub struct Archive {
    place: PathBuf,
    store: RefCell<Box<dyn Store>>,
    patience: Patience,
    watch: Watch,
    stop: Option<Stop>,
}

/// How much of records is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All of each.
    All,
    /// All but the distributions, which are most of it: what a comparison of many runs needs.
    /// Of what has parts, all.
    Figures,
}

/// Runs as a list shows them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listed {
    /// Those that could be read, the oldest first.
    pub runs: Vec<Kept>,
    /// The others, a sentence each.
    pub damage: Vec<String>,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Runs that were not there before.
    pub added: u64,
    /// Runs that were.
    pub present: u64,
    /// What was not taken over because it does not read back, a sentence each.
    pub damage: Vec<String>,
    /// The ids of those that were there, of an import.
    pub there: Vec<RunId>,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("place", &self.place).finish_non_exhaustive()
    }
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
        Ok(Self { place: named, store, patience, watch: Watch::default(), stop: None })
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

    /// Whether runs can be kept: the file may be one that this user only reads.
    ///
    /// # Errors
    /// It cannot be written, or is busy.
    pub fn check_writable(&mut self) -> Result<(), ArchiveError> {
        self.store.get_mut().transaction(&[], |_, _| Ok(())).map_err(|error| error.at(&self.place))
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
                    let own = entry.id.to_string();
                    let is_ours = again && there.as_ref() == Some(&own);
                    is_new = there.is_none() && arriving.insert(rows.document(number));
                    merged.added += u64::from(is_new || is_ours);
                    merged.present += u64::from(!is_new && !is_ours);
                    if !is_ours {
                        merged.there.extend(there.and_then(|there| there.parse::<RunId>().ok()));
                    }
                }
                if is_new {
                    new.insert(number);
                }
            }
            rows.add(store, |number| new.contains(&number))?;
            Ok(merged)
        })
    }

    /// Ends what is being read or merged when `stop` says so.
    ///
    /// # Errors
    /// The database takes no such request.
    pub fn stop_when(&mut self, stop: Stop) -> Result<(), ArchiveError> {
        self.stop = Some(Arc::clone(&stop));
        self.store.get_mut().stop_when(stop)
    }

    fn go_on(&self) -> Result<(), ArchiveError> {
        match &self.stop {
            Some(stop) if stop() => Err(ArchiveError::Stopped),
            _ => Ok(()),
        }
    }

    /// A run with its parts.
    ///
    /// # Errors
    /// No such run, or a damaged record.
    pub fn whole(&self, id: RunId) -> Result<Whole, ArchiveError> {
        let found = self.some(&[id.to_string()], Detail::All)?.pop();
        self.with_parts(found.ok_or_else(|| ArchiveError::NoSuchRun(id.to_string()))?)
    }

    /// The documents of runs by their ids, an empty list in the place of each distribution: much
    /// less to read where only what the runs did is asked for. Why there is none where one is
    /// damaged.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn heads(
        &self,
        ids: &[&str],
    ) -> Result<BTreeMap<String, Result<String, String>>, ArchiveError> {
        let mut found = BTreeMap::new();
        for some in ids.chunks(AT_ONCE) {
            let places = places(1, some.len());
            let text = format!("SELECT record, record_bytes, id FROM runs WHERE id IN ({places})");
            let ids: Vec<Value> = some.iter().map(|id| (*id).to_owned().into()).collect();
            self.read(|store| {
                store.each(&text, &ids, &mut |row| {
                    self.go_on()?;
                    let (bytes, length): (Vec<u8>, i64) = (row.get(0)?, row.get(1)?);
                    found.insert(row.get(2)?, unpack_head(&bytes, length.unsigned_abs()));
                    Ok(())
                })
            })?;
        }
        Ok(found)
    }

    /// Passes the runs that `filter` means to `then`, each with its parts, the oldest first; none
    /// stays in memory here. How many there were.
    ///
    /// # Errors
    /// A damaged record, or what `then` returns.
    pub fn each<E: From<ArchiveError>>(
        &self,
        filter: &Filter,
        detail: Detail,
        mut then: impl FnMut(Whole) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut count = 0;
        for ids in self.ids(filter)?.chunks(AT_ONCE) {
            for whole in self.some(ids, detail)? {
                then(self.with_parts(whole)?)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// The same, with what `make` makes of each, on a thread for each processor: most of the time
    /// goes to unpacking records and reading them.
    ///
    /// # Errors
    /// A damaged record, or what `make` or `then` returns.
    pub fn each_made<T: Send, E: From<ArchiveError> + Send>(
        &self,
        filter: &Filter,
        detail: Detail,
        make: impl Fn(Whole) -> Result<T, E> + Sync,
        mut then: impl FnMut(T) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut count = 0;
        for ids in self.ids(filter)?.chunks(AT_ONCE) {
            let packed = self.packed(ids, detail)?;
            let (mut alone, mut in_parts) = (Vec::new(), BTreeMap::new());
            for (place, it) in packed.into_iter().enumerate() {
                if it.has_parts {
                    in_parts.insert(place, self.with_parts((it.unpack()?, true))?);
                } else {
                    alone.push((place, it));
                }
            }
            let unpacked = |(place, it): (usize, Packed)| Ok::<_, E>((place, make(it.unpack()?)?));
            let wholes = side_by_side(alone, unpacked);
            let parts = in_parts.into_iter().map(|(place, whole)| Ok((place, make(whole)?)));
            let mut all: Vec<(usize, T)> =
                wholes.into_iter().chain(parts).collect::<Result<_, E>>()?;
            all.sort_by_key(|(place, _)| *place);
            for (_, one) in all {
                then(one)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Bytes of the records of runs and of their parts.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn bytes_of(&self, ids: &[String]) -> Result<u64, ArchiveError> {
        let mut bytes = 0_u64;
        for ids in ids.chunks(AT_ONCE) {
            let values: Vec<Value> = ids.iter().cloned().map(Value::from).collect();
            for column in ["id", "study"] {
                let places = places(1, ids.len());
                let text = format!(
                    "SELECT CAST(coalesce(sum(record_bytes), 0) AS BIGINT) \
                     FROM runs WHERE {column} IN ({places})"
                );
                let rows = self.read(|store| store.rows(&text, &values))?;
                let row = rows.first().expect("a sum is one row");
                bytes = bytes.saturating_add(row.get::<i64>(0)?.unsigned_abs());
            }
        }
        Ok(bytes)
    }

    /// The runs with these ids, in the order of ids; whether each has parts.
    fn some(&self, ids: &[String], detail: Detail) -> Result<Vec<(Whole, bool)>, ArchiveError> {
        let packed = self.packed(ids, detail)?.into_iter();
        let unpacked = |it: Packed| {
            let has_parts = it.has_parts;
            Ok((it.unpack()?, has_parts))
        };
        packed.map(unpacked).collect()
    }

    fn packed(&self, ids: &[String], detail: Detail) -> Result<Vec<Packed>, ArchiveError> {
        let places = places(1, ids.len());
        let values: Vec<Value> = ids.iter().cloned().map(Value::from).collect();
        let text = format!(
            "SELECT record, record_bytes, id, time_ms, label, origin, \
             EXISTS (SELECT 1 FROM runs part WHERE part.study = runs.id) \
             FROM runs WHERE id IN ({places}) ORDER BY id"
        );
        self.read(|store| {
            let mut found = Vec::new();
            store.each(&text, &values, &mut |row| {
                self.go_on()?;
                found.push(Packed::of(&row, detail == Detail::Figures)?);
                Ok(())
            })?;
            Ok(found)
        })
    }

    fn with_parts(&self, (whole, has_parts): (Whole, bool)) -> Result<Whole, ArchiveError> {
        if !has_parts {
            return Ok(whole);
        }
        let text = "SELECT record, record_bytes, id, place FROM runs WHERE study = $1 ORDER BY id";
        let name: Value = whole.id.to_string().into();
        let parts = self.read(|store| {
            let mut parts = Vec::new();
            store.each(text, std::slice::from_ref(&name), &mut |row| {
                self.go_on()?;
                let place = row.get::<Option<String>>(3)?.unwrap_or_default();
                parts.push(Part { place, document: document(&row)? });
                Ok(())
            })?;
            Ok(parts)
        })?;
        Ok(Whole { parts, ..whole })
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
    /// An id that is not there, or that of a part, without which its whole would say something
    /// else: then nothing is deleted.
    pub fn delete(&mut self, ids: &[RunId]) -> Result<(), ArchiveError> {
        self.store.get_mut().transaction(&[], |store, again| {
            for id in ids {
                let name = [id.to_string().into()];
                let of = "SELECT study FROM runs WHERE id = $1 AND study IS NOT NULL";
                if let Some(row) = store.rows(of, &name)?.first() {
                    let (run, whole) = (id.to_string(), row.get(0)?);
                    return Err(ArchiveError::IsPart { run, whole });
                }
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
}

/// All runs, and those that are parts of others.
fn runs(store: &mut dyn Store) -> Result<u64, ArchiveError> {
    let rows = store.rows("SELECT count(*) FROM runs", &[])?;
    Ok(rows.first().expect("a sum is one row").get::<i64>(0)?.unsigned_abs())
}

#[cfg(test)]
mod tests;
