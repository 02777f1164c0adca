//! The request for a power cut: now, after a number of writes, or at a random time.

use drivelab_core::{Invalid, Rng, Span, Time};
use serde::Deserialize;
use serde_json::Value;

use crate::json;
use crate::store::Dice;

/// A requested power cut: at a time, or after this many more writes.
#[derive(Debug, Clone)]
pub struct PowerCut {
    at: Option<Time>,
    writes: Option<u64>,
    seed: u64,
}

impl PowerCut {
    /// The drawn time, if the cut depends on time.
    pub fn at(&self) -> Option<Time> {
        self.at
    }

    /// Counts a submitted write.
    pub(crate) fn saw_write(&mut self) {
        if let Some(writes) = &mut self.writes {
            *writes = writes.saturating_sub(1);
        }
    }

    /// Returns whether the cut is due at `now`.
    pub fn is_due(&self, now: Time) -> bool {
        self.at.is_some_and(|at| at <= now) || self.writes == Some(0)
    }

    /// The source of the choice of survivors.
    pub fn dice(&self) -> Dice {
        Dice::new(self.seed)
    }

    /// The seed of the request.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

/// `{"when": "now"|{"writes": n}|{"random_ms": [a, b]}, "seed": s}`, everything optional.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(default)]
    when: Option<Value>,
    #[serde(default)]
    seed: u64,
}

impl PowerCut {
    /// Reads the body of a `POST /power-cut` that arrived at `now`; an error names the valid
    /// requests.
    pub fn from_json(now: Time, text: &str) -> Result<Self, Invalid> {
        let text = if text.trim().is_empty() { "{}" } else { text };
        let Body { when, seed } = json::object(text).map_err(Invalid::new)?;
        let hint = r#""when" is "now", {"writes": n} or {"random_ms": [a, b]} with a <= b"#;
        let when = when.unwrap_or_else(|| "now".into());
        Self::read(now, &when, seed).ok_or_else(|| hint.into())
    }

    fn read(now: Time, when: &Value, seed: u64) -> Option<Self> {
        let cut = Self { at: None, writes: None, seed };
        if when == "now" {
            return Some(Self { at: Some(now), ..cut });
        }
        let object = when.as_object().filter(|object| object.len() == 1)?;
        if let Some(writes) = object.get("writes") {
            return Some(Self { writes: Some(writes.as_u64()?), ..cut });
        }
        let [low, high] = object.get("random_ms")?.as_array()?.as_slice() else { return None };
        let (low, high) = (low.as_u64()?, high.as_u64()?);
        // A week, in ms: longer than any test, and far from overflow.
        if low > high || high > 604_800_000 {
            return None;
        }
        // Another stream than that of the survivors (`Dice`), so that the two are independent.
        let drawn = Rng::for_part(seed, 1).between(low, high);
        debug_assert!((low..=high).contains(&drawn), "a time within the requested range");
        Some(Self { at: Some(now + Span::from_ms(drawn)), ..cut })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(text: &str, at_ms: u64, writes: u64) -> Option<bool> {
        let mut cut = PowerCut::from_json(Time::ZERO, text).ok()?;
        (0..writes).for_each(|_| cut.saw_write());
        Some(cut.is_due(Time::ZERO + Span::from_ms(at_ms)))
    }

    #[test]
    fn a_cut_is_due_at_once_after_writes_or_at_its_moment() {
        let check = |text, at_ms, writes, expected| {
            assert_eq!(due(text, at_ms, writes), expected, "{text}");
        };
        check("", 0, 0, Some(true));
        check(r#"{"when": "now", "seed": 4}"#, 0, 0, Some(true));
        check(r#"{"when": {"writes": 3}}"#, 1000, 2, Some(false));
        check(r#"{"when": {"writes": 3}}"#, 0, 3, Some(true));
        check(r#"{"when": {"random_ms": [10, 20]}, "seed": 7}"#, 9, 0, Some(false));
        check(r#"{"when": {"random_ms": [10, 20]}, "seed": 7}"#, 20, 0, Some(true));
    }

    #[test]
    fn what_is_not_in_the_contract_is_refused() {
        for text in [
            r#"{"when": "later"}"#,
            "[]",
            r#"["now", 1]"#,
            r#"{"when": {"writes": -1}}"#,
            r#"{"when": {"random_ms": [20, 10]}}"#,
            r#"{"when": {"writes": 1, "random_ms": [1, 2]}}"#,
            r#"{"wehn": "now"}"#,
            "[",
        ] {
            assert_eq!(due(text, 0, 0), None, "{text}");
        }
    }
}
