//! Attributes and self-tests, in any form `smartctl` prints them.

use super::super::health::{Health, Reading};

/// An attribute of an ATA drive.
pub(super) struct Attribute<'a> {
    pub(super) id: u64,
    pub(super) name: &'a str,
    pub(super) raw: u64,
    /// `FAILING_NOW`, `NOW`; `In_the_past`, `Past`; `-`.
    pub(super) failed: &'a str,
    /// The whole line.
    pub(super) line: &'a str,
}

/// Adds an attribute to the record. Makers number most attributes alike, and name them as they
/// like; both have to fit, because the raw value of another attribute means something else.
pub(super) fn add_attribute(health: &mut Health, attribute: &Attribute<'_>) {
    let Attribute { id, name, raw, failed, line } = *attribute;
    let word = name.to_ascii_lowercase();
    let slot = match id {
        5 if word.contains("realloc") => &mut health.reallocated,
        187 if word.contains("uncorrect") => &mut health.reported,
        197 if word.contains("pending") => &mut health.pending,
        198 if word.contains("uncorrect") => &mut health.uncorrectable,
        199 if word.contains("crc") => &mut health.crc_errors,
        _ => &mut None,
    };
    // Some drives keep several numbers in one value.
    if raw < 1 << 32 {
        slot.get_or_insert_with(|| Reading::new(raw, line));
    }
    match failed {
        "FAILING_NOW" | "NOW" | "now" => health.failing.push(Reading::new(id, line).seen),
        "In_the_past" | "Past" | "past" => health.failed_before.push(Reading::new(id, line).seen),
        _ => {}
    }
}

/// A self-test, as the log of any kind of drive names it.
pub(super) struct Test<'a> {
    pub(super) long: bool,
    pub(super) status: &'a str,
    pub(super) line: &'a str,
}

/// Adds the failed self-tests that no later long test disproves; the newest come first.
pub(super) fn add_tests<'a>(health: &mut Health, tests: impl Iterator<Item = Test<'a>>) {
    for test in tests {
        let status = test.status.to_ascii_lowercase();
        if test.long && status.starts_with("completed without error") {
            return;
        }
        let fails = [
            "read failure",
            "electrical failure",
            "servo",
            "unknown failure",
            "handling damage",
            "failed",
            "fatal or unknown",
        ];
        if fails.iter().any(|it| status.contains(it)) {
            health.failed_tests.push(Reading::new(0, test.line).seen);
        }
    }
}
