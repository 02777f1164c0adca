//! A fault as written by a user.

use std::fmt;

use drivelab_core::config::Choice;
use drivelab_core::units::SECTOR_BYTES;
use drivelab_core::{Bytes, Lba, Op, Ratio, Sectors, Span, choice_as_text};
use serde::{Deserialize, Serialize};

use crate::json;

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The answer is delayed.
    Stall,
    /// The answer takes a multiple of its time.
    Slow,
    /// A read fails.
    ReadError,
    /// A write fails.
    WriteError,
    /// A power cut mixes old and new bytes within a sector.
    Torn,
    /// A flush is acknowledged but not performed.
    LyingFlush,
    /// Sectors cannot be read until they are written again.
    LatentError,
    /// A write lands somewhere else.
    Misdirected,
    /// A bit of a sector has flipped on the medium.
    BitRot,
}

impl Choice for Kind {
    const WHAT: &'static str = "kind of fault";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("stall", Self::Stall),
        ("slow", Self::Slow),
        ("read-error", Self::ReadError),
        ("write-error", Self::WriteError),
        ("torn", Self::Torn),
        ("lying-flush", Self::LyingFlush),
        ("latent-error", Self::LatentError),
        ("misdirected", Self::Misdirected),
        ("bit-rot", Self::BitRot),
    ];
}
choice_as_text!(Kind);

impl Kind {
    /// Returns whether it takes effect before the device receives the command.
    pub(super) fn changes_plan(self) -> bool {
        matches!(
            self,
            Self::Stall | Self::Slow | Self::ReadError | Self::WriteError | Self::LyingFlush
        )
    }

    fn strikes(self, op: Op) -> bool {
        match self {
            Self::Stall | Self::Slow => true,
            Self::ReadError | Self::LatentError | Self::BitRot => op == Op::Read,
            Self::WriteError | Self::Torn | Self::Misdirected => op == Op::Write,
            Self::LyingFlush => op == Op::Flush,
        }
    }

    /// Returns whether `duration_ms` applies to it.
    fn has_duration(self) -> bool {
        self == Self::Stall
    }

    /// Returns whether `factor` applies to it.
    fn has_factor(self) -> bool {
        self == Self::Slow
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// The only operation that it strikes, if not all possible ones.
    pub op: Option<Op>,
    /// The only sectors that it strikes, first and beyond the last.
    pub range: Option<(Lba, Lba)>,
    /// Its probability.
    pub probability: Ratio,
    /// Duration of a stall.
    pub duration: Span,
    /// Factor of a slow-down, in thousandths.
    pub factor: u64,
}

/// The reason why a fault was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FaultError(String);

/// The keys as in the contract; those that change nothing are omitted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<Op>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
}

/// Denominator of a slow-down factor: it is stored in whole thousandths.
pub(super) const SLOW_PARTS: u64 = 1_000;

/// A day in ms, and a factor of a million: larger values are mistakes.
const STALL_MAX_MS: f64 = 86_400_000.0;
pub(super) const STALL_MAX: Span = Span::from_ms(86_400_000);
pub(super) const FACTOR_MAX: u64 = 1_000_000;

