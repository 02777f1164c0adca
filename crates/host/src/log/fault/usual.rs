//! Events after which what looks like a fault is usual: a resume, an unplugged device, a card
//! reader without a card.

use std::collections::BTreeMap;

use super::super::KernelLog;
use super::super::effect::Effect;
use super::super::messages::{Class, Source};
use super::disk_of;
use crate::bus::mmc::CardBus;

/// Time after a resume in which resets are usual.
const RESUME_S: u64 = 30;
/// Time after an unplugging in which requests to a device whose location is unknown may fail.
const UNPLUG_S: u64 = 5;
/// Time in which a disk spins up.
const SPIN_UP_S: u64 = 30;
/// Number of lines that stands for these times in a log without time stamps.
const LINES: u64 = 100;

/// Messages of the kernel when it goes to sleep or wakes up, today and since 2.6.32.
pub(in crate::log) const SLEEP: &[&str] = &[
    "PM: suspend e",
    "PM: Suspending system",
    "PM: resume ",
    "PM: early resume of devices",
    "PM: noirq resume of devices",
    "PM: Finishing wakeup",
    "PM: hibernation e",
    "PM: hibernation: hibernation e",
    "PM: Image restored",
    "ACPI: PM: Waking up",
    "ACPI: Waking up",
    "Suspending console(s)",
    "Restarting tasks ",
    "Waking up from system sleep",
];

/// A point in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    at_s: Option<u64>,
    line: u64,
}

/// The state of a device in which its faults are usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The kernel detached it.
    Detached,
    /// A reader without a card.
    Empty,
    /// A card for something else than data, such as Wi-Fi.
    NoStorage,
    /// A user shut the file system down.
    ShutDown,
}

/// The events of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Events {
    resumed: Option<Moment>,
    /// Locations of USB devices that were unplugged.
    unplugged: BTreeMap<String, Moment>,
    /// The latest unplugging of any USB device.
    latest: Option<Moment>,
    /// The latest removal of a PCI Express card.
    pulled: Option<Moment>,
    states: BTreeMap<String, State>,
    /// The disk that is spinning up, and since when.
    spinning: Option<(String, Moment)>,
    /// The USB device that was found last: a host of UAS that follows is its own.
    found: Option<String>,
}

impl Events {
    /// Returns whether no device was unplugged or is in a state in which faults are usual, as in
    /// most logs.
    pub(in crate::log) fn excuse_nothing(&self) -> bool {
        self.states.is_empty()
            && self.unplugged.is_empty()
            && self.latest.is_none()
            && self.pulled.is_none()
    }
}

/// The reason why a fault is not one of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::log) enum Excuse {
    /// It is usual.
    Usual,
    /// The device was unplugged while it was in use.
    Unplugged,
}

impl KernelLog {
    fn moment(&self) -> Moment {
        Moment { at_s: self.at_s, line: self.lines }
    }

    /// Returns whether it is at most so many seconds since then, or so many lines in a log without
    /// time stamps.
    fn is_soon_after(&self, then: Moment, seconds: u64) -> bool {
        match (then.at_s, self.at_s) {
            (Some(then), Some(now)) => now >= then && now - then <= seconds,
            _ => self.lines.saturating_sub(then.line) <= LINES,
        }
    }

