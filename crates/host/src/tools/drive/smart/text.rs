//! The text of `smartctl -a` and `-x`.

use super::super::facts::{Facts, count, pair, some};
use super::super::health::{Health, Reading};
use super::entry::{Attribute, Test, add_attribute, add_tests};
use crate::device::Kind;
use crate::speed::Speed;

/// Maximum number of lines of a log of self-tests; the standards allow 21 and 20.
const TESTS_MAX: usize = 64;

/// Reads one report.
pub(in crate::tools) fn facts(text: &str) -> Facts {
    let mut facts = Facts { tool: "smartctl".to_owned(), ..Facts::default() };
    let mut health = Health::default();
    let mut tests = Vec::new();
    // The heading above the current lines.
    let mut heading = "";
    for line in text.lines() {
        if line.starts_with("smartctl ") {
            facts.tool = version(line);
        }
        if !line.starts_with([' ', '\t']) && line.trim_end().ends_with(':') {
            heading = line.trim_end();
        }
        if let Some(attribute) = attribute(line) {
            add_attribute(&mut health, &attribute);
        } else if let Some(test) = self_test(line) {
            tests.extend((tests.len() < TESTS_MAX).then_some(test));
        } else if let Some(statistic) = statistic(line) {
            add_statistic(&mut health, statistic, line);
        } else if line.starts_with("==> WARNING:") {
            health.warnings.push(Reading::new(0, line).seen);
        } else if let Some((key, value)) = pair(line) {
            about(&mut facts, key, value);
            record(&mut health, &mut facts, key, value, line);
            limit(&mut health, heading, key, value, line);
        }
    }
    add_tests(&mut health, tests.into_iter());
    if health != Health::default() {
        facts.health = Some(health);
    }
    facts
}

