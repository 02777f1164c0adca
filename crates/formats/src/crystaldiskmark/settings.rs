//! The settings below the figures of a report, as `CrystalDiskMark` and `KDiskMark` write them.

use drivelab_core::record::{Work, size};

use super::row::between;
use crate::found::seconds;

/// Takes a setting, if it is about the work: `Test: 1 GiB (x5) [D: 12% (1/8GiB)] <0Fill>`.
pub(crate) fn read(work: &mut Work, name: &str, value: &str) {
    match name {
        "Profile" => work.set("profile", value),
        "Test" | "Test Size" => test(work, value),
        "Time" => time(work, value),
        _ => {}
    }
}

fn test(work: &mut Work, value: &str) {
    let end = value.find(['(', '[', '<']).unwrap_or(value.len());
    let amount: String = value[..end].split_whitespace().collect();
    work.set("size", size(&amount));
    if let Some(count) = between(value, "(x", ")") {
        work.set("loops", count);
    }
    if let Some(pause) = between(value, "[Interval:", "]") {
        work.set("interval", seconds(pause));
    }
    // Data is random unless the line says `<0Fill>`.
    let zeroes = value.to_lowercase().contains("0fill");
    work.set("data", if zeroes { "zeroes" } else { "random" });
}

/// `Measure 5 sec / Interval 5 sec`.
fn time(work: &mut Work, value: &str) {
    for part in value.split('/') {
        let (what, time) = part.trim().split_once(' ').unwrap_or_default();
        let key = match what {
            "Measure" => "runtime",
            "Interval" => "interval",
            _ => continue,
        };
        work.set(key, seconds(time));
    }
}

/// The share of reads of a mixture: `[Mix] Read 70%/Write 30%`.
pub(crate) fn mixture(work: &mut Work, heading: &str) {
    if let Some(share) = heading.strip_prefix("[Mix] Read ").and_then(|it| it.split('%').next()) {
        work.set("rwmixread", share);
    }
}
