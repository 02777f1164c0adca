//! Filters of runs.

use drivelab_core::config::Choice as _;
use drivelab_core::record::Origin;

use crate::entry::RunId;
use crate::store::Value;

/// A filter of runs: all for which everything given holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The kind of work that made it.
    pub origin: Option<Origin>,
    /// The machine, by the beginning of what records call it.
    pub host: Option<String>,
    /// A part of the target, or of a device under it.
    pub target: Option<String>,
    /// A part of the drive's name.
    pub drive: Option<String>,
    /// The benchmark, in any case of its letters.
    pub suite: Option<String>,
    /// The user's name for it, or one of its tags.
    pub label: Option<String>,
    /// The commit of the thing that was tested, by the beginning of its name.
    pub commit: Option<String>,
    /// The parts of this run; without it, what is a part of nothing.
    pub parts_of: Option<RunId>,
    /// Runs that have this figure; it is then the one that is shown.
    pub metric: Option<String>,
    /// Kept at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Kept before this time, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// The latest of them, this many.
    pub latest: Option<u64>,
}

/// A condition over `runs` and the values of its parameters, which are numbered from 1.
pub(crate) struct Condition {
    pub(crate) text: String,
    pub(crate) values: Vec<Value>,
}

impl Filter {
    pub(crate) fn condition(&self) -> Condition {
        let mut condition = Condition { text: "1 = 1".to_owned(), values: Vec::new() };
        // First: SQLite counts `$1` in the order of the text, and a list shows this figure.
        condition.add(self.metric.clone(), |n| {
            format!(
                "EXISTS (SELECT 1 FROM figures WHERE figures.name = ${n} AND figures.run = runs.id)"
            )
        });
        match self.parts_of {
            Some(whole) => {
                condition.add(Some(whole.to_string()), |n| format!("runs.study = ${n}"));
            }
            // Parts are listed with their whole alone.
            None => condition.text.push_str(" AND runs.study IS NULL"),
        }
        let origin = self.origin.map(|origin| origin.name().to_owned());
        condition.add(origin, |n| format!("runs.origin = ${n}"));
        // SQLite's `lower` changes ASCII letters only, so this side must not change others.
        let suite = self.suite.as_deref().map(str::to_ascii_lowercase);
        condition.add(suite, |n| format!("lower(runs.suite) = ${n}"));
        for (column, value) in [("host", &self.host), ("tested", &self.commit)] {
            // Beyond every letter and digit of an id.
            condition.add(value.clone(), |n| {
                format!("runs.{column} >= ${n} AND runs.{column} < ${n} || '~'")
            });
        }
        // No index finds a part of a name; rows without their records are short enough.
        condition.add(self.target.as_deref().map(like), |n| {
            format!("({} OR {})", contains("target", n), contains("devices", n))
        });
        condition.add(self.drive.as_deref().map(like), |n| contains("drive", n));
        condition.add(self.label.clone(), |n| {
            // Not with OR, for which no index would be used.
            format!(
                "runs.id IN (SELECT id FROM runs WHERE label = ${n} \
                 UNION SELECT run FROM tags WHERE tag = ${n})"
            )
        });
        condition.add(self.since_ms.map(millis), |n| format!("runs.time_ms >= ${n}"));
        condition.add(self.until_ms.map(millis), |n| format!("runs.time_ms < ${n}"));
        condition
    }
}

impl Condition {
    fn add(&mut self, value: Option<impl Into<Value>>, text: impl Fn(usize) -> String) {
        let Some(value) = value else { return };
        self.values.push(value.into());
        debug_assert!(!self.text.is_empty(), "it begins with what is true of every run");
        self.text.push_str(" AND ");
        self.text.push_str(&text(self.values.len()));
    }
}

/// A time as the tables hold it; one beyond their range is later than all.
pub(crate) fn millis(time_ms: u64) -> i64 {
    i64::try_from(time_ms).unwrap_or(i64::MAX)
}

/// A column holds a text that [`like`] made a pattern of: in any case, as far as ASCII goes.
fn contains(column: &str, n: usize) -> String {
    format!("lower(runs.{column}) LIKE ${n} ESCAPE '!'")
}

/// A pattern for texts that hold `part`, in which nothing has a special meaning.
fn like(part: &str) -> String {
    // `!` first, as the other two are escaped with it.
    let plain = part.to_ascii_lowercase().replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("%{plain}%")
}
