//! Why something could not be kept or found.

use std::path::{Path, PathBuf};

use crate::distrust::Distrust;

/// An error of a database.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum DatabaseError {
    /// A file.
    Sqlite(#[from] rusqlite::Error),
    /// A server.
    #[cfg(feature = "postgres")]
    Postgres(#[from] postgres::Error),
}

/// Why something could not be kept or found.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file cannot be opened or made.
    #[error("cannot open the archive `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: DatabaseError,
    },
    /// The file is something else.
    #[error("`{}` is not an archive", path.display())]
    NoArchive {
        /// The file.
        path: PathBuf,
    },
    /// The connection to the server would not be as safe as its address asks.
    #[error("the connection to `{}` is not as safe as its `sslmode` asks", path.display())]
    Unsafe {
        /// The server.
        path: PathBuf,
        /// Why.
        why: Distrust,
        /// The error of the libraries.
        source: DatabaseError,
    },
    /// The archive is on a server, for which this version was not built.
    #[error("this drivelab was built without PostgreSQL")]
    NoServers,
    /// A later version of drivelab has written to it.
    #[error("`{}` was written by a later version, which knows `{schema}`", path.display())]
    Later {
        /// The file.
        path: PathBuf,
        /// The schema that this version does not know.
        schema: String,
    },
    /// A version that was never released has written to it.
    #[error("`{}` was written by a version of drivelab before its first release", path.display())]
    Unreleased {
        /// The file.
        path: PathBuf,
    },
    /// No run has this id.
    #[error("no run `{0}` in the archive")]
    NoSuchRun(String),
    /// Several runs have ids that begin so.
    #[error("`{text}` is the beginning of {count} ids")]
    Ambiguous {
        /// The text that was typed.
        text: String,
        /// Number of ids that begin so.
        count: u64,
        /// The first of them: id, target, label.
        first: Vec<String>,
    },
    /// The beginning of an id that says too little.
    #[error("`{text}` has fewer than {least} characters of an id")]
    TooShort {
        /// The text that was typed.
        text: String,
        /// Characters that say enough.
        least: usize,
    },
    /// The run belongs to another, which would say something else without it.
    #[error("run {run} is a part of {whole}")]
    IsPart {
        /// The run.
        run: String,
        /// The whole that it belongs to.
        whole: String,
    },
    /// A figure that is no number cannot be compared.
    #[error("the figure `{0}` is not a finite number")]
    NotANumber(String),
    /// A name too long for any that a person gave.
    #[error("the {what} has {bytes} bytes, more than the {limit} that an archive keeps")]
    TooLong {
        /// Of what.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The longest that is kept.
        limit: usize,
    },
    /// A record cannot be read back.
    #[error("the record of run `{run}` is damaged: {why}")]
    Damaged {
        /// The run.
        run: String,
        /// The damage, in a clause.
        why: String,
    },
    /// The address of a server asks for something that there is not.
    #[error("the address of the archive is wrong: {0}")]
    Address(String),
    /// The authorities that may vouch for a server cannot be read.
    #[error("cannot use the certificates of `{}`: {why}", file.display())]
    Certificates {
        /// The file, or `system`.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// Another process writes, and went on for longer than the caller waits.
    #[error("another process is writing to the archive")]
    Busy,
    /// Another process writes, and the user ended the wait for it.
    #[error("interrupted while another process was writing to the archive")]
    Interrupted,
    /// The caller wanted it to end.
    #[error("interrupted while reading the archive")]
    Stopped,
    /// The database did not do what it was asked.
    #[error("the archive could not be used")]
    Sql(#[source] DatabaseError),
}

impl ArchiveError {
    /// The same; or that the user ended the wait for another process, where that is so.
    #[must_use]
    pub fn unless_interrupted(self, is_interrupted: bool) -> Self {
        match self {
            Self::Busy if is_interrupted => Self::Interrupted,
            other => other,
        }
    }

    /// True if the database itself is damaged, and not only what it keeps.
    pub fn is_malformed(&self) -> bool {
        let (Self::Sql(DatabaseError::Sqlite(source))
        | Self::Open { source: DatabaseError::Sqlite(source), .. }) = self
        else {
            return false;
        };
        source.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt)
    }

    /// The same, where it was met when the archive at `path` was opened.
    pub(crate) fn at(self, path: &Path) -> Self {
        // A store does not know the name that the user gave it.
        match self {
            Self::Sql(DatabaseError::Sqlite(source))
                if source.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) =>
            {
                Self::NoArchive { path: path.to_owned() }
            }
            Self::Sql(source) => Self::Open { path: path.to_owned(), source },
            Self::Unsafe { why, source, .. } => Self::Unsafe { path: path.to_owned(), why, source },
            Self::Later { schema, .. } => Self::Later { path: path.to_owned(), schema },
            Self::Unreleased { .. } => Self::Unreleased { path: path.to_owned() },
            other => other,
        }
    }
}

impl From<rusqlite::Error> for ArchiveError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy) => Self::Busy,
            Some(rusqlite::ErrorCode::OperationInterrupted) => Self::Stopped,
            _ => Self::Sql(error.into()),
        }
    }
}

#[cfg(feature = "postgres")]
impl From<postgres::Error> for ArchiveError {
    fn from(error: postgres::Error) -> Self {
        if let Some(why) = Distrust::of(&error) {
            return Self::Unsafe { path: PathBuf::new(), why, source: error.into() };
        }
        match error.code() {
            Some(&postgres::error::SqlState::LOCK_NOT_AVAILABLE) => Self::Busy,
            _ => Self::Sql(error.into()),
        }
    }
}