    /// Takes note of a message about an event.
    pub(super) fn event(&mut self, message: &str) -> bool {
        let now = self.moment();
        let is_sleep = message.starts_with(['P', 'A', 'S', 'R', 'W'])
            && SLEEP.iter().any(|start| message.starts_with(start));
        let is_resume = is_sleep
            || message.starts_with("xhci") && message.contains("xHC error in resume")
            || message.starts_with("usb ") && message.contains("root hub lost power or was reset");
        if is_resume {
            self.events.resumed = Some(now);
            return true;
        }
        let is_short = self.lines <= super::super::EXCERPT_LINES_MAX;
        self.port_lines += u64::from(is_short && message.starts_with("pcieport "));
        if message.starts_with("pcieport ") && message.ends_with("Card not present") {
            self.events.pulled = Some(now);
            return true;
        }
        // A dock was unplugged, or a driver detached: the controller is gone with all that it said.
        if let Some((address, text)) =
            message.strip_prefix("xhci_hcd ").and_then(|rest| rest.split_once(": "))
            && text.starts_with("USB bus ")
            && text.ends_with(" deregistered")
        {
            self.forget(address);
            return true;
        }
        let Some((location, text)) =
            message.strip_prefix("usb ").and_then(|rest| rest.split_once(": "))
        else {
            return false;
        };
        if text.starts_with("New USB device found") || text.starts_with("new ") {
            self.note_found(location);
            self.note_unkept(|| Effect::Found { location: location.to_owned() });
        }
        if text.starts_with("USB disconnect") {
            self.events.latest = Some(now);
            let unplugged = &mut self.events.unplugged;
            if unplugged.len() >= super::super::NAMES_MAX {
                unplugged.clear();
            }
            unplugged.insert(location.to_owned(), now);
            self.lose_spinning(location, message);
            return true;
        }
        false
    }

    /// A USB device was found, which may be a bridge of UAS.
    pub(in crate::log) fn note_found(&mut self, location: &str) {
        if self.events.found.as_deref() != Some(location) {
            self.events.found = Some(location.to_owned());
        }
    }

    /// The location of a host of UAS, whose message names none.
    pub(in crate::log) fn usb_found_last(&self) -> Option<String> {
        self.events.found.clone()
    }

    /// A disk was attached, under a name that may have belonged to another one.
    pub(in crate::log) fn attached(&mut self, name: &str, address: &str) {
        for name in [name, address] {
            if self.events.states.get(name) == Some(&State::Detached) {
                self.events.states.remove(name);
            }
        }
        let location = self.host_of(address).and_then(|host| host.usb.clone());
        location.map(|location| self.events.unplugged.remove(&location));
    }

    /// The kernel detached the disk at a SCSI address.
    pub(in crate::log) fn detached(&mut self, address: &str) {
        let disk = self.disks.iter().find(|(_, it)| it.address.as_deref() == Some(address));
        let name = disk.map(|(name, _)| name.clone());
        for name in name.into_iter().chain([address.to_owned()]) {
            self.note_state(&name, State::Detached);
        }
    }

    /// A medium is in the drive.
    pub(in crate::log) fn has_medium(&mut self, name: &str) {
        if self.events.states.get(name) == Some(&State::Empty) {
            self.events.states.remove(name);
        }
    }

    fn note_state(&mut self, name: &str, state: State) {
        if self.events.states.len() < super::super::NAMES_MAX {
            self.events.states.insert(name.to_owned(), state);
        }
    }

    /// A disk that disconnects while it spins up was not unplugged: it lacks current.
    fn lose_spinning(&mut self, location: &str, message: &str) {
        let Some((name, since)) = self.events.spinning.take() else { return };
        let disk = self.disks.get(&name).and_then(|disk| disk.address.as_deref());
        let host = disk.and_then(|address| self.host_of(address));
        if host.is_some_and(|host| host.usb.as_deref() == Some(location))
            && self.is_soon_after(since, SPIN_UP_S)
        {
            self.add_fault(&name, Class::Lost, message);
        }
    }

    /// Notes the beginning or the end of the time in which a disk spins up; returns whether it
    /// begins.
    pub(in crate::log) fn note_spinning(&mut self, name: &str, text: &str) -> bool {
        let begins = text.starts_with("Spinning up disk...");
        if begins {
            self.events.spinning = Some((name.to_owned(), self.moment()));
        } else if text.starts_with("Attached SCSI ") {
            self.events.spinning.take_if(|(disk, _)| disk == name);
        }
        begins
    }

