//! The check that records read back, and that rows say the same as their records.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_core::config::Choice as _;
use drivelab_core::record::{Figure, Origin};
use drivelab_core::{Invalid, invalid};

use super::insert::{REVISION, add_digests, is_digested};
use super::read::whole_with_parts;
use super::row::{digest, origin, packed, parameters};
use super::{AT_ONCE, Archive, Checked, runs};
use crate::entry::{Columns, Digest, ReadBack, ReadWhole, RunId};
use crate::error::ArchiveError;
use crate::store::{Row, Store, Value};

/// Figures are computed from a record again: their last digits may be rounded otherwise.
const ROUNDING: f64 = 1e-9;

/// Damage of a run.
#[derive(Debug)]
pub(super) struct Flaw {
    /// The run.
    pub(super) run: String,
    /// The whole that it is a part of; itself where it is not.
    pub(super) whole: String,
    pub(super) why: String,
}

impl Flaw {
    pub(super) fn sentence(&self) -> String {
        format!("run {}: {}", self.run, self.why)
    }
}

/// The fate of digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Digests {
    /// They must be those of their records.
    Compare,
    /// They are made out of the records: the database has none.
    Make,
}

/// A run whose record reads back.
struct Read {
    whole: String,
    /// The figures that its rows must have.
    figures: Vec<Figure>,
    /// The digest that it must have.
    digest: Option<Digest>,
}

impl Archive {
    /// Reads everything back, as it is at one moment: other processes may keep and delete runs
    /// meanwhile.
    ///
    /// # Errors
    /// An archive that cannot be read at all; damage within it is an answer.
    pub fn check(
        &self,
        read_back: ReadBack<'_>,
        read_whole: ReadWhole<'_>,
    ) -> Result<Checked, ArchiveError> {
        self.read(|store| {
            let found = store.begin_reading();
            let found = found.and_then(|()| self.check_in(store, read_back, read_whole));
            // Nothing was written; and what went wrong first is what matters.
            let _ = store.script("ROLLBACK");
            match found {
                Err(error) if error.is_malformed() => Ok(malformed(store, &error)),
                found => found,
            }
        })
    }

    /// The same in a transaction.
    fn check_in(
        &self,
        store: &mut dyn Store,
        read_back: ReadBack<'_>,
        read_whole: ReadWhole<'_>,
    ) -> Result<Checked, ArchiveError> {
        let all = if self.watch.is_set() { runs(store)? } else { 0 };
        let mut damage = store.damage()?;
        let (whole, flaws) = audit(store, read_back, Digests::Compare, &|done: u64| {
            self.watch.at(done, all);
            self.go_on()
        })?;
        damage.extend(flaws.iter().map(Flaw::sentence));
        let odd = odd_wholes(store, &flaws, read_whole, &|| self.go_on())?;
        damage.extend(odd.iter().map(Flaw::sentence));
        Ok(Checked { whole, damage })
    }
}

/// The damage of a file in which not even the rows are found.
fn malformed(store: &mut dyn Store, error: &ArchiveError) -> Checked {
    let damage = store.damage().unwrap_or_default();
    let why = std::error::Error::source(error).map_or_else(String::new, ToString::to_string);
    Checked { whole: 0, damage: if damage.is_empty() { vec![why] } else { damage } }
}

/// The wholes that do not read back with their parts, where all of these do without the whole.
pub(super) fn odd_wholes(
    store: &mut dyn Store,
    flaws: &[Flaw],
    read_whole: ReadWhole<'_>,
    go_on: &dyn Fn() -> Result<(), ArchiveError>,
) -> Result<Vec<Flaw>, ArchiveError> {
    let known: BTreeSet<&str> = flaws.iter().map(|flaw| flaw.whole.as_str()).collect();
    let mut odd = Vec::new();
    for id in studies(store)? {
        if known.contains(id.as_str()) {
            continue;
        }
        let whole = match whole_with_parts(store, &id, go_on) {
            Err(ArchiveError::Stopped) => return Err(ArchiveError::Stopped),
            whole => whole.map_err(Invalid::new),
        };
        let read = whole.and_then(|whole| read_whole(&whole));
        odd.extend(read.err().map(|Invalid(why)| Flaw { run: id.clone(), whole: id, why }));
    }
    Ok(odd)
}

