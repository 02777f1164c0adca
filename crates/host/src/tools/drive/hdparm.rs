//! `hdparm -I`: the identity of an ATA drive in words.

use super::facts::{Facts, count, node_of, pair, some};
use crate::device::Kind;
use crate::speed::Speed;

/// Reads the report of one drive, which begins with its name.
pub(in crate::tools) fn facts(lines: &[&str]) -> Facts {
    let mut facts = Facts {
        tool: "hdparm -I".to_owned(),
        node: lines.first().and_then(|line| node_of(line)),
        kind: Some(Kind::Ata),
        ..Facts::default()
    };
    let mut sectors = None;
    for line in lines {
        let line = line.trim();
        if let Some(feature) = line.strip_prefix('*') {
            feature_on(&mut facts, feature.trim());
        } else if let Some((key, value)) = pair(line) {
            about(&mut facts, &mut sectors, key, value);
        } else {
            feature_off(&mut facts, line);
        }
    }
    let bytes =
        sectors.and_then(|sectors: u64| sectors.checked_mul(facts.sectors.0.unwrap_or(512)));
    facts.capacity_bytes = bytes;
    facts
}

fn about(facts: &mut Facts, sectors: &mut Option<u64>, key: &str, value: &str) {
    match key {
        "Model Number" => facts.model = some(value),
        "Serial Number" => facts.serial = some(value),
        "Firmware Revision" => facts.firmware = some(value),
        "LBA    user addressable sectors" | "LBA user addressable sectors" => {
            *sectors = (*sectors).or(count(value));
        }
        "LBA48  user addressable sectors" | "LBA48 user addressable sectors" => {
            *sectors = count(value).or(*sectors);
        }
        "Logical  Sector size" | "Logical Sector size" => facts.sectors.0 = count(value),
        "Physical Sector size" => facts.sectors.1 = count(value),
        "Logical/Physical Sector size" => facts.sectors = (count(value), count(value)),
        "Nominal Media Rotation Rate" if value.starts_with("Solid State") => facts.rpm = Some(0),
        "Nominal Media Rotation Rate" => {
            facts.rpm = count(value).and_then(|rpm| u32::try_from(rpm).ok());
        }
        "Queue depth" => facts.queue_depth = count(value).and_then(|it| u32::try_from(it).ok()),
        // The asterisk marks the mode in use.
        "DMA" => {
            let mode = value.split_whitespace().find_map(|word| word.strip_prefix("*udma"));
            let rates = ["16", "25", "33", "44", "66", "100", "133"];
            let rate = mode.and_then(|mode| rates.get(mode.parse::<usize>().ok()?));
            facts.transfer_mode = rate.map(|rate| format!("UDMA/{rate}"));
        }
        _ => {}
    }
}

/// A feature with an asterisk is on.
fn feature_on(facts: &mut Facts, feature: &str) {
    match feature {
        "Write cache" => facts.write_cache = Some(true),
        "Look-ahead" => facts.look_ahead = Some(true),
        "SMART feature set" => facts.smart = (Some(true), Some(true)),
        "Native Command Queueing (NCQ)" => facts.ncq = Some(true),
        _ => {
            let speed =
                feature.split_once("signaling speed (").and_then(|(_, it)| Speed::parse(it));
            facts.link.1 = facts.link.1.max(speed);
        }
    }
}

/// A feature without an asterisk is off.
fn feature_off(facts: &mut Facts, feature: &str) {
    match feature {
        "Write cache" => facts.write_cache = Some(false),
        "Look-ahead" => facts.look_ahead = Some(false),
        "SMART feature set" => facts.smart = (Some(true), Some(false)),
        _ => {}
    }
}