impl Fault {
    /// Reads the body of `POST /faults`.
    pub fn from_json(text: &str) -> Result<Self, FaultError> {
        let keys: Keys = json::object(text).map_err(|error| FaultError(error.to_string()))?;
        let parts = scaled("probability", keys.probability, 1.0, 1e9)?;
        let duration = scaled("duration_ms", keys.duration_ms, STALL_MAX_MS, 1e6)?;
        #[expect(clippy::cast_precision_loss, reason = "a million and a thousand")]
        let factor = scaled("factor", keys.factor, FACTOR_MAX as f64, SLOW_PARTS as f64)?;
        let kind = keys.kind;
        if duration.is_some() && !kind.has_duration() {
            return Err(FaultError(format!(
                "`duration_ms` means nothing for `{kind}`: it lasts until it is removed"
            )));
        }
        if factor.is_some() && !kind.has_factor() {
            return Err(FaultError(format!(
                "`factor` means nothing for `{kind}`, only for `slow`"
            )));
        }
        if kind.has_duration() && duration.is_none() {
            return Err(wrong("duration_ms", "(length of the stall) is missing"));
        }
        if kind.has_factor() && factor.is_none() {
            return Err(wrong("factor", "(how much slower) is missing"));
        }
        if factor.is_some_and(|factor| factor < SLOW_PARTS) {
            return Err(wrong("factor", "is below 1: no fault makes a drive faster"));
        }
        if keys.op.is_some_and(|op| !kind.strikes(op)) {
            return Err(wrong("op", "does not apply to this kind of fault"));
        }
        if keys.range.is_some() && (kind == Kind::LyingFlush || keys.op == Some(Op::Flush)) {
            return Err(wrong("range", "means nothing for flushes, which have no address"));
        }
        // In bytes: within one sector, rounding outwards would turn any two numbers into a range.
        if keys.range.is_some_and(|[start, end]| start >= end) {
            return Err(wrong("range", "is empty: give [first byte, byte after the last]"));
        }
        let range = keys.range.map(|[start, end]| {
            let end = Sectors::holding(Bytes::new(end)).get();
            (Lba::at_byte(Bytes::new(start)), Lba::new(end))
        });
        Ok(Self {
            kind,
            op: keys.op,
            range,
            probability: parts.map_or(Ratio::ONE, Ratio::from_billionths),
            duration: Span::from_ns(duration.unwrap_or(0)),
            factor: factor.unwrap_or(SLOW_PARTS),
        })
    }

    /// Returns whether it can strike this command. A flush has no address, so a range does not
    /// exclude it.
    pub(super) fn concerns(&self, op: Op, lba: Lba, sectors: Sectors) -> bool {
        self.kind.strikes(op)
            && self.op.is_none_or(|wanted| wanted == op)
            && self
                .range
                .is_none_or(|(start, end)| op == Op::Flush || (lba < end && start < lba + sectors))
    }

    pub(super) fn within(&self, capacity: Sectors) -> (Lba, Lba) {
        let all = (Lba::ZERO, Lba::ZERO + capacity);
        self.range.map_or(all, |(start, end)| (start.min(all.1), end.min(all.1)))
    }
}

fn wrong(key: &str, what: &str) -> FaultError {
    FaultError(format!("`{key}` {what}"))
}

/// Converts a number of the contract to a whole number of parts.
fn scaled(key: &str, value: Option<f64>, max: f64, scale: f64) -> Result<Option<u64>, FaultError> {
    match value {
        Some(value) if value > 0.0 && value <= max => Ok(Some(rounded(value * scale))),
        // NaN fails both comparisons and ends here.
        Some(_) => Err(wrong(key, "is not above 0, or too large")),
        None => Ok(None),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive and bounded by the caller"
)]
fn rounded(value: f64) -> u64 {
    (value + 0.5) as u64
}

/// In the form that `POST /faults` accepts: a logged fault can be requested again.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(&Keys::from(self)).expect("plain keys become JSON");
        f.write_str(&text)
    }
}

impl From<&Fault> for Keys {
    #[expect(clippy::cast_precision_loss, reason = "below a day in ns, and a factor of 10^9")]
    fn from(fault: &Fault) -> Self {
        // The sector beyond the last possible one has no byte address.
        let range = fault
            .range
            .map(|(start, end)| [start, end].map(|lba| lba.get().saturating_mul(SECTOR_BYTES)));
        let stalls = fault.kind.has_duration();
        let slows = fault.kind.has_factor();
        Self {
            kind: fault.kind,
            op: fault.op,
            range,
            probability: Some(fault.probability.to_f64()),
            duration_ms: stalls.then(|| fault.duration.ns() as f64 / 1e6),
            factor: slows.then(|| fault.factor as f64 / SLOW_PARTS as f64),
        }
    }
}