    /// Reads a message that is no fault, and may end or begin a state.
    pub(super) fn settles(&mut self, source: Source, name: &str, text: &str) -> bool {
        match source {
            // `hdc: LITE-ON DVDRW, ATAPI CD/DVD-ROM drive`
            Source::Ide if text.contains("ATAPI") => {
                self.faults.remove(name);
                self.note_state(name, State::NoStorage);
                true
            }
            Source::Mmc if text.starts_with("new ") => {
                let bus = CardBus::of_log(text, &format!("{name}: {text}"));
                if let Some(bus) = bus.filter(|_| self.cards.len() < super::super::NAMES_MAX) {
                    self.cards.insert(name.to_owned(), bus);
                }
                if text.contains("SDIO card") {
                    self.faults.remove(name);
                    self.note_state(name, State::NoStorage);
                } else if let Some(faults) = self.faults.get_mut(name) {
                    faults.by_class.remove(&Class::Unsettled);
                }
                true
            }
            Source::Nvme if text.ends_with("default/read/poll queues") => {
                // The reset helped: what looked like a loss was a delay.
                if let Some(faults) = self.faults.get_mut(name)
                    && let Some(lost) = faults.by_class.remove(&Class::Lost)
                {
                    faults.by_class.entry(Class::Timeout).or_default().add_all(&lost);
                }
                true
            }
            Source::Scsi if text.contains("Medium not present") => {
                self.note_state(disk_of(name), State::Empty);
                true
            }
            Source::Fs if text.contains("User initiated shutdown") => {
                self.note_state(name, State::ShutDown);
                true
            }
            Source::Fs if text.contains("Mounting V") => {
                self.events.states.remove(name);
                true
            }
            _ => false,
        }
    }

    /// Returns the reason why a fault is not one of the device.
    pub(in crate::log) fn excuse(&self, name: &str, class: Class, message: &str) -> Option<Excuse> {
        if class == Class::Reset && self.has_just_resumed() {
            return Some(Excuse::Usual);
        }
        if self.events.excuse_nothing() {
            return None;
        }
        let of_disk = self.events.states.get(disk_of(name));
        match self.events.states.get(name).or(of_disk) {
            Some(State::NoStorage) => return Some(Excuse::Usual),
            Some(State::Empty) if class == Class::Io => return Some(Excuse::Usual),
            Some(State::ShutDown) if class == Class::FileSystem => return Some(Excuse::Usual),
            _ => {}
        }
        let follows = matches!(
            class,
            Class::Io
                | Class::Lost
                | Class::Link
                | Class::Timeout
                | Class::Command
                | Class::Controller
                | Class::FileSystem
        );
        if !follows || !self.is_gone(name) {
            return None;
        }
        let was_written = message.contains("(WRITE)")
            || message.contains("lost async page write")
            || message.contains("lost page write")
            // ext4 names the inode whose data did not reach the disk.
            || message.contains(" writing to inode ");
        // A FAT that is read after its card was pulled is of no interest.
        let was_mounted = class == Class::FileSystem && !message.starts_with("FAT-fs");
        Some(if was_written || was_mounted { Excuse::Unplugged } else { Excuse::Usual })
    }

    fn has_just_resumed(&self) -> bool {
        self.events.resumed.is_some_and(|resumed| self.is_soon_after(resumed, RESUME_S))
    }

    /// Returns whether the device was unplugged or detached.
    fn is_gone(&self, name: &str) -> bool {
        let disk = disk_of(name);
        let detached =
            [name, disk].iter().any(|name| self.events.states.get(*name) == Some(&State::Detached));
        if detached {
            return true;
        }
        if name.starts_with("nvme") {
            return self.events.pulled.is_some_and(|pulled| self.is_soon_after(pulled, UNPLUG_S));
        }
        let address = self.disks.get(disk).and_then(|disk| disk.address.as_deref());
        let number = address.unwrap_or(name).split(':').next().unwrap_or_default();
        let number = number.strip_prefix("host").unwrap_or(number);
        let Some(host) = number.parse().ok().and_then(|number: u32| self.hosts.get(&number)) else {
            return false;
        };
        match &host.usb {
            Some(location) => self.events.unplugged.contains_key(location),
            None if host.is_usb() => {
                self.events.latest.is_some_and(|latest| self.is_soon_after(latest, UNPLUG_S))
            }
            None => false,
        }
    }
}
