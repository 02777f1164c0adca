//! Runs as lists show them, and as names mean them.

use std::collections::BTreeMap;

use drivelab_core::Invalid;
use drivelab_core::record::{Kept, KeptFigure};

use super::row::{field, origin, parameters};
use super::{AT_ONCE, Archive, Listed};
use crate::entry::RunId;
use crate::error::ArchiveError;
use crate::filter::{Filter, millis};
use crate::store::{Row, Store, Value};

/// Characters of an id that say which run is meant, at least: the first four are the same for
/// twelve days.
const PREFIX_MIN: usize = 4;
/// Runs that are named where an id begins like theirs.
const NAMED_MAX: usize = 8;

impl Archive {
    /// The runs that `filter` means, the oldest first.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Listed, ArchiveError> {
        let mut all = Listed::default();
        for ids in self.ids(filter)?.chunks(AT_ONCE) {
            let some = self.listed(filter, ids)?;
            all.runs.extend(some.runs);
            all.damage.extend(some.damage);
        }
        Ok(all)
    }

    /// The ids of the runs that `filter` means, the oldest first, for [`Self::listed`].
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn ids(&self, filter: &Filter) -> Result<Vec<String>, ArchiveError> {
        let condition = filter.condition();
        let latest = filter.latest.map_or(i64::MAX, millis);
        let text = format!(
            "SELECT runs.id FROM runs WHERE {} ORDER BY runs.id DESC LIMIT {latest}",
            condition.text
        );
        let mut ids = self.read(|store| {
            let mut ids = Vec::new();
            store.each(&text, &condition.values, &mut |row| {
                // A row without an id cannot be asked for; `check` names it.
                ids.extend(row.get::<Option<String>>(0)?);
                Ok(())
            })?;
            Ok(ids)
        })?;
        // The limit keeps the latest, and a list shows the latest last.
        ids.reverse();
        Ok(ids)
    }

    /// The runs with these ids, at most [`AT_ONCE`], in the order of ids, as a list shows them.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn listed(&self, filter: &Filter, ids: &[String]) -> Result<Listed, ArchiveError> {
        // The figure that is shown is the first parameter, where one is asked for.
        let shown = match filter.metric {
            Some(_) => "shown.name = $1",
            None => "shown.position = 0",
        };
        let mut values: Vec<Value> = filter.metric.iter().cloned().map(Value::from).collect();
        let among = parameters(values.len() + 1, ids.len());
        values.extend(ids.iter().cloned().map(Value::from));
        let text = format!(
            "SELECT runs.id, time_ms, origin, target, drive, host, suite, label, spark, \
             shown.name, shown.value, shown.unit, tested, \
             (SELECT count(*) FROM runs part WHERE part.study = runs.id) \
             FROM runs LEFT JOIN figures shown ON shown.run = runs.id AND {shown} \
             WHERE runs.id IN ({among}) ORDER BY runs.id"
        );
        debug_assert!(ids.len() <= AT_ONCE, "a statement has limited parameters");
        self.go_on()?;
        self.read(|store| {
            let mut listed = Listed::default();
            store.each(&text, &values, &mut |row| {
                match kept(&row) {
                    Ok(run) => listed.runs.push(run),
                    Err(why) => {
                        listed.damage.push(format!("run {}: {why}", row.get::<String>(0)?));
                    }
                }
                Ok(())
            })?;
            add_tags(store, &mut listed.runs)?;
            Ok(listed)
        })
    }

    /// The names of all figures, those of most runs first.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn figure_names(&self) -> Result<Vec<String>, ArchiveError> {
        let text = "SELECT name FROM figures GROUP BY name ORDER BY count(*) DESC, name";
        self.read(|store| store.rows(text, &[])?.iter().map(|row| row.get(0)).collect())
    }

    /// The names of all benchmarks, those of most runs first.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn suite_names(&self) -> Result<Vec<String>, ArchiveError> {
        let text = "SELECT suite FROM runs WHERE suite IS NOT NULL AND study IS NULL \
                    GROUP BY suite ORDER BY count(*) DESC, suite";
        self.read(|store| store.rows(text, &[])?.iter().map(|row| row.get(0)).collect())
    }

    /// The one run whose id is or begins with `text`; a part only where no whole is meant.
    ///
    /// # Errors
    /// No such run, several, or too few characters to mean one.
    pub fn find(&self, text: &str) -> Result<RunId, ArchiveError> {
        // ULIDs are written in capitals.
        let begins = text.to_ascii_uppercase();
        if begins.len() < PREFIX_MIN {
            return Err(ArchiveError::TooShort { text: text.to_owned(), least: PREFIX_MIN });
        }
        // Beyond every letter and digit of an id.
        let range = [begins.clone(), format!("{begins}~")].map(Value::from);
        let (mut count, mut first) = self.among(&range, "NULL")?;
        // The beginning of a part's id is often that of its whole, which is then meant.
        if count == 0 {
            (count, first) = self.among(&range, "NOT NULL")?;
        }
        match (count, &first[..]) {
            (1, [one]) => {
                one.get::<String>(0)?.parse().map_err(|_| ArchiveError::NoSuchRun(text.to_owned()))
            }
            (0, _) | (_, []) => Err(ArchiveError::NoSuchRun(text.to_owned())),
            (several, first) => Err(ArchiveError::Ambiguous {
                text: text.to_owned(),
                count: several.unsigned_abs(),
                first: first.iter().map(in_short).collect::<Result<_, _>>()?,
            }),
        }
    }

    /// The runs whose ids are in a range and whose study is `which`: their number, and the first.
    fn among(&self, range: &[Value; 2], which: &str) -> Result<(i64, Vec<Row>), ArchiveError> {
        let condition = format!("id >= $1 AND id < $2 AND study IS {which}");
        // One statement: another process may keep or delete runs between two.
        let text = format!(
            "SELECT id, target, label, count(*) OVER () FROM runs WHERE {condition} \
             ORDER BY id LIMIT {NAMED_MAX}"
        );
        let first = self.read(|store| store.rows(&text, range))?;
        let count = first.first().map_or(Ok(0), |row| row.get(3))?;
        Ok((count, first))
    }
}