/// `smartctl 7.3` of the first line.
fn version(line: &str) -> String {
    line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// The lines of the information section.
fn about(facts: &mut Facts, key: &str, value: &str) {
    match key {
        "Device Model" => {
            facts.model = some(value);
            facts.kind = Some(Kind::Ata);
        }
        "Model Number" => {
            facts.model = some(value);
            facts.kind = Some(Kind::Nvme);
        }
        "Vendor" => {
            facts.model = some(value);
            facts.kind = facts.kind.or(Some(Kind::Scsi));
        }
        "Product" => {
            let vendor = facts.model.take().map(|vendor| format!("{vendor} "));
            facts.model = Some(vendor.unwrap_or_default() + value);
        }
        "Serial Number" | "Serial number" => facts.serial = some(value),
        "Firmware Version" | "Revision" => facts.firmware = some(value),
        "Transport protocol" if value.starts_with("SAS") => facts.kind = Some(Kind::Sas),
        "User Capacity"
        | "Total NVM Capacity"
        | "Namespace 1 Size/Capacity"
        | "Namespace 1 Size" => {
            facts.capacity_bytes = facts.capacity_bytes.or_else(|| count(value));
        }
        "Sector Size" | "Sector Sizes" => {
            let logical = count(value);
            let physical = value.split_once("logical, ").and_then(|(_, rest)| count(rest));
            facts.sectors = (logical, physical.or(logical));
        }
        "Logical block size" | "Namespace 1 Formatted LBA Size" => facts.sectors.0 = count(value),
        "Physical block size" => facts.sectors.1 = count(value),
        "Rotation Rate" if value.starts_with("Solid State") => facts.rpm = Some(0),
        "Rotation Rate" if value.ends_with("rpm") => {
            facts.rpm = count(value).and_then(|rpm| u32::try_from(rpm).ok());
        }
        "SATA Version is" => facts.link = sata(value),
        "negotiated logical link rate" => {
            let rate = value.rsplit(';').next().and_then(Speed::parse);
            facts.link.0 = facts.link.0.or(rate);
        }
        "Write cache is" | "Writeback Cache is" => facts.write_cache = enabled(value),
        "Rd look-ahead is" | "Read Cache is" => facts.look_ahead = enabled(value),
        "SMART support is" if value.starts_with("Available") => facts.smart.0 = Some(true),
        "SMART support is" if value.starts_with("Unavailable") => facts.smart.0 = Some(false),
        "SMART support is" => facts.smart.1 = enabled(value).or(facts.smart.1),
        _ => {}
    }
}

fn enabled(value: &str) -> Option<bool> {
    match value.split_whitespace().next()? {
        "Enabled" => Some(true),
        "Disabled" => Some(false),
        _ => None,
    }
}

/// `SATA 3.2, 6.0 Gb/s (current: 3.0 Gb/s)`: present rate, and the drive's own.
fn sata(value: &str) -> (Option<Speed>, Option<Speed>) {
    let own = value.split(", ").skip(1).find_map(Speed::parse);
    let now = value.split_once("(current: ").and_then(|(_, rest)| Speed::parse(rest));
    (now, own)
}

fn reading(value: &str, line: &str) -> Option<Reading> {
    count(value).map(|number| Reading::new(number, line))
}

fn celsius(value: &str) -> Option<i32> {
    count(value).and_then(|it| i32::try_from(it).ok()).filter(|it| *it > 0)
}

/// The lines of the health section of any kind of drive.
fn record(health: &mut Health, facts: &mut Facts, key: &str, value: &str, line: &str) {
    match key {
        "SMART overall-health self-assessment test result" => {
            health.passed = Some(value.starts_with("PASSED"));
        }
        "SMART Health Status" => health.passed = Some(value.starts_with("OK")),
        "Critical Warning" => health.critical_warning = reading(value, line),
        "Temperature" | "Current Drive Temperature" | "Current Temperature" => {
            facts.celsius.0 = facts.celsius.0.or_else(|| celsius(value));
        }
        "Drive Trip Temperature"
        | "Specified Max Operating Temperature"
        | "Critical Comp. Temp. Threshold" => {
            facts.celsius.1 = facts.celsius.1.or_else(|| celsius(value));
        }
        "Available Spare" => health.spare = reading(value, line),
        "Available Spare Threshold" => health.spare_threshold = reading(value, line),
        "Percentage Used" | "Percentage used endurance indicator" => {
            health.percentage_used = reading(value, line);
        }
        "Media and Data Integrity Errors" => health.media_errors = reading(value, line),
        "Unsafe Shutdowns" => health.unsafe_shutdowns = reading(value, line),
        "Power On Hours" => health.hours = reading(value, line),
        "Warning  Comp. Temperature Time" | "Warning Comp. Temperature Time" => {
            health.warning_heat_minutes = reading(value, line);
        }
        "Critical Comp. Temperature Time" => health.critical_heat_minutes = reading(value, line),
        "Elements in grown defect list" => health.grown_defects = reading(value, line),
        // The last column of the table of errors of a SCSI disk.
        "read" | "write" | "verify" => {
            let columns: Vec<&str> = value.split_whitespace().collect();
            let last = (columns.len() == 7).then(|| columns.last().and_then(|it| it.parse().ok()));
            if let Some(number) = last.flatten().filter(|it: &u64| *it > 0) {
                let known = health.reported.take().map_or(0, |reading| reading.value);
                health.reported = Some(Reading::new(known.saturating_add(number), line));
            }
        }
        _ => {}
    }
}

/// `Read: 70 (7.0 seconds)` below `SCT Error Recovery Control:`.
fn limit(health: &mut Health, heading: &str, key: &str, value: &str, line: &str) {
    if heading == "SCT Error Recovery Control:" && key == "Read" {
        let tenths = if value == "Disabled" { Some(0) } else { count(value) };
        health.recovery_limit =
            tenths.map(|tenths| Reading::new(tenths, format!("SCT ERC {line}")));
    }
}

/// `197 Current_Pending_Sector  0x0012 100 100 000 Old_age Always - 8`, or with `-x`
/// `197 Current_Pending_Sector  -O--C-   100   100   000    -    8`.
fn attribute(line: &str) -> Option<Attribute<'_>> {
    let mut words = line.split_whitespace();
    let id: u64 = words.next()?.parse().ok().filter(|id| (1..=255).contains(id))?;
    let name = words.next()?;
    let flags = words.next()?;
    // The brief form has letters for flags, the old one a number.
    let brief = flags.len() == 6 && flags.bytes().all(|b| b == b'-' || b.is_ascii_uppercase());
    let old = flags.len() == 6 && flags.starts_with("0x");
    if !brief && !old {
        return None;
    }
    // The value, the worst and the limit; `---` where the drive reports none.
    let values = [words.next()?, words.next()?, words.next()?];
    if !values.iter().all(|it| *it == "---" || it.parse::<u32>().is_ok()) {
        return None;
    }
    let failed = if brief { words.next()? } else { words.nth(2)? };
    let raw = words.next()?;
    let end = raw.find(|c: char| !c.is_ascii_digit()).unwrap_or(raw.len());
    let raw = raw[..end].parse().ok()?;
    Some(Attribute { id, name, raw, failed, line })
}

