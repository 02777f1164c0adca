//! The JSON of `smartctl -j -x`.

use serde_json::Value;

use super::super::facts::{Facts, node_of};
use super::super::health::{Health, Reading};
use super::entry::{Attribute, Test, add_attribute, add_tests};
use crate::device::Kind;
use crate::speed::Speed;

/// Reads one report.
pub(in crate::tools) fn facts(report: &Value) -> Facts {
    let vendor = text(report, "/scsi_vendor").or_else(|| text(report, "/vendor"));
    let product = text(report, "/scsi_product").or_else(|| text(report, "/product"));
    let scsi = vendor.zip(product).map(|(vendor, product)| format!("{vendor} {product}"));
    let rpm = number(report, "/rotation_rate").and_then(|rpm| u32::try_from(rpm).ok());
    let capacity = number(report, "/user_capacity/bytes");
    Facts {
        tool: tool(report),
        node: text(report, "/device/name").as_deref().and_then(node_of),
        kind: kind(report),
        model: text(report, "/model_name").or(scsi).or_else(|| text(report, "/scsi_model_name")),
        serial: text(report, "/serial_number"),
        firmware: text(report, "/firmware_version")
            .or_else(|| text(report, "/scsi_revision"))
            .or_else(|| text(report, "/revision")),
        capacity_bytes: capacity.or_else(|| number(report, "/nvme_total_capacity")),
        rpm,
        sectors: (number(report, "/logical_block_size"), number(report, "/physical_block_size")),
        link: (speed(report, "current"), speed(report, "max")),
        write_cache: flag(report, "/write_cache/enabled"),
        look_ahead: flag(report, "/read_lookahead/enabled"),
        celsius: (celsius(report, "/temperature/current"), limit(report)),
        smart: (flag(report, "/smart_support/available"), flag(report, "/smart_support/enabled")),
        health: health(report),
        ..Facts::default()
    }
}

fn text(report: &Value, path: &str) -> Option<String> {
    report.pointer(path).and_then(Value::as_str).map(str::to_owned)
}

fn number(report: &Value, path: &str) -> Option<u64> {
    report.pointer(path).and_then(Value::as_u64)
}

fn flag(report: &Value, path: &str) -> Option<bool> {
    report.pointer(path).and_then(Value::as_bool)
}

fn speed(report: &Value, which: &str) -> Option<Speed> {
    text(report, &format!("/interface_speed/{which}/string")).and_then(|text| Speed::parse(&text))
}

fn celsius(report: &Value, path: &str) -> Option<i32> {
    number(report, path).and_then(|it| i32::try_from(it).ok())
}

/// The temperature that the drive must not exceed.
fn limit(report: &Value) -> Option<i32> {
    let paths = [
        "/temperature/drive_trip",
        "/temperature/op_limit_max",
        "/temperature/limit_max",
        "/nvme_composite_temperature_threshold/critical",
    ];
    paths.iter().find_map(|path| celsius(report, path)).filter(|limit| *limit > 0)
}

fn tool(report: &Value) -> String {
    let version = report.pointer("/smartctl/version").and_then(Value::as_array);
    let version = version.map(|numbers| {
        let numbers = numbers.iter().filter_map(Value::as_u64).take(3);
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(".")
    });
    version.map_or_else(|| "smartctl".to_owned(), |version| format!("smartctl {version}"))
}

fn kind(report: &Value) -> Option<Kind> {
    let info = report.pointer("/device/info_name").and_then(Value::as_str).unwrap_or_default();
    if info.contains("[USB") {
        return Some(Kind::Usb);
    }
    let transport = report.pointer("/scsi_transport_protocol/name").and_then(Value::as_str);
    match report.pointer("/device/protocol").and_then(Value::as_str)? {
        "ATA" => Some(Kind::Ata),
        "NVMe" => Some(Kind::Nvme),
        "SCSI" if transport.is_some_and(|it| it.starts_with("SAS")) => Some(Kind::Sas),
        "SCSI" => Some(Kind::Scsi),
        _ => None,
    }
}

/// Reads a number, unless it is known.
fn read(slot: &mut Option<Reading>, report: &Value, path: &str) {
    let number = report.pointer(path).and_then(Value::as_u64);
    if let (None, Some(number)) = (&slot, number) {
        let key = path.rsplit('/').next().unwrap_or_default();
        *slot = Some(Reading::new(number, format!("{key}: {number}")));
    }
}

