//! Kept runs, read back: with their documents, or their digests alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use drivelab_core::Invalid;
use drivelab_core::record::Origin;

use super::insert::REVISION;
use super::row::{digest, document, id, origin, parameters};
use super::{AT_ONCE, Archive, Detail};
use crate::entry::{Digested, Part, RunId, Whole};
use crate::error::ArchiveError;
use crate::filter::Filter;
use crate::pack::{unpack, unpack_head};
use crate::store::{Row, Store, Value};

/// Shared texts that are remembered: neighbouring runs have the same.
const COMMONS_MAX: usize = 256;

/// The columns of a digest and of the run that it is of, in the order of [`digested`], without the
/// revision of the digest.
const DIGESTED: &str = "runs.id, time_ms, origin, study, common, ended_s, seed, content, flaws, \
                        digests.figures FROM runs LEFT JOIN digests ON digests.run = runs.id \
                        AND digests.version =";

impl Archive {
    /// A run with its parts.
    ///
    /// # Errors
    /// No such run, or a damaged record.
    pub fn whole(&self, id: RunId) -> Result<Whole, ArchiveError> {
        let found = self.some(&[id.to_string()], Detail::All)?.pop();
        self.with_parts(found.ok_or_else(|| ArchiveError::NoSuchRun(id.to_string()))?)
    }

