//! One file: `SQLite`.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use drivelab_files::{Folder, Target};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};

use super::database::{Present, Row, Stop, Store, Value, Wait};
use crate::error::ArchiveError;

/// Instructions of `SQLite` between two looks at whether to stop: about a millisecond.
const STEPS_PER_LOOK: i32 = 100_000;

/// One thread uses a connection, and no link is followed that appears in a name.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// A connection to a file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    database: Connection,
    /// The state of the file when it was opened as one that does not change.
    fixed: Option<Fixed>,
}

/// A file that is read without locks, because no lock can be taken without leaving files.
#[derive(Debug)]
struct Fixed {
    path: PathBuf,
    length: u64,
    changed: Option<SystemTime>,
}

impl Sqlite {
    /// Opens a file, and makes it where there is none.
    pub(crate) fn open(path: &Path, wait: Wait) -> Result<Self, ArchiveError> {
        let file = Named::find(path)?;
        file.make_if_missing()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | FLAGS;
        let mut database = file.open(&file.path, flags)?;
        // Before the write-ahead log, which would change the file.
        if is_of_another_program(&mut database).is_ok_and(|it| it) {
            return Err(ArchiveError::NoArchive { path: path.to_owned() });
        }
        prepare(&mut database, wait)?;
        Ok(Self { database, fixed: None })
    }

    /// A database that is removed with its connection.
    pub(crate) fn temporary() -> Result<Self, ArchiveError> {
        // An empty name is a file that SQLite removes itself.
        let database = Connection::open("")?;
        // Rows are copied before it is known which of them read back.
        database.pragma_update(None, "foreign_keys", false)?;
        Ok(Self { database, fixed: None })
    }

    /// Opens a file without making, changing or leaving anything.
    ///
    /// A reader of a write-ahead log makes files next to the database. Only one that may write can
    /// remove them; without that right, and where there is no log, the file is read as one that
    /// nothing changes, which [`Store::is_unchanged`] confirms afterwards.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, ArchiveError> {
        // Of a link, the log lies next to the file that it leads to.
        let file = Named::find(path)?;
        let path = file.path.clone();
        let folder = path.parent().unwrap_or(Path::new("/"));
        let has_log = beside(&path, "-wal").exists();
        let may_write = [folder, &path].iter().all(|it| access(*it, Access::WRITE_OK).is_ok());
        let mut flags = FLAGS;
        let mut fixed = None;
        let mut name = path.as_os_str().to_owned();
        if may_write {
            flags |= OpenFlags::SQLITE_OPEN_READ_WRITE;
        } else {
            flags |= OpenFlags::SQLITE_OPEN_READ_ONLY;
        }
        if !may_write && !has_log {
            flags |= OpenFlags::SQLITE_OPEN_URI;
            name = immutable(&path).into();
            fixed = Some(Fixed::of(&path));
        }
        let database = file.open(Path::new(&name), flags)?;
        // Write access is needed for the log alone.
        database.pragma_update(None, "query_only", true)?;
        distrust(&database)?;
        Ok(Self { database, fixed })
    }
}

impl Fixed {
    fn of(path: &Path) -> Self {
        let about = fs::metadata(path).ok();
        Self {
            path: path.to_owned(),
            length: about.as_ref().map_or(0, fs::Metadata::len),
            changed: about.and_then(|about| about.modified().ok()),
        }
    }

    fn is_unchanged(&self) -> bool {
        let now = Self::of(&self.path);
        (now.length, now.changed) == (self.length, self.changed)
            && !beside(&self.path, "-wal").exists()
    }
}

/// The name of a file in the same folder.
fn beside(path: &Path, ending: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A file whose name is free of links: `SQLite` can open files by name only.
#[derive(Debug)]
struct Named {
    /// From the root on: `SQLite` gives `:memory:` and `file:...` another meaning.
    path: PathBuf,
    folder: Folder,
    name: OsString,
}

impl Named {
    /// Looks the file up, which may be missing.
    fn find(path: &Path) -> Result<Self, ArchiveError> {
        let unusable = |error| unusable(path, &error);
        let target = Target::find(&std::path::absolute(path).map_err(unusable)?);
        let target = target.map_err(unusable)?;
        let no_archive = || ArchiveError::NoArchive { path: path.to_owned() };
        let (folder, name) = target.location().ok_or_else(no_archive)?;
        // The name that the kernel knows the open folder by has no links.
        let path = fs::read_link(folder.by_descriptor()).map_err(unusable)?.join(name);
        match fs::symlink_metadata(&path) {
            // Opening a pipe would wait for its other end.
            Ok(about) if !about.is_file() => Err(no_archive()),
            _ => {
                Ok(Self { path, folder: folder.try_clone().map_err(unusable)?, name: name.into() })
            }
        }
    }

    /// Makes an empty file, which is an empty database, where there is none: `SQLite` itself would
    /// make one wherever the name leads by then.
    fn make_if_missing(&self) -> Result<(), ArchiveError> {
        let unusable = |error| unusable(&self.path, &error);
        if fs::symlink_metadata(&self.path).is_err() {
            self.folder.refuse_new_file().map_err(unusable)?;
        }
        match self.folder.create_new(&self.name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Ok(file) => {
                // As SQLite makes its files, and those next to this one: others may only read.
                let mode = file.metadata().map_err(unusable)?.permissions().mode() & 0o644;
                Ok(file.set_permissions(Permissions::from_mode(mode)).map_err(unusable)?)
            }
            Err(error) => Err(unusable(error)),
        }
    }

    /// Opens the database, which is refused if the name leads to another file meanwhile.
    fn open(&self, as_named: &Path, flags: OpenFlags) -> Result<Connection, ArchiveError> {
        let before = self.folder.identity_of(&self.name);
        let database = Connection::open_with_flags(as_named, flags)?;
        let after = Folder::holding(&self.path).and_then(|(it, name)| it.identity_of(name));
        match (before, after) {
            (Ok(before), Ok(after)) if before == after => Ok(database),
            _ => Err(rusqlite::Error::InvalidPath(self.path.clone()).into()),
        }
    }
}

/// The error of a file that cannot be opened, in the words of `SQLite`.
fn unusable(path: &Path, error: &std::io::Error) -> ArchiveError {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
    let message = format!("unable to open database file: {}: {error}", path.display());
    rusqlite::Error::SqliteFailure(code, Some(message)).into()
}

fn immutable(path: &Path) -> String {
    let mut name = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        // Writing into a string cannot fail.
        let _ = write!(name, "%{byte:02X}");
    }
    name + "?immutable=1"
}

