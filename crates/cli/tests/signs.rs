//! What `drive measure` says in words of modelled drives: never anything wrong.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::common::{drivelab, folder};

/// Drives, and what is true of each; a property that is not named is one that it does not have.
const DRIVES: [(&str, &[(&str, &str)]); 12] = [
    ("seagate-st31000333as", DISK),
    ("seagate-st31000333as,write-cache=off", UNCACHED),
    ("seagate-st31000333as,controller=ide,nr-requests=2", ONE),
    ("hitachi-hts542516k9sa00", DISK),
    ("seagate-st2000dm006", DISK),
    ("seagate-st2000dm006,link=1.5", LIMITED),
    // Delivered for servers, with its cache off.
    ("generic-10k", UNCACHED),
    ("generic-advanced-format", DISK),
    ("crucial-c300", FLASH),
    ("crucial-c300,dispatch=single", FLASH_ONE),
    ("generic-sata-datacenter", PROTECTED),
    ("samsung-970pro", FLASH),
];
const DISK: &[(&str, &str)] = &[
    ("rotation", "rotates"),
    ("zones", "zoned"),
    ("queue", "used"),
    ("write-cache", "acknowledges-early"),
    ("flush", "waits"),
];
const UNCACHED: &[(&str, &str)] =
    &[("rotation", "rotates"), ("zones", "zoned"), ("queue", "used"), ("write-cache", "waits")];
const ONE: &[(&str, &str)] = &[
    ("rotation", "rotates"),
    ("zones", "zoned"),
    ("queue", "one-at-a-time"),
    ("write-cache", "acknowledges-early"),
    ("flush", "waits"),
];
const LIMITED: &[(&str, &str)] = &[
    ("rotation", "rotates"),
    ("zones", "zoned"),
    ("limit", "limited"),
    ("queue", "used"),
    ("write-cache", "acknowledges-early"),
    ("flush", "waits"),
];
const FLASH: &[(&str, &str)] = &[
    ("rotation", "solid-state"),
    ("zones", "level"),
    ("queue", "used"),
    ("write-cache", "acknowledges-early"),
    ("flush", "waits"),
];
const FLASH_ONE: &[(&str, &str)] = &[
    ("rotation", "solid-state"),
    ("zones", "level"),
    ("queue", "one-at-a-time"),
    ("write-cache", "acknowledges-early"),
    ("flush", "waits"),
];
const PROTECTED: &[(&str, &str)] = &[
    ("rotation", "solid-state"),
    ("zones", "level"),
    ("queue", "used"),
    ("write-cache", "acknowledges-early"),
    ("flush", "free"),
];

/// The signs of a drive that have a value.
fn signs(folder: &Path, drive: &str) -> BTreeMap<String, String> {
    let target = format!("drive:{drive}");
    let writes = ["--allow-destructive", &target, "--out", "m.toml", "--json", "--no-archive"];
    let done = drivelab(folder, &[&["drive", "measure", &target], &writes[..]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    std::fs::remove_file(folder.join("m.toml")).unwrap();
    let document = done.json();
    let all = document["signs"].as_array().unwrap();
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let known = all.iter().filter(|sign| sign.get("value").is_some());
    known.map(|sign| (text(&sign["id"]), text(&sign["value"]))).collect()
}

#[test]
fn what_is_said_of_a_drive_is_true() {
    let folder = folder();
    let (mut right, mut unknown, mut wrong) = (0, Vec::new(), Vec::new());
    for (drive, truth) in DRIVES {
        let said = signs(folder.path(), drive);
        for (id, value) in truth {
            match said.get(*id) {
                Some(said) if said == value => right += 1,
                Some(said) => wrong.push(format!("{drive}: {id} is {said}, and not {value}")),
                None => unknown.push(format!("{drive}: {id}")),
            }
        }
        let invented = said.iter().filter(|(id, _)| truth.iter().all(|(known, _)| known != id));
        wrong.extend(invented.map(|(id, value)| format!("{drive}: {id} is {value}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}\nunknown: {unknown:#?}");
    // Of the properties that a drive has nine in ten are found.
    assert!(right >= 9 * unknown.len(), "{right} right, unknown: {unknown:#?}");
}
