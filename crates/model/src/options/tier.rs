//! A fast drive in front of a slow one: `tier=KIND:NAME`.

use std::fmt;

use drivelab_core::config::{Value, nearest};
use drivelab_core::{Invalid, invalid};

use crate::profile;
use crate::tier::TierKind;

/// A tier on a fast drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    /// Its policy.
    pub kind: TierKind,
    /// Name of the fast drive's built-in profile.
    pub drive: &'static str,
}

impl Value for Tier {
    fn read(text: &str) -> Result<Self, Invalid> {
        let Some((kind, drive)) = text.split_once(':') else {
            return Err(invalid!(
                "`{text}` is not a tier: write `swapcache:NAME` or `writeback:NAME`, with the name \
                 of a drive"
            ));
        };
        let kind = TierKind::read(kind)?;
        let known = profile::names();
        if let Some(drive) = known.iter().find(|name| **name == drive) {
            return Ok(Self { kind, drive });
        }
        let hint = match nearest(drive, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "a tier takes the drives that come with drivelab, not files".to_owned(),
        };
        Err(invalid!("unknown drive `{drive}`; {hint}"))
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.drive)
    }
}