/// The wholes that are analysed again from their parts.
fn studies(store: &mut dyn Store) -> Result<Vec<String>, ArchiveError> {
    let names = [Origin::Study, Origin::Matrix].map(|origin| Value::from(origin.name().to_owned()));
    let text = "SELECT id FROM runs \
                WHERE origin IN ($1, $2) AND study IS NULL AND id IS NOT NULL ORDER BY id";
    store.rows(text, &names)?.iter().map(|row| row.get(0)).collect()
}

/// Runs that read back whole, and the damage of the others. `seen` gets the number of runs that
/// have been read, and may end it.
pub(super) fn audit(
    store: &mut dyn Store,
    read_back: ReadBack<'_>,
    digests: Digests,
    seen: &dyn Fn(u64) -> Result<(), ArchiveError>,
) -> Result<(u64, Vec<Flaw>), ArchiveError> {
    let mut flaws = nameless(store)?;
    let mut ids: Vec<String> = Vec::new();
    store.each("SELECT id FROM runs WHERE id IS NOT NULL ORDER BY id", &[], &mut |row| {
        ids.push(row.get(0)?);
        Ok(())
    })?;
    let (mut done, mut whole) = (0, 0);
    for some in ids.chunks(AT_ONCE) {
        let mut expected = BTreeMap::new();
        let text = format!(
            "SELECT record, bytes, id, study, target, host, devices, drive, suite, origin \
             FROM runs LEFT JOIN records ON records.run = runs.id WHERE id IN ({})",
            parameters(1, some.len())
        );
        let values: Vec<Value> = some.iter().cloned().map(Value::from).collect();
        store.each(&text, &values, &mut |row| {
            let (run, of): (String, Option<String>) = (row.get(2)?, row.get(3)?);
            let whole = of.unwrap_or_else(|| run.clone());
            match one(&row, &run, read_back) {
                Ok((figures, digest)) => {
                    expected.insert(run, Read { whole, figures, digest });
                }
                Err(Invalid(why)) => flaws.push(Flaw { run, whole, why }),
            }
            done += 1;
            seen(done)
        })?;
        let mut odd = odd_figures(store, &values, &expected)?;
        match digests {
            Digests::Compare => odd_digests(store, &values, &expected, &mut odd)?,
            Digests::Make => make_digests(store, &mut expected)?,
        }
        debug_assert!(odd.len() <= expected.len(), "a run has one flaw at most");
        whole += (expected.len() - odd.len()) as u64;
        flaws.extend(odd.into_values());
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

/// Parts whose whole is missing, and digests whose run is.
fn orphans(store: &mut dyn Store) -> Result<Vec<Flaw>, ArchiveError> {
    let lost = "SELECT id, study FROM runs WHERE study IS NOT NULL \
                AND NOT EXISTS (SELECT 1 FROM runs whole WHERE whole.id = runs.study)";
    let rows = store.rows(lost, &[])?;
    let parts = rows.iter().map(|row| {
        let (run, whole): (String, String) = (row.get(0)?, row.get(1)?);
        let why = format!("what it is a part of, {whole}, is missing");
        Ok(Flaw { run, whole, why })
    });
    let stray = "SELECT run FROM digests \
                 WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = digests.run)";
    let rows = store.rows(stray, &[])?;
    let digests = rows.iter().map(|row| {
        let run: String = row.get(0)?;
        let why = "it has a digest, but is missing itself".to_owned();
        Ok(Flaw { whole: run.clone(), run, why })
    });
    parts.chain(digests).collect()
}

/// The figures and the digest that a run must have, where its record says so; or the damage of the
/// record or of another column.
fn one(
    row: &Row,
    run: &str,
    read_back: ReadBack<'_>,
) -> Result<(Vec<Figure>, Option<Digest>), Invalid> {
    if run.parse::<RunId>().is_err() {
        return Err("its id is not one".into());
    }
    // The label is not compared: the user may change it, and the record stays as it was.
    let text = packed(row).map_err(|_| "its record is damaged".to_owned())??;
    let is_part = row.get::<Option<String>>(3).is_ok_and(|study| study.is_some());
    // Lists say of an unknown origin what is wrong with it.
    let is_digested = origin(row, 9).is_ok_and(|origin| is_digested(origin, is_part));
    let Some(columns) = read_back(&text, is_digested)? else { return Ok((Vec::new(), None)) };
    let Columns { target, host, devices, drive, suite, figures, digest } = columns;
    let expected = [
        ("target", 4, Some(target)),
        ("host", 5, host),
        ("devices", 6, Some(devices.join(" "))),
        ("drive", 7, drive),
        ("suite", 8, suite),
    ];
    for (what, column, expected) in expected {
        let found: Option<String> =
            row.get(column).map_err(|_| format!("its {what} is damaged"))?;
        if found != expected {
            let (found, expected) = (quoted(found), quoted(expected));
            return Err(invalid!("its {what} is {found}, in its record {expected}"));
        }
    }
    Ok((figures, digest.filter(|_| is_digested)))
}

fn quoted(text: Option<String>) -> String {
    text.map_or("none".to_owned(), |text| format!("`{text}`"))
}

/// Figures that are others than those of their records, by run. A figure that another version knew
/// and this one does not is none.
fn odd_figures(
    store: &mut dyn Store,
    ids: &[Value],
    expected: &BTreeMap<String, Read>,
) -> Result<BTreeMap<String, Flaw>, ArchiveError> {
    let text = format!(
        "SELECT run, name, value, unit FROM figures WHERE run IN ({}) ORDER BY run, position",
        parameters(1, ids.len())
    );
    let mut odd: BTreeMap<String, Flaw> = BTreeMap::new();
    store.each(&text, ids, &mut |row| {
        let (run, name): (String, String) = (row.get(0)?, row.get(1)?);
        let Some(Read { whole, figures, .. }) = expected.get(&run) else { return Ok(()) };
        let Some(figure) = figures.iter().find(|figure| figure.name == name) else { return Ok(()) };
        let (value, unit): (f64, String) = (row.get(2)?, row.get(3)?);
        let is_near = (value - figure.value).abs() <= ROUNDING * figure.value.abs();
        if !is_near || unit != figure.unit {
            let (known, of) = (figure.value, &figure.unit);
            let why = format!("its {name} is {value} {unit}, in its record {known} {of}");
            // A figure without a unit leaves a blank before the comma.
            let why = why.replace(" ,", ",").trim_end().to_owned();
            let whole = whole.clone();
            odd.entry(run.clone()).or_insert(Flaw { run, whole, why });
        }
        Ok(())
    })?;
    Ok(odd)
}

/// Adds the runs whose digest is missing, not that of their record, or one that their record has
/// none of. A digest of another revision is not read, so it is not compared either.
fn odd_digests(
    store: &mut dyn Store,
    ids: &[Value],
    expected: &BTreeMap<String, Read>,
    odd: &mut BTreeMap<String, Flaw>,
) -> Result<(), ArchiveError> {
    let text = format!(
        "SELECT run, version, ended_s, seed, content, flaws, figures, text \
         FROM digests LEFT JOIN commons ON commons.id = common WHERE run IN ({})",
        parameters(1, ids.len())
    );
    let mut found: BTreeMap<String, Option<Digest>> = BTreeMap::new();
    store.each(&text, ids, &mut |row| {
        let (run, version): (String, String) = (row.get(0)?, row.get(1)?);
        if version == REVISION {
            let common: Option<String> = row.get(7).unwrap_or_default();
            let digest = common.and_then(|common| digest(&row, 2, common.into()).ok());
            found.insert(run, digest);
        } else {
            let known = expected.get(&run).and_then(|read| read.digest.clone());
            found.extend(known.map(|known| (run, Some(known))));
        }
        Ok(())
    })?;
    for (run, Read { whole, digest, .. }) in expected {
        let why = match (found.get(run), digest) {
            (None, None) => continue,
            (Some(Some(kept)), Some(digest)) if is_same(kept, digest) => continue,
            (Some(_), Some(_)) => "its digest is not that of its record",
            (Some(_), None) => "it has a digest, which does not follow from its record",
            (None, Some(_)) => "its digest is missing",
        };
        let (whole, why) = (whole.clone(), why.to_owned());
        odd.entry(run.clone()).or_insert(Flaw { run: run.clone(), whole, why });
    }
    Ok(())
}

/// To the bit: a value may be no number, which equals nothing.
fn is_same(one: &Digest, other: &Digest) -> bool {
    let bits = one.values.iter().map(|value| value.to_bits());
    bits.eq(other.values.iter().map(|value| value.to_bits()))
        && (&one.common, one.ended_unix_s, one.seed, one.content, &one.flaws)
            == (&other.common, other.ended_unix_s, other.seed, other.content, &other.flaws)
}

/// Adds the digests that records say.
fn make_digests(
    store: &mut dyn Store,
    expected: &mut BTreeMap<String, Read>,
) -> Result<(), ArchiveError> {
    let made = expected.iter_mut();
    let made = made.filter_map(|(run, read)| Some((run.clone(), read.digest.take()?)));
    add_digests(store, &made.collect::<Vec<_>>())
}
