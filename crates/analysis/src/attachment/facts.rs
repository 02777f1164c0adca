//! The settings of one run, flat: a name and a value each.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_core::record::{Attached, AttachedDevice, RunRecord};

/// Settings by name.
pub type Facts = BTreeMap<String, String>;

/// Findings that are no fault of how the drive is attached: how every drive for the desk is sold,
/// and what others did at the moment.
const EXPECTED: [&str; 2] = ["write-cache-volatile", "device-busy"];

/// Everything that is known of how a run's target was attached, and how it was asked.
pub fn facts(record: &RunRecord) -> Facts {
    let mut facts = Facts::new();
    if let Some(attached) = &record.attached {
        facts.extend(text_of(&attached.machine));
        devices(&mut facts, attached);
    }
    // What was drawn for a specimen is another in each block, and no setting.
    let drawn = record.specimen.iter().filter(|it| it.number.is_some()).flat_map(|it| &it.drawn);
    drawn.for_each(|drawn| drop(facts.remove(&drawn.name)));
    facts.insert("ioengine".into(), record.config.ioengine.clone());
    facts.insert("direct".into(), if record.config.direct { "on" } else { "off" }.into());
    if let Some(host) = &record.host {
        facts.insert("kernel".into(), host.kernel.clone());
    }
    facts
}

fn text_of(facts: &BTreeMap<String, drivelab_core::record::Fact>) -> Facts {
    facts.iter().map(|(name, fact)| (name.clone(), fact.to_string())).collect()
}

/// The drives under the target together, and what is made of them one by one.
fn devices(facts: &mut Facts, attached: &Attached) {
    let (drives, made): (Vec<_>, Vec<_>) =
        attached.devices.iter().partition(|device| device.made_of.is_empty());
    for device in &made {
        let own = text_of(&device.facts).into_iter();
        // A partition has the queue of its disk, and no settings besides.
        let prefix =
            if device.kind == "partition" { String::new() } else { device.kind.clone() + "." };
        facts.extend(own.map(|(name, value)| (format!("{prefix}{name}"), value)));
    }
    let names: BTreeSet<&String> = drives.iter().flat_map(|drive| drive.facts.keys()).collect();
    for name in names {
        let values = drives.iter().filter_map(|drive| drive.facts.get(name));
        facts.insert(name.clone(), joined(values.map(ToString::to_string)));
    }
    if !made.is_empty() || drives.len() > 1 {
        let kinds = attached.devices.iter().map(|device| device.kind.clone());
        facts.insert("made_of".into(), kinds.collect::<Vec<_>>().join(", "));
    }
    // Without an inspected device, that nothing was found would mean nothing.
    if !attached.devices.is_empty() {
        facts.insert("findings".into(), faults(&attached.devices));
    }
}

fn faults(devices: &[AttachedDevice]) -> String {
    let findings = devices.iter().flat_map(|device| &device.findings);
    let wrong = findings.filter(|f| f.severity != "info" && !EXPECTED.contains(&f.id.as_str()));
    let ids = wrong.map(|finding| finding.id.clone());
    match joined(ids) {
        none if none.is_empty() => "none".into(),
        ids => ids,
    }
}

fn joined(values: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for value in values {
        if !different.contains(&value) {
            different.push(value);
        }
    }
    different.join(", ")
}
