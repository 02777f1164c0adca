//! The operations of a database that the archive needs.

use std::fmt;
use std::sync::Arc;

use rusqlite::types::{FromSql, ValueRef};

pub(crate) use rusqlite::types::Value;

use crate::error::ArchiveError;

/// Called again and again while another process writes or a server does not answer, with the number
/// of calls before: it waits a little and returns whether to try again.
pub type Wait = fn(i32) -> bool;

/// The waits of an archive, by what it waits for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Another process that writes, a server that starts, stops or has no connection left, and one
    /// whose connection is lost.
    pub busy: Wait,
    /// A server that is not there when the archive is opened: its name may be wrong.
    pub absent: Wait,
}

impl Patience {
    /// The same for both.
    pub const fn same(wait: Wait) -> Self {
        Self { busy: wait, absent: wait }
    }
}

/// A question that ends what is being done when its answer is yes: the client has left.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// A row of an answer, or one to add.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// The value of a column.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T, ArchiveError> {
        debug_assert!(column < self.0.len(), "column {column} of {}", self.0.len());
        let value = &self.0[column];
        T::column_result(ValueRef::from(value)).map_err(|error| {
            let kind = value.data_type();
            rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(error)).into()
        })
    }
}

impl Row {
    /// Returns true for a column that is true, as any of the databases says it.
    pub(crate) fn is_true(&self, column: usize) -> bool {
        matches!(&self.0[column], Value::Integer(number) if *number != 0)
    }
}

/// The treatment of a row whose key is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Present {
    /// Nothing is added.
    Refuse,
    /// The present row stays.
    Keep,
}

/// A connection to a database. Parameters are `$1`, `$2`, ... in the order of the text.
pub(crate) trait Store: fmt::Debug {
    /// Begins a transaction; of those with a key in common one runs at a time.
    fn begin(&mut self, keys: &[i64]) -> Result<(), ArchiveError>;
    /// Begins to read one state of the database, even if another process writes to it.
    fn begin_reading(&mut self) -> Result<(), ArchiveError>;
    /// Lets no other transaction add shared texts or refer to them until this one ends: it deletes
    /// those that nothing refers to. A database with one writer at a time does so anyway.
    fn lock_commons(&mut self) -> Result<(), ArchiveError> {
        Ok(())
    }
    /// Passes each row of the answer to `then`.
    fn each(
        &mut self,
        text: &str,
        values: &[Value],
        then: &mut dyn FnMut(Row) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError>;
    /// Carries out one statement; returns how many rows it changed.
    fn execute(&mut self, text: &str, values: &[Value]) -> Result<u64, ArchiveError>;
    /// Carries out statements without parameters.
    fn script(&mut self, text: &str) -> Result<(), ArchiveError>;
    /// Adds rows with values for `columns`; returns how many.
    fn add(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &[&Row],
        present: Present,
    ) -> Result<u64, ArchiveError>;
    /// The columns of a table, by name.
    fn columns(&mut self, table: &str) -> Result<Vec<String>, ArchiveError>;
    /// Returns true if the database has the table.
    fn has_table(&mut self, table: &str) -> Result<bool, ArchiveError>;
    /// The text of a step of the schema, for this database.
    fn step(&self, text: &str) -> String;
    /// The damage that the database itself finds.
    fn damage(&mut self) -> Result<Vec<String>, ArchiveError>;
    /// Returns true if all that was read is one state of the database; a file that is read without
    /// locks may have been changed meanwhile.
    fn is_unchanged(&self) -> bool {
        true
    }
    /// Ends statements when `stop` says so.
    fn stop_when(&mut self, _: Stop) -> Result<(), ArchiveError> {
        Ok(())
    }
    /// After `error`: whether there is a connection again, on which to repeat a transaction.
    /// `tries` are all so far.
    fn restored(&mut self, error: &ArchiveError, tries: &mut i32) -> bool;
}

impl dyn Store + '_ {
    /// All rows of an answer.
    pub(crate) fn rows(&mut self, text: &str, values: &[Value]) -> Result<Vec<Row>, ArchiveError> {
        let mut rows = Vec::new();
        self.each(text, values, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Does `work`, and does it again where the connection was lost: `work` gets true then.
    pub(crate) fn persistently<T>(
        &mut self,
        mut work: impl FnMut(&mut dyn Store, bool) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let mut tries = 0;
        loop {
            match work(self, tries > 0) {
                Err(error) if self.restored(&error, &mut tries) => {}
                done => return done,
            }
        }
    }

    /// Does `work` in one transaction. Where the connection was lost it is done again: whether the
    /// first transaction was committed is then unknown.
    pub(crate) fn transaction<T>(
        &mut self,
        keys: &[i64],
        mut work: impl FnMut(&mut dyn Store, bool) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        self.persistently(|store, again| {
            store.begin(keys)?;
            let done = work(store, again);
            match done {
                Ok(done) => store.script("COMMIT").map(|()| done),
                Err(error) => {
                    // What went wrong first is what matters.
                    let _ = store.script("ROLLBACK");
                    Err(error)
                }
            }
        })
    }
}
