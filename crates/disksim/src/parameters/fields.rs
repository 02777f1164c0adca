//! Typed access to the entries of a block, with errors that say where and what was expected.

use drivelab_core::config::nearest;

use super::error::{At, DiskSimError};
use super::tree::{Block, Kind, Value};

/// A block whose entries are taken out one by one; what is left at the end is unknown.
pub(super) struct Fields {
    pub(super) at: At,
    what: String,
    entries: Vec<(String, Value)>,
    /// Every key that was asked for.
    asked: Vec<&'static str>,
}

impl Fields {
    pub(super) fn of(block: Block) -> Self {
        Self { at: block.at, what: block.what, entries: block.entries, asked: Vec::new() }
    }

    pub(super) fn optional(&mut self, key: &'static str) -> Option<Value> {
        self.asked.push(key);
        let index = self.entries.iter().position(|(known, _)| known == key)?;
        Some(self.entries.remove(index).1)
    }

    pub(super) fn value(&mut self, key: &'static str) -> Result<Value, DiskSimError> {
        let (at, what) = (self.at.clone(), self.what.clone());
        self.optional(key)
            .ok_or_else(|| at.error(format!("`{what}` lacks `{key}`; add `{key} = ...`")))
    }

    pub(super) fn block(&mut self, key: &'static str, what: &str) -> Result<Self, DiskSimError> {
        let value = self.value(key)?;
        value.block(key, what).map(Self::of)
    }

    /// A whole number within `limits`.
    pub(super) fn whole(
        &mut self,
        key: &'static str,
        limits: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, DiskSimError> {
        self.value(key)?.whole(key, limits)
    }

    /// A switch, written as 0 or 1.
    pub(super) fn switch(&mut self, key: &'static str) -> Result<bool, DiskSimError> {
        Ok(self.whole(key, 0..=1)? == 1)
    }

    /// A number within `limits`.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        limits: std::ops::RangeInclusive<f64>,
    ) -> Result<f64, DiskSimError> {
        self.value(key)?.number(key, limits)
    }

    /// A time in milliseconds, here in nanoseconds; negative values are fitted residuals.
    pub(super) fn residual(&mut self, key: &'static str) -> Result<i64, DiskSimError> {
        let limit = 1000.0;
        Ok(nanoseconds(self.number(key, -limit..=limit)?))
    }

    /// A time in milliseconds that cannot be negative.
    pub(super) fn time(&mut self, key: &'static str) -> Result<u64, DiskSimError> {
        Ok(nanoseconds(self.number(key, 0.0..=1000.0)?).unsigned_abs())
    }

    /// An entry that has no bearing on any response time.
    pub(super) fn ignore(&mut self, keys: &[&'static str]) {
        for key in keys {
            self.optional(key);
        }
    }

    /// An entry of which only one value is modelled.
    pub(super) fn only(&mut self, key: &'static str, accepted: f64) -> Result<(), DiskSimError> {
        let Some(value) = self.optional(key) else { return Ok(()) };
        let found = value.number(key, f64::MIN..=f64::MAX)?;
        if (found - accepted).abs() > 1e-9 {
            return Err(value.at.error(format!(
                "`{key} = {found}` is not modelled; only `{key} = {accepted}` is"
            )));
        }
        Ok(())
    }

    /// Whatever was not asked for is unknown.
    pub(super) fn finish(self) -> Result<(), DiskSimError> {
        let Some((key, value)) = self.entries.first() else { return Ok(()) };
        let hint = match nearest(key, self.asked.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "drivelab ignores only parameters that change no response time".to_owned(),
        };
        Err(value.at.error(format!("`{}` has an unknown parameter `{key}`; {hint}", self.what)))
    }
}

impl Value {
    pub(super) fn words(self, key: &str) -> Result<String, DiskSimError> {
        match self.kind {
            Kind::Words(words) => Ok(words),
            Kind::List(_) => Err(self.at.error(format!("`{key}`: expected a word, found a list"))),
            Kind::Block(_) => {
                Err(self.at.error(format!("`{key}`: expected a word, found a block")))
            }
        }
    }

    pub(super) fn list(self, key: &str) -> Result<Vec<Self>, DiskSimError> {
        match self.kind {
            Kind::List(list) => Ok(list),
            _ => Err(self.at.error(format!("`{key}`: expected a list `[ ... ]`"))),
        }
    }

    pub(super) fn block(self, key: &str, what: &str) -> Result<Block, DiskSimError> {
        match self.kind {
            Kind::Block(block) if block.what == what => Ok(block),
            Kind::Block(block) => Err(block
                .at
                .error(format!("`{key}`: `{}` is not modelled; only `{what}` is", block.what))),
            _ => Err(self.at.error(format!("`{key}`: expected a block `{what} {{ ... }}`"))),
        }
    }

    pub(super) fn whole(
        &self,
        key: &str,
        limits: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, DiskSimError> {
        let number = match &self.kind {
            Kind::Words(words) => words.parse().ok(),
            _ => None,
        };
        number.filter(|number| limits.contains(number)).ok_or_else(|| {
            let (low, high) = (limits.start(), limits.end());
            self.at.error(format!("`{key}`: expected a whole number from {low} to {high}"))
        })
    }

    pub(super) fn number(
        &self,
        key: &str,
        limits: std::ops::RangeInclusive<f64>,
    ) -> Result<f64, DiskSimError> {
        let number = match &self.kind {
            Kind::Words(words) => words.parse::<f64>().ok(),
            _ => None,
        };
        number.filter(|number| limits.contains(number)).ok_or_else(|| {
            let (low, high) = (limits.start(), limits.end());
            self.at.error(format!("`{key}`: expected a number from {low} to {high}"))
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the limits keep it below 2^40")]
pub(super) fn nanoseconds(ms: f64) -> i64 {
    (ms * 1e6 + if ms < 0.0 { -0.5 } else { 0.5 }) as i64
}
