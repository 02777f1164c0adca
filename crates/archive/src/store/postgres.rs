//! A server for many machines: `PostgreSQL`.

use std::fmt;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::ToSql;
use postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::copy::{Parameter, copy, row};
use super::database::{Patience, Present, Row, Store, Value, Wait};
use super::{security, trust};
use crate::error::{ArchiveError, DatabaseError};

/// The first of the two numbers of each lock that a transaction takes: `driv` in ASCII, so that
/// locks of other programs in the database are others.
const LOCKS: i32 = 0x6472_6976;
/// Locks that are taken at most by one transaction: the table of locks is small.
const LOCKS_MAX: i64 = 64;
/// Longer than any commit, even behind hundreds of writers.
const LOCK_TIMEOUT_S: u32 = 60;
/// Time for one connection to come about, where the address has none.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which a server that acknowledges nothing is given up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to a server, which is made again where it is lost.
pub(super) struct Postgres {
    config: Config,
    encryption: MakeRustlsConnect,
    client: Client,
    patience: Patience,
}

impl Postgres {
    /// Connects to the database at `address`; waits for a server that starts.
    pub(super) fn connect(address: &str, patience: Patience) -> Result<Self, ArchiveError> {
        let (mut config, security) = security::read(address)?;
        let encryption = trust::connector(&security)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(ANSWER_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("drivelab");
        }
        let mut tries = 0;
        // A server that starts or has no connection left refuses for a while.
        loop {
            match config.connect(encryption.clone()) {
                Ok(client) => return Ok(Self { config, encryption, client, patience }),
                Err(error) if may_pass(&error) && wait_for(&error, patience)(tries) => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The wait for a server that could not be reached because of `error`.
fn wait_for(error: &postgres::Error, patience: Patience) -> Wait {
    // With a code, the server itself refuses.
    if error.code().is_some() { patience.busy } else { patience.absent }
}

/// Returns true if the connection failed, and not the request.
fn may_pass(error: &postgres::Error) -> bool {
    let passing = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    if let Some(code) = error.code() {
        // Class 08: connection exceptions.
        return passing.contains(code) || code.code().starts_with("08");
    }
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    error.is_closed() || io.is_some_and(is_passing)
}

/// Returns true for an error of a server that is restarted or has too many clients.
fn is_passing(io: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        io.kind(),
        ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
                // The socket of a server that is not running.
                | ErrorKind::NotFound
                // A socket at which more clients wait than the server lets queue: hundreds that
                // come at once, or all that a restart has cut off.
                | ErrorKind::WouldBlock
                | ErrorKind::TimedOut
    )
}

impl Store for Postgres {
    fn begin(&mut self, keys: &[i64]) -> Result<(), ArchiveError> {
        let mut text = format!("BEGIN; SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s';");
        let mut keys: Vec<i64> = keys.iter().map(|key| key.rem_euclid(LOCKS_MAX)).collect();
        // In the same order everywhere, or two transactions wait for each other.
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            debug_assert!((0..LOCKS_MAX).contains(&key), "the table of locks is small");
            text += &format!("SELECT pg_advisory_xact_lock({LOCKS}, {key});");
        }
        self.script(&text)
    }

    fn begin_reading(&mut self) -> Result<(), ArchiveError> {
        self.script("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    }

    fn lock_commons(&mut self) -> Result<(), ArchiveError> {
        // Whoever adds a digest has added to this table before, at least on conflict.
        self.script("LOCK TABLE commons IN SHARE ROW EXCLUSIVE MODE")
    }

    fn each(
        &mut self,
        text: &str,
        values: &[Value],
        then: &mut dyn FnMut(Row) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut rows = self.client.query_raw(text, values.iter().map(Parameter))?;
        while let Some(found) = rows.next()? {
            then(row(&found)?)?;
        }
        Ok(())
    }

    fn execute(&mut self, text: &str, values: &[Value]) -> Result<u64, ArchiveError> {
        let values: Vec<Parameter<'_>> = values.iter().map(Parameter).collect();
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|it| it as _).collect();
        Ok(self.client.execute(text, &values)?)
    }

    fn script(&mut self, text: &str) -> Result<(), ArchiveError> {
        Ok(self.client.batch_execute(text)?)
    }

    fn add(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &[&Row],
        present: Present,
    ) -> Result<u64, ArchiveError> {
        // COPY itself knows no conflicts.
        if present == Present::Refuse {
            return Ok(copy(&mut self.client, table, columns, rows)?);
        }
        let names = columns.join(", ");
        self.script(&format!("CREATE TEMP TABLE arriving (LIKE {table}) ON COMMIT DROP"))?;
        copy(&mut self.client, "arriving", columns, rows)?;
        let text = format!(
            "INSERT INTO {table} ({names}) SELECT {names} FROM arriving ON CONFLICT DO NOTHING"
        );
        let added = self.execute(&text, &[])?;
        self.script("DROP TABLE arriving")?;
        Ok(added)
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>, ArchiveError> {
        let query = self.client.prepare(&format!("SELECT * FROM {table}"))?;
        Ok(query.columns().iter().map(|column| column.name().to_owned()).collect())
    }

    fn has_table(&mut self, table: &str) -> Result<bool, ArchiveError> {
        let found = self.client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&table])?;
        Ok(found.try_get(0)?)
    }

    fn step(&self, text: &str) -> String {
        // As in SQLite: in the order of the bytes.
        text.replace(" TEXT", " TEXT COLLATE \"C\"")
    }

    fn damage(&mut self) -> Result<Vec<String>, ArchiveError> {
        // The server checks its own pages where it was set up to.
        Ok(Vec::new())
    }

    fn restored(&mut self, error: &ArchiveError, tries: &mut i32) -> bool {
        let ArchiveError::Sql(DatabaseError::Postgres(error)) = error else { return false };
        // Repeated while the first transaction was still being committed: soon it is there.
        let is_late = *tries > 0 && error.code() == Some(&SqlState::UNIQUE_VIOLATION);
        if !is_late && !may_pass(error) && !self.client.is_closed() {
            return false;
        }
        while (self.patience.busy)(*tries) {
            *tries += 1;
            match self.config.connect(self.encryption.clone()) {
                Ok(client) => {
                    self.client = client;
                    return true;
                }
                Err(error) if may_pass(&error) => {}
                Err(_) => return false,
            }
        }
        false
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("config", &self.config).finish_non_exhaustive()
    }
}
