//! The block of one disk.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_core::outline::{Line, Severity, Tone};

use super::plural::plural;
use crate::bus::HopKind;
use crate::bus::ata::NcqOff;
use crate::device::{Device, Kind, Partition};
use crate::found::{Finding, FindingId};
use crate::inspection::Inspection;

/// Columns before the drawing: two, a mark, two.
const MARGIN: usize = 9;

// The mark in front of the drawing takes seven columns.
const _: () = assert!(MARGIN >= 7);
/// Maximum number of devices drawn below one: 24 disks of an array and what is between.
const BELOW_SHOWN: usize = 40;
/// Maximum number of levels drawn below a device: file system, encryption, volume, array, multipath
/// and drive take six, and each moves the text further to the right.
const LEVELS_SHOWN: usize = 12;
/// Maximum number of partitions drawn.
const PARTITIONS_SHOWN: usize = 16;

pub(super) fn block(lines: &mut Vec<Line>, device: &Device, all: &BTreeMap<&str, &Device>) {
    let title = Line::new(title(device) + &counts(device), 4);
    lines.push(title.part(tone(trouble(device)), &device.name).part(Tone::Plain, "  "));
    let mut drawing = Drawing { lines, depth: 0 };
    let hops: Vec<_> =
        if device.kind == Kind::Controller { Vec::new() } else { device.hops.iter().collect() };
    for hop in hops {
        let worst = worst_of(device, |id| touches(id, hop.kind));
        drawing.station(worst, &hop.name, &hop.about);
    }
    let own = worst_of(device, |id| {
        !device.hops.iter().any(|hop| touches(id, hop.kind)) && id != FindingId::Misaligned
    });
    let about = settings(device);
    // For a drive that only the log knows, the port may be all there is to draw.
    if !(device.log_only && about.is_empty() && !device.hops.is_empty()) {
        drawing.station(own, &device.name, &about);
    }
    for part in device.partitions.iter().take(PARTITIONS_SHOWN) {
        let wrong = device.findings.iter().find(|finding| {
            finding.id == FindingId::Misaligned
                && finding.message.starts_with(&format!("{} ", part.name))
        });
        drawing.leaf(wrong.map(|finding| finding.severity), &part.name, &contents(part));
    }
    let more = device.partitions.len().saturating_sub(PARTITIONS_SHOWN);
    if more > 0 {
        drawing.leaf(None, "...", &format!("and {more} more partitions"));
    }
    drawing.slaves(device, all, &mut BTreeSet::from([device.name.clone()]));
    lines.extend(device.findings.iter().flat_map(finding_lines));
}

fn tone(severity: Option<Severity>) -> Tone {
    severity.map_or(Tone::Good, Tone::Wrong)
}

/// The word for a severity, as wide as the longest.
fn mark(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Error) => "ERROR",
        Some(Severity::Warn) => "warn ",
        Some(Severity::Info) => "info ",
        None => "ok   ",
    }
}

/// The worst finding above the severity `info`.
fn trouble(device: &Device) -> Option<Severity> {
    worst_of(device, |_| true).filter(|worst| *worst != Severity::Info)
}