/// `# 1  Extended offline    Completed: read failure  90%  12345  1234567`, or of NVMe
/// ` 0   Extended          Completed without error         8737   -`.
fn self_test(line: &str) -> Option<Test<'_>> {
    let rest = line.trim_start();
    let (rest, marked) = match rest.strip_prefix('#') {
        Some(rest) => (rest.trim_start(), true),
        None => (rest, false),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| (1..=2).contains(end))?;
    let rest = rest[end..].trim_start();
    let kinds = [
        "Extended",
        "Short",
        "Conveyance",
        "Selective",
        "Background",
        "Foreground",
        "Offline",
        "Vendor",
    ];
    if !kinds.iter().any(|kind| rest.starts_with(kind)) {
        return None;
    }
    let long = rest.starts_with("Extended") || rest.contains(" long ");
    let words = [
        "Completed",
        "Failed",
        "Aborted",
        "Interrupted",
        "Fatal",
        "Self-test",
        "Self test",
        "Unknown",
        "Self_test",
    ];
    let at = words.iter().filter_map(|word| rest.find(word)).min()?;
    // A SCSI disk says only that it completed.
    let status = &rest[at..];
    let bare = marked && status.starts_with("Completed") && !status.starts_with("Completed:");
    let status = if bare { "completed without error" } else { status };
    Some(Test { long, status, line })
}

/// A line of the device statistics or of the counters of the phy: value and name.
fn statistic(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_whitespace();
    let page = words.next().filter(|word| word.starts_with("0x"))?;
    if page.len() == 6 {
        // `0x0001  2            0  Command failed due to ICRC error`
        let value = words.nth(1)?.parse().ok()?;
        let at = line.find("  Command failed").or_else(|| line.find("  R_ERR"))?;
        return Some((value, line[at..].trim()));
    }
    // `0x07  0x008  1              14  ---  Percentage Used Endurance Indicator`
    words.next().filter(|word| word.starts_with("0x"))?;
    let value = words.nth(1)?.parse().ok()?;
    words.next().filter(|flags| flags.len() == 3)?;
    let name = words.next()?;
    line.find(name).map(|at| (value, line[at..].trim()))
}

fn add_statistic(health: &mut Health, (value, name): (u64, &str), line: &str) {
    let slot = match name {
        "Percentage Used Endurance Indicator" => &mut health.percentage_used,
        "Number of Interface CRC Errors" => &mut health.crc_errors,
        "Number of Reallocated Logical Sectors" => &mut health.reallocated,
        "Number of Reported Uncorrectable Errors" => &mut health.reported,
        "Command failed due to ICRC error" if value > 0 => &mut health.crc_errors,
        _ => return,
    };
    slot.get_or_insert_with(|| Reading::new(value, line));
}
