//! The kernel's messages about disks, their links and controllers.
//!
//! Only the last boot in a text counts: at each `Linux version` the reading starts over, because
//! port numbers and modes may differ from boot to boot.

mod ata;
mod controller;
mod disk;
mod effect;
mod fault;
mod flood;
mod foreign;
mod messages;
mod pairs;
mod reading;

pub use ata::{AtaDeviceLog, AtaLinkLog, AtaPortLog, NcqLine};
pub use controller::ControllerLog;
pub use disk::{DiskLog, HostLog, ScsiLog, UnitLog};
pub use fault::Faults;
pub use foreign::foreign;
pub use messages::Class;
pub use reading::ring;

pub(crate) use reading::unpacked;

pub(crate) use ata::name_of;
pub(crate) use controller::{is_address, is_of_storage};
pub(crate) use effect::Effect;
pub(crate) use fault::{Events, disk_of, port_name};

use std::collections::BTreeMap;

use crate::bus::mmc::CardBus;

/// Maximum number of ports, controllers or disks; a text that names more is not the log of one
/// machine.
const NAMES_MAX: usize = 4096;
/// Maximum number of lines kept for a capture: a log of faults only can be of any length.
const UNDERSTOOD_MAX: usize = 1 << 16;
/// Size limit of these lines.
const UNDERSTOOD_BYTES_MAX: usize = 8 << 20;
/// Number of lines up to which a log without the kernel's first line is taken for an excerpt.
const EXCERPT_LINES_MAX: u64 = 200;
/// Number of lines kept verbatim as evidence of one thing.
const LINES_KEPT: usize = 3;
/// The part of such a line that is kept; the kernel's are shorter.
const LINE_KEPT_BYTES: usize = 400;

/// Lines of one kind: the first few, and their number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// The first ones, without time stamps.
    pub first: Vec<String>,
    /// Number of all lines.
    pub count: u64,
    /// Time of the last one, in seconds since the boot; if the log has time stamps.
    pub last_s: Option<u64>,
}

impl Lines {
    fn add(&mut self, line: &str) {
        debug_assert!(self.first.len() <= LINES_KEPT, "no more is kept");
        self.count += 1;
        if self.first.len() < LINES_KEPT {
            // A character has at most four bytes.
            let ends = (0..4).map(|back| LINE_KEPT_BYTES - back);
            let kept = ends.into_iter().find_map(|end| line.get(..end)).unwrap_or(line);
            self.first.push(kept.to_owned());
        }
    }

    /// Adds the lines of another source.
    pub(crate) fn add_all(&mut self, others: &Self) {
        let space = LINES_KEPT.saturating_sub(self.first.len());
        self.first.extend(others.first.iter().take(space).cloned());
        self.count += others.count;
        self.last_s = self.last_s.max(others.last_s);
    }

    fn add_at(&mut self, line: &str, seconds: Option<u64>) {
        self.add(line);
        self.last_s = seconds.or(self.last_s);
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first lines and the number of further ones, as one line of evidence.
    pub fn evidence(&self) -> String {
        let mut text = self.first.join("; ");
        debug_assert!(self.first.len() as u64 <= self.count, "every kept line is counted");
        let more = self.count - self.first.len() as u64;
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        if let Some(seconds) = self.last_s {
            text.push_str(&format!("; the last {seconds} s after boot"));
        }
        text
    }
}

/// The content of a kernel log, by the names that the kernel uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelLog {
    /// ATA ports by number: 1 is `ata1`.
    pub ports: BTreeMap<u32, AtaPortLog>,
    /// PCI functions by address: `0000:00:1f.2`.
    pub controllers: BTreeMap<String, ControllerLog>,
    /// Disks by name: `sda`, `vda`, `mmcblk0`.
    pub disks: BTreeMap<String, DiskLog>,
    /// SCSI devices by address: `6:0:0:0`.
    pub scsi: BTreeMap<String, ScsiLog>,
    /// SCSI hosts by number.
    pub hosts: BTreeMap<u32, HostLog>,
    /// USB devices (`2-1`) and NVMe controllers (`nvme0`).
    pub units: BTreeMap<String, UnitLog>,
    /// The modes of the cards in slots (`mmc0`).
    pub cards: BTreeMap<String, CardBus>,
    /// Faults by the name that the message uses: of a disk (`sda`), a drive on an ATA port
    /// (`ata1.02`), a partition, a SCSI address, a controller and others.
    pub faults: BTreeMap<String, Faults>,
    /// Lines that were understood, in order, for a capture; the first ones of very many.
    pub understood: Vec<String>,
    /// Size of these lines; its limit once there was one that was not kept.
    understood_bytes: usize,
    /// All that the latest message did, if that is known; kept only when no more lines are.
    effect: Option<Effect>,
    /// True if there were any lines.
    pub present: bool,
    /// Number of lines.
    pub lines: u64,
    /// True if a line begins with a time, a level or a host, as those of a kernel log do.
    pub stamped: bool,
    /// Number of lines about ports of PCI Express.
    port_lines: u64,
    /// Number of lines that were looked at, and of those that begin so.
    looked: (u64, u64),
    /// True if a compressed file ended in the middle.
    pub cut: bool,
    /// The command line of the kernel, which often names the root file system of the machine.
    pub command_line: Option<String>,
    /// The kernel's release: `6.1.0-18-amd64`.
    pub release: Option<String>,
    /// The boot before, until this one has a line about a disk.
    before: Option<Box<Self>>,
    /// Time of the current line, in seconds since the boot.
    at_s: Option<u64>,
    /// The PCI function of the latest message: the ports that follow may belong to it.
    speaking: Option<String>,
    /// PCI functions by the first address of a range of their registers.
    ranges: BTreeMap<u64, String>,
    /// The ATA port and drive of the latest report of a fault.
    reporting: Option<(u32, Option<u32>)>,
    /// Reports that end before the result of the failed command.
    unresolved: BTreeMap<(u32, Option<u32>), String>,
    /// The line and the time of that report.
    reported: (u64, Option<u64>),
    /// The SCSI addresses of drives on ATA ports, as messages pair them; `None` where they
    /// contradict one another.
    addresses: BTreeMap<(u32, u32), Option<String>>,
    /// Events after which faults are usual.
    events: Events,
    /// The SCSI host whose bridge is being reset.
    resetting: Option<u32>,
    /// The beginning of a message that Linux 3.14 to 3.17 writes in two lines, and its number.
    begun: Option<(u64, String)>,
    /// The line in which an adapter reported a command, and its number.
    adapter: Option<(u64, String)>,
    /// Ports of PCI Express by the bus behind them: `0000:03`.
    bridges: BTreeMap<String, String>,
}

