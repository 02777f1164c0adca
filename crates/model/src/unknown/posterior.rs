//! Draws that a fit left of several unknowns together.

use drivelab_core::config::{ConfigError, Row, Section};

use super::distribution::Value;
use super::nature::Nature;
use super::normal;

/// Equally likely draws of several unknowns: what is known of one bears on the others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Posterior {
    /// One entry an unknown, all with as many draws.
    columns: Vec<Column>,
    pub(crate) source: String,
    /// The file that gives it.
    pub(crate) origin: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Column {
    key: &'static str,
    draws: Vec<Value>,
    /// The share of draws below each, ties counting half.
    ranks: Vec<f64>,
}

/// More draws tell no more: percentiles of a thousand are known to a tenth of a deviation.
const DRAWS_MAX: usize = 4096;
/// More unknowns than a profile has keys.
const UNKNOWNS_MAX: usize = 64;

impl Posterior {
    /// Takes it out of its table; `known` finds a key of the profile that may be open, `check` says
    /// what is wrong with a value of it.
    pub(crate) fn read(
        mut table: Section,
        origin: &str,
        known: impl Fn(&str) -> Option<(&'static str, Nature)>,
        check: impl Fn(&'static str, &str) -> Result<(), String>,
    ) -> Result<Self, ConfigError> {
        table.at_most("unknowns", UNKNOWNS_MAX)?;
        table.at_most("draws", DRAWS_MAX)?;
        let names = table.list::<String>("unknowns")?.unwrap_or_default();
        let mut keys: Vec<(&'static str, Nature)> = Vec::new();
        for name in &names {
            let Some(found) = known(name) else {
                return Err(table.error(format!("`{name}` is not a key that can be unknown")));
            };
            if keys.contains(&found) {
                return Err(table.error(format!("`{name}` is listed twice")));
            }
            keys.push(found);
        }
        let rows = table.rows("draws")?.unwrap_or_default();
        if keys.is_empty() || rows.len() < 2 {
            return Err(table.error(
                "a posterior needs `unknowns = [\"seek_short\", ...]` and two `draws` of them or \
                 more: `draws = [[\"2.1ms\", ...], ...]`",
            ));
        }
        let read = |row: &Row, place: usize, (key, nature): (&'static str, Nature)| {
            let text = row.get::<String>(place)?;
            let wrong = |wrong: String| row.error(format!("`{key}`: {wrong}"));
            check(key, &text).map_err(wrong)?;
            let number = if nature == Nature::Name { Ok(0.0) } else { nature.number(&text) };
            Ok(Value { number: number.map_err(wrong)?, text })
        };
        for row in &rows {
            if row.len() != keys.len() {
                let (found, wanted) = (row.len(), keys.len());
                return Err(row.error(format!("this draw has {found} values, not {wanted}")));
            }
        }
        let column = |(place, &(key, nature)): (usize, &(&'static str, Nature))| {
            let draws = rows.iter().map(|row| read(row, place, (key, nature)));
            Ok(Column::new(key, nature, draws.collect::<Result<_, ConfigError>>()?))
        };
        let columns = keys.iter().enumerate().map(column).collect::<Result<_, ConfigError>>()?;
        let source = table.take("source")?.unwrap_or_default();
        table.finish()?;
        let mut read = Self { columns, source, origin: origin.to_owned() };
        read.sort();
        Ok(read)
    }

    /// Orders the draws by their first unknown, so that evenly spaced draws cover it evenly.
    fn sort(&mut self) {
        let first = &self.columns[0].draws;
        let mut order: Vec<usize> = (0..first.len()).collect();
        order.sort_by(|one, other| first[*one].number.total_cmp(&first[*other].number));
        for column in &mut self.columns {
            column.draws = order.iter().map(|place| column.draws[*place].clone()).collect();
            column.ranks = order.iter().map(|place| column.ranks[*place]).collect();
        }
    }

    /// The unknowns that it is of.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.columns.iter().map(|column| column.key)
    }

    /// What is left of it where `keys` are no longer open; nothing where none of it is.
    pub(crate) fn restricted(mut self, keep: impl Fn(&str) -> bool) -> Option<Self> {
        self.columns.retain(|column| keep(column.key));
        if self.columns.is_empty() {
            return None;
        }
        self.sort();
        Some(self)
    }

    /// What `share` picks of one unknown, and the share of all draws that lie below it. Every
    /// unknown of a drive must be picked with the same share.
    pub(crate) fn at(&self, key: &str, share: f64) -> Option<(Value, f64)> {
        let column = self.columns.iter().find(|column| column.key == key)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a share of few draws"
        )]
        let place = ((share * column.draws.len() as f64) as usize).min(column.draws.len() - 1);
        Some((column.draws[place].clone(), column.ranks[place]))
    }

    /// The value of `key` below which `share` of its draws lie, whatever the others are.
    pub(crate) fn alone(&self, key: &str, share: f64) -> Option<Value> {
        let column = self.columns.iter().find(|column| column.key == key)?;
        let mut places: Vec<usize> = (0..column.draws.len()).collect();
        places.sort_by(|one, other| column.ranks[*one].total_cmp(&column.ranks[*other]));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a share of few draws"
        )]
        let place = ((share * places.len() as f64) as usize).min(places.len() - 1);
        Some(column.draws[places[place]].clone())
    }

    pub(crate) fn in_words(&self) -> String {
        let (draws, keys) = (self.columns[0].draws.len(), self.columns.len());
        match keys {
            1 => format!("{draws} draws of a fit"),
            _ => format!("{draws} draws of a fit, of {keys} unknowns together"),
        }
    }
}

impl Column {
    fn new(key: &'static str, nature: Nature, mut draws: Vec<Value>) -> Self {
        if nature == Nature::Name {
            // Names have no order of their own: that of the alphabet.
            let mut names: Vec<String> = draws.iter().map(|draw| draw.text.clone()).collect();
            names.sort_unstable();
            names.dedup();
            for draw in &mut draws {
                let place = names.iter().position(|name| *name == draw.text).unwrap_or_default();
                draw.number = f64::from(u32::try_from(place).expect("few names"));
            }
        }
        let mut sorted: Vec<f64> = draws.iter().map(|draw| draw.number).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = |draw: &Value| {
            let below = sorted.partition_point(|number| *number < draw.number);
            let up_to = sorted.partition_point(|number| *number <= draw.number);
            #[expect(clippy::cast_precision_loss, reason = "a share of few draws")]
            let share = (below + up_to) as f64 / 2.0 / sorted.len() as f64;
            share
        };
        let ranks = draws.iter().map(rank).collect();
        Self { key, draws, ranks }
    }
}

/// The deviate of a rank.
pub(crate) fn score(rank: f64) -> f64 {
    normal::quantile(rank.clamp(super::OUTERMOST[0], super::OUTERMOST[1]))
}
