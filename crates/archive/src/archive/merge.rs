//! One archive into another: the other is only read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::audit::{Digests, Flaw, audit, odd_wholes};
use super::row::parameters;
use super::{AT_ONCE, Archive, Merged, runs};
use crate::entry::{ReadBack, ReadWhole};
use crate::error::ArchiveError;
use crate::schema::{self, TABLES};
use crate::store::{self, Present, Row, Sqlite, Stop, Store, Value};

/// Rows that are copied at a time.
const ROWS: usize = 1000;

/// The tables that are taken from another archive. Digests are made out of the records:
/// in the other archive they may say anything.
const TAKEN: [&str; 4] = ["runs", "records", "figures", "tags"];

impl Archive {
    /// Takes over all runs of another archive that are not here, and of those that are the tags and
    /// the label that are missing. The other is left as it is. What does not read back is left
    /// there, with all that belongs to the same whole.
    ///
    /// # Errors
    /// The other is no archive, or this one cannot be written: then nothing is taken over.
    pub fn merge(
        &mut self,
        other: &Path,
        read_back: ReadBack<'_>,
        read_whole: ReadWhole<'_>,
    ) -> Result<Merged, ArchiveError> {
        let copy = self.up_to_date_copy(other);
        let mut copy = copy.map_err(|error| error.at(&store::shown(other)))?;
        let all = runs(&mut *copy)?;
        let Self { store, watch, is_interrupted, .. } = self;
        let stop = self.stop.as_ref();
        // Each run is read three times: when it is copied, checked and taken over.
        copy.begin(&[])?;
        let (_, mut flaws) = audit(&mut *copy, read_back, Digests::Make, &|done: u64| {
            watch.at(all + done, 3 * all);
            go_on(stop)
        })?;
        flaws.extend(odd_wholes(&mut *copy, &flaws, read_whole, &|| go_on(stop))?);
        leave_out(&mut *copy, &flaws)?;
        copy.script("COMMIT")?;
        let there = runs(&mut *copy)?;
        let taken = store.get_mut().transaction(&[], |store, _| {
            let choice = Choice::of(&mut *copy, store)?;
            let mut added = 0;
            for table in TABLES {
                let copied = copy_rows(&mut *copy, store, table, &choice, &|done: u64| {
                    if table == "records" {
                        watch.at(2 * all + done, 3 * all);
                    }
                    go_on(stop)
                })?;
                if table == "runs" {
                    added = copied;
                }
            }
            labels(&mut *copy, store)?;
            Ok((added, choice.odd_parts))
        });
        let (added, odd) = taken.map_err(|error| error.unless_interrupted(is_interrupted()))?;
        let odd: Vec<Flaw> = odd.into_iter().map(odd_part).collect();
        let taken = there - odd.len() as u64;
        assert!(added <= taken, "{added} of {taken} runs are new");
        let damage = flaws.iter().chain(&odd).map(Flaw::sentence).collect();
        Ok(Merged { added, present: taken - added, damage, ..Merged::default() })
    }

    /// All that the other holds in a database of the present schema, which goes with its
    /// connection.
    fn up_to_date_copy(&self, other: &Path) -> Result<Box<dyn Store>, ArchiveError> {
        let path = store::shown(other);
        let mut other = store::open_to_read(other, self.patience)?;
        if let Some(stop) = &self.stop {
            other.stop_when(Arc::clone(stop))?;
        }
        // One state of the other, which another process may be writing to.
        other.begin_reading()?;
        // An empty file is a database without tables, too.
        if !other.has_table("steps")? {
            return Err(ArchiveError::NoArchive { path });
        }
        let steps = schema::taken(&mut *other)?;
        let mut copy: Box<dyn Store> = Box::new(Sqlite::temporary()?);
        copy.script("CREATE TABLE steps (name TEXT PRIMARY KEY)")?;
        schema::take(&mut *copy, |name| steps.iter().any(|one| one == name))?;
        copy.begin(&[])?;
        let all = runs(&mut *other)?;
        for table in TAKEN {
            copy_rows(&mut *other, &mut *copy, table, &Choice::default(), &|done| {
                if table == "records" {
                    self.watch.at(done, 3 * all);
                }
                self.go_on()
            })?;
        }
        copy.script("COMMIT")?;
        // Only now: a file that is read without locks may change until its last row was read.
        if !other.is_unchanged() {
            return Err(ArchiveError::Busy);
        }
        schema::bring_up_to_date(&mut *copy)?;
        Ok(copy)
    }
}

/// The rows of another archive that are not taken over.
#[derive(Default)]
struct Choice {
    /// Runs that are present: their records, figures and digests are those of this archive.
    present: BTreeSet<String>,
    /// Parts that a present whole does not have here, each with that whole.
    odd_parts: BTreeMap<String, String>,
    /// Shared texts of digests that are not taken over.
    commons: BTreeSet<String>,
}

