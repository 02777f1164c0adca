//! `nvme list` and `nvme smart-log`, as text and JSON.

use serde_json::Value;

use super::facts::{Facts, count, node_of, pair};
use super::health::{Health, Reading};
use crate::device::Kind;

/// Absolute zero in degrees Celsius, rounded as the tool rounds it.
const KELVIN: i64 = 273;

/// The drives of `nvme list -o json`, by any version of the tool.
pub(in crate::tools) fn list(report: &Value) -> Vec<Facts> {
    let mut found = Vec::new();
    for entry in array(report, "Devices") {
        if entry.get("DevicePath").is_some() {
            found.push(flat(entry));
        }
        for subsystem in array(entry, "Subsystems") {
            // With native multipath the namespaces belong to the subsystem.
            let shared: Vec<&Value> = array(subsystem, "Namespaces").collect();
            for controller in array(subsystem, "Controllers") {
                let own = array(controller, "Namespaces");
                let before = found.len();
                found.extend(own.chain(shared.iter().copied()).map(|it| named(it, controller)));
                if found.len() == before {
                    found.push(named(&Value::Null, controller));
                }
            }
        }
    }
    found
}

fn array<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key).and_then(Value::as_str)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// An entry of the versions before 2.0, and of those after it without `-v`.
fn flat(entry: &Value) -> Facts {
    Facts {
        tool: "nvme list".to_owned(),
        node: text(entry, "DevicePath").as_deref().and_then(node_of),
        kind: Some(Kind::Nvme),
        model: text(entry, "ModelNumber"),
        serial: text(entry, "SerialNumber"),
        firmware: text(entry, "Firmware"),
        capacity_bytes: entry.get("PhysicalSize").and_then(Value::as_u64).filter(|size| *size > 0),
        sectors: (entry.get("SectorSize").and_then(Value::as_u64), None),
        ..Facts::default()
    }
}

/// A namespace below its controller.
fn named(namespace: &Value, controller: &Value) -> Facts {
    let node = text(namespace, "NameSpace").or_else(|| text(controller, "Controller"));
    Facts {
        node: node.as_deref().and_then(node_of),
        model: text(controller, "ModelNumber"),
        serial: text(controller, "SerialNumber"),
        firmware: text(controller, "Firmware"),
        transport: text(controller, "Transport"),
        address: text(controller, "Address").filter(|it| crate::log::is_address(it)),
        ..flat(namespace)
    }
}

/// The table of `nvme list`: a line of dashes shows where the columns are.
pub(in crate::tools) fn table(lines: &[&str]) -> Vec<Facts> {
    let Some(at) = lines.iter().position(|line| line.starts_with("----")) else {
        return Vec::new();
    };
    let Some(head) = at.checked_sub(1).map(|at| lines[at]) else { return Vec::new() };
    let mut columns = Vec::new();
    let mut from = 0;
    for dashes in lines[at].split(' ') {
        columns.push((from, from + dashes.len()));
        from += dashes.len() + 1;
    }
    let table = Table { head, columns };
    let rows = lines[at + 1..].iter().take_while(|line| line.starts_with("/dev/"));
    let facts = rows.map(|line| Facts {
        tool: "nvme list".to_owned(),
        node: table.cell(line, "Node").as_deref().and_then(node_of),
        kind: Some(Kind::Nvme),
        model: table.cell(line, "Model"),
        serial: table.cell(line, "SN"),
        firmware: table.cell(line, "FW Rev"),
        sectors: (table.cell(line, "Format").and_then(|text| sector(&text)), None),
        ..Facts::default()
    });
    facts.collect()
}

/// The head of a table, and where its columns begin and end.
struct Table<'a> {
    head: &'a str,
    columns: Vec<(usize, usize)>,
}

impl Table<'_> {
    fn cell(&self, line: &str, name: &str) -> Option<String> {
        let column = self
            .columns
            .iter()
            .find(|(from, _)| self.head.get(*from..).is_some_and(|rest| rest.starts_with(name)));
        let (from, to) = *column?;
        let found: String = line.chars().skip(from).take(to - from).collect();
        Some(found.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// `512   B +  0 B`, `4 KiB + 0 B`.
fn sector(text: &str) -> Option<u64> {
    let size = count(text)?;
    let kilo = text.split('+').next().is_some_and(|size| size.contains("Ki"));
    Some(if kilo { size * 1024 } else { size })
}

/// The text of `nvme smart-log`.
pub(in crate::tools) fn smart_log(lines: &[&str]) -> Facts {
    let mut facts = log_of(lines.first().and_then(|line| line.split_once("device:")));
    let mut health = Health::default();
    for line in lines {
        let Some((key, value)) = pair(line.trim_start_matches('+')) else { continue };
        let value = value.trim_end_matches('%');
        if key == "temperature" {
            facts.celsius.0 = count(value).and_then(|it| i32::try_from(it).ok());
        } else if let Some(number) = count(value) {
            set(&mut health, key, number, line);
        }
    }
    facts.health = Some(health).filter(|health| *health != Health::default());
    facts
}

fn log_of(head: Option<(&str, &str)>) -> Facts {
    Facts {
        tool: "nvme smart-log".to_owned(),
        node: head.and_then(|(_, rest)| node_of(rest)),
        kind: Some(Kind::Nvme),
        ..Facts::default()
    }
}

/// Any key of the text or the JSON.
fn set(health: &mut Health, key: &str, number: u64, line: &str) {
    let slot = match key {
        "critical_warning" => &mut health.critical_warning,
        "available_spare" | "avail_spare" => &mut health.spare,
        "available_spare_threshold" | "spare_thresh" => &mut health.spare_threshold,
        "percentage_used" | "percent_used" => &mut health.percentage_used,
        "media_errors" => &mut health.media_errors,
        "unsafe_shutdowns" => &mut health.unsafe_shutdowns,
        "power_on_hours" => &mut health.hours,
        "Warning Temperature Time" | "warning_temp_time" => &mut health.warning_heat_minutes,
        "Critical Composite Temperature Time" | "critical_comp_time" => {
            &mut health.critical_heat_minutes
        }
        _ => return,
    };
    *slot = Some(Reading::new(number, line));
}

/// The JSON of `nvme smart-log -o json`, which does not name the drive.
pub(in crate::tools) fn smart_json(report: &Value) -> Facts {
    let mut facts = log_of(None);
    let mut health = Health::default();
    for (key, value) in report.as_object().into_iter().flatten() {
        // Newer versions spell the bits of the warning out.
        let number = value.as_u64().or_else(|| value.get("value").and_then(Value::as_u64));
        let text = value.as_str().and_then(count);
        let Some(number) = number.or(text) else { continue };
        if key == "temperature" {
            let celsius = i64::try_from(number).unwrap_or(0).saturating_sub(KELVIN);
            facts.celsius.0 = i32::try_from(celsius).ok();
        }
        set(&mut health, key, number, &format!("{key}: {number}"));
    }
    facts.health = Some(health).filter(|health| *health != Health::default());
    facts
}
