//! The tables, as dated steps from an empty file to today's.

use rusqlite::Connection;

use crate::error::ArchiveError;

/// Every step, by its date, oldest first. A released step never changes: a change is another step.
pub(crate) const STEPS: &[(&str, &str)] =
    &[("2026-11-23-runs", include_str!("../migrations/2026-11-23-runs.sql"))];

/// Why the schema could not be brought up to date.
pub(crate) enum Trouble {
    /// There is a step that this version does not know.
    Later(String),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Trouble {
    pub(crate) fn at(self, path: &std::path::Path) -> ArchiveError {
        let path = path.to_owned();
        match self {
            Self::Later(schema) => ArchiveError::Later { path, schema },
            Self::Sql(source) => ArchiveError::Open { path, source },
        }
    }
}

/// Takes the steps that are missing, all or none.
pub(crate) fn bring_up_to_date(database: &mut Connection) -> Result<(), Trouble> {
    let all = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    all.execute_batch("CREATE TABLE IF NOT EXISTS steps (name TEXT PRIMARY KEY)")?;
    let taken = all
        .prepare("SELECT name FROM steps")?
        .query_map((), |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(later) = taken.iter().find(|name| STEPS.iter().all(|(known, _)| known != name)) {
        return Err(Trouble::Later(later.clone()));
    }
    for (name, text) in STEPS.iter().filter(|(name, _)| !taken.iter().any(|one| one == name)) {
        all.execute_batch(text)?;
        all.execute("INSERT INTO steps (name) VALUES ($1)", [name])?;
    }
    all.commit()?;
    Ok(())
}
