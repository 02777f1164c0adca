//! One archive into another: the other is only read.

use std::path::Path;

use super::watch::Watch;
use super::{Archive, Merged, runs};
use crate::error::ArchiveError;
use crate::schema::{self, TABLES};
use crate::store::{self, Patience, Present, Row, Sqlite, Store};

/// Rows that are copied at a time.
const ROWS: usize = 1000;

impl Archive {
    /// Takes over all runs of another archive that are not here, and of those that are the tags and
    /// the label that are missing. The other is left as it is.
    ///
    /// # Errors
    /// The other is no archive, or this one cannot be written: then nothing is taken over.
    pub fn merge(&mut self, other: &Path) -> Result<Merged, ArchiveError> {
        let copy = up_to_date_copy(other, self.patience, &self.watch);
        let mut copy = copy.map_err(|error| error.at(&store::shown(other)))?;
        let there = runs(&mut *copy)?;
        let watch = &self.watch;
        let added = self.store.get_mut().transaction(&[], |store, _| {
            let [runs, others @ ..] = TABLES;
            // All runs are copied twice, and the second time here.
            let seen = |done: u64| watch.at(there + done, 2 * there);
            let added = copy_rows(&mut *copy, store, runs, &seen)?;
            for table in others {
                copy_rows(&mut *copy, store, table, &|_| ())?;
            }
            labels(&mut *copy, store)?;
            Ok(added)
        })?;
        Ok(Merged { added, present: there - added })
    }
}

/// All that the other holds in a database of today's schema, which goes with its connection.
fn up_to_date_copy(
    other: &Path,
    patience: Patience,
    watch: &Watch,
) -> Result<Box<dyn Store>, ArchiveError> {
    let path = store::shown(other);
    let mut other = store::open_to_read(other, patience)?;
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
    copy_rows(&mut *other, &mut *copy, first, &|done| watch.at(done, 2 * there))?;
    for table in others {
        copy_rows(&mut *other, &mut *copy, table, &|_| ())?;
    }
    copy.script("COMMIT")?;
    schema::bring_up_to_date(&mut *copy)?;
    Ok(copy)
}

/// Copies the rows of a table that are not there, column by name; returns how many. `seen` gets the
/// number of rows that have been read.
fn copy_rows(
    from: &mut dyn Store,
    to: &mut dyn Store,
    table: &str,
    seen: &dyn Fn(u64),
) -> Result<u64, ArchiveError> {
    let columns = from.columns(table)?;
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
        seen(read);
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
