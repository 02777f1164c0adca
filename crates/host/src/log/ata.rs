//! libata's messages about a port, its links and its drives.
//!
//! Texts from `drivers/ata/libata-core.c` and `libata-eh.c` of Linux 2.6.27 to 6.18.

use std::collections::BTreeMap;

use super::messages::{Class, Source, Verdict, look_up};
use super::{KernelLog, Lines, entry};
use crate::speed::Speed;

/// Highest number of a port: they are counted from the boot on, and a loaded driver counts further.
pub(super) const PORT_MAX: u32 = 1023;
/// The port multiplier itself (`SATA_PMP_CTRL_PORT`), the highest unit of a port.
pub(super) const UNIT_MAX: u32 = 15;

/// Bits of `SError` that a drive which is plugged in, unplugged or put to sleep sets as well:
/// `PHYRdyChg`, `CommWake` (Serial ATA 3.0, 14.2.2).
const SERROR_SETTLING: u32 = 1 << 16 | 1 << 18;
/// `DevExch`: the drive was exchanged.
const SERROR_EXCHANGED: u32 = 1 << 26;

/// One ATA port, as the log shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtaPortLog {
    /// `SATA max UDMA/133 cmd 0x1f0 ctl 0x3f6 bmdma 0x30b0 irq 14`.
    pub line: Option<String>,
    /// The PCI function whose driver created the port.
    pub controller: Option<String>,
    /// True if a port multiplier is attached, so that `ata1.01` is a separate link.
    pub multiplier: bool,
    /// Links by number: `None` if the port has one, otherwise 0 for `ata1.00` and so on.
    pub links: BTreeMap<Option<u32>, AtaLinkLog>,
    /// Drives by number: 0 is `ata1.00`.
    pub devices: BTreeMap<u32, AtaDeviceLog>,
    /// Lines about `libata.force`.
    pub forced: Lines,
    /// The unit of the exception that is being reported, and the kind of its last fault.
    reporting: Option<(Option<u32>, Option<Class>)>,
    /// True from the loss of the link on until it is up again.
    down: bool,
    /// The report of a change of the connection, until the drive is named again or ready.
    changed: Option<String>,
    /// True if the link was down since.
    fell: bool,
}

/// One SATA link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtaLinkLog {
    /// The latest speed at which it came up.
    pub speed: Option<Speed>,
    /// The fastest speed at which it ever came up.
    pub fastest: Option<Speed>,
    /// The limit in `SControl`, if one is set.
    pub limit: Option<Speed>,
    /// The line that reports it.
    pub line: Option<String>,
    /// Lines about its being slowed down after errors.
    pub downshifts: Lines,
    /// True if it was found down and never came up.
    pub(crate) stays_down: bool,
}

/// The log's line about a drive's native command queuing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NcqLine {
    /// `NCQ (depth 31/32)`, `NCQ (depth 32)`: commands that the host and the drive accept.
    Depth {
        /// Commands that the host accepts; 0 if its driver has no queuing.
        host: u32,
        /// Commands that the drive accepts.
        device: u32,
    },
    /// `NCQ (not used)`: the drive supports it, and the kernel was configured not to use it.
    NotUsed,
}

/// One drive on a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtaDeviceLog {
    /// `ST31000333AS`.
    pub model: Option<String>,
    /// True if it is a drive for discs or tapes.
    pub packet: bool,
    /// Its capacity in 512-byte sectors.
    pub sectors: Option<u64>,
    /// True if it has queuing, and its depth.
    pub ncq: Option<NcqLine>,
    /// The line that reports it.
    pub ncq_line: Option<String>,
    /// Quirks that the kernel applies: `noncq`.
    pub quirks: Lines,
    /// `NCQ disabled due to excessive errors`.
    pub ncq_disabled: Lines,
}

impl AtaPortLog {
    /// Returns whether it is a SATA port whose registers are those of an IDE channel.
    pub(crate) fn is_sata_as_ide(&self) -> bool {
        let line = self.line.as_deref().unwrap_or("");
        (line.starts_with("SATA") && line.contains("bmdma")) || self.shares_port()
    }

