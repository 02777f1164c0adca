//! A drive on an ATA port: the drive's own data, its link, and libata's settings for both.

use serde::{Deserialize, Serialize};

use super::identify::Identify;
use super::{Hop, HopKind, Link};
use crate::forced::{self, AtaUnit, Forced};
use crate::log::{AtaDeviceLog, AtaLinkLog, KernelLog, NcqLine};
use crate::root::{Node, Root};
use crate::speed::Speed;

/// Facts of an ATA drive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ata {
    /// The number of the port: 1 for `ata1`.
    pub port: u32,
    /// The number of the drive on it: 0 for `ata1.00`.
    pub device: u32,
    /// True if the drive is SATA; `None` if unknown.
    pub sata: Option<bool>,
    /// True if the drive has native command queuing.
    pub ncq_supported: Option<bool>,
    /// Number of commands that the drive accepts at once.
    pub drive_queue_depth: Option<u32>,
    /// True if the drive's write cache is on, as the drive reported when it was attached.
    pub write_cache: Option<bool>,
    /// True if the drive reads ahead.
    pub look_ahead: Option<bool>,
    /// Transfer mode: `UDMA/133`.
    pub transfer_mode: Option<String>,
    /// Number of times that the kernel slowed down the link.
    pub downshifts: Option<u64>,
    /// Errors of the link in the kernel's own list for the drive.
    pub errors_kept: Option<u64>,
    /// True if two drives share one emulated IDE port.
    pub shares_port: bool,
}

impl Ata {
    /// Its port and number, as options of the kernel name it.
    pub fn unit(&self) -> AtaUnit {
        AtaUnit { port: self.port, device: self.device }
    }
}

/// The reason why native command queuing is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NcqOff {
    /// The drive does not support it.
    Drive,
    /// The controller, or its mode or driver, does not support it.
    Host,
    /// `libata.force` turns it off.
    Forced,
    /// The kernel's list of drives with broken queuing turns it off.
    Quirk,
    /// The kernel turned it off after errors.
    Errors,
    /// It was turned off while running, through `queue_depth`.
    Runtime,
}

pub(crate) struct AtaView<'a> {
    pub(crate) facts: Ata,
    pub(crate) identify: Option<Identify>,
    pub(crate) log: Option<&'a AtaDeviceLog>,
    pub(crate) link: Link,
}

/// The number in `ata7`, the port of `device`.
pub(crate) fn port_of<'r>(device: &Node<'r>) -> Option<(Node<'r>, u32)> {
    device.ancestors().find_map(|node| {
        let number = node.name().strip_prefix("ata")?.parse().ok()?;
        Some((node, number))
    })
}

pub(crate) fn read<'a>(
    port: (&Node<'_>, u32),
    unit: (u32, u32),
    log: &'a KernelLog,
) -> AtaView<'a> {
    let (node, number) = port;
    let (channel, target) = unit;
    // libata puts drives of a port multiplier on separate channels (`ata_scsi_scan_host`).
    let device = if channel > 0 { channel } else { target };
    let names = Names::new(number, channel, target);
    let mut facts = Ata { port: number, device, ..Ata::default() };
    let attributes = names.folder(node, "ata_device", &names.device);
    let identify = attributes.as_ref().and_then(identity);
    if let Some(attributes) = &attributes {
        facts.transfer_mode = attributes.text("xfer_mode");
        facts.downshifts = attributes.number("spdn_cnt");
        facts.errors_kept = attributes.lines("ering").map(|ring| errors(&ring));
    }
    let port_log = log.port(number);
    let link_log = port_log.and_then(|port| port.link(device));
    facts.shares_port = port_log.is_some_and(super::super::log::AtaPortLog::shares_port);
    let attributes = names.folder(node, "ata_link", &names.link);
    let link = link_facts(attributes.as_ref(), identify.as_ref(), link_log);
    let device_log = port_log.and_then(|port| port.devices.get(&device));
    settle(&mut facts, identify.as_ref(), device_log, port_log.and_then(|p| p.line.as_deref()));
    // Parallel ATA has no link speed.
    facts.sata = facts.sata.or(link.speed_gbps.map(|_| true));
    AtaView { facts, identify, log: device_log, link }
}

