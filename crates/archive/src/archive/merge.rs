//! One archive into another: the other is only read.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Transaction};

use super::{Archive, Merged};
use crate::error::ArchiveError;
use crate::schema::{self, STEPS, TABLES, Trouble};

impl Archive {
    /// Takes over all runs of another archive that are not here, and of those that are the tags and
    /// the label that are missing. The other is left as it is.
    ///
    /// # Errors
    /// The other is no archive, or this one cannot be written: then nothing is taken over.
    pub fn merge(&mut self, other: &Path) -> Result<Merged, ArchiveError> {
        let copy = up_to_date_copy(other).map_err(|trouble| trouble.at(other))?;
        let all = self.database.transaction()?;
        let count = |database: &Connection| {
            let count = database.query_row("SELECT count(*) FROM runs", (), |row| row.get(0));
            count.map(i64::unsigned_abs)
        };
        let (before, there) = (count(&all)?, count(&copy)?);
        for table in TABLES {
            copy_rows(&copy, &all, table)?;
        }
        labels(&copy, &all)?;
        let added = count(&all)? - before;
        all.commit()?;
        Ok(Merged { added, present: there - added })
    }
}

/// All that the file holds in a database of today's schema, which goes with its connection.
fn up_to_date_copy(path: &Path) -> Result<Connection, Trouble> {
    let other = read_only(path)?;
    // One moment of the other, whoever writes to it meanwhile.
    other.execute_batch("BEGIN")?;
    let taken = schema::taken(&other)?;
    // An empty name is a file that SQLite removes itself.
    let mut copy = Connection::open("")?;
    copy.execute_batch("CREATE TABLE steps (name TEXT PRIMARY KEY)")?;
    for (name, text) in STEPS.iter().filter(|(name, _)| taken.iter().any(|one| one == name)) {
        copy.execute_batch(text)?;
        copy.execute("INSERT INTO steps (name) VALUES ($1)", [name])?;
    }
    let all = copy.transaction()?;
    for table in TABLES {
        copy_rows(&other, &all, table)?;
    }
    all.commit()?;
    schema::bring_up_to_date(&mut copy)?;
    Ok(copy)
}

/// Opens a file without making, changing or leaving anything.
///
/// A reader of a write-ahead log leaves files beside it, unless they are there already, or the file
/// is opened as one that nobody writes.
fn read_only(path: &Path) -> rusqlite::Result<Connection> {
    let mut beside = path.as_os_str().to_owned();
    beside.push("-wal");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if Path::new(&beside).exists() {
        return Connection::open_with_flags(path, flags);
    }
    let mut name = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        // Writing into a string cannot fail.
        let _ = write!(name, "%{byte:02X}");
    }
    name.push_str("?immutable=1");
    Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_URI)
}

/// Copies the rows of a table that are not there, column by name.
fn copy_rows(from: &Connection, to: &Transaction<'_>, table: &str) -> rusqlite::Result<()> {
    let mut columns = Vec::new();
    let mut query = from.prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))?;
    for name in query.query_map((), |row| row.get::<_, String>(0))? {
        columns.push(name?);
    }
    let names = columns.join(", ");
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
    let places = places.join(", ");
    let mut insert =
        to.prepare(&format!("INSERT OR IGNORE INTO {table} ({names}) VALUES ({places})"))?;
    let mut query = from.prepare(&format!("SELECT {names} FROM {table}"))?;
    let mut rows = query.query(())?;
    while let Some(row) = rows.next()? {
        let values: rusqlite::Result<Vec<Value>> =
            (0..columns.len()).map(|column| row.get(column)).collect();
        insert.execute(rusqlite::params_from_iter(values?))?;
    }
    Ok(())
}

/// Gives runs without a label that of the other archive.
fn labels(from: &Connection, to: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut update = to.prepare("UPDATE runs SET label = $1 WHERE id = $2 AND label IS NULL")?;
    let mut query = from.prepare("SELECT label, id FROM runs WHERE label IS NOT NULL")?;
    let mut rows = query.query(())?;
    while let Some(row) = rows.next()? {
        update.execute((row.get::<_, String>(0)?, row.get::<_, String>(1)?))?;
    }
    Ok(())
}