    /// Returns whether two SATA links appear as master and slave of this port.
    ///
    /// libata writes `ata2.00:` before a message about a *link* only if a port has several: with a
    /// port multiplier, or with SATA links emulating an IDE channel (`ata_link_printk`).
    pub fn shares_port(&self) -> bool {
        !self.multiplier && self.links.keys().any(Option::is_some)
    }

    /// Returns whether the log has the beginning of the port, and no sign of a drive.
    pub(crate) fn never_linked(&self) -> bool {
        self.line.as_deref().is_some_and(|line| line.starts_with("SATA"))
            && self.devices.is_empty()
            && self.links.values().all(|link| link.line.is_none())
    }

    /// Returns whether the link stayed down, and no line names a drive. The kernel lowers the rate
    /// of an empty port as well while it looks for one.
    pub(crate) fn stays_empty(&self) -> bool {
        self.down && self.devices.is_empty() && self.links.values().all(|link| link.line.is_none())
    }

    /// The link that leads to drive `device`.
    pub fn link(&self, device: u32) -> Option<&AtaLinkLog> {
        if self.never_linked() {
            return None;
        }
        self.links.get(&Some(device)).or_else(|| self.links.get(&None))
    }
}

impl KernelLog {
    pub(super) fn ata_line(&mut self, message: &str) -> bool {
        let Some((number, unit, rest)) = prefix(message) else { return false };
        let at = self.at_s;
        let created = rest.starts_with("SATA max") || rest.starts_with("PATA max");
        let controller = if created { self.controller_of_port(rest) } else { None };
        let Some(port) = entry(&mut self.ports, number) else { return false };
        if created {
            port.line = Some(rest.to_owned());
            port.controller = controller;
            return true;
        }
        port.multiplier |= rest.starts_with("Port Multiplier");
        if rest.starts_with("FORCE: ") {
            port.forced.add(message);
            return true;
        }
        if port.link_line(unit, rest, message, at) {
            self.settle(number, unit);
            return true;
        }
        if rest.starts_with("configured for ") {
            self.ready(number, unit);
            return true;
        }
        if let Some(address) = rest.strip_prefix("detaching (SCSI ") {
            let address = address.trim_end_matches(')');
            self.pair((number, unit.unwrap_or_default()), address);
            self.detached(address);
            return true;
        }
        let port = self.ports.get_mut(&number).expect("it was just found");
        let known = unit.and_then(|unit| port.devices.get(&unit)?.model.clone());
        if !port.device_line(unit, rest, message) {
            return self.ata_fault(number, unit, rest, message);
        }
        let now = unit.and_then(|unit| port.devices.get(&unit)?.model.clone());
        if known.is_some() && known != now {
            // Another drive was plugged in.
            self.forget(&name_of(number, unit));
        }
        true
    }

    /// A link that is up, or down, is no longer being searched.
    pub(super) fn settle(&mut self, number: u32, unit: Option<u32>) {
        if !self.faults.values().any(|faults| faults.of(Class::Unsettled).is_some()) {
            return;
        }
        for unit in [None, unit, Some(0), Some(1)] {
            if let Some(faults) = self.faults.get_mut(&name_of(number, unit)) {
                faults.by_class.remove(&Class::Unsettled);
            }
        }
    }

    /// The drive is ready, however long it took. One that was plugged in is named before: another
    /// one had lost its link.
    pub(super) fn ready(&mut self, number: u32, unit: Option<u32>) {
        let port = self.ports.get_mut(&number);
        let dropped =
            port.and_then(|port| port.changed.take().filter(|_| std::mem::take(&mut port.fell)));
        self.settle(number, unit);
        if let Some(report) = dropped {
            self.add_fault(&name_of(number, unit), Class::Link, &report);
        }
    }

