//! Typed access to the entries of a block, with errors that give the position and what was
//! expected.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use drivelab_core::config::nearest;

use super::error::DiskSimResult;
use super::tree::{Block, Kind, Value};

/// A block whose entries are taken out one by one; the remaining ones are unknown.
pub(super) struct Fields {
    pub(super) block: Block,
    /// Every requested key.
    asked: Vec<&'static str>,
}

impl Fields {
    pub(super) fn of(block: Block) -> Self {
        Self { block, asked: Vec::new() }
    }

    pub(super) fn optional(&mut self, key: &'static str) -> Option<Value> {
        self.asked.push(key);
        let index = self.block.entries.iter().position(|(known, _)| known == key)?;
        Some(self.block.entries.remove(index).1)
    }

    pub(super) fn value(&mut self, key: &'static str) -> DiskSimResult<Value> {
        self.optional(key).ok_or_else(|| {
            let Block { at, what, .. } = &self.block;
            at.error(format!("`{what}` lacks `{key}`; add `{key} = ...`"))
        })
    }

    pub(super) fn block(&mut self, key: &'static str, what: &str) -> DiskSimResult<Self> {
        self.value(key)?.block(key, what).map(Self::of)
    }

    /// A switch, written as 0 or 1.
    pub(super) fn switch(&mut self, key: &'static str) -> DiskSimResult<bool> {
        Ok(self.number(key, 0..=1)? == 1)
    }

    /// A number within `limits`.
    pub(super) fn number<T: Number>(
        &mut self,
        key: &'static str,
        limits: RangeInclusive<T>,
    ) -> DiskSimResult<T> {
        self.value(key)?.number(key, limits)
    }

    /// A time in milliseconds, here in nanoseconds; negative values are fitted residuals.
    pub(super) fn residual(&mut self, key: &'static str) -> DiskSimResult<i64> {
        Ok(nanoseconds(self.number(key, -1000.0..=1000.0)?))
    }

    /// A time in milliseconds that cannot be negative.
    pub(super) fn time(&mut self, key: &'static str) -> DiskSimResult<u64> {
        Ok(nanoseconds(self.number(key, 0.0..=1000.0)?).unsigned_abs())
    }

    /// An entry that does not affect any response time.
    pub(super) fn ignore(&mut self, keys: &[&'static str]) {
        for key in keys {
            self.optional(key);
        }
    }

    /// An entry of which only one value is modelled.
    pub(super) fn only(&mut self, key: &'static str, accepted: f64) -> DiskSimResult<()> {
        let Some(value) = self.optional(key) else { return Ok(()) };
        let found = value.number(key, f64::MIN..=f64::MAX)?;
        if (found - accepted).abs() > 1e-9 {
            return Err(value.at.error(format!(
                "`{key} = {found}` is not modelled; only `{key} = {accepted}` is"
            )));
        }
        Ok(())
    }

    /// Entries that were not requested are unknown.
    pub(super) fn finish(self) -> DiskSimResult<()> {
        let Some((key, value)) = self.block.entries.first() else { return Ok(()) };
        let hint = match nearest(key, self.asked.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "drivelab ignores only parameters that change no response time".to_owned(),
        };
        Err(value
            .at
            .error(format!("`{}` has an unknown parameter `{key}`; {hint}", self.block.what)))
    }
}

impl Value {
    pub(super) fn words(&self, key: &str) -> DiskSimResult<&str> {
        let found = match &self.kind {
            Kind::Words(words) => return Ok(words),
            Kind::List(_) => "list",
            Kind::Block(_) => "block",
        };
        Err(self.at.error(format!("`{key}`: expected a word, found a {found}")))
    }

    pub(super) fn list(self, key: &str) -> DiskSimResult<Vec<Self>> {
        match self.kind {
            Kind::List(list) => Ok(list),
            _ => Err(self.at.error(format!("`{key}`: expected a list `[ ... ]`"))),
        }
    }

    pub(super) fn block(self, key: &str, what: &str) -> DiskSimResult<Block> {
        match self.kind {
            Kind::Block(block) if block.what == what => Ok(block),
            Kind::Block(block) => Err(block
                .at
                .error(format!("`{key}`: `{}` is not modelled; only `{what}` is", block.what))),
            _ => Err(self.at.error(format!("`{key}`: expected a block `{what} {{ ... }}`"))),
        }
    }

    pub(super) fn number<T: Number>(
        &self,
        key: &str,
        limits: RangeInclusive<T>,
    ) -> DiskSimResult<T> {
        let number = self.words(key).ok().and_then(|words| words.parse().ok());
        number.filter(|number| limits.contains(number)).ok_or_else(|| {
            let (what, low, high) = (T::WHAT, limits.start(), limits.end());
            self.at.error(format!("`{key}`: expected a {what} from {low} to {high}"))
        })
    }
}

/// Numbers in the files, and their names in messages.
pub(super) trait Number: FromStr + PartialOrd + Display {
    const WHAT: &'static str;
}

macro_rules! numbers {
    ($what:literal: $($type:ty),+) => {
        $(impl Number for $type {
            const WHAT: &'static str = $what;
        })+
    };
}
numbers!("whole number": i32, u32, u64, usize);
numbers!("number": f64);

#[expect(clippy::cast_possible_truncation, reason = "the limits keep it below 2^40")]
pub(super) fn nanoseconds(ms: f64) -> i64 {
    (ms * 1e6 + if ms < 0.0 { -0.5 } else { 0.5 }) as i64
}
