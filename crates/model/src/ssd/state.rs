//! The modelled share of a drive, and its initial state.

use std::fmt;

use drivelab_core::choice_as_text;
use drivelab_core::config::{Choice, Value};
use drivelab_core::{Invalid, invalid};

/// The writes to the flash before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precondition {
    /// None: every read is answered without the flash.
    Fresh,
    /// All of it once, in sequence.
    #[default]
    Full,
    /// All of it, then random units until write amplification is stationary.
    Steady,
}

impl Choice for Precondition {
    const WHAT: &'static str = "state of the flash";
    const NAMES: &'static [(&'static str, Self)] =
        &[("fresh", Self::Fresh), ("full", Self::Full), ("steady", Self::Steady)];
}
choice_as_text!(Precondition);

/// Ratio of the drive to the modelled flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale(u32);

impl Scale {
    /// The whole drive.
    pub const WHOLE: Self = Self(1);
    const MAX: u32 = 4096;

    /// The denominator: the flash is one part of this many.
    pub fn parts(self) -> u32 {
        self.0
    }

    /// Half of that part, if there is one.
    pub(crate) fn halved(self) -> Option<Self> {
        let parts = self.0 * 2;
        (parts <= Self::MAX).then_some(Self(parts))
    }

    /// Returns true for the whole drive.
    pub fn is_whole(self) -> bool {
        self == Self::WHOLE
    }
}

impl Value for Scale {
    fn read(text: &str) -> Result<Self, Invalid> {
        let parts = if text == "1" { Some("1") } else { text.strip_prefix("1/") };
        let parts = parts.and_then(|parts| parts.parse().ok());
        let sane = parts.filter(|parts| (1..=Self::MAX).contains(parts));
        sane.map(Self).ok_or_else(|| {
            invalid!("`{text}` is not a scale: give `1` or `1/N` with N up to {}", Self::MAX)
        })
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1"),
            parts => write!(f, "1/{parts}"),
        }
    }
}

impl serde::Serialize for Scale {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