    fn ata_fault(&mut self, number: u32, unit: Option<u32>, rest: &str, message: &str) -> bool {
        self.ata_part((number, unit), ReportLine::parse(rest), message)
    }

    /// Reads a part of a report.
    pub(super) fn ata_part(
        &mut self,
        (number, unit): (u32, Option<u32>),
        line: ReportLine,
        message: &str,
    ) -> bool {
        let Some(found) = self.ports.get_mut(&number) else { return false };
        let report = found.fault(unit, line);
        if report == Report::Nothing {
            return false;
        }
        if matches!(line, ReportLine::Exception { is_fault: false }) {
            found.note_change(message);
        }
        if matches!(line, ReportLine::Command(_)) && message.contains(": cmd a0/") {
            found.note_packet(unit);
        }
        self.reporting = Some((number, unit));
        self.reported = (self.lines, self.at_s);
        if line == ReportLine::Failed {
            if self.lines <= super::EXCERPT_LINES_MAX {
                self.unresolved.entry((number, unit)).or_insert_with(|| message.to_owned());
            }
        } else if line != ReportLine::Command(None) {
            self.unresolved.remove(&(number, unit));
        }
        if let Report::Fault(class) = report {
            self.add_fault(&name_of(number, unit), class, message);
        }
        true
    }

    /// Adds failed commands whose result is not in the log, as in some excerpts.
    pub(super) fn add_unresolved(&mut self) {
        for ((number, unit), message) in std::mem::take(&mut self.unresolved) {
            let name = name_of(number, unit);
            if self.is_excerpt() && !self.faults.contains_key(&name) {
                self.add_fault(&name, Class::Command, &message);
            }
        }
    }

    /// `res 40/00:... Emask 0x4 (timeout)`, the second line of a report that names no drive.
    pub(super) fn ata_result(&mut self, message: &str) -> bool {
        if !message.starts_with("res ") {
            return false;
        }
        let Some((number, unit)) = self.reporting else { return false };
        self.unresolved.remove(&(number, unit));
        self.ata_fault(number, unit, message, message)
    }
}

/// `ata2.01`, or `ata2` for what concerns the port.
pub(crate) fn name_of(port: u32, unit: Option<u32>) -> String {
    unit.map_or_else(|| format!("ata{port}"), |unit| format!("ata{port}.{unit:02}"))
}

/// Splits `ata2.01: text` into 2, 1 and the text.
fn prefix(message: &str) -> Option<(u32, Option<u32>, &str)> {
    // libsas writes `sas: ata2: end_device-1:0:9: cmd error handler`.
    let message = message.strip_prefix("sas: ").unwrap_or(message);
    let (name, rest) = message.strip_prefix("ata")?.split_once(": ")?;
    // Synology's kernels add the number of the bay: `ata4 (slot 1): `.
    let name = name.split_once(" (slot ").map_or(name, |(name, _)| name);
    let (port, unit) = match name.split_once('.') {
        Some((port, unit)) => (port, Some(unit.split('.').next()?.parse().ok()?)),
        None => (name, None),
    };
    let port = port.parse().ok().filter(|port| *port <= PORT_MAX)?;
    unit.is_none_or(|unit| unit <= UNIT_MAX).then_some((port, unit, rest))
}

impl AtaPortLog {
    fn link_line(&mut self, unit: Option<u32>, rest: &str, message: &str, at: Option<u64>) -> bool {
        let up = rest.strip_prefix("SATA link up ");
        let slower = rest.strip_prefix("limiting SATA link speed to ");
        if up.is_none() && slower.is_none() {
            let down = rest.starts_with("SATA link down");
            self.down |= down;
            self.fell |= down && self.changed.is_some();
            if let Some(link) = self.links.get_mut(&unit).filter(|_| down) {
                link.stays_down = link.line.is_none();
            }
            return down;
        }
        self.down &= up.is_none();
        let Some(link) = entry(&mut self.links, unit) else { return false };
        if let Some(slower) = slower {
            link.downshifts.add_at(message, at);
            // The reset that follows brings it up at the new limit; later speeds count.
            link.limit = Speed::parse(slower);
            link.speed = link.limit.or(link.speed);
        }
        if let Some(up) = up {
            link.stays_down = false;
            link.speed = Speed::parse(up);
            link.fastest = link.fastest.max(link.speed);
            // `SControl` shows the limit in force, also after a reset.
            link.limit = control_limit(up);
            link.line = Some(message.to_owned());
        }
        true
    }

