//! Unmeasured properties of drives: their distributions over drives of one model.

mod distribution;
mod nature;
mod posterior;

pub(crate) use distribution::{Distribution, Value};
pub(crate) use nature::{Nature, Open};
pub(crate) use posterior::{Posterior, score};

use drivelab_core::Invalid;
use drivelab_core::config::{ConfigError, Section, Stated};

/// A number that a profile leaves open.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prior {
    pub(crate) nature: Nature,
    pub(crate) distribution: Distribution,
    /// Source of the distribution.
    pub(crate) source: String,
    /// The file that gives it.
    pub(crate) origin: String,
}

impl Prior {
    /// Reads the distribution of `key` from its table; `check` must accept all its values.
    pub(crate) fn read(
        section: &mut Section,
        key: &'static str,
        nature: Nature,
        check: impl Fn(&str) -> Result<(), Invalid>,
        origin: &str,
    ) -> Result<Self, ConfigError> {
        let remark = section.stated(key).map(|Stated { remark, .. }| remark);
        let mut table = section.section(key)?.expect("the caller found a table");
        let source = table.take("source")?.or(remark).unwrap_or_default();
        let distribution = Distribution::read(&mut table, nature)?;
        for text in distribution.extremes(nature) {
            check(&text).map_err(|wrong| {
                let message = format!("`{key}` can be drawn as `{text}`: {wrong}");
                let hint = Some("set its bounds with `min` and `max`".to_owned());
                ConfigError { hint, ..table.error(message) }
            })?;
        }
        table.finish()?;
        Ok(Self { nature, distribution, source, origin: origin.to_owned() })
    }
}

/// The extreme shares of drawn drives: four standard deviations of a normal distribution.
pub(crate) const OUTERMOST: [f64; 2] = [3.167_124_183_311_992e-5, 1.0 - 3.167_124_183_311_992e-5];