impl KernelLog {
    /// Reads a log in any of the formats of [`KernelLog::read`].
    pub fn parse(text: &str) -> Self {
        Self::read(text.as_bytes()).unwrap_or_default()
    }

    /// The lines that were understood. The others contain names of hosts, addresses and people.
    pub fn to_text(&self) -> String {
        self.understood.join("\n") + "\n"
    }

    /// Returns whether it has anything of a kernel log.
    pub fn is_one(&self) -> bool {
        self.stamped || self.release.is_some() || !self.understood.is_empty()
    }

    /// Returns whether most of the lines that were looked at begin as those of a kernel log do.
    pub fn is_mostly_stamped(&self) -> bool {
        let (looked, stamped) = self.looked;
        stamped > looked / 2
    }

    /// Returns whether a line has the form of one of the kernel's about disks.
    pub fn understands(&self) -> bool {
        !self.understood.is_empty()
    }

    /// Returns whether a line is about a disk, its controller or a fault.
    pub fn names_disks(&self) -> bool {
        !(self.ports.is_empty()
            && self.controllers.is_empty()
            && self.disks.is_empty()
            && self.units.is_empty()
            && self.hosts.is_empty()
            && self.faults.is_empty())
    }

    /// Returns whether it is a few lines that a person chose: one of them stands for many.
    pub(crate) fn is_excerpt(&self) -> bool {
        self.release.is_none() && self.lines <= EXCERPT_LINES_MAX
    }

    /// Returns whether it names another disk, or another device with faults, than this one.
    pub(crate) fn names_more_than(&self, name: &str) -> bool {
        !self.disks.is_empty()
            || !self.ports.is_empty()
            || self.units.values().any(|unit| unit.stores || unit.function.is_some())
            || self.faults.keys().any(|other| other != name)
    }

    /// Returns whether nearly all lines are about ports of PCI Express: only then a port of which
    /// nothing else is known is of interest.
    pub(crate) fn is_about_port(&self) -> bool {
        self.is_excerpt() && self.port_lines * 4 >= self.lines * 3
    }

    /// The port `ata<number>`.
    pub fn port(&self, number: u32) -> Option<&AtaPortLog> {
        self.ports.get(&number)
    }

    /// The port of PCI Express to which a function is attached: `0000:00:1d.0` for `0000:03:00.0`.
    pub(crate) fn bridge_of(&self, function: &str) -> Option<&str> {
        let (bus, _) = function.rsplit_once(':')?;
        self.bridges.get(bus).map(String::as_str)
    }

    /// Returns whether no further lines are kept for a capture.
    fn is_full(&self) -> bool {
        self.understood_bytes >= UNDERSTOOD_BYTES_MAX
    }