/// Errors of the link in libata's ring of `[time]names`, a line each (`ata_err_names`).
///
/// Others are those of the drive, and each attempt to find one, which is `Unknown`.
fn errors(ring: &str) -> u64 {
    let names = ring.lines().map(|line| line.rsplit(']').next().unwrap_or_default());
    let of_link = names.filter(|names| {
        names.split(", ").any(|it| matches!(it.trim(), "BusError" | "HostStateMachineError"))
    });
    of_link.count() as u64
}

/// The facts from the log alone about drive `device` on port `number`.
pub(crate) fn from_log(number: u32, device: u32, log: &KernelLog) -> AtaView<'_> {
    let port_log = log.port(number);
    let link_log = port_log.and_then(|port| port.link(device));
    let device_log = port_log.and_then(|port| port.devices.get(&device));
    let mut facts = Ata { port: number, device, ..Ata::default() };
    facts.shares_port = port_log.is_some_and(super::super::log::AtaPortLog::shares_port);
    let link = link_facts(None, None, link_log);
    settle(&mut facts, None, device_log, port_log.and_then(|p| p.line.as_deref()));
    facts.sata = facts.sata.or(link_log.map(|_| true));
    AtaView { facts, identify: None, log: device_log, link }
}

/// The names that libata gives link and drive (`drivers/ata/libata-transport.c`).
struct Names {
    link: String,
    device: String,
}

impl Names {
    fn new(port: u32, channel: u32, target: u32) -> Self {
        if channel > 0 {
            let link = format!("link{port}.{channel}");
            return Self { link, device: format!("dev{port}.{channel}.0") };
        }
        Self { link: format!("link{port}"), device: format!("dev{port}.{target}") }
    }

    /// The folder of `class/name`: through the class, or directly if the tree has no class.
    fn folder<'r>(&self, port: &Node<'r>, class: &str, name: &str) -> Option<Node<'r>> {
        let root: &'r Root = port.root();
        let spot = match class {
            "ata_link" => format!("{}/{class}/{name}", self.link),
            _ => format!("{}/{}/{class}/{name}", self.link, self.device),
        };
        root.node(&format!("sys/class/{class}/{name}")).or_else(|| port.child(&spot))
    }
}

fn identity(attributes: &Node<'_>) -> Option<Identify> {
    let text = attributes.lines("id")?;
    let identify = Identify::parse(&text);
    if identify.is_none() {
        attributes.misread("id", "256 hexadecimal words", text.trim());
    }
    identify
}

fn link_facts(
    attributes: Option<&Node<'_>>,
    identify: Option<&Identify>,
    log: Option<&AtaLinkLog>,
) -> Link {
    // The tree first: it shows the present state, and the log a past one.
    let [speed, host, limit] = ["sata_spd", "hw_sata_spd_limit", "sata_spd_limit"]
        .map(|name| attributes.and_then(|node| node.text(name)).and_then(|t| Speed::parse(&t)));
    Link {
        speed_gbps: speed.or(log.and_then(|log| log.speed)),
        drive_gbps: identify.and_then(Identify::max_speed),
        host_gbps: host,
        limit_gbps: limit.or(log.and_then(|log| log.limit)),
        max_gbps: None,
    }
}

fn settle(
    facts: &mut Ata,
    identify: Option<&Identify>,
    log: Option<&AtaDeviceLog>,
    port_line: Option<&str>,
) {
    if let Some(identify) = identify {
        facts.sata = Some(identify.is_sata());
        facts.ncq_supported = Some(identify.has_ncq());
        facts.drive_queue_depth = identify.has_ncq().then(|| identify.queue_depth());
        facts.write_cache = identify.write_cache();
        facts.look_ahead = Some(identify.look_ahead());
    }
    if let Some(line) = log.and_then(|log| log.ncq.as_ref()) {
        facts.ncq_supported.get_or_insert(true);
        if let NcqLine::Depth { device, .. } = line {
            facts.drive_queue_depth.get_or_insert(*device);
        }
        facts.sata.get_or_insert(true);
    }
    match port_line.and_then(|line| line.get(..8)) {
        Some("SATA max") => *facts.sata.get_or_insert(true),
        Some("PATA max") => *facts.sata.get_or_insert(false),
        _ => return,
    };
}

