//! `[parameter.NAME]`: an option of the drive or of the load, and the values that it takes.

use drivelab_core::Invalid;
use drivelab_core::config::{ConfigError, Section};
use drivelab_core::workload::{OPTIONS, WorkloadOptions};

use crate::file::Vocabulary;

/// Values of one list.
const LISTED_MAX: usize = 1000;

/// A varied option of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name in the file.
    pub name: String,
    /// Its owner.
    pub of: Of,
    pub(super) values: Values,
}

/// The owner of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The modelled drive and its host, by its key.
    Drive(&'static str),
    /// The load.
    Load,
}

/// The values of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    List(Vec<String>),
    Range { from: f64, to: f64, is_log: bool, is_whole: bool },
}

impl Parameter {
    pub(super) fn read(
        name: String,
        mut section: Section,
        vocabulary: &dyn Vocabulary,
    ) -> Result<Self, ConfigError> {
        let of = of(&name, vocabulary).ok_or_else(|| unknown(&section, &name, vocabulary))?;
        section.at_most("values", LISTED_MAX)?;
        let values = match section.list::<String>("values")? {
            Some(values) if values.is_empty() => return Err(section.error("`values` is empty")),
            Some(values) => Values::List(values),
            None => range(&mut section)?,
        };
        let parameter = Self { name, of, values };
        // Options have ranges without gaps, so the ends are enough.
        for value in parameter.values.ends() {
            let wrong = parameter.check(&value, vocabulary);
            wrong.map_err(|wrong| section.error(format!("`{value}`: {wrong}")))?;
        }
        section.finish()?;
        Ok(parameter)
    }

    fn check(&self, value: &str, vocabulary: &dyn Vocabulary) -> Result<(), Invalid> {
        match self.of {
            Of::Drive(key) => vocabulary.read(key, value).map(|_| ()),
            Of::Load => WorkloadOptions::default().set(&self.name, value).map(|_| ()),
        }
    }

    /// The number of values that a grid has of it; `None` for a range.
    pub(super) fn count(&self) -> Option<usize> {
        match &self.values {
            Values::List(values) => Some(values.len()),
            Values::Range { .. } => None,
        }
    }

    /// The value at a share of the way through its values.
    pub(super) fn at(&self, share: f64) -> String {
        match &self.values {
            Values::List(values) => values[below(share, values.len())].clone(),
            Values::Range { from, to, is_log, is_whole } => {
                // Half open for whole numbers, so that all of them are equally likely.
                let end = if *is_whole { to + 1.0 } else { *to };
                let value = if *is_log {
                    from * libm::pow(end / from, share)
                } else {
                    from + share * (end - from)
                };
                if *is_whole {
                    format!("{:.0}", libm::floor(value).clamp(*from, *to))
                } else {
                    decimal(value.clamp(*from, *to))
                }
            }
        }
    }

    /// True if all its values are numbers.
    pub fn is_number(&self) -> bool {
        match &self.values {
            Values::List(values) => {
                values.iter().all(|text| text.parse().is_ok_and(f64::is_finite))
            }
            Values::Range { .. } => true,
        }
    }

    /// The value as a number, for statistics: that of a range or a list of numbers, or an index in
    /// the list.
    pub fn number(&self, value: &str) -> f64 {
        match &self.values {
            Values::List(values) => {
                let index = values.iter().position(|known| known == value).unwrap_or(0);
                f64::from(u32::try_from(index).unwrap_or(u32::MAX))
            }
            Values::Range { .. } => value.parse().unwrap_or(0.0),
        }
    }
}

impl Values {
    /// The values that must be valid for all others to be.
    fn ends(&self) -> Vec<String> {
        match self {
            Self::List(values) => values.clone(),
            Self::Range { from, to, is_whole: true, .. } => {
                vec![format!("{from:.0}"), format!("{to:.0}")]
            }
            Self::Range { from, to, .. } => vec![decimal(*from), decimal(*to)],
        }
    }
}

fn of(name: &str, vocabulary: &dyn Vocabulary) -> Option<Of> {
    if let Some(key) = vocabulary.keys().into_iter().find(|key| *key == name) {
        return Some(Of::Drive(key));
    }
    let is_load = OPTIONS.iter().any(|option| option.is_flag && option.name == name);
    is_load.then_some(Of::Load)
}

fn unknown(section: &Section, name: &str, vocabulary: &dyn Vocabulary) -> ConfigError {
    let known = vocabulary.keys().into_iter();
    let known = known.chain(OPTIONS.iter().filter(|it| it.is_flag).map(|it| it.name));
    let meant = drivelab_core::config::nearest(name, known);
    let message = format!("`{name}` is neither an option of a drive nor one of a load");
    let hint = match meant {
        _ if name == "drive" => {
            "`drive` names the drive of the whole sweep: write a file for each drive, and compare \
        their reports"
                .to_owned()
        }
        Some(meant) => format!("write `[parameter.{meant}]`"),
        None => "`drivelab drive list` and `drivelab run --help` list them".to_owned(),
    };
    ConfigError { hint: Some(hint), ..section.error(message) }
}

fn range(section: &mut Section) -> Result<Values, ConfigError> {
    let ends: [Option<String>; 2] = [section.take("from")?, section.take("to")?];
    let scale: Option<String> = section.take("scale")?;
    let [Some(from), Some(to)] = ends else {
        let wrong = section.error("give `values = [...]`, or `from` and `to`");
        return Err(wrong);
    };
    let is_whole = [&from, &to].iter().all(|end| end.parse::<u32>().is_ok());
    let ends = [from.parse(), to.parse()].map(|end| end.ok().filter(|end: &f64| end.is_finite()));
    let [Some(from), Some(to)] = ends else {
        return Err(section.error("`from` and `to` are numbers: list others in `values`"));
    };
    let is_log = match scale.as_deref() {
        None | Some("linear") => false,
        Some("log") => true,
        Some(_) => return Err(section.error("`scale` is `linear` or `log`")),
    };
    if from >= to {
        return Err(section.error("`from` must be less than `to`"));
    }
    if is_log && from <= 0.0 {
        return Err(section.error("a range with `scale = \"log\"` begins above 0"));
    }
    Ok(Values::Range { from, to, is_log, is_whole })
}

/// A number with at most six digits behind the point.
fn decimal(number: f64) -> String {
    let text = format!("{number:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// The index in a list of `count` at a share of the way through it.
#[expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a list is short, and a share below 1"
)]
fn below(share: f64, count: usize) -> usize {
    debug_assert!(count > 0 && (0.0..=1.0).contains(&share));
    // A share of 1 is still the last value.
    ((share * count as f64) as usize).min(count - 1)
}
