//! The tables, as dated steps from an empty file to the present ones.

use std::path::PathBuf;

use crate::error::ArchiveError;
use crate::store::Store;

/// Every step, by its date, oldest first. A released step never changes: a change is another step.
pub(crate) const STEPS: &[(&str, &str)] =
    &[("2026-11-27-runs", include_str!("../migrations/2026-11-27-runs.sql"))];

/// The tables of the latest step, in an order in which each only refers to those before.
pub(crate) const TABLES: [&str; 6] = ["commons", "runs", "records", "digests", "figures", "tags"];

/// The key that two processes lock which make one archive.
const SCHEMA: i64 = -1;

/// Takes the steps that are missing, all or none; where none is, it does not wait for a writer.
pub(crate) fn bring_up_to_date(store: &mut dyn Store) -> Result<(), ArchiveError> {
    if store.persistently(|store, _| is_up_to_date(store))? {
        return Ok(());
    }
    store.transaction(&[SCHEMA], |store, _| {
        store.script("CREATE TABLE IF NOT EXISTS steps (name TEXT PRIMARY KEY)")?;
        // Another process may have made it meanwhile.
        let done = taken(store)?;
        take(store, |name| !done.iter().any(|one| one == name))
    })
}

fn is_up_to_date(store: &mut dyn Store) -> Result<bool, ArchiveError> {
    Ok(store.has_table("steps")? && taken(store)?.len() == STEPS.len())
}

/// Takes the steps that are `wanted`.
pub(crate) fn take(
    store: &mut dyn Store,
    wanted: impl Fn(&str) -> bool,
) -> Result<(), ArchiveError> {
    debug_assert!(STEPS.is_sorted_by_key(|(name, _)| name), "a step is behind all before it");
    for (name, text) in STEPS.iter().filter(|(name, _)| wanted(name)) {
        // The text is for every database but for what this one changes in it.
        let text = store.step(text);
        store.script(&text)?;
        store.execute("INSERT INTO steps (name) VALUES ($1)", &[(*name).to_owned().into()])?;
    }
    Ok(())
}

/// The steps that a database has taken; all are known here.
pub(crate) fn taken(store: &mut dyn Store) -> Result<Vec<String>, ArchiveError> {
    let rows = store.rows("SELECT name FROM steps ORDER BY name", &[])?;
    let taken = rows.iter().map(|row| row.get(0)).collect::<Result<Vec<String>, _>>()?;
    let unknown = taken.iter().find(|name| STEPS.iter().all(|(known, _)| known != name));
    match unknown {
        None => Ok(taken),
        // Names begin with their dates.
        Some(name) if name.as_str() < STEPS[0].0 => {
            Err(ArchiveError::Unreleased { path: PathBuf::new() })
        }
        Some(name) => Err(ArchiveError::Later { path: PathBuf::new(), schema: name.clone() }),
    }
}
