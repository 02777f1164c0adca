//! The kind of a measured drive, and its attachment.

use crate::choice_as_text;
use crate::config::Choice;

/// The medium of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveKind {
    /// Platters.
    Hdd,
    /// Flash.
    Ssd,
}

impl Choice for DriveKind {
    const WHAT: &'static str = "kind of drive";
    const NAMES: &'static [(&'static str, Self)] = &[("hdd", Self::Hdd), ("ssd", Self::Ssd)];
}

/// The interface of a solid-state drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveInterface {
    /// A SATA port, or a host adapter that takes such drives.
    Sata,
    /// `NVMe` over PCI Express.
    Nvme,
}

impl Choice for DriveInterface {
    const WHAT: &'static str = "interface";
    const NAMES: &'static [(&'static str, Self)] = &[("sata", Self::Sata), ("nvme", Self::Nvme)];
}

/// The writes that a solid-state drive received before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlashState {
    /// Nothing since all of it was erased or trimmed.
    Fresh,
    /// All of it once, in sequence.
    Full,
    /// All of it, then random blocks for so long that their rate fell no more.
    Steady,
}

impl Choice for FlashState {
    const WHAT: &'static str = "state of the flash";
    const NAMES: &'static [(&'static str, Self)] =
        &[("fresh", Self::Fresh), ("full", Self::Full), ("steady", Self::Steady)];
}
choice_as_text!(DriveKind, DriveInterface, FlashState);