    /// Passes the runs that `filter` means to `then`, each with its parts, the oldest first; none
    /// stays in memory here. Returns their number.
    ///
    /// # Errors
    /// A damaged record, or an error of `then`.
    pub fn each<E: From<ArchiveError>>(
        &self,
        filter: &Filter,
        detail: Detail,
        mut then: impl FnMut(Whole) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut count = 0;
        for ids in self.ids(filter)?.chunks(AT_ONCE) {
            // Some at a time: all documents together may not fit into memory.
            for whole in self.some(ids, detail)? {
                then(self.with_parts(whole)?)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Passes the digests of these runs to `then`, in the order of ids. No record is read. A digest
    /// that is damaged or of another revision is none: the record says the same.
    ///
    /// # Errors
    /// A damaged row of a run, or an error of `then`.
    pub fn each_digest<E: From<ArchiveError>>(
        &self,
        ids: &[String],
        mut then: impl FnMut(Digested) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut known = BTreeMap::new();
        for ids in ids.chunks(AT_ONCE) {
            let among = parameters(1, ids.len());
            let text = format!(
                "SELECT {DIGESTED} '{REVISION}' WHERE runs.id IN ({among}) ORDER BY runs.id"
            );
            // The answer is complete before `then` is called, which may ask the archive itself.
            for one in self.digests(&text, ids, &mut known)? {
                then(one)?;
            }
        }
        Ok(())
    }

    /// The digests of the parts of these wholes, by whole and in the order of ids, as
    /// [`Self::each_digest`] reads them.
    ///
    /// # Errors
    /// A damaged row of a run.
    pub fn digests_of_parts(
        &self,
        wholes: &[String],
    ) -> Result<BTreeMap<RunId, Vec<Digested>>, ArchiveError> {
        let (mut known, mut parts) = (BTreeMap::new(), BTreeMap::<RunId, Vec<Digested>>::new());
        for wholes in wholes.chunks(AT_ONCE) {
            let among = parameters(1, wholes.len());
            let text =
                format!("SELECT {DIGESTED} '{REVISION}' WHERE study IN ({among}) ORDER BY runs.id");
            for part in self.digests(&text, wholes, &mut known)? {
                let Some(whole) = part.whole else {
                    let why = "the id of what it is a part of is not one".to_owned();
                    return Err(ArchiveError::Damaged { run: part.id.to_string(), why });
                };
                parts.entry(whole).or_default().push(part);
            }
        }
        Ok(parts)
    }

    /// The answer to a query for digests; `known` are the shared texts that were read last.
    fn digests(
        &self,
        query: &str,
        ids: &[String],
        known: &mut BTreeMap<String, Arc<str>>,
    ) -> Result<Vec<Digested>, ArchiveError> {
        debug_assert!(ids.len() <= AT_ONCE, "a statement has limited parameters");
        let values: Vec<Value> = ids.iter().cloned().map(Value::from).collect();
        self.read(|store| {
            let (mut rows, mut missing) = (Vec::new(), Vec::new());
            store.each(query, &values, &mut |row| {
                self.go_on()?;
                missing.extend(common(&row).filter(|key| !known.contains_key(key)));
                rows.push(row);
                Ok(())
            })?;
            missing.sort_unstable();
            missing.dedup();
            if known.len() + missing.len() > COMMONS_MAX {
                // All at once: neighbouring runs share theirs, so it happens seldom.
                known.clear();
                // All that these rows need must be known below.
                missing = rows.iter().filter_map(common).collect();
                missing.sort_unstable();
                missing.dedup();
            }
            debug_assert!(missing.is_sorted(), "each text is read once");
            // A whole may have any number of parts.
            for keys in missing.chunks(AT_ONCE) {
                let among = parameters(1, keys.len());
                let text = format!("SELECT id, text FROM commons WHERE id IN ({among})");
                let keys: Vec<Value> = keys.iter().cloned().map(Value::from).collect();
                store.each(&text, &keys, &mut |row| {
                    // A damaged text leaves its digests out; their records say the same.
                    if let Ok(text) = row.get::<String>(1) {
                        known.insert(row.get(0)?, text.into());
                    }
                    Ok(())
                })?;
            }
            rows.iter().map(|row| digested(row, known)).collect()
        })
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
                let among = parameters(1, ids.len());
                let text = format!(
                    "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) \
                     FROM runs JOIN records ON records.run = runs.id WHERE {column} IN ({among})"
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
        self.read(|store| some(store, ids, detail, &|| self.go_on()))
    }

    fn with_parts(&self, (whole, has_parts): (Whole, bool)) -> Result<Whole, ArchiveError> {
        debug_assert!(whole.parts.is_empty(), "parts are read once");
        if !has_parts {
            return Ok(whole);
        }
        let parts = self.read(|store| parts(store, whole.id, &|| self.go_on()))?;
        Ok(Whole { parts, ..whole })
    }
}

/// Ends the reading of rows with an error where it is wanted no longer.
type GoOn<'a> = &'a dyn Fn() -> Result<(), ArchiveError>;

/// The runs with these ids, in the order of ids; whether each has parts.
fn some(
    store: &mut dyn Store,
    ids: &[String],
    detail: Detail,
    go_on: GoOn<'_>,
) -> Result<Vec<(Whole, bool)>, ArchiveError> {
    let among = parameters(1, ids.len());
    let values: Vec<Value> = ids.iter().cloned().map(Value::from).collect();
    let text = format!(
        "SELECT record, bytes, id, time_ms, label, origin, \
         EXISTS (SELECT 1 FROM runs part WHERE part.study = runs.id) \
         FROM runs LEFT JOIN records ON records.run = runs.id \
         WHERE id IN ({among}) ORDER BY id"
    );
    let mut found = Vec::new();
    store.each(&text, &values, &mut |row| {
        go_on()?;
        found.push(whole(&row, detail)?);
        Ok(())
    })?;
    Ok(found)
}

/// The parts of a whole, in their order.
fn parts(store: &mut dyn Store, whole: RunId, go_on: GoOn<'_>) -> Result<Vec<Part>, ArchiveError> {
    let text = "SELECT record, bytes, id, position \
                FROM runs LEFT JOIN records ON records.run = runs.id \
                WHERE study = $1 ORDER BY id";
    let mut parts = Vec::new();
    store.each(text, &[whole.to_string().into()], &mut |row| {
        go_on()?;
        let position = row.get::<Option<String>>(3)?.unwrap_or_default();
        parts.push(Part { position, document: document(&row, unpack)? });
        Ok(())
    })?;
    Ok(parts)
}

/// A whole with its parts, read where a transaction is under way.
pub(super) fn whole_with_parts(
    store: &mut dyn Store,
    id: &str,
    go_on: GoOn<'_>,
) -> Result<Whole, ArchiveError> {
    let found = some(store, &[id.to_owned()], Detail::All, go_on)?.pop();
    let (whole, _) = found.ok_or_else(|| ArchiveError::NoSuchRun(id.to_owned()))?;
    Ok(Whole { parts: parts(store, whole.id, go_on)?, ..whole })
}

/// The key of the shared text of a row of [`DIGESTED`].
fn common(row: &Row) -> Option<String> {
    row.get::<Option<String>>(4).ok().flatten()
}

/// A row of record, its length, id, time, label, origin, and whether it has parts.
fn whole(row: &Row, detail: Detail) -> Result<(Whole, bool), ArchiveError> {
    // SQLite says 1, PostgreSQL true.
    let has_parts = row.is_true(6);
    let read = if detail == Detail::Figures && !has_parts { unpack_head } else { unpack };
    let whole = Whole {
        id: id(row, 2)?,
        time_ms: row.get::<i64>(3)?.unsigned_abs(),
        origin: known_origin(row, 5, 2)?,
        label: row.get(4)?,
        document: document(row, read)?,
        parts: Vec::new(),
    };
    Ok((whole, has_parts))
}

/// A row of [`DIGESTED`].
fn digested(row: &Row, commons: &BTreeMap<String, Arc<str>>) -> Result<Digested, ArchiveError> {
    let shared = common(row).and_then(|key| commons.get(&key));
    Ok(Digested {
        id: id(row, 0)?,
        time_ms: row.get::<i64>(1)?.unsigned_abs(),
        origin: known_origin(row, 2, 0)?,
        whole: row.get::<Option<String>>(3)?.and_then(|whole| whole.parse().ok()),
        digest: shared.and_then(|common| digest(row, 5, Arc::clone(common)).ok()),
    })
}

fn known_origin(row: &Row, column: usize, id: usize) -> Result<Origin, ArchiveError> {
    let why = match origin(row, column) {
        Ok(origin) => return Ok(origin),
        Err(Invalid(why)) => why,
    };
    Err(ArchiveError::Damaged { run: row.get(id)?, why })
}