/// The keys of single numbers.
fn readings(health: &mut Health, report: &Value) {
    let nvme = "/nvme_smart_health_information_log";
    read(&mut health.critical_warning, report, &format!("{nvme}/critical_warning"));
    read(&mut health.spare, report, &format!("{nvme}/available_spare"));
    read(&mut health.spare_threshold, report, &format!("{nvme}/available_spare_threshold"));
    read(&mut health.media_errors, report, &format!("{nvme}/media_errors"));
    read(&mut health.unsafe_shutdowns, report, &format!("{nvme}/unsafe_shutdowns"));
    read(&mut health.warning_heat_minutes, report, &format!("{nvme}/warning_temp_time"));
    read(&mut health.critical_heat_minutes, report, &format!("{nvme}/critical_comp_time"));
    read(&mut health.percentage_used, report, &format!("{nvme}/percentage_used"));
    read(&mut health.percentage_used, report, "/endurance_used/current_percent");
    read(&mut health.percentage_used, report, "/scsi_percentage_used_endurance_indicator");
    read(&mut health.grown_defects, report, "/scsi_grown_defect_list");
    read(&mut health.hours, report, "/power_on_time/hours");
    read(&mut health.recovery_limit, report, "/ata_sct_erc/read/deciseconds");
    if report.pointer("/ata_sct_erc/read/enabled").and_then(Value::as_bool) == Some(false) {
        health.recovery_limit = Some(Reading::new(0, "ata_sct_erc read: disabled"));
    }
    let errors = ["read", "write", "verify"].iter().filter_map(|kind| {
        let path = format!("/scsi_error_counter_log/{kind}/total_uncorrected_errors");
        report.pointer(&path).and_then(Value::as_u64)
    });
    let sum = errors.fold(0_u64, u64::saturating_add);
    if sum > 0 {
        health.reported = Some(Reading::new(sum, format!("total_uncorrected_errors: {sum}")));
    }
}

fn health(report: &Value) -> Option<Health> {
    let passed = report.pointer("/smart_status/passed").and_then(Value::as_bool);
    let mut health = Health { passed, ..Health::default() };
    readings(&mut health, report);
    for attribute in list(report, "/ata_smart_attributes/table") {
        let name = text_of(attribute, "name");
        let shown = attribute.pointer("/raw/string").and_then(Value::as_str).unwrap_or_default();
        let first = shown.split_whitespace().next().and_then(|it| it.parse().ok());
        let whole = attribute.pointer("/raw/value").and_then(Value::as_u64);
        let Some(id) = attribute.get("id").and_then(Value::as_u64) else { continue };
        let Some(raw) = first.or(whole) else { continue };
        let line = format!("{id} {name} {shown}");
        let attribute =
            Attribute { id, name, raw, failed: text_of(attribute, "when_failed"), line: &line };
        add_attribute(&mut health, &attribute);
    }
    statistics(&mut health, report);
    let tests: Vec<(bool, String, String)> =
        TESTS.iter().flat_map(|path| list(report, path)).map(test).collect();
    let tests = tests.iter().map(|(long, status, line)| Test { long: *long, status, line });
    add_tests(&mut health, tests);
    let messages = list(report, "/smartctl/messages");
    let warnings = messages.filter_map(|it| it.get("string").and_then(Value::as_str));
    let about_firmware = warnings.filter(|text| text.to_ascii_lowercase().contains("firmware"));
    health.warnings.extend(about_firmware.map(|text| Reading::new(0, text).seen));
    (health != Health::default()).then_some(health)
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

const TESTS: &[&str] = &[
    "/ata_smart_self_test_log/extended/table",
    "/ata_smart_self_test_log/standard/table",
    "/nvme_self_test_log/table",
];

/// A test: true if it was long, its result, and both as one line.
fn test(test: &Value) -> (bool, String, String) {
    let kind = text(test, "/type/string").or_else(|| text(test, "/self_test_code/string"));
    let kind = kind.unwrap_or_default();
    let status = text(test, "/status/string").or_else(|| text(test, "/self_test_result/string"));
    let status = status.unwrap_or_default();
    let lba = test.get("lba").and_then(Value::as_u64).map(|lba| format!(" at LBA {lba}"));
    let line = format!("{kind}: {status}{}", lba.unwrap_or_default());
    (kind.starts_with("Extended"), status, line)
}

fn statistics(health: &mut Health, report: &Value) {
    let pages = list(report, "/ata_device_statistics/pages");
    let entries = pages.flat_map(|page| list(page, "/table"));
    for entry in entries.chain(list(report, "/sata_phy_event_counters/table")) {
        let Some(name) = entry.get("name").and_then(Value::as_str) else { continue };
        let Some(value) = entry.get("value").and_then(Value::as_u64) else { continue };
        let slot = match name {
            "Percentage Used Endurance Indicator" => &mut health.percentage_used,
            "Number of Interface CRC Errors" => &mut health.crc_errors,
            "Number of Reallocated Logical Sectors" => &mut health.reallocated,
            "Number of Reported Uncorrectable Errors" => &mut health.reported,
            "Command failed due to ICRC error" if value > 0 => &mut health.crc_errors,
            _ => continue,
        };
        slot.get_or_insert_with(|| Reading::new(value, format!("{name}: {value}")));
    }
}

/// The entries of a list; none if there is no list.
fn list<'v>(report: &'v Value, path: &str) -> impl Iterator<Item = &'v Value> {
    report.pointer(path).and_then(Value::as_array).into_iter().flatten()
}