    fn device_line(&mut self, unit: Option<u32>, rest: &str, message: &str) -> bool {
        let Some(unit) = unit else { return false };
        let about = DeviceLine::parse(rest);
        if matches!(about, DeviceLine::Other) {
            return false;
        }
        let Some(device) = entry(&mut self.devices, unit) else { return false };
        match about {
            DeviceLine::Model { model, packet } => {
                self.changed = None;
                device.model = Some(model.to_owned());
                device.packet = packet;
            }
            DeviceLine::Sectors { sectors, ncq } => {
                device.sectors = Some(sectors);
                device.ncq_line = ncq.is_some().then(|| message.to_owned());
                device.ncq = ncq;
            }
            DeviceLine::Quirks => device.quirks.add(message),
            DeviceLine::NcqDisabled => device.ncq_disabled.add(message),
            DeviceLine::Other => {}
        }
        true
    }

    /// Notes an exception in which the drive may have been exchanged.
    fn note_change(&mut self, message: &str) {
        if let Some((_, text)) = message.split_once("SErr 0x")
            && serror(text) & (SERROR_EXCHANGED | SERROR_SETTLING) != 0
        {
            (self.changed, self.fell) = (Some(message.to_owned()), false);
        }
    }

    /// Notes a PACKET command (0xa0), which only drives for discs and tapes receive.
    fn note_packet(&mut self, unit: Option<u32>) {
        if let Some(device) = entry(&mut self.devices, unit.unwrap_or_default())
            && device.model.is_none()
        {
            device.packet = true;
        }
    }

    /// Reads a line as a report of a fault.
    fn fault(&mut self, unit: Option<u32>, part: ReportLine) -> Report {
        let (class, is_error) = match part {
            ReportLine::Exception { is_fault } => {
                self.reporting = Some((unit, None));
                return if is_fault { Report::Fault(Class::Link) } else { Report::Part };
            }
            ReportLine::Failed => {
                self.reporting = Some((unit, None));
                return Report::Part;
            }
            ReportLine::Disabled => {
                return if self.down { Report::Part } else { Report::Fault(Class::Lost) };
            }
            ReportLine::Command(None) => return Report::Part,
            ReportLine::Other => return Report::Nothing,
            ReportLine::Command(Some(class)) | ReportLine::Result(class) => (class, false),
            ReportLine::Error(class) => (class, true),
        };
        let repeats = is_error
            && self
                .reporting
                .is_some_and(|(_, last)| last.is_some() && last != Some(Class::Timeout));
        self.reporting = Some((unit, Some(class)));
        if repeats { Report::Part } else { Report::Fault(class) }
    }
}

/// A line of libata's report of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportLine {
    /// `exception Emask 0x10 SAct 0x1 SErr 0x400100 action 0x6 frozen`.
    Exception {
        /// True if `SErr` reports a fault.
        is_fault: bool,
    },
    /// `failed command: READ FPDMA QUEUED`.
    Failed,
    /// `disabled`.
    Disabled,
    /// `cmd 60/08:...`, with the result if it follows.
    Command(Option<Class>),
    /// `error: { UNC }`.
    Error(Class),
    /// Any other that reports a fault: `res 41/40:... Emask 0x409 (media error)`.
    Result(Class),
    /// It reports none.
    Other,
}

