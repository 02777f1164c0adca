//! libata's messages about a port, its links and its drives.
//!
//! Texts from `drivers/ata/libata-core.c` and `libata-eh.c` of Linux 2.6.27 to 6.18.

use std::collections::BTreeMap;

use super::{KernelLog, Lines, entry};
use crate::speed::Speed;

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
    /// Exceptions, resets and bus errors.
    pub errors: Lines,
    /// Errors of the medium, which are not a fault of the link.
    pub medium_errors: u64,
    /// Lines about `libata.force`.
    pub forced: Lines,
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

    /// The link that leads to drive `device`.
    pub fn link(&self, device: u32) -> Option<&AtaLinkLog> {
        self.links.get(&Some(device)).or_else(|| self.links.get(&None))
    }
}

impl KernelLog {
    pub(super) fn ata_line(&mut self, message: &str) -> bool {
        let Some((number, unit, rest)) = prefix(message) else { return false };
        let (speaking, at) = (self.speaking.clone(), self.at_s);
        let Some(port) = entry(&mut self.ports, number) else { return false };
        if rest.starts_with("SATA max") || rest.starts_with("PATA max") {
            port.line = Some(rest.to_owned());
            port.controller = speaking;
            return true;
        }
        port.multiplier |= rest.starts_with("Port Multiplier");
        if rest.starts_with("FORCE: ") {
            port.forced.add(message);
            return true;
        }
        port.link_line(unit, rest, message, at)
            || port.device_line(unit, rest, message)
            || port.error_line(rest, message, at)
    }
}

/// Splits `ata2.01: text` into 2, 1 and the text.
fn prefix(message: &str) -> Option<(u32, Option<u32>, &str)> {
    let (name, rest) = message.strip_prefix("ata")?.split_once(": ")?;
    let (port, unit) = match name.split_once('.') {
        Some((port, unit)) => (port, Some(unit.split('.').next()?.parse().ok()?)),
        None => (name, None),
    };
    Some((port.parse().ok()?, unit, rest))
}

impl AtaPortLog {
    fn link_line(&mut self, unit: Option<u32>, rest: &str, message: &str, at: Option<u64>) -> bool {
        let up = rest.strip_prefix("SATA link up ");
        let slower = rest.strip_prefix("limiting SATA link speed to ");
        if up.is_none() && slower.is_none() {
            return rest.starts_with("SATA link down");
        }
        let Some(link) = entry(&mut self.links, unit) else { return false };
        if let Some(slower) = slower {
            link.downshifts.add_at(message, at);
            // The reset that follows brings it up at the new limit; later speeds count.
            link.limit = Speed::parse(slower);
            link.speed = link.limit.or(link.speed);
        }
        if let Some(up) = up {
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
            DeviceLine::Model(model) => device.model = Some(model.to_owned()),
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

    fn error_line(&mut self, rest: &str, message: &str, at: Option<u64>) -> bool {
        // A bad sector is reported on the port, but the link carried the report.
        if rest.contains("(media error)") || rest.starts_with("error: { UNC") {
            self.medium_errors += 1;
            return true;
        }
        let begins = ["exception Emask", "SError: {", "COMRESET failed", "link is slow to respond"];
        let says = ["(ATA bus error)", "(timeout)", "interface fatal error", "failed to IDENTIFY"];
        let told = begins.iter().any(|text| rest.starts_with(text))
            || says.iter().any(|text| rest.contains(text))
            || rest.starts_with("hard resetting link") && !self.errors.is_empty();
        if told {
            self.errors.add_at(message, at);
        }
        told
    }
}

/// A line about a drive.
enum DeviceLine<'t> {
    Model(&'t str),
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
            && (kind.starts_with("ATA-") || kind.starts_with("ATAPI"))
        {
            return Self::Model(text.split(',').next().unwrap_or(text).trim());
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
mod tests {
    use super::*;

    fn port(text: &str, number: u32) -> AtaPortLog {
        KernelLog::parse(text).ports.remove(&number).unwrap_or_default()
    }

    #[test]
    fn ncq_lines() {
        let check = |text, expected: Option<NcqLine>| {
            let text = format!("ata5.00: 1953525168 sectors, multi 16: LBA48 {text}, AA");
            assert_eq!(port(&text, 5).devices[&0].ncq, expected, "{text}");
        };
        check("NCQ (depth 31/32)", Some(NcqLine::Depth { host: 31, device: 32 }));
        check("NCQ (depth 32)", Some(NcqLine::Depth { host: 32, device: 32 }));
        check("NCQ (depth 0/32)", Some(NcqLine::Depth { host: 0, device: 32 }));
        check("NCQ (not used)", Some(NcqLine::NotUsed));
        check("", None);
        check("NCQ (depth x)", None);
    }

    #[test]
    fn links_and_their_limits() {
        let link = |text| port(text, 1).links.remove(&None).unwrap();
        let up = link("ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)");
        assert_eq!((up.speed, up.limit), (Some(Speed::mbps(3000)), None));
        let limited = link("ata1: SATA link up 1.5 Gbps (SStatus 113 SControl 310)");
        assert_eq!(limited.limit, Some(Speed::mbps(1500)));
    }

    #[test]
    fn two_links_on_one_port_are_ide_emulation_unless_multiplied() {
        let both = "ata2.00: limiting SATA link speed to 1.5 Gbps\n\
                    ata2.01: limiting SATA link speed to 1.5 Gbps";
        assert!(port(both, 2).shares_port());
        let multiplied = format!("ata2.15: Port Multiplier 1.2, 0x197b:0x0325 r0, 5 ports\n{both}");
        assert!(!port(&multiplied, 2).shares_port());
        assert!(!port("ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)", 1).shares_port());
    }

    #[test]
    fn errors_of_the_medium_are_no_errors_of_the_link() {
        let medium = port("ata1.00: error: { UNC }", 1);
        assert_eq!((medium.errors.count, medium.medium_errors), (0, 1));
        let bus = port(
            "ata1.00: exception Emask 0x10 SAct 0xf SErr 0x400100 action 0x6 frozen\n\
             ata1: SError: { UnrecovData Handshk }\nata1: hard resetting link",
            1,
        );
        assert_eq!((bus.errors.count, bus.medium_errors), (3, 0));
        assert!(port("ata1: hard resetting link", 1).errors.is_empty(), "hot-plugging is no error");
    }
}
