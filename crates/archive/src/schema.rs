//! The tables, as dated steps from an empty file to today's.

use std::path::PathBuf;

use crate::error::ArchiveError;
use crate::store::Store;

/// Every step, by its date, oldest first. A released step never changes: a change is another step.
pub(crate) const STEPS: &[(&str, &str)] = &[
    ("2026-11-23-runs", include_str!("../migrations/2026-11-23-runs.sql")),
    ("2026-11-23-parts", include_str!("../migrations/2026-11-23-parts.sql")),
    ("2026-11-23-parts-index", include_str!("../migrations/2026-11-23-parts-index.sql")),
];

/// The tables of the latest step, in an order in which each only refers to those before.
pub(crate) const TABLES: [&str; 3] = ["runs", "figures", "tags"];

/// What two processes that make one archive both lock.
const SCHEMA: i64 = -1;

/// Takes the steps that are missing, all or none; where none is, it does not wait for a writer.
pub(crate) fn bring_up_to_date(store: &mut dyn Store) -> Result<(), ArchiveError> {
    let is_done = |store: &mut dyn Store| -> Result<bool, ArchiveError> {
        Ok(store.has_table("steps")? && taken(store)?.len() == STEPS.len())
    };
    if store.persistently(|store, _| is_done(store))? {
        return Ok(());
    }
    store.transaction(&[SCHEMA], |store, _| {
        store.script("CREATE TABLE IF NOT EXISTS steps (name TEXT PRIMARY KEY)")?;
        let taken = taken(store)?;
        take(store, |name| !taken.iter().any(|one| one == name))
    })
}

/// Takes the steps that are `wanted`.
pub(crate) fn take(
    store: &mut dyn Store,
    wanted: impl Fn(&str) -> bool,
) -> Result<(), ArchiveError> {
    for (name, text) in STEPS.iter().filter(|(name, _)| wanted(name)) {
        let text = store.step(text);
        store.script(&text)?;
        store.execute("INSERT INTO steps (name) VALUES ($1)", &[(*name).to_owned().into()])?;
    }
    Ok(())
}

/// The steps that a database has taken; all are known here.
pub(crate) fn taken(store: &mut dyn Store) -> Result<Vec<String>, ArchiveError> {
    let rows = store.rows("SELECT name FROM steps", &[])?;
    let taken = rows.iter().map(|row| row.get(0)).collect::<Result<Vec<String>, _>>()?;
    match taken.iter().find(|name| STEPS.iter().all(|(known, _)| known != name)) {
        Some(later) => Err(ArchiveError::Later { path: PathBuf::new(), schema: later.clone() }),
        None => Ok(taken),
    }
}
