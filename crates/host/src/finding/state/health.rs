//! Findings of a drive's own record: failing attributes, bad sectors, errors of the cable, wear,
//! heat, self-tests.

use drivelab_core::outline::Severity;

use super::super::context::{Context, Findings};
use crate::device::{Device, Kind};
use crate::found::{Finding, FindingId};
use crate::tools::{Health, Reading};

/// Number of wrong check sums from which on the cable is a likely cause. The count never falls, so
/// a drive that was attached badly once keeps some.
const CRC_MIN: u64 = 10;
/// Wear in percent that is worth a plan.
const WORN: u64 = 90;
/// Temperature of a rotating disk that no maker allows.
const DISK_CELSIUS_MAX: i32 = 60;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let Some(health) = &device.health else { return };
    verdict(device, health, findings);
    medium(device, health, findings);
    cable(device, health, findings);
    tests(device, health, findings);
    wear(device, health, findings);
    heat(device, health, findings);
    firmware(health, findings);
}

/// The finding with this id, which the log may have caused already: one fault is one finding.
fn one<'f>(
    findings: &'f mut Findings,
    id: FindingId,
    severity: Severity,
    message: &str,
    fix: String,
) -> &'f mut Finding {
    if let Some(at) = findings.found.iter().position(|found| found.id == id) {
        let found = &mut findings.found[at];
        // The smaller one is the worse.
        found.severity = found.severity.min(severity);
        return found;
    }
    let found = findings.add(id, severity);
    found.says(message).fix(fix);
    findings.found.last_mut().expect("it was just added")
}

fn add_evidence(found: &mut Finding, health: &Health, seen: impl Iterator<Item = String>) {
    let mut parts: Vec<String> = vec![found.evidence.clone()];
    parts.extend(seen.map(|text| format!("{}: {text}", health.source)));
    found.seen(parts);
}

/// A reading above zero, as evidence.
fn above_zero(reading: Option<&Reading>) -> Option<&Reading> {
    reading.filter(|reading| reading.value > 0)
}

fn file(device: &Device) -> String {
    device.path.clone().unwrap_or_else(|| "/dev/NAME".to_owned())
}

/// The command that shows the record again.
fn again(device: &Device) -> String {
    format!("`sudo smartctl -x {}` shows it again", file(device))
}

fn verdict(device: &Device, health: &Health, findings: &mut Findings) {
    let warning = above_zero(health.critical_warning.as_ref());
    // Bit 1 is the temperature, which is another finding (NVMe 1.4, figure 194).
    let bits = warning.map_or(0, |reading| reading.value & !0b10);
    let spare = health.spare.as_ref().zip(health.spare_threshold.as_ref());
    // Some drives report a limit equal to the spare when new.
    let spare = spare.filter(|(spare, limit)| spare.value < limit.value);
    let failed = health.passed == Some(false) && (bits > 0 || warning.is_none());
    if !failed && bits == 0 && health.failing.is_empty() && spare.is_none() {
        return;
    }
    let mut seen: Vec<String> = Vec::new();
    seen.extend(failed.then(|| "overall health: FAILED".to_owned()));
    seen.extend(warning.filter(|_| bits > 0).map(|it| format!("{} ({})", it.seen, words(bits))));
    seen.extend(health.failing.iter().cloned());
    seen.extend(spare.map(|(spare, limit)| format!("{}, {}", spare.seen, limit.seen)));
    let fix = format!(
        "save the data now, and replace the drive: it fails by its maker's own limits; {}",
        again(device)
    );
    let found = one(
        findings,
        FindingId::HealthFailed,
        Severity::Error,
        "the drive itself reports that it is failing",
        fix,
    );
    add_evidence(found, health, seen.into_iter());
}

/// The bits of the critical warning.
fn words(bits: u64) -> String {
    let names = [
        (0, "the spare flash is used up"),
        (2, "reliability is degraded"),
        (3, "the drive is read-only"),
        (4, "the backup of its memory has failed"),
        (5, "its persistent memory region is unreliable"),
    ];
    let set = names.iter().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| *name);
    set.collect::<Vec<_>>().join(", ")
}

