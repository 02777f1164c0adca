//! What `smartctl` prints about a drive, as text or JSON.

mod json;
mod text;

pub(in crate::tools) use json::facts as json;
pub(in crate::tools) use text::facts as text;

use super::health::{Health, Reading};

/// An attribute of an ATA drive.
struct Attribute<'a> {
    id: u64,
    name: &'a str,
    raw: u64,
    /// `FAILING_NOW`, `NOW`; `In_the_past`, `Past`; `-`.
    failed: &'a str,
    /// The whole line.
    line: &'a str,
}

/// Adds an attribute to the record. Makers number most attributes alike, and name them as they
/// like; both have to fit, because the raw value of another attribute means something else.
fn add_attribute(health: &mut Health, attribute: &Attribute<'_>) {
    let Attribute { id, name, raw, failed, line } = *attribute;
    let word = name.to_ascii_lowercase();
    let place = match id {
        5 if word.contains("realloc") => &mut health.reallocated,
        187 if word.contains("uncorrect") => &mut health.reported,
        197 if word.contains("pending") => &mut health.pending,
        198 if word.contains("uncorrect") => &mut health.uncorrectable,
        199 if word.contains("crc") => &mut health.crc_errors,
        _ => &mut None,
    };
    // Some drives keep several numbers in one value.
    if raw < 1 << 32 {
        place.get_or_insert_with(|| Reading::new(raw, line));
    }
    match failed {
        "FAILING_NOW" | "NOW" | "now" => health.failing.push(Reading::new(id, line).seen),
        "In_the_past" | "Past" | "past" => health.failed_before.push(Reading::new(id, line).seen),
        _ => {}
    }
}

/// A self-test, as the log of any kind of drive names it.
struct Test<'a> {
    long: bool,
    status: &'a str,
    line: &'a str,
}

/// Adds the failed self-tests that no later long test disproves; the newest come first.
fn add_tests<'a>(health: &mut Health, tests: impl Iterator<Item = Test<'a>>) {
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
