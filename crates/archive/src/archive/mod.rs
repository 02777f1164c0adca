//! The archive: a file or a database of a server, in which runs are kept, found, named and deleted.

mod audit;
mod insert;
mod listing;
mod merge;
mod read;
mod renew;
mod row;
mod watch;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drivelab_core::record::Kept;

use crate::entry::{Entry, RunId};
use crate::error::ArchiveError;
use crate::filter::millis;
use crate::schema;
use crate::store::{self, Patience, Stop, Store, Value};
pub use insert::is_digested;
use insert::{Rows, same};
use watch::Watch;

/// Runs that are read at a time: databases limit the parameters of a statement.
pub const AT_ONCE: usize = 500;

/// An open archive.
pub struct Archive {
    location: PathBuf,
    store: RefCell<Box<dyn Store>>,
    patience: Patience,
    watch: Watch,
    stop: Option<Stop>,
    is_interrupted: fn() -> bool,
}

/// The share of records that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All of each.
    All,
    /// All but the distributions, which are most of it, and which a comparison does not need. Of a
    /// whole with parts, all.
    Figures,
}

/// Runs as a list shows them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listed {
    /// All that could be read, the oldest first.
    pub runs: Vec<Kept>,
    /// The others, a sentence each.
    pub damage: Vec<String>,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Runs that were read back whole.
    pub whole: u64,
    /// Damage, a sentence each.
    pub damage: Vec<String>,
}

/// The result of a merge or an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Runs that were not there before.
    pub added: u64,
    /// Runs that were.
    pub present: u64,
    /// Runs that were not taken over because they do not read back, a sentence each.
    pub damage: Vec<String>,
    /// The ids of the runs of an import that were present.
    pub there: Vec<RunId>,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("location", &self.location).finish_non_exhaustive()
    }
}

impl Archive {
    /// Opens the archive at `location`: a file, which is made where there is none, or
    /// `postgres://USER@HOST/DATABASE`. Whenever another process writes to it, or the server does
    /// not answer, `patience` decides how long to wait.
    ///
    /// # Errors
    /// No archive, one of another schema, one that is busy, or one that cannot be written.
    pub fn open(location: &Path, patience: Patience) -> Result<Self, ArchiveError> {
        let named = store::shown(location);
        let opened = store::open(location, patience).and_then(|mut store| {
            schema::bring_up_to_date(&mut *store)?;
            Ok(store)
        });
        let store = RefCell::new(opened.map_err(|error| error.at(&named))?);
        let (watch, is_interrupted) = (Watch::default(), || false);
        Ok(Self { location: named, store, patience, watch, stop: None, is_interrupted })
    }

    /// Says of a wait for another process that it was interrupted, if it ends while
    /// `is_interrupted`.
    pub fn interrupted_when(&mut self, is_interrupted: fn() -> bool) {
        self.is_interrupted = is_interrupted;
    }

    /// Calls `seen` while much is read or written, with the runs that are done and all of them.
    pub fn watch(&mut self, seen: impl Fn(u64, u64) + 'static) {
        self.watch = Watch::new(seen);
    }

    /// Its file, or its address without the password of a server.
    pub fn path(&self) -> &Path {
        &self.location
    }

    /// Does `work`, again where the connection was lost.
    fn read<T>(
        &self,
        mut work: impl FnMut(&mut dyn Store) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let done = self.store.borrow_mut().persistently(|store, _| work(store));
        done.map_err(|error| error.unless_interrupted((self.is_interrupted)()))
    }

    /// Does `work` in one transaction; it gets true where an earlier one may have been committed.
    fn write<T>(
        &mut self,
        keys: &[i64],
        work: impl FnMut(&mut dyn Store, bool) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let done = self.store.get_mut().transaction(keys, work);
        done.map_err(|error| error.unless_interrupted((self.is_interrupted)()))
    }

    /// Checks that runs can be kept: the file may be one that this user only reads.
    ///
    /// # Errors
    /// It cannot be written, or is busy.
    pub fn check_writable(&mut self) -> Result<(), ArchiveError> {
        let done = self.write(&[], |_, _| Ok(()));
        done.map_err(|error| error.at(&self.location))
    }

    /// Keeps runs, all or none: they are on the disk when this returns.
    ///
    /// # Errors
    /// A figure that is no number, or a disk that is full.
    pub fn keep(&mut self, entries: &[Entry]) -> Result<(), ArchiveError> {
        let rows = Rows::of(entries, &self.watch)?;
        self.write(&[], |store, again| {
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
        self.write(&keys, |store, again| {
            let (mut merged, mut is_new) = (Merged::default(), true);
            let (mut new, mut arriving) = (BTreeSet::new(), BTreeSet::new());
            for (number, entry) in entries.iter().enumerate() {
                if entry.position.is_none() {
                    let there = same(store, entry, rows.document(number))?;
                    let own = entry.id.to_string();
                    let is_ours = again && there.as_ref() == Some(&own);
                    // One import may hold the same document twice.
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

    /// Gives runs another label; `None` takes their label away.
    ///
    /// # Errors
    /// An id that is not there: then nothing is renamed.
    pub fn label(&mut self, ids: &[RunId], label: Option<&str>) -> Result<(), ArchiveError> {
        let label: Value = label.map(str::to_owned).into();
        self.write(&[], |store, _| {
            for id in ids {
                let values = [label.clone(), id.to_string().into()];
                if store.execute("UPDATE runs SET label = $1 WHERE id = $2", &values)? == 0 {
                    return Err(ArchiveError::NoSuchRun(id.to_string()));
                }
            }
            Ok(())
        })
    }

    /// Deletes runs with their parts, and the shared texts that no digest refers to any more.
    ///
    /// # Errors
    /// An id that is not there, or that of a part, without which its whole would say something
    /// else: then nothing is deleted.
    pub fn delete(&mut self, ids: &[RunId]) -> Result<(), ArchiveError> {
        self.write(&[], |store, again| {
            // Before a row is changed: two transactions that lock in another order would wait for
            // each other.
            store.lock_commons()?;
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
                // A part refers to its whole by name alone, which no foreign key follows.
                store.execute("DELETE FROM runs WHERE study = $1", &name)?;
            }
            store.script("DELETE FROM commons WHERE id NOT IN (SELECT common FROM digests)")
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
