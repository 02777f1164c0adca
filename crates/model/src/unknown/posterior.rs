//! Joint draws of several unknowns from a fit.

use drivelab_core::Invalid;
use drivelab_core::config::{ConfigError, Section};
use drivelab_stats::distribution::normal;

use super::distribution::Value;
use super::nature::Nature;

/// Equally likely joint draws of several unknowns, which preserve their correlations.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Posterior {
    /// One column for each unknown, all of equal length.
    columns: Vec<Column>,
    pub(crate) source: String,
    /// The file that gives it.
    pub(crate) origin: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Column {
    key: &'static str,
    draws: Vec<Value>,
    /// The share of draws below each one, with half of the ties.
    ranks: Vec<f64>,
}

/// Maximum draws: percentiles of a thousand are already exact to a tenth of a deviation.
const DRAWS_MAX: usize = 4096;
/// Maximum unknowns: more than a profile has numeric keys.
const UNKNOWNS_MAX: usize = 64;

impl Posterior {
    /// Reads a posterior from its table; `known` finds a key of the profile that may be open,
    /// `check` validates a value of it.
    pub(crate) fn read(
        mut table: Section,
        origin: &str,
        known: impl Fn(&str) -> Option<(&'static str, Nature)>,
        check: impl Fn(&'static str, &str) -> Result<(), Invalid>,
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
        // Checked before any value is read: an index would be out of range in a short row.
        for row in &rows {
            if row.len() != keys.len() {
                let (found, wanted) = (row.len(), keys.len());
                return Err(row.error(format!("this draw has {found} values, not {wanted}")));
            }
        }
        let mut columns = Vec::with_capacity(keys.len());
        for (index, (key, nature)) in keys.into_iter().enumerate() {
            let draws = rows.iter().map(|row| {
                let text = row.get::<String>(index)?;
                let number = check(key, &text).and_then(|()| match nature {
                    Nature::Name => Ok(0.0),
                    _ => nature.number(&text),
                });
                match number {
                    Ok(number) => Ok(Value { text, number }),
                    Err(wrong) => Err(row.error(format!("`{key}`: {wrong}"))),
                }
            });
            columns.push(Column::new(key, nature, draws.collect::<Result<_, ConfigError>>()?));
        }
        let source = table.take("source")?.unwrap_or_default();
        table.finish()?;
        let mut posterior = Self { columns, source, origin: origin.to_owned() };
        posterior.sort();
        Ok(posterior)
    }

    /// Sorts the draws by their first unknown, so that evenly spaced shares cover it evenly.
    fn sort(&mut self) {
        let first = &self.columns[0].draws;
        let mut order: Vec<usize> = (0..first.len()).collect();
        order.sort_by(|one, other| first[*one].number.total_cmp(&first[*other].number));
        for column in &mut self.columns {
            debug_assert_eq!(column.draws.len(), order.len(), "columns of different lengths");
            column.draws = order.iter().map(|index| column.draws[*index].clone()).collect();
            column.ranks = order.iter().map(|index| column.ranks[*index]).collect();
        }
    }

    /// Its unknowns.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.columns.iter().map(|column| column.key)
    }

    /// The posterior of the unknowns that `keep` accepts; `None` if it accepts none.
    pub(crate) fn restricted(mut self, keep: impl Fn(&str) -> bool) -> Option<Self> {
        self.columns.retain(|column| keep(column.key));
        if self.columns.is_empty() {
            return None;
        }
        // Fewer unknowns may have another first one, by which evenly spaced shares are distributed.
        self.sort();
        Some(self)
    }

    /// The draw of one unknown at `share`, and the share of draws below it. All unknowns of a drive
    /// must use the same share.
    pub(crate) fn at(&self, key: &str, share: f64) -> Option<(Value, f64)> {
        let column = self.columns.iter().find(|column| column.key == key)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a share of few draws"
        )]
        let index = ((share * column.draws.len() as f64) as usize).min(column.draws.len() - 1);
        Some((column.draws[index].clone(), column.ranks[index]))
    }

    /// The marginal quantile of `key`, independent of the other unknowns.
    pub(crate) fn marginal(&self, key: &str, share: f64) -> Option<Value> {
        let column = self.columns.iter().find(|column| column.key == key)?;
        let mut order: Vec<usize> = (0..column.draws.len()).collect();
        order.sort_by(|one, other| column.ranks[*one].total_cmp(&column.ranks[*other]));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a share of few draws"
        )]
        let rank = ((share * order.len() as f64) as usize).min(order.len() - 1);
        Some(column.draws[order[rank]].clone())
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
            // Names have no natural order; the alphabet is at least deterministic.
            let mut names: Vec<String> = draws.iter().map(|draw| draw.text.clone()).collect();
            names.sort_unstable();
            names.dedup();
            for draw in &mut draws {
                let index = names.iter().position(|name| *name == draw.text).unwrap_or_default();
                draw.number = f64::from(u32::try_from(index).expect("few names"));
            }
        }
        let mut sorted: Vec<f64> = draws.iter().map(|draw| draw.number).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let ranks = draws.iter().map(|draw| mid_rank(&sorted, draw.number)).collect();
        Self { key, draws, ranks }
    }
}

/// The share of `sorted` below `number`, with half of the ties.
#[expect(clippy::cast_precision_loss, reason = "a share of few draws")]
fn mid_rank(sorted: &[f64], number: f64) -> f64 {
    debug_assert!(!sorted.is_empty(), "a rank among no draws is undefined");
    debug_assert!(sorted.is_sorted(), "ranks are positions in order");
    let below = sorted.partition_point(|other| *other < number);
    let up_to = sorted.partition_point(|other| *other <= number);
    (below + up_to) as f64 / 2.0 / sorted.len() as f64
}

/// The normal deviate of a rank.
pub(crate) fn score(rank: f64) -> f64 {
    normal::quantile(rank.clamp(super::OUTERMOST[0], super::OUTERMOST[1]))
}
