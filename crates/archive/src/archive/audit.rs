//! Whether what is kept reads back, and whether rows say what their records say.

use std::collections::BTreeMap;

use drivelab_core::record::Figure;

use super::row::{packed, places};
use super::{AT_ONCE, Archive, Checked, runs};
use crate::entry::{ReadBack, RunId};
use crate::error::ArchiveError;
use crate::store::{Row, Store, Value};

/// Figures are computed from a record again: their last digits may be rounded otherwise.
const ROUNDING: f64 = 1e-9;

/// What is wrong with a run.
#[derive(Debug)]
pub(super) struct Flaw {
    /// The run.
    pub(super) run: String,
    /// What it is a part of; itself where it is not.
    pub(super) whole: String,
    pub(super) why: String,
}

impl Flaw {
    pub(super) fn sentence(&self) -> String {
        format!("run {}: {}", self.run, self.why)
    }
}

impl Archive {
    /// Reads everything back.
    ///
    /// # Errors
    /// An archive that cannot be read at all; damage within it is an answer.
    pub fn check(&self, read_back: ReadBack<'_>) -> Result<Checked, ArchiveError> {
        self.read(|store| {
            let all = if self.watch.is_set() { runs(store)? } else { 0 };
            let mut damage = store.damage()?;
            let seen = |done: u64| {
                self.watch.at(done, all);
                self.go_on()
            };
            let (whole, flaws) = audit(store, read_back, &seen)?;
            damage.extend(flaws.iter().map(Flaw::sentence));
            Ok(Checked { whole, damage })
        })
    }
}

/// Runs that read back whole, and what is wrong with the others. `seen` gets the number of runs
/// that have been read, and may end it.
pub(super) fn audit(
    store: &mut dyn Store,
    read_back: ReadBack<'_>,
    seen: &dyn Fn(u64) -> Result<(), ArchiveError>,
) -> Result<(u64, Vec<Flaw>), ArchiveError> {
    let mut flaws = nameless(store)?;
    let mut ids: Vec<String> = Vec::new();
    store.each("SELECT id FROM runs WHERE id IS NOT NULL ORDER BY id", &[], &mut |row| {
        ids.push(row.get(0)?);
        Ok(())
    })?;
    let (mut read, mut whole) = (0, 0);
    for some in ids.chunks(AT_ONCE) {
        let mut expected = BTreeMap::new();
        let text = format!(
            "SELECT record, record_bytes, id, study, target, host, devices, drive, suite \
             FROM runs WHERE id IN ({})",
            places(1, some.len())
        );
        let values: Vec<Value> = some.iter().cloned().map(Value::from).collect();
        store.each(&text, &values, &mut |row| {
            let (run, of): (String, Option<String>) = (row.get(2)?, row.get(3)?);
            match one(&row, &run, read_back) {
                Ok(figures) => {
                    expected.insert(run.clone(), (of.unwrap_or(run), figures));
                }
                Err(why) => flaws.push(Flaw { whole: of.unwrap_or_else(|| run.clone()), run, why }),
            }
            read += 1;
            seen(read)
        })?;
        let odd = odd_figures(store, &values, &expected)?;
        whole += (expected.len() - odd.len()) as u64;
        flaws.extend(odd);
    }
    flaws.extend(orphans(store)?);
    Ok((whole, flaws))
}

/// Rows that cannot be asked for.
fn nameless(store: &mut dyn Store) -> Result<Vec<Flaw>, ArchiveError> {
    let rows = store.rows("SELECT count(*) FROM runs WHERE id IS NULL", &[])?;
    let count = rows.first().expect("a sum is one row").get::<i64>(0)?;
    let why = format!("{count} rows have none");
    let (run, whole) = ("without an id".to_owned(), String::new());
    Ok(if count > 0 { vec![Flaw { run, whole, why }] } else { Vec::new() })
}

/// Parts of what is missing.
fn orphans(store: &mut dyn Store) -> Result<Vec<Flaw>, ArchiveError> {
    let lost = "SELECT id, study FROM runs WHERE study IS NOT NULL \
                AND NOT EXISTS (SELECT 1 FROM runs whole WHERE whole.id = runs.study)";
    let flaw = |row: &Row| {
        let (run, whole): (String, String) = (row.get(0)?, row.get(1)?);
        let why = format!("what it is a part of, {whole}, is missing");
        Ok(Flaw { run, whole, why })
    };
    store.rows(lost, &[])?.iter().map(flaw).collect()
}

/// The figures that the row of a run must have, where its record says which; or what is wrong with
/// the record or with another column.
fn one(row: &Row, run: &str, read_back: ReadBack<'_>) -> Result<Vec<Figure>, String> {
    if run.parse::<RunId>().is_err() {
        return Err("its id is not one".to_owned());
    }
    let text = packed(row).map_err(|_| "its record is damaged".to_owned())??;
    let Some(columns) = read_back(&text)? else { return Ok(Vec::new()) };
    let devices = columns.devices.join(" ");
    let said = [
        ("target", 4, Some(columns.target)),
        ("host", 5, columns.host),
        // Rows of the first versions have none.
        ("devices", 6, Some(devices).filter(|it| !it.is_empty())),
        ("drive", 7, columns.drive),
        ("suite", 8, columns.suite),
    ];
    for (what, place, expected) in said {
        let found: Option<String> = row.get(place).map_err(|_| format!("its {what} is damaged"))?;
        let found = found.filter(|it| what != "devices" || !it.is_empty());
        if found != expected && !(what == "devices" && found.is_none()) {
            let shown =
                |text: Option<String>| text.map_or("none".to_owned(), |it| format!("`{it}`"));
            let (found, expected) = (shown(found), shown(expected));
            return Err(format!("its {what} is {found}, in its record {expected}"));
        }
    }
    Ok(columns.figures)
}

/// Figures that are others than those of their records. A figure that another version knew and this
/// one does not is none.
fn odd_figures(
    store: &mut dyn Store,
    ids: &[Value],
    expected: &BTreeMap<String, (String, Vec<Figure>)>,
) -> Result<Vec<Flaw>, ArchiveError> {
    let text = format!(
        "SELECT run, name, value, unit FROM figures WHERE run IN ({}) ORDER BY run, place",
        places(1, ids.len())
    );
    let mut odd: BTreeMap<String, Flaw> = BTreeMap::new();
    store.each(&text, ids, &mut |row| {
        let (run, name): (String, String) = (row.get(0)?, row.get(1)?);
        let Some((whole, figures)) = expected.get(&run) else { return Ok(()) };
        let Some(figure) = figures.iter().find(|figure| figure.name == name) else { return Ok(()) };
        let (value, unit): (f64, String) = (row.get(2)?, row.get(3)?);
        let is_near = (value - figure.value).abs() <= ROUNDING * figure.value.abs();
        if !is_near || unit != figure.unit {
            let (known, of) = (figure.value, &figure.unit);
            let why = format!("its {name} is {value} {unit}, in its record {known} {of}");
            let why = why.replace(" ,", ",").trim_end().to_owned();
            let whole = whole.clone();
            odd.entry(run.clone()).or_insert(Flaw { run, whole, why });
        }
        Ok(())
    })?;
    Ok(odd.into_values().collect())
}
