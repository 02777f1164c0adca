//! One archive into another: the other is only read.

use std::path::Path;
use std::sync::Arc;

use super::audit::{Flaw, audit};
use super::{Archive, Merged, runs};
use crate::entry::ReadBack;
use crate::error::ArchiveError;
use crate::schema::{self, TABLES};
use crate::store::{self, Present, Row, Sqlite, Stop, Store};

/// Rows that are copied at a time.
const ROWS: usize = 1000;

impl Archive {
    /// Takes over all runs of another archive that are not here, and of those that are the tags and
    /// the label that are missing. The other is left as it is. What does not read back is left
    /// there, with all that belongs to the same whole.
    ///
    /// # Errors
    /// The other is no archive, or this one cannot be written: then nothing is taken over.
    pub fn merge(&mut self, other: &Path, read_back: ReadBack<'_>) -> Result<Merged, ArchiveError> {
        let copy = self.up_to_date_copy(other);
        let mut copy = copy.map_err(|error| error.at(&store::shown(other)))?;
        let all = runs(&mut *copy)?;
        let Self { store, watch, .. } = self;
        let stop = self.stop.as_ref();
        // Each run is read three times: when it is copied, checked and taken over.
        let seen = |done: u64| {
            watch.at(all + done, 3 * all);
            go_on(stop)
        };
        let (_, flaws) = audit(&mut *copy, read_back, &seen)?;
        leave_out(&mut *copy, &flaws)?;
        let there = runs(&mut *copy)?;
        let added = store.get_mut().transaction(&[], |store, _| {
            let [runs, others @ ..] = TABLES;
            let seen = |done: u64| {
                watch.at(2 * all + done, 3 * all);
                go_on(stop)
            };
            let added = copy_rows(&mut *copy, store, runs, &seen)?;
            for table in others {
                copy_rows(&mut *copy, store, table, &|_| go_on(stop))?;
            }
            labels(&mut *copy, store)?;
            Ok(added)
        })?;
        let damage = flaws.iter().map(Flaw::sentence).collect();
        Ok(Merged { added, present: there - added, damage, ..Merged::default() })
    }

    /// All that the other holds in a database of today's schema, which goes with its connection.
    fn up_to_date_copy(&self, other: &Path) -> Result<Box<dyn Store>, ArchiveError> {
        let path = store::shown(other);
        let mut other = store::open_to_read(other, self.patience)?;
        if let Some(stop) = &self.stop {
            other.stop_when(Arc::clone(stop))?;
        }
        // One moment of the other, whoever writes to it meanwhile.
        other.begin_reading()?;
        // An empty file is a database without tables, too.
        if !other.has_table("steps")? {
            return Err(ArchiveError::NoArchive { path });
        }
        let taken = schema::taken(&mut *other)?;
        let mut copy: Box<dyn Store> = Box::new(Sqlite::temporary()?);
        copy.script("CREATE TABLE steps (name TEXT PRIMARY KEY)")?;
        schema::take(&mut *copy, |name| taken.iter().any(|one| one == name))?;
        copy.begin(&[])?;
        let [first, others @ ..] = TABLES;
        let there = runs(&mut *other)?;
        let seen = |done| {
            self.watch.at(done, 3 * there);
            self.go_on()
        };
        copy_rows(&mut *other, &mut *copy, first, &seen)?;
        for table in others {
            copy_rows(&mut *other, &mut *copy, table, &|_| self.go_on())?;
        }
        copy.script("COMMIT")?;
        if !other.is_unchanged() {
            return Err(ArchiveError::Busy);
        }
        schema::bring_up_to_date(&mut *copy)?;
        Ok(copy)
    }
}

fn go_on(stop: Option<&Stop>) -> Result<(), ArchiveError> {
    match stop {
        Some(stop) if stop() => Err(ArchiveError::Stopped),
        _ => Ok(()),
    }
}

/// Removes the runs that have flaws, with all that belongs to the same whole: a study without some
/// of its runs says something else. Figures and tags go with their run.
fn leave_out(copy: &mut dyn Store, flaws: &[Flaw]) -> Result<(), ArchiveError> {
    copy.begin(&[])?;
    for flaw in flaws {
        for name in [&flaw.run, &flaw.whole] {
            let name = [name.clone().into()];
            copy.execute("DELETE FROM runs WHERE id = $1 OR study = $1", &name)?;
        }
    }
    copy.script(
        "DELETE FROM runs WHERE id IS NULL; \
         DELETE FROM figures WHERE run NOT IN (SELECT id FROM runs); \
         DELETE FROM tags WHERE run NOT IN (SELECT id FROM runs); \
         COMMIT",
    )
}

/// Copies the rows of a table that are not there, column by name; returns how many. `seen` gets the
/// number of rows that have been read.
fn copy_rows(
    from: &mut dyn Store,
    to: &mut dyn Store,
    table: &str,
    seen: &dyn Fn(u64) -> Result<(), ArchiveError>,
) -> Result<u64, ArchiveError> {
    let columns = from.columns(table)?;
    // The other is anyone's: a name of a column is text of a statement.
    let is_name =
        |name: &String| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if let Some(odd) = columns.iter().find(|name| !is_name(name)) {
        let (run, why) = (table.to_owned(), format!("`{odd}` is not a column of an archive"));
        return Err(ArchiveError::Damaged { run, why });
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let text = format!("SELECT {} FROM {table}", columns.join(", "));
    let (mut added, mut some) = (0, Vec::new());
    let mut send = |some: &mut Vec<Row>| {
        let rows: Vec<&Row> = some.iter().collect();
        added += to.add(table, &columns, &rows, Present::Keep)?;
        some.clear();
        Ok(())
    };
    let mut read = 0;
    from.each(&text, &[], &mut |row| {
        some.push(row);
        read += 1;
        seen(read)?;
        if some.len() == ROWS { send(&mut some) } else { Ok(()) }
    })?;
    send(&mut some)?;
    Ok(added)
}

/// Gives runs without a label that of the other archive.
fn labels(from: &mut dyn Store, to: &mut dyn Store) -> Result<(), ArchiveError> {
    let update = "UPDATE runs SET label = $1 WHERE id = $2 AND label IS NULL";
    let text = "SELECT label, id FROM runs WHERE label IS NOT NULL";
    from.each(text, &[], &mut |Row(values)| to.execute(update, &values).map(drop))
}
