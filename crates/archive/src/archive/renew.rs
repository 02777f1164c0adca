//! Digests of another revision are made again, once: to read each record at every reading takes
//! minutes of a large archive.

use super::insert::{REVISION, add_digests};
use super::row::{packed, parameters};
use super::{AT_ONCE, Archive};
use crate::entry::{Digest, ReadBack};
use crate::error::ArchiveError;
use crate::store::{Store, Value};

impl Archive {
    /// Makes the digests of other revisions again out of their records, and returns how many. Of a
    /// record that does not read back, the old one stays, which is not read.
    ///
    /// # Errors
    /// The archive cannot be written, or is busy: those made so far are kept.
    pub fn renew_digests(&mut self, read_back: ReadBack<'_>) -> Result<u64, ArchiveError> {
        let (mut renewed, mut last) = (0, String::new());
        // An index answers it: every reader asks.
        let is_any = "SELECT run FROM digests WHERE version < $1 \
                      UNION ALL SELECT run FROM digests WHERE version > $1 LIMIT 1";
        let revision = Value::from(REVISION.to_owned());
        if self.read(|store| store.rows(is_any, std::slice::from_ref(&revision)))?.is_empty() {
            return Ok(0);
        }
        loop {
            let old = self.read(|store| old_digests(store, &last))?;
            let Some(newest) = old.last() else { break };
            last.clone_from(newest);
            let made = self.read(|store| made_of_records(store, &old, read_back))?;
            self.go_on()?;
            renewed += self.write(&[], |store, _| replace(store, &made))?;
        }
        self.write(&[], |store, _| {
            store.lock_commons()?;
            store.script("DELETE FROM commons WHERE id NOT IN (SELECT common FROM digests)")
        })?;
        Ok(renewed)
    }
}

/// The next runs behind `last` whose digests are of another revision.
fn old_digests(store: &mut dyn Store, last: &str) -> Result<Vec<String>, ArchiveError> {
    let text = format!(
        "SELECT run FROM digests WHERE version <> $1 AND run > $2 ORDER BY run LIMIT {AT_ONCE}"
    );
    let rows = store.rows(&text, &[REVISION.to_owned().into(), last.to_owned().into()])?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// The digests that the records of these runs say.
fn made_of_records(
    store: &mut dyn Store,
    runs: &[String],
    read_back: ReadBack<'_>,
) -> Result<Vec<(String, Digest)>, ArchiveError> {
    let among = parameters(1, runs.len());
    let text = format!("SELECT record, bytes, run FROM records WHERE run IN ({among})");
    let values: Vec<Value> = runs.iter().cloned().map(Value::from).collect();
    let mut made = Vec::new();
    store.each(&text, &values, &mut |row| {
        let columns = packed(&row).ok().and_then(Result::ok);
        let columns = columns.and_then(|text| read_back(&text, true).ok().flatten());
        if let Some(digest) = columns.and_then(|columns| columns.digest) {
            made.push((row.get(2)?, digest));
        }
        Ok(())
    })?;
    debug_assert!(made.len() <= runs.len(), "a run has one record");
    Ok(made)
}

/// Replaces the digests of runs that still have one of another revision; returns how many.
fn replace(store: &mut dyn Store, made: &[(String, Digest)]) -> Result<u64, ArchiveError> {
    store.lock_commons()?;
    let mut replaced = Vec::new();
    for one in made {
        // Another process may have deleted the run, or have made its digest, meanwhile.
        let values = [one.0.clone().into(), REVISION.to_owned().into()];
        let text = "DELETE FROM digests WHERE run = $1 AND version <> $2";
        if store.execute(text, &values)? > 0 {
            replaced.push(one.clone());
        }
    }
    add_digests(store, &replaced)?;
    Ok(replaced.len() as u64)
}
