//! The effects of messages that are read again and again: a log full of errors consists of them.

use super::KernelLog;
use super::messages::Class;

/// All that a message does once no more lines are kept for a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It has none.
    Nothing,
    /// It adds to the faults of a name.
    Fault {
        /// The name.
        name: String,
        /// The kind.
        class: Class,
    },
    /// It adds to the faults of a SCSI disk, and may pair its address with a drive of libata.
    Scsi {
        /// The name.
        name: String,
        /// The kind.
        class: Class,
        /// The address, next to the name.
        address: Option<String>,
    },
    /// It adds to the faults of a USB device, and may pair it with a SCSI host.
    Usb {
        /// The name.
        name: String,
        /// The kind.
        class: Class,
    },
    /// It adds to the faults of a SCSI host, whose bridge may be reset.
    Host {
        /// The name.
        name: String,
        /// The kind.
        class: Class,
        /// The number of the host that is being reset.
        resets: Option<u32>,
    },
    /// A USB device was found.
    Found {
        /// Its location.
        location: String,
    },
    /// The driver of a PCI function says something of no interest.
    Spoken {
        /// The driver.
        driver: String,
        /// The address of the function.
        address: String,
    },
}

impl Effect {
    /// Returns whether it is all that a message does that introduces a disk or a function.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Spoken { .. })
    }
}

impl KernelLog {
    /// Returns whether a message can be reduced to its effect.
    pub(super) fn only_counts(&self) -> bool {
        // The line after the report of an adapter may belong to it.
        self.is_full() && self.may_repeat()
    }

    /// Returns whether a message that is not kept for a capture can be reduced to its effect.
    pub(super) fn may_repeat(&self) -> bool {
        self.lines > super::EXCERPT_LINES_MAX
            && self.adapter.as_ref().is_none_or(|(line, _)| self.lines > line + 1)
    }

    /// Notes the effect of the message that is being read.
    pub(super) fn note_effect(&mut self, effect: impl FnOnce() -> Effect) {
        if self.only_counts() {
            self.effect = Some(effect());
        }
    }

    /// The same for a message that is not kept for a capture.
    pub(super) fn note_unkept(&mut self, effect: impl FnOnce() -> Effect) {
        if self.may_repeat() {
            self.effect = Some(effect());
        }
    }

    /// Does what a message does that says the same as one before.
    pub(super) fn repeat(&mut self, effect: &Effect, message: &str) {
        match effect {
            Effect::Nothing => {}
            Effect::Fault { name, class } => {
                self.add_unless_excused(name, *class, message);
            }
            Effect::Scsi { name, class, address } => {
                if self.add_unless_excused(name, *class, message)
                    && let Some(address) = address
                {
                    self.pair_report(address);
                }
            }
            Effect::Usb { name, class } => {
                if self.add_unless_excused(name, *class, message) {
                    self.note_usb_reset(name);
                }
            }
            Effect::Host { name, class, resets } => {
                if self.add_unless_excused(name, *class, message) {
                    self.resetting = resets.or(self.resetting);
                }
            }
            Effect::Found { location } => self.note_found(location),
            Effect::Spoken { driver, address } => self.spoken(driver, address, message),
        }
    }
}