pub(crate) struct NcqEvidence<'a> {
    pub(crate) facts: &'a Ata,
    pub(crate) log: Option<&'a AtaDeviceLog>,
    pub(crate) queue_depth: Option<u32>,
    /// True if the controller is in a mode without queues.
    pub(crate) ide: bool,
    pub(crate) forced: &'a [Forced],
}

/// Returns whether native command queuing is on, and the reason if it is not.
pub(crate) fn ncq(evidence: &NcqEvidence<'_>) -> (Option<bool>, Option<NcqOff>) {
    let logged = evidence.log.and_then(|log| log.ncq.as_ref());
    // libata turns NCQ off after repeated errors (`ata_eh_speed_down`), and leaves the depth.
    let after_errors = evidence.log.is_some_and(|log| !log.ncq_disabled.is_empty());
    // The present depth counts; the log only shows the state at boot.
    let on = match (evidence.queue_depth, logged) {
        (Some(depth), _) => Some(depth > 1),
        (None, Some(NcqLine::Depth { host, .. })) => Some(*host > 0),
        (None, Some(NcqLine::NotUsed)) => Some(false),
        (None, None) => None,
    };
    let on = if after_errors { Some(false) } else { on };
    if on != Some(false) {
        return (on, None);
    }
    (on, cause(evidence, logged, after_errors))
}

fn cause(
    evidence: &NcqEvidence<'_>,
    logged: Option<&NcqLine>,
    after_errors: bool,
) -> Option<NcqOff> {
    // From the most specific cause to the least: each could also look like a later one.
    // A bridge between both kinds of ATA leaves one command of the drive's queue.
    let single = matches!(logged, Some(NcqLine::Depth { device: 0 | 1, .. }));
    if evidence.facts.ncq_supported == Some(false) || single {
        return Some(NcqOff::Drive);
    }
    if evidence.ide || matches!(logged, Some(NcqLine::Depth { host: 0, .. })) {
        return Some(NcqOff::Host);
    }
    if after_errors && evidence.queue_depth != Some(1) {
        return Some(NcqOff::Errors);
    }
    let unit = evidence.facts.unit();
    if forced::noncq(evidence.forced, unit).is_some() {
        return Some(NcqOff::Forced);
    }
    let quirk =
        evidence.log.is_some_and(|log| log.quirks.first.iter().any(|l| l.contains("noncq")));
    if quirk || matches!(logged, Some(NcqLine::NotUsed)) {
        return Some(NcqOff::Quirk);
    }
    if after_errors {
        return Some(NcqOff::Errors);
    }
    (evidence.facts.ncq_supported == Some(true)).then_some(NcqOff::Runtime)
}

pub(crate) fn hop(facts: &Ata, link: &Link) -> Hop {
    let about = match (facts.sata, link.speed_gbps) {
        (_, Some(speed)) => match link.max_gbps {
            Some(most) if most > speed && link.host_gbps.is_some() => {
                format!("SATA at {speed} Gb/s of {most} Gb/s")
            }
            Some(most) if most > speed => {
                format!("SATA at {speed} Gb/s (the drive supports {most})")
            }
            _ => format!("SATA at {speed} Gb/s"),
        },
        (Some(true), None) => "SATA, link speed not visible".into(),
        (Some(false), None) => "parallel ATA".into(),
        (None, None) => "ATA".into(),
    };
    Hop { kind: HopKind::Ata, name: format!("ata{}.{:02}", facts.port, facts.device), about }
}