/// Model, mode, link and settings on one line.
pub(crate) fn setting(device: &Device) -> String {
    let mut parts = vec![title(device)];
    parts.extend(device.controller.meaning.clone());
    let link = device.link.speed_gbps.map(|speed| match device.link.max_gbps {
        Some(most) if most > speed => format!("link {speed} of {most} Gb/s"),
        _ => format!("link {speed} Gb/s"),
    });
    parts.extend(link);
    parts.push(settings(device));
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// A size in the units of disk makers: `1.0 TB`.
fn size(bytes: u64) -> String {
    let units =
        [("TB", 1_000_000_000_000_u64), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
    let unit = units.iter().find(|(_, size)| bytes >= *size);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(name, size)| format!("{}.{} {name}", bytes / size, bytes % size / (size / 10)),
    )
}

fn title(device: &Device) -> String {
    let mut parts = Vec::new();
    parts.extend(device.dm.as_ref().and_then(|dm| dm.name.clone()));
    parts.extend(device.model.clone());
    parts.extend(device.serial.as_ref().map(|serial| format!("(serial {serial})")));
    parts.extend(device.capacity_bytes.map(size));
    let mut kind = device.kind.to_string();
    if let Some(level) = device.md.as_ref().and_then(|md| md.level.as_ref()) {
        kind.push_str(&format!(", {level}"));
    }
    match device.rpm {
        Some(0) => kind.push_str(", no platters"),
        Some(rpm) => kind.push_str(&format!(", {rpm} rpm")),
        None => {}
    }
    if device.log_only && device.sources.is_empty() {
        kind.push_str(", seen in the kernel log only");
    }
    parts.push(kind);
    parts.join(" ")
}

/// ` - 2 errors, 1 warning`.
fn counts(device: &Device) -> String {
    let mut parts = Vec::new();
    for (severity, word) in [(Severity::Error, "error"), (Severity::Warn, "warning")] {
        let count = device.findings.iter().filter(|f| f.severity == severity).count();
        parts.extend((count > 0).then(|| plural(count, word)));
    }
    if parts.is_empty() { String::new() } else { format!(" - {}", parts.join(", ")) }
}

fn touches(id: FindingId, hop: HopKind) -> bool {
    match id {
        FindingId::IdeEmulation | FindingId::RaidMode | FindingId::PcieDowngraded => {
            hop == HopKind::Controller
        }
        FindingId::LinkBelowCapability | FindingId::LinkDownshift | FindingId::LinkErrors => {
            matches!(hop, HopKind::Ata | HopKind::Scsi | HopKind::Usb | HopKind::Nvme)
        }
        FindingId::UsbStorage => hop == HopKind::Usb,
        _ => false,
    }
}

fn worst_of(device: &Device, about: impl Fn(FindingId) -> bool) -> Option<Severity> {
    let findings = device.findings.iter().filter(|finding| about(finding.id));
    findings.map(|finding| finding.severity).min()
}

/// The settings on one line: those that matter most for a benchmark come first.
fn settings(device: &Device) -> String {
    if device.kind == Kind::Controller {
        return device.hops.last().map(|hop| hop.about.clone()).unwrap_or_default();
    }
    let mut parts = Vec::new();
    parts.extend(device.queue_depth.map(|depth| format!("queue {depth}{}", ncq(device))));
    if device.queue_depth.is_none() && device.ncq.is_some() {
        parts.push(ncq(device).trim_start_matches(", ").to_owned());
    }
    let cache = &device.write_cache;
    match (&cache.device, &cache.kernel) {
        (Some(own), Some(kernel)) if own == kernel => parts.push(format!("cache {own}")),
        (Some(own), Some(kernel)) => parts.push(format!("cache {own}, kernel thinks {kernel}")),
        (Some(text), None) => parts.push(format!("cache {text}")),
        (None, Some(text)) => parts.push(format!("cache {text} (kernel)")),
        (None, None) => {}
    }
    parts.extend(device.card_bus.as_ref().map(|bus| format!("bus {}", bus.mode)));
    let queue = &device.queue;
    let held = queue.nr_requests.map(|count| format!(" of {count}")).unwrap_or_default();
    parts.extend(queue.scheduler.as_ref().map(|name| format!("scheduler {name}{held}")));
    parts.extend(queue.read_ahead_kb.map(|kb| format!("read-ahead {kb}k")));
    let sectors = queue.logical_sector_bytes.zip(queue.physical_sector_bytes);
    parts.extend(sectors.map(|(logical, physical)| format!("sectors {logical}/{physical}")));
    parts.extend(device.temperature_celsius.map(|celsius| format!("{celsius} C")));
    parts.extend(record(device));
    parts.extend(
        device
            .backing
            .as_ref()
            .and_then(|backing| backing.path.clone())
            .map(|p| format!("file {p}")),
    );
    parts.extend(device.mounts.iter().map(ToString::to_string));
    parts.join("; ")
}

/// The drive's own verdict, and its hours of operation.
fn record(device: &Device) -> Option<String> {
    let health = device.health.as_ref()?;
    let verdict = match health.passed {
        Some(true) => "health passed",
        Some(false) => "health FAILED",
        None => return None,
    };
    let hours = health.hours.as_ref().map(|hours| format!(" after {} h", hours.value));
    Some(format!("{verdict}{}", hours.unwrap_or_default()))
}

fn ncq(device: &Device) -> String {
    let why = match device.ncq_off_cause {
        Some(NcqOff::Drive) => "the drive has none",
        Some(NcqOff::Host) => "controller",
        Some(NcqOff::Forced) => "forced",
        Some(NcqOff::Quirk) => "quirk",
        Some(NcqOff::Errors) => "after errors",
        Some(NcqOff::Runtime) => "set while running",
        None => "",
    };
    match (device.ncq, why) {
        (Some(true), _) => ", NCQ on".into(),
        (Some(false), "") => ", no NCQ".into(),
        (Some(false), why) => format!(", no NCQ ({why})"),
        (None, _) => String::new(),
    }
}

fn contents(part: &Partition) -> String {
    let mut parts = Vec::new();
    parts.extend(part.size_bytes.map(size));
    parts.extend(part.mounts.iter().map(ToString::to_string));
    if !part.holders.is_empty() {
        parts.push(format!("part of {}", part.holders.join(", ")));
    }
    parts.join("; ")
}

pub(super) fn by_name(all: &Inspection) -> BTreeMap<&str, &Device> {
    all.devices.iter().map(|device| (device.name.as_str(), device)).collect()
}

/// The drawing, one station per line.
struct Drawing<'o> {
    lines: &'o mut Vec<Line>,
    depth: usize,
}