impl Choice {
    /// Compares the runs of `copy` with those of `store`.
    fn of(copy: &mut dyn Store, store: &mut dyn Store) -> Result<Self, ArchiveError> {
        let (mut ids, mut wholes) = (Vec::new(), BTreeMap::new());
        copy.each("SELECT id, study FROM runs", &[], &mut |row| {
            let id: String = row.get(0)?;
            wholes.extend(row.get::<Option<String>>(1)?.map(|whole| (id.clone(), whole)));
            ids.push(id);
            Ok(())
        })?;
        let mut choice = Self::default();
        for ids in ids.chunks(AT_ONCE) {
            let text = format!("SELECT id FROM runs WHERE id IN ({})", parameters(1, ids.len()));
            let ids: Vec<Value> = ids.iter().cloned().map(Value::from).collect();
            store.each(&text, &ids, &mut |row| {
                choice.present.insert(row.get(0)?);
                Ok(())
            })?;
        }
        wholes.retain(|id, whole| choice.present.contains(whole) && !choice.present.contains(id));
        choice.odd_parts = wholes;
        debug_assert!(choice.odd_parts.keys().all(|part| !choice.present.contains(part)));
        let mut used = BTreeSet::new();
        copy.each("SELECT run, common FROM digests", &[], &mut |row| {
            let (run, common): (String, String) = (row.get(0)?, row.get(1)?);
            let is_taken = choice.takes("digests", &run);
            if is_taken {
                used.insert(common)
            } else {
                choice.commons.insert(common)
            };
            Ok(())
        })?;
        choice.commons.retain(|common| !used.contains(common));
        Ok(choice)
    }

    /// Returns true if a row of `table` is taken over; `key` is its run, or the key of a text.
    fn takes(&self, table: &str, key: &str) -> bool {
        match table {
            "commons" => !self.commons.contains(key),
            _ if self.odd_parts.contains_key(key) => false,
            "runs" | "tags" => true,
            _ => !self.present.contains(key),
        }
    }
}

/// The damage of a part that its whole does not have in this archive.
fn odd_part((run, whole): (String, String)) -> Flaw {
    let why = format!(
        "it is a part of {whole}, which is present without it; to take all of that over: drivelab \
         delete {whole}, and merge again"
    );
    Flaw { run, whole, why }
}

fn go_on(stop: Option<&Stop>) -> Result<(), ArchiveError> {
    match stop {
        Some(stop) if stop() => Err(ArchiveError::Stopped),
        _ => Ok(()),
    }
}

/// Removes the runs that have flaws, with all that belongs to the same whole: a study without some
/// of its runs says something else. Their rows in other tables go with them.
fn leave_out(copy: &mut dyn Store, flaws: &[Flaw]) -> Result<(), ArchiveError> {
    for flaw in flaws {
        for name in [&flaw.run, &flaw.whole] {
            let name = [name.clone().into()];
            copy.execute("DELETE FROM runs WHERE id = $1 OR study = $1", &name)?;
        }
    }
    copy.script("DELETE FROM runs WHERE id IS NULL")?;
    // The copy checks no foreign keys: its rows come in before it is known which of them are sound.
    for table in ["records", "digests", "figures", "tags"] {
        copy.script(&format!("DELETE FROM {table} WHERE run NOT IN (SELECT id FROM runs)"))?;
    }
    // The audit made the digests of these runs before the runs were left out.
    copy.script("DELETE FROM commons WHERE id NOT IN (SELECT common FROM digests)")
}

/// Copies the rows of a table that are chosen and not there, column by name; returns how many.
/// `seen` gets the number of rows that have been read.
fn copy_rows(
    from: &mut dyn Store,
    to: &mut dyn Store,
    table: &str,
    choice: &Choice,
    seen: &dyn Fn(u64) -> Result<(), ArchiveError>,
) -> Result<u64, ArchiveError> {
    let columns = from.columns(table)?;
    // The other is anyone's: a name of a column is text of a statement.
    if let Some(odd) = columns.iter().find(|name| !is_name(name)) {
        let (run, why) = (table.to_owned(), format!("`{odd}` is not a column of an archive"));
        return Err(ArchiveError::Damaged { run, why });
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let text = format!("SELECT {} FROM {table}", columns.join(", "));
    let key = columns.iter().position(|name| ["id", "run"].contains(name));
    let (mut added, mut some, mut read) = (0, Vec::new(), 0);
    from.each(&text, &[], &mut |row| {
        read += 1;
        seen(read)?;
        // The audit finds rows whose key is none.
        let key = key.and_then(|at| row.get::<Option<String>>(at).ok().flatten());
        if key.is_none_or(|key| choice.takes(table, &key)) {
            some.push(row);
        }
        if some.len() == ROWS {
            let rows: Vec<&Row> = some.iter().collect();
            added += to.add(table, &columns, &rows, Present::Keep)?;
            some.clear();
        }
        Ok(())
    })?;
    added += to.add(table, &columns, &some.iter().collect::<Vec<_>>(), Present::Keep)?;
    assert!(added <= read, "{added} of {read} rows of {table} are new");
    Ok(added)
}

/// Returns true for a name that a column of an archive may have.
fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Gives runs without a label that of the other archive.
fn labels(from: &mut dyn Store, to: &mut dyn Store) -> Result<(), ArchiveError> {
    // A label that was given here stays.
    let update = "UPDATE runs SET label = $1 WHERE id = $2 AND label IS NULL";
    let text = "SELECT label, id FROM runs WHERE label IS NOT NULL";
    from.each(text, &[], &mut |Row(values)| to.execute(update, &values).map(drop))
}