    fn line(&mut self, message: &str, indented: bool) {
        debug_assert!(!message.contains('\n'), "one line of the log");
        if message.is_empty() {
            return;
        }
        self.lines += 1;
        let message = message.trim_end();
        if message.starts_with("sd ") && message.ends_with(']') && is_begun(message) {
            self.begun = Some((self.lines, message.to_owned()));
        } else if let Some((line, begun)) = self.begun.take()
            && line + 1 == self.lines
            && (message.starts_with("Sense Key : ") || message.starts_with("Add. Sense: "))
        {
            self.whole(&format!("{begun} {message}"), indented);
            // Alone it says nothing.
            self.effect = None;
            return;
        }
        self.whole(message, indented);
        if self.begun.is_some() {
            self.effect = None;
        }
    }

    /// Reads a whole message.
    fn whole(&mut self, message: &str, indented: bool) {
        if let Some(rest) = message.strip_prefix("Linux version ") {
            // A log may contain several boots, of which the last is the present one.
            let release = rest.split(' ').next().map(str::to_owned);
            let Self { at_s, lines, stamped, looked, .. } = *self;
            let next = Self { lines, stamped, looked, release, at_s, ..Self::default() };
            let last = std::mem::replace(self, next);
            // In a mail the release may follow the log.
            let kept = if last.names_disks() { Some(Box::new(last)) } else { last.before };
            self.before = kept.map(|mut log| {
                log.before = None;
                log
            });
        }
        self.present = true;
        let command_line = message
            .strip_prefix("Kernel command line: ")
            .or_else(|| message.strip_prefix("Command line: "));
        if let Some(text) = command_line {
            self.command_line.get_or_insert_with(|| text.trim().to_owned());
        }
        self.effect = None;
        let by_fault =
            self.ata_line(message) || self.ata_result(message) || self.fault_line(message);
        let by_other =
            !by_fault && (self.controller_line(message, indented) || self.disk_line(message));
        // Of a message that introduces a disk or a function, more follows than its effect.
        self.effect.take_if(|effect| by_other && !effect.is_whole());
        let understood = by_fault || by_other || message.starts_with("Linux version ");
        let space = UNDERSTOOD_BYTES_MAX.saturating_sub(self.understood_bytes);
        if self.understood.len() >= UNDERSTOOD_MAX || message.len() + 16 > space {
            self.understood_bytes = UNDERSTOOD_BYTES_MAX;
        } else if understood {
            self.understood_bytes += message.len() + 16;
            let before = match self.at_s {
                Some(seconds) => format!("[{seconds:>5}.000000] "),
                None if indented => "\t".to_owned(),
                None => String::new(),
            };
            self.understood.push(before + message);
        }
    }
}

/// Returns whether it is `sd 4:0:0:0: [sdb]`, without what the disk says.
fn is_begun(message: &str) -> bool {
    message.split_once(": [").is_some_and(|(_, name)| !name.contains(' '))
}

/// The entry of `name`, unless there are too many names already.
fn entry<K: Ord, V: Default>(map: &mut BTreeMap<K, V>, name: K) -> Option<&mut V> {
    debug_assert!(map.len() <= NAMES_MAX, "no name is added beyond the limit");
    if map.len() >= NAMES_MAX && !map.contains_key(&name) {
        return None;
    }
    Some(map.entry(name).or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_boot_counts() {
        let log = KernelLog::parse(
            "Linux version 2.6.30\nata2.00: limiting SATA link speed to 1.5 Gbps\n\
             Linux version 2.6.30\nata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)\n",
        );
        assert_eq!(log.ports.keys().copied().collect::<Vec<_>>(), [1]);
        assert_eq!(log.release.as_deref(), Some("2.6.30"));
    }

    #[test]
    fn evidence_names_the_first_lines_and_counts_the_rest() {
        let mut lines = Lines::default();
        for number in 1..=5 {
            lines.add(&format!("line {number}"));
        }
        assert_eq!(lines.evidence(), "line 1; line 2; line 3; and 2 more");
        lines.add_at("line 6", Some(71));
        assert!(lines.evidence().ends_with("and 3 more; the last 71 s after boot"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC*") {
            KernelLog::parse(&text);
        }

        #[test]
        fn lines_that_resemble_the_kernels_are_read_without_a_panic(
            lines in proptest::collection::vec(
                "(\\[ *[0-9.]{0,9}\\] )?\
                 (ata[0-9]{0,12}(\\.[0-9]{0,4})?|ahci 0000:00:1f.2|sd [0-9:]*|\
                 usb [0-9-]*|nvme nvme0)(:| )? ?(SATA link up|limiting SATA link speed to|NCQ|\
                 FORCE:|[0-9]+ sectors|Model|AHCI|\\[sda\\] Write cache:)? ?[ -~é]{0,40}",
                0..20,
            )
        ) {
            KernelLog::parse(&lines.join("\n"));
        }
    }
}