impl ReportLine {
    pub(super) fn parse(rest: &str) -> Self {
        if let Some(exception) = rest.strip_prefix("exception Emask ") {
            return Self::Exception { is_fault: serror_is_fault(exception) };
        }
        if rest.starts_with("failed command: ") {
            return Self::Failed;
        }
        if matches!(rest, "disabled" | "disable device") {
            return Self::Disabled;
        }
        let class = match look_up(Source::Ata, rest) {
            Verdict::Fault(class) => Some(class),
            _ => None,
        };
        match class {
            _ if rest.starts_with("cmd ") => Self::Command(class),
            Some(class) if rest.starts_with("error: {") => Self::Error(class),
            Some(class) => Self::Result(class),
            None => Self::Other,
        }
    }
}

/// The part of a line in the report of a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Report {
    /// No part.
    Nothing,
    /// A part that is no fault by itself.
    Part,
    /// The fault.
    Fault(Class),
}

/// Returns whether `SErr` in `0x10 SAct 0x1 SErr 0x400100 action 0x6 frozen` reports more than a
/// drive that is plugged in, unplugged or woken.
pub(super) fn serror_is_fault(exception: &str) -> bool {
    let Some((_, text)) = exception.split_once("SErr 0x") else { return false };
    let error = serror(text);
    error & SERROR_EXCHANGED == 0 && error & !SERROR_SETTLING != 0
}

/// The number in `400100 action 0x6 frozen`.
fn serror(text: &str) -> u32 {
    let digits = text.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or("");
    u32::from_str_radix(digits, 16).unwrap_or(0)
}

/// A line about a drive.
enum DeviceLine<'t> {
    Model { model: &'t str, packet: bool },
    Sectors { sectors: u64, ncq: Option<NcqLine> },
    Quirks,
    NcqDisabled,
    Other,
}

impl<'t> DeviceLine<'t> {
    fn parse(rest: &'t str) -> Self {
        if rest.starts_with("NCQ disabled due to") {
            return Self::NcqDisabled;
        }
        if rest.contains("applying quirks:") || rest.contains("applying bridge limits") {
            return Self::Quirks;
        }
        // `ATA-8: ST31000333AS, SD15, max UDMA/133`
        if let Some((kind, text)) = rest.split_once(": ")
            && (kind.starts_with("ATA-") || matches!(kind, "ATAPI" | "CFA"))
        {
            let model = text.split(',').next().unwrap_or(text).trim();
            return Self::Model { model, packet: kind == "ATAPI" };
        }
        // Linux before 2.6.23 did not name drives for discs: `ATAPI, max UDMA/33`.
        if let Some(model) = rest.strip_prefix("ATAPI, ") {
            return Self::Model { model, packet: true };
        }
        // `1953525168 sectors, multi 16: LBA48 NCQ (depth 31/32), AA`
        if let Some((count, text)) = rest.split_once(" sectors, ")
            && let Ok(sectors) = count.parse()
        {
            return Self::Sectors { sectors, ncq: ncq(text) };
        }
        Self::Other
    }
}

/// The text after `NCQ` in `LBA48 NCQ (depth 31/32)`.
fn ncq(text: &str) -> Option<NcqLine> {
    let (_, rest) = text.split_once("NCQ (")?;
    if rest.starts_with("not used") {
        return Some(NcqLine::NotUsed);
    }
    let depths = rest.strip_prefix("depth ")?.split(')').next()?;
    let (host, device) = depths.split_once('/').unwrap_or((depths, depths));
    Some(NcqLine::Depth { host: host.parse().ok()?, device: device.parse().ok()? })
}

/// The speed limit in `(SStatus 113 SControl 310)`: bits 4 to 7, 0 for none (Serial ATA 3.0,
/// 14.2.3).
fn control_limit(text: &str) -> Option<Speed> {
    let (_, control) = text.split_once("SControl ")?;
    let digits = control.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    match u32::from_str_radix(digits, 16).ok()? >> 4 & 0xf {
        1 => Some(Speed::mbps(1500)),
        2 => Some(Speed::mbps(3000)),
        3 => Some(Speed::mbps(6000)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
