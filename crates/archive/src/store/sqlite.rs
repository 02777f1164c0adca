//! One file: `SQLite`.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::database::{Patience, Present, Row, Store, Value};
use crate::error::ArchiveError;

/// A connection to a file.
#[derive(Debug)]
pub(crate) struct Sqlite(Connection);

impl Sqlite {
    /// Opens a file, and makes it where there is none.
    pub(crate) fn open(path: &Path, patience: Patience) -> Result<Self, ArchiveError> {
        let mut database = Connection::open(path)?;
        prepare(&mut database, patience)?;
        Ok(Self(database))
    }

    /// A database that goes with its connection.
    pub(crate) fn temporary() -> Result<Self, ArchiveError> {
        // An empty name is a file that SQLite removes itself.
        Ok(Self(Connection::open("")?))
    }

    /// Opens a file without making, changing or leaving anything.
    ///
    /// A reader of a write-ahead log leaves files beside it, unless they are there already, or the
    /// file is opened as one that nobody writes.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, ArchiveError> {
        let mut beside = path.as_os_str().to_owned();
        beside.push("-wal");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if Path::new(&beside).exists() {
            return Ok(Self(Connection::open_with_flags(path, flags)?));
        }
        let mut name = "file:".to_owned();
        for byte in path.as_os_str().as_bytes() {
            // Writing into a string cannot fail.
            let _ = write!(name, "%{byte:02X}");
        }
        name.push_str("?immutable=1");
        Ok(Self(Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_URI)?))
    }
}

/// What holds for every connection: a commit is on the disk, readers do not wait for a writer, and
/// what belongs to a run goes with it.
fn prepare(database: &mut Connection, patience: Patience) -> rusqlite::Result<()> {
    use_log(database, patience)?;
    database.busy_handler(Some(patience))?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)
}

/// Gives a new file its write-ahead log. `SQLite` reads the file before it changes it, and a reader
/// that becomes a writer does not wait for another: two processes that make one archive do. So all
/// waiting is done here.
fn use_log(database: &mut Connection, patience: Patience) -> rusqlite::Result<()> {
    database.busy_handler(None::<Patience>)?;
    let mut tries = 0;
    loop {
        let done = database.pragma_update(None, "journal_mode", "WAL");
        let is_busy = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        };
        if !done.as_ref().is_err_and(is_busy) || !patience(tries) {
            return done;
        }
        tries += 1;
    }
}

impl Store for Sqlite {
    fn begin(&mut self, _: &[i64]) -> Result<(), ArchiveError> {
        // A reader cannot become a writer where another has written since: it would not wait.
        self.script("BEGIN IMMEDIATE")
    }

    fn begin_reading(&mut self) -> Result<(), ArchiveError> {
        self.script("BEGIN")
    }

    fn each(
        &mut self,
        text: &str,
        values: &[Value],
        then: &mut dyn FnMut(Row) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut query = self.0.prepare_cached(text)?;
        let columns = query.column_count();
        let mut rows = query.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let values: rusqlite::Result<Vec<Value>> = (0..columns).map(|it| row.get(it)).collect();
            then(Row(values?))?;
        }
        Ok(())
    }

    fn execute(&mut self, text: &str, values: &[Value]) -> Result<u64, ArchiveError> {
        let mut statement = self.0.prepare_cached(text)?;
        Ok(statement.execute(rusqlite::params_from_iter(values))? as u64)
    }

    fn script(&mut self, text: &str) -> Result<(), ArchiveError> {
        Ok(self.0.execute_batch(text)?)
    }

    fn add(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &[&Row],
        present: Present,
    ) -> Result<u64, ArchiveError> {
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
        let (names, places) = (columns.join(", "), places.join(", "));
        let unless = if present == Present::Keep { " ON CONFLICT DO NOTHING" } else { "" };
        let text = format!("INSERT INTO {table} ({names}) VALUES ({places}){unless}");
        rows.iter().map(|row| self.execute(&text, &row.0)).sum()
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>, ArchiveError> {
        let query = self.0.prepare(&format!("SELECT * FROM {table}"))?;
        Ok(query.column_names().map(str::to_owned).collect())
    }

    fn has_table(&mut self, table: &str) -> Result<bool, ArchiveError> {
        Ok(self.0.table_exists(None, table)?)
    }

    fn step(&self, text: &str) -> String {
        text.to_owned()
    }

    fn damage(&mut self) -> Result<Vec<String>, ArchiveError> {
        let mut damage = Vec::new();
        self.each("PRAGMA integrity_check", &[], &mut |line| {
            damage.extend(Some(line.get(0)?).filter(|line| line != "ok"));
            Ok(())
        })?;
        Ok(damage)
    }

    fn restored(&mut self, _: &ArchiveError, _: &mut i32) -> bool {
        false
    }
}