impl Drawing<'_> {
    /// A station below the last one.
    fn station(&mut self, severity: Option<Severity>, name: &str, about: &str) {
        self.leaf(severity, name, about);
        self.depth += 1;
    }

    /// A station below the last one, with nothing below it.
    fn leaf(&mut self, severity: Option<Severity>, name: &str, about: &str) {
        let branch = if self.depth == 0 { "" } else { "└ " };
        // The first station has no branch, so its children are not indented further.
        let indent = MARGIN + 2 * self.depth.saturating_sub(1);
        let name = format!("{}{branch}{name}  ", " ".repeat(indent - 7));
        let line = Line::new(about, indent + 4).part(Tone::Plain, "  ");
        self.lines.push(line.part(tone(severity), mark(severity)).part(Tone::Plain, name));
    }

    /// The components of a device, down to drives.
    fn slaves(
        &mut self,
        device: &Device,
        all: &BTreeMap<&str, &Device>,
        seen: &mut BTreeSet<String>,
    ) {
        for name in &device.slaves {
            // A tower of devices, each drawn with all below it, would be a square of lines.
            if seen.len() > BELOW_SHOWN || self.depth > LEVELS_SHOWN {
                if seen.insert(String::new()) {
                    self.leaf(None, "...", "and more devices below, which have their own entries");
                }
                return;
            }
            // A broken tree can have devices that are built on each other.
            if !seen.insert(name.clone()) {
                continue;
            }
            let below = all.get(name.as_str()).or_else(|| {
                all.values().find(|disk| disk.partitions.iter().any(|part| part.name == *name))
            });
            let Some(below) = below else {
                self.leaf(None, name, "");
                continue;
            };
            let kind =
                if below.name == *name { String::new() } else { format!("of {}: ", below.name) };
            self.station(trouble(below), name, &format!("{kind}{}", below.kind));
            self.slaves(below, all, seen);
            self.depth -= 1;
        }
    }
}

/// Returns the lines of a finding: message, evidence and remedy.
fn finding_lines(finding: &Finding) -> Vec<Line> {
    let severity = Some(finding.severity);
    let head = Line::new(&finding.message, MARGIN)
        .part(Tone::Plain, "  ")
        .part(tone(severity), mark(severity))
        .part(Tone::Plain, "  ")
        .part(Tone::Bold, format!("{}:", finding.id))
        .part(Tone::Plain, " ");
    let parts = [("seen: ", &finding.evidence), ("fix:  ", &finding.fix)];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(label, text)| {
        let label = " ".repeat(MARGIN) + label;
        Line::new(text, label.len()).part(Tone::Plain, label)
    });
    std::iter::once(head).chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal() {
        let check = |bytes, expected| assert_eq!(size(bytes), expected);
        check(0, "0 B");
        check(1_000_204_886_016, "1.0 TB");
        check(274_877_906_944, "274.8 GB");
        check(999, "999 B");
        check(u64::MAX, "18446744.0 TB");
    }
}