fn medium(device: &Device, health: &Health, findings: &mut Findings) {
    let lost = [
        health.pending.as_ref(),
        health.uncorrectable.as_ref(),
        health.media_errors.as_ref(),
        health.reported.as_ref(),
    ];
    let lost: Vec<&Reading> = lost.into_iter().filter_map(above_zero).collect();
    let replaced = [health.reallocated.as_ref(), health.grown_defects.as_ref()];
    let replaced: Vec<&Reading> = replaced.into_iter().filter_map(above_zero).collect();
    let present = [&health.pending, &health.media_errors];
    let waits = present.iter().any(|it| above_zero(it.as_ref()).is_some());
    if lost.is_empty() && replaced.is_empty() {
        return;
    }
    // Flash is sold with spare blocks and uses them as it ages.
    let is_flash = device.rpm == Some(0) || device.kind == Kind::Nvme;
    let severity = match (waits, lost.is_empty()) {
        (true, _) => Severity::Error,
        (false, true) if is_flash => Severity::Info,
        // Errors of the past, which were perhaps written over since.
        _ => Severity::Warn,
    };
    let message = if lost.is_empty() {
        "the drive has replaced sectors by spare ones"
    } else {
        "the drive reports sectors that it could not read"
    };
    let fix = format!(
        "save the data; read the whole disk (`sudo smartctl -t long {0}`, hours, no data is \
         changed) and look whether the numbers grow; replace the drive if they do. A sector that \
         waits is readable again, or replaced, once it was written; {1}",
        file(device),
        again(device)
    );
    let found = one(findings, FindingId::MediumErrors, severity, message, fix);
    add_evidence(found, health, lost.iter().chain(&replaced).map(|reading| reading.seen.clone()));
}

fn cable(device: &Device, health: &Health, findings: &mut Findings) {
    let Some(errors) = above_zero(health.crc_errors.as_ref()) else { return };
    let many = errors.value >= CRC_MIN;
    let severity = if many { Severity::Warn } else { Severity::Info };
    let fix = format!(
        "replace the SATA cable, or reseat the drive in its backplane, and compare the number a \
         day later: it never falls, and one that stays is of a fault that was mended; {}",
        again(device)
    );
    let message = "transfers on the cable arrived damaged and were repeated";
    let found = one(findings, FindingId::LinkErrors, severity, message, fix);
    add_evidence(found, health, std::iter::once(errors.seen.clone()));
}

fn tests(device: &Device, health: &Health, findings: &mut Findings) {
    if health.failed_tests.is_empty() {
        return;
    }
    let fix = format!(
        "save the data, and run the long test again (`sudo smartctl -t long {}`, hours, no data is \
         changed); replace the drive if it fails again",
        file(device)
    );
    let message = "the drive failed its own test, and no later long test passed";
    let found = one(findings, FindingId::HealthFailed, Severity::Error, message, fix);
    add_evidence(found, health, health.failed_tests.iter().take(3).cloned());
}

fn wear(device: &Device, health: &Health, findings: &mut Findings) {
    let Some(used) = health.percentage_used.as_ref().filter(|used| used.value >= WORN) else {
        return;
    };
    let over = used.value >= 100;
    let severity = if over { Severity::Warn } else { Severity::Info };
    let message = if over {
        "the flash has been written more often than its maker guarantees"
    } else {
        "the flash is near the end of the life that its maker guarantees"
    };
    let fix = format!(
        "plan a replacement, and keep copies of the data: a worn drive keeps it for a shorter time \
         without power, and may become read-only; state the wear with a measurement. {}",
        again(device)
    );
    let found = one(findings, FindingId::WornOut, severity, message, fix);
    add_evidence(found, health, std::iter::once(used.seen.clone()));
}

fn heat(device: &Device, health: &Health, findings: &mut Findings) {
    let hot = device
        .heat
        .celsius
        .filter(|celsius| device.rpm.is_some_and(|rpm| rpm > 0) && *celsius >= DISK_CELSIUS_MAX);
    let minutes = above_zero(health.critical_heat_minutes.as_ref())
        .or_else(|| above_zero(health.warning_heat_minutes.as_ref()));
    let now = health.critical_warning.as_ref().filter(|bits| bits.value & 0b10 > 0);
    if hot.is_none() && minutes.is_none() && now.is_none() {
        return;
    }
    // Heat of the past is no fault of today.
    let severity = if hot.or(now.map(|_| 0)).is_some() { Severity::Warn } else { Severity::Info };
    let fix = "give it air or a heat sink; watch `drivelab inspect --temperature` during a long \
               run: a drive above its limit slows down. There is nothing to undo";
    let message = "the drive was, or is, above a limit of its temperature";
    let found = one(findings, FindingId::TooHot, severity, message, fix.to_owned());
    let seen = hot.map(|celsius| format!("{celsius} \u{b0}C now"));
    let seen = seen.into_iter().chain(minutes.map(|it| it.seen.clone()));
    add_evidence(found, health, seen.chain(now.map(|it| it.seen.clone())));
}

fn firmware(health: &Health, findings: &mut Findings) {
    if health.warnings.is_empty() {
        return;
    }
    let fix =
        "read the note of smartmontools and the maker's, and update the firmware after a copy \
               of the data was made; it cannot be undone"
            .to_owned();
    let message = "smartmontools warns of this firmware";
    let found = one(findings, FindingId::FirmwareFault, Severity::Info, message, fix);
    add_evidence(found, health, health.warnings.iter().take(3).cloned());
}
