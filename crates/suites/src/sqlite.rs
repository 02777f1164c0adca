//! Timed insertions into `SQLite`, as the Phoronix Test Suite makes them: each statement is one
//! transaction and waits for its sync.
//!
//! The library is built with the program, with its defaults for databases: a rollback journal and
//! `synchronous = FULL`.

use std::path::Path;

use drivelab_core::numbers::float;
use drivelab_core::record::{Better, Figure, Nature};
use drivelab_core::{Bytes, Invalid, Refusal, Rng};
use rusqlite::{Connection, ErrorCode};

use crate::bench::{
    At as _, Bench, CacheDrop, Done, Laps, Measured, Stopwatch, Watch, merged, random_letters,
    rate, seconds, suite_options,
};
use crate::plan::{Plan, measures, within};

suite_options! {
    /// Insertions into one database a thread.
    Sqlite {
        /// Threads, each with a database of its own.
        threads: u32 = "1",
        /// Times that 2,500 rows are inserted over a new connection: 3 as in Phoronix profile 1.9,
        /// 5 as in 1.8.
        repeat: u32 = "3",
        /// Rows that are inserted each time.
        rows: u32 = "2500",
        /// When the page cache is dropped: run, phases or never.
        drop: CacheDrop = "run",
    }
}

/// The one phase and its figure.
const PHASE: &str = "insertions";
/// The table of the Phoronix profile.
const TABLE: &str = "CREATE TABLE pts1 ('I' SMALLINT NOT NULL, 'DT' TIMESTAMP NOT NULL DEFAULT \
                     CURRENT_TIMESTAMP, 'F1' VARCHAR(4) NOT NULL, 'F2' VARCHAR(16) NOT NULL)";
/// More than a row takes in the table: 23 bytes of text, the time, and headers.
const ROW_BYTES: u64 = 100;

impl Plan for Sqlite {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), Invalid> {
        within("threads", self.threads, [1, 32])?;
        within("repeat", self.repeat, [1, 10_000])?;
        within("rows", self.rows, [1, 1_000_000])
    }

    fn needs(&self, _: Bytes) -> Bytes {
        // The journal holds a few pages only.
        let rows = self.rows_of_thread().saturating_mul(ROW_BYTES);
        Bytes::new(rows.saturating_add(1 << 20).saturating_mul(u64::from(self.threads)))
    }

    fn drop_when(&self) -> CacheDrop {
        self.drop
    }

    fn measures(&self) -> Vec<(String, Vec<String>)> {
        vec![measures(PHASE, &[PHASE, "insertions_per_s"])]
    }

    fn run(&self, bench: &mut Bench<'_>) -> Done {
        // The library opens files by name, its journals too.
        let top = bench.workspace.fresh_by_name("databases")?;
        let databases: Vec<_> =
            (0..self.threads).map(|thread| top.join(format!("benchmark-{thread}.db"))).collect();
        for database in &databases {
            open(database)?.execute_batch(TABLE).map_err(|error| refused(database, error))?;
        }
        bench.begin()?;
        let name = PHASE;
        let all = self.rows_of_thread() * u64::from(self.threads);
        let watch = Watch::new(bench.control, name, all);
        let clock = Stopwatch::start();
        let lat = watch.threads(self.threads, |thread, laps| {
            let mut rng = bench.rng(u64::from(thread));
            // Threads draw apart: how many they are changes no row of another.
            (0..self.repeat)
                .try_for_each(|_| self.insert(&databases[thread as usize], &mut rng, laps))
        })?;
        let took = clock.stop();
        debug_assert_eq!(lat.len(), self.threads as usize, "one thread a database");
        let time = Figure::new(name, seconds(took.wall), Better::Less);
        let per_s = rate("insertions_per_s", float(all), took, "1/s");
        let figures =
            vec![Figure { unit: "s".into(), ..time }, Figure { is_detail: true, ..per_s }];
        let lat = merged(&lat);
        bench.record(Measured { name, nature: Nature::JournalSync, figures, took, lat });
        // Counted, so that a library that dropped a row would be found out.
        databases.iter().try_for_each(|database| self.check_rows(database))
    }
}

impl Sqlite {
    fn rows_of_thread(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.repeat)
    }

    /// Inserts the rows of one call of the original's shell.
    fn insert(&self, database: &Path, rng: &mut Rng, laps: &mut Laps<'_>) -> Done {
        // Each call opens the database again, as the shell does: the schema is read again.
        let connection = open(database)?;
        for row in 0..self.rows {
            let (short, long) = (random_letters(rng, 4), random_letters(rng, 16));
            let statement = format!(
                "INSERT INTO pts1 ('I', 'DT', 'F1', 'F2') VALUES ('{row}', CURRENT_TIMESTAMP, \
                 '{short}', '{long}')"
            );
            laps.time(|| {
                connection.execute_batch(&statement).map_err(|error| refused(database, error))
            })?;
        }
        Ok(())
    }

    fn check_rows(&self, database: &Path) -> Done {
        let count = "SELECT count(*) FROM pts1";
        let rows: i64 = open(database)?
            .query_row(count, [], |row| row.get(0))
            .map_err(|error| refused(database, error))?;
        if u64::try_from(rows) == Ok(self.rows_of_thread()) {
            return Ok(());
        }
        let (inserted, database) = (self.rows_of_thread(), database.display());
        let message = format!("`{database}` holds {rows} rows after {inserted} insertions");
        Err(Refusal::machine(message).hint("the file system or the disk lost data").into())
    }
}

fn open(database: &Path) -> Done<Connection> {
    Connection::open(database).map_err(|error| refused(database, error))
}

fn refused(database: &Path, error: rusqlite::Error) -> crate::bench::Halt {
    // A full disk has a hint, which goes by the kind of the error.
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => std::io::ErrorKind::StorageFull,
        _ => std::io::ErrorKind::Other,
    };
    let wrapped = std::io::Error::new(kind, error);
    let halted: Done = Err(wrapped).at("write the database", database);
    halted.expect_err("made of an error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_database_is_the_machines_and_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let connection = open(&path).unwrap();
        connection.execute_batch(TABLE).unwrap();
        connection.execute_batch("PRAGMA max_page_count = 2").unwrap();
        let row = "INSERT INTO pts1 VALUES (1, 2, 'a', randomblob(5000))";
        let halt = refused(&path, connection.execute_batch(row).unwrap_err());
        let crate::bench::Halt::Refused(refusal) = halt else { panic!("it is no interruption") };
        assert_eq!(refusal.kind, drivelab_core::RefusalKind::Machine);
        assert!(refusal.hints[0].contains("free some space"), "{refusal:?}");
    }
}
