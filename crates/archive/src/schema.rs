//! The tables, as dated steps from an empty file to today's.

use rusqlite::Connection;

use crate::error::ArchiveError;

/// Every step, by its date, oldest first. A released step never changes: a change is another step.
pub(crate) const STEPS: &[(&str, &str)] = &[
    ("2026-11-23-runs", include_str!("../migrations/2026-11-23-runs.sql")),
    ("2026-11-23-parts", include_str!("../migrations/2026-11-23-parts.sql")),
    ("2026-11-23-parts-index", include_str!("../migrations/2026-11-23-parts-index.sql")),
];

/// The tables of the latest step, in an order in which each only refers to those before.
pub(crate) const TABLES: [&str; 3] = ["runs", "figures", "tags"];

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
            Self::Sql(source) => match source.into() {
                ArchiveError::Sql(source) => ArchiveError::Open { path, source },
                other => other,
            },
        }
    }
}

/// Takes the steps that are missing, all or none; where none is, it does not wait for a writer.
pub(crate) fn bring_up_to_date(database: &mut Connection) -> Result<(), Trouble> {
    if database.table_exists(None, "steps")? && taken(database)?.len() == STEPS.len() {
        return Ok(());
    }
    let all = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    all.execute_batch("CREATE TABLE IF NOT EXISTS steps (name TEXT PRIMARY KEY)")?;
    let taken = taken(&all)?;
    for (name, text) in STEPS.iter().filter(|(name, _)| !taken.iter().any(|one| one == name)) {
        all.execute_batch(text)?;
        all.execute("INSERT INTO steps (name) VALUES ($1)", [name])?;
    }
    all.commit()?;
    Ok(())
}

/// The steps that a file has taken; all are known here.
pub(crate) fn taken(database: &Connection) -> Result<Vec<String>, Trouble> {
    let taken = database
        .prepare("SELECT name FROM steps")?
        .query_map((), |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    match taken.iter().find(|name| STEPS.iter().all(|(known, _)| known != name)) {
        Some(later) => Err(Trouble::Later(later.clone())),
        None => Ok(taken),
    }
}