/// A fault as `GET /faults` lists it.
#[derive(Debug, Serialize)]
pub struct Listed {
    pub(crate) id: u64,
    #[serde(flatten)]
    keys: Keys,
    pub(crate) strikes: u64,
}

impl Listed {
    pub(crate) fn new(id: u64, fault: &Fault, strikes: u64) -> Self {
        Self { id, keys: Keys::from(fault), strikes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_fault_is_said() {
        let check = |text: &str, expected: &str| {
            let error = Fault::from_json(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check(r#"{"kind": "stal"}"#, "did you mean `stall`");
        check(r#"{"kind": "stall"}"#, "`duration_ms`");
        check(r#"{"kind": "slow"}"#, "`factor`");
        check(r#"{"kind": "slow", "factor": 0}"#, "`factor`");
        check(r#"{"kind": "read-error", "op": "write"}"#, "`op`");
        check(r#"{"kind": "read-error", "probability": 1.5}"#, "`probability`");
        check(r#"{"kind": "read-error", "range": [512, 512]}"#, "`range`");
        check(r#"{"kind": "torn", "range": [9, 1]}"#, "`range`");
        check(r#"["torn"]"#, "expected a map");
        check(r#"{"kind": "slow", "factor": 0.5}"#, "`factor` is below 1");
        check(r#"{"kind": "slow", "factor": 2, "duration_ms": 1000}"#, "until it is removed");
        check(r#"{"kind": "lying-flush", "range": [0, 512]}"#, "`range` means nothing");
        check(
            r#"{"kind": "stall", "duration_ms": 1, "op": "flush", "range": [0, 512]}"#,
            "`range` means nothing",
        );
        check(r#"{"kind": "read-error", "rnage": [0, 512]}"#, "rnage");
    }

    #[test]
    fn a_key_that_means_nothing_for_its_kind_is_refused() {
        for (kind, _) in Kind::NAMES {
            let check = |key: &str, has_meaning: bool, own: &str| {
                let text = format!("{{\"kind\": \"{kind}\", \"{key}\": 2{own}}}");
                let read = Fault::from_json(&text);
                assert_eq!(read.is_ok(), has_meaning, "{text}: {read:?}");
            };
            check(
                "duration_ms",
                *kind == "stall",
                if *kind == "slow" { ", \"factor\": 2" } else { "" },
            );
            check(
                "factor",
                *kind == "slow",
                if *kind == "stall" { ", \"duration_ms\": 2" } else { "" },
            );
        }
    }

    #[test]
    fn what_is_logged_can_be_asked_for_again() {
        for text in [
            r#"{"kind":"stall","op":"read","range":[0,512],"probability":0.5,"duration_ms":2.5}"#,
            r#"{"kind":"slow","probability":1.0,"factor":2.5}"#,
            r#"{"kind":"slow","probability":1.0,"factor":1.0}"#,
            r#"{"kind":"lying-flush","probability":1.0}"#,
            r#"{"kind":"bit-rot","range":[0,4096],"probability":0.25}"#,
        ] {
            let fault = Fault::from_json(text).unwrap();
            assert_eq!(fault.to_string(), text);
            assert_eq!(Fault::from_json(&fault.to_string()), Ok(fault));
        }
    }

    #[test]
    fn a_fault_concerns_its_operation_and_its_range() {
        let text = r#"{"kind": "stall", "op": "read", "range": [4096, 8192], "duration_ms": 1.5}"#;
        let fault = Fault::from_json(text).unwrap();
        assert_eq!(fault.duration, Span::from_us(1500));
        let check = |op, lba, sectors, expected| {
            let found = fault.concerns(op, Lba::new(lba), Sectors::new(sectors));
            assert_eq!(found, expected, "{op:?} {lba}+{sectors}");
        };
        check(Op::Read, 8, 8, true);
        check(Op::Read, 0, 9, true);
        check(Op::Read, 15, 100, true);
        check(Op::Read, 0, 8, false);
        check(Op::Read, 16, 8, false);
        check(Op::Write, 8, 8, false);
    }
}