/// The schema may be another's: its views and triggers call no function with side effects.
fn distrust(database: &Connection) -> rusqlite::Result<()> {
    database.pragma_update(None, "trusted_schema", false)
}

/// True if the database holds tables, and not the one that every archive has. Where another
/// connection holds it, it is not known.
fn is_of_another_program(database: &mut Connection) -> rusqlite::Result<bool> {
    database.busy_handler(None::<Wait>)?;
    let tables = "SELECT count(*) > 0 AND coalesce(max(name = 'steps'), 0) = 0 FROM sqlite_schema";
    database.query_row(tables, [], |row| row.get(0))
}

/// Sets what holds for every connection: a commit is on the disk, readers do not wait for a writer,
/// and the rows of a run go with it.
fn prepare(database: &mut Connection, wait: Wait) -> rusqlite::Result<()> {
    use_log(database, wait)?;
    database.busy_handler(Some(wait))?;
    distrust(database)?;
    // In WAL mode NORMAL does not sync at a commit (SQLite, PRAGMA synchronous).
    database.pragma_update(None, "synchronous", "FULL")?;
    // SQLite has them off unless each connection asks.
    database.pragma_update(None, "foreign_keys", true)
}

/// Gives a new file its write-ahead log. `SQLite` reads the file before it changes it, and a reader
/// that becomes a writer does not wait for another: two processes that make one archive do. So all
/// waiting is done here.
fn use_log(database: &mut Connection, wait: Wait) -> rusqlite::Result<()> {
    database.busy_handler(None::<Wait>)?;
    let mut tries = 0;
    loop {
        let done = database.pragma_update(None, "journal_mode", "WAL");
        if !done.as_ref().is_err_and(is_busy) || !wait(tries) {
            return done;
        }
        tries += 1;
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
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
        // Statements with as many parameters come again and again.
        let mut query = self.database.prepare_cached(text)?;
        let columns = query.column_count();
        let mut rows = query.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let values: rusqlite::Result<Vec<Value>> = (0..columns).map(|it| row.get(it)).collect();
            then(Row(values?))?;
        }
        Ok(())
    }

    fn execute(&mut self, text: &str, values: &[Value]) -> Result<u64, ArchiveError> {
        let mut statement = self.database.prepare_cached(text)?;
        Ok(statement.execute(rusqlite::params_from_iter(values))? as u64)
    }

    fn script(&mut self, text: &str) -> Result<(), ArchiveError> {
        Ok(self.database.execute_batch(text)?)
    }

    fn add(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &[&Row],
        present: Present,
    ) -> Result<u64, ArchiveError> {
        debug_assert!(rows.iter().all(|row| row.0.len() == columns.len()));
        let values: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
        let (names, values) = (columns.join(", "), values.join(", "));
        let unless = if present == Present::Keep { " ON CONFLICT DO NOTHING" } else { "" };
        let text = format!("INSERT INTO {table} ({names}) VALUES ({values}){unless}");
        rows.iter().map(|row| self.execute(&text, &row.0)).sum()
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>, ArchiveError> {
        let query = self.database.prepare(&format!("SELECT * FROM {table}"))?;
        Ok(query.column_names().map(str::to_owned).collect())
    }

    fn has_table(&mut self, table: &str) -> Result<bool, ArchiveError> {
        Ok(self.database.table_exists(None, table)?)
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

    fn is_unchanged(&self) -> bool {
        self.fixed.as_ref().is_none_or(Fixed::is_unchanged)
    }

    fn stop_when(&mut self, stop: Stop) -> Result<(), ArchiveError> {
        Ok(self.database.progress_handler(STEPS_PER_LOOK, Some(move || stop()))?)
    }

    fn restored(&mut self, _: &ArchiveError, _: &mut i32) -> bool {
        false
    }
}