/// A run among others that are meant as well: its id, what it measured, its label.
fn in_short(row: &Row) -> Result<String, ArchiveError> {
    let (id, target): (String, String) = (row.get(0)?, row.get(1)?);
    let label = row.get::<Option<String>>(2)?.map(|label| format!(", {label}"));
    Ok(format!("{id} ({target}{})", label.unwrap_or_default()))
}

/// The tags of listed runs, in order.
fn add_tags(store: &mut dyn Store, kept: &mut [Kept]) -> Result<(), ArchiveError> {
    if kept.is_empty() {
        return Ok(());
    }
    let among = parameters(1, kept.len());
    let text = format!("SELECT run, tag FROM tags WHERE run IN ({among}) ORDER BY run, tag");
    let ids: Vec<Value> = kept.iter().map(|run| run.id.clone().into()).collect();
    let mut tags: BTreeMap<String, Vec<String>> = BTreeMap::new();
    store.each(&text, &ids, &mut |row| {
        tags.entry(row.get(0)?).or_default().push(row.get(1)?);
        Ok(())
    })?;
    for run in kept {
        run.tags = tags.remove(&run.id).unwrap_or_default();
    }
    Ok(())
}

/// A row of a list, or what is wrong with it.
fn kept(row: &Row) -> Result<Kept, Invalid> {
    let figure = match field(row, 9, "figure")? {
        Some(name) => {
            let (value, unit) = (field(row, 10, "figure")?, field(row, 11, "figure")?);
            Some(KeptFigure { name, value, unit })
        }
        None => None,
    };
    Ok(Kept {
        id: field(row, 0, "id")?,
        time_ms: field::<i64>(row, 1, "time")?.unsigned_abs(),
        origin: origin(row, 2)?,
        target: field(row, 3, "target")?,
        drive: field(row, 4, "drive")?,
        host: field(row, 5, "host")?,
        suite: field(row, 6, "suite")?,
        label: field(row, 7, "label")?,
        spark: field(row, 8, "picture")?,
        figure,
        commit: field(row, 12, "commit")?,
        parts: field::<i64>(row, 13, "parts")?.unsigned_abs(),
        tags: Vec::new(),
    })
}
