//! A setting that is on or off.

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// In use.
    On,
    /// Not in use.
    Off,
}

impl Choice for Switch {
    const WHAT: &'static str = "setting (`on` or `off`)";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("on", Self::On),
        ("off", Self::Off),
        ("true", Self::On),
        ("false", Self::Off),
        ("yes", Self::On),
        ("no", Self::Off),
    ];
}
choice_as_text!(Switch);

impl Switch {
    /// Returns true for [`Switch::On`].
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}
