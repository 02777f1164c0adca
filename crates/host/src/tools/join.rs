//! Joins facts of tools to the devices that they are about.

use std::collections::BTreeMap;

use super::Facts;
use crate::bus::ata::Ata;
use crate::bus::nvme::Nvme;
use crate::device::{Device, Kind};

/// Adds facts to the devices that they name, and devices for those that name none.
pub(crate) fn join(all: &mut BTreeMap<String, Device>, facts: &[Facts], serials: bool) {
    let mut owners = Owners::default();
    // First the outputs with names, so that the others can find theirs by serial number.
    let (named, unnamed): (Vec<&Facts>, Vec<&Facts>) =
        facts.iter().partition(|facts| facts.node.is_some());
    for facts in named.into_iter().chain(unnamed) {
        let name = owners.of(facts, all).unwrap_or_else(|| new_name(facts, all));
        owners.keep(facts, &name);
        let device = all.entry(name.clone()).or_insert_with(|| {
            // A name of a device file is one; `drive 1` is not.
            let path = facts.node.as_ref().map(|_| format!("/dev/{name}"));
            Device { name: name.clone(), path, ..Device::default() }
        });
        apply(device, facts, serials);
    }
}

/// The devices that are known by something else than their name.
#[derive(Debug, Default)]
struct Owners {
    by_serial: BTreeMap<String, String>,
}

impl Owners {
    /// The name of the device that facts are about, if it is known.
    fn of(&self, facts: &Facts, all: &BTreeMap<String, Device>) -> Option<String> {
        if let Some(node) = &facts.node {
            if all.contains_key(node) {
                return Some(node.clone());
            }
            // `nvme0` is the controller of `nvme0n1`.
            let first = format!("{node}n1");
            let is_controller = node.starts_with("nvme") && !node[4..].contains('n');
            if is_controller && all.contains_key(&first) {
                return Some(first);
            }
        }
        // An output without a name belongs to the device with its serial number.
        let serial = facts.serial.as_ref().and_then(|serial| self.by_serial.get(serial.trim()));
        if let Some(name) = serial.filter(|_| facts.node.is_none()) {
            return Some(name.clone());
        }
        if facts.node.is_some() {
            return None;
        }
        // The only device of this model, if no serial number contradicts.
        let model = facts.model.as_deref()?;
        let mut alike = all.values().filter(|device| {
            device.model.as_deref().is_some_and(|own| is_same(own, model))
                && facts.serial.as_ref().is_none_or(|_| !self.has_serial(&device.name))
        });
        // Two disks of one model are as likely: then the facts are of a third.
        let found = alike.next()?;
        alike.next().is_none().then(|| found.name.clone())
    }

    fn has_serial(&self, name: &str) -> bool {
        self.by_serial.values().any(|owner| owner == name)
    }

    fn keep(&mut self, facts: &Facts, name: &str) {
        if let Some(serial) = &facts.serial {
            self.by_serial.entry(serial.trim().to_owned()).or_insert_with(|| name.to_owned());
        }
    }
}

/// Returns whether two names mean one model: the SCSI layer cuts it after 16 signs.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short == long || short.len() >= 12 && long.starts_with(short)
}

/// A name for a drive of which no output names the device.
fn new_name(facts: &Facts, all: &BTreeMap<String, Device>) -> String {
    if let Some(node) = &facts.node {
        let is_controller = node.starts_with("nvme") && !node[4..].contains('n');
        return if is_controller { format!("{node}n1") } else { node.clone() };
    }
    let mut names = (1..).map(|number| format!("drive{number}"));
    names.find(|name| !all.contains_key(name)).expect("there are more numbers than devices")
}

/// Adds what is not known yet.
fn apply(device: &mut Device, facts: &Facts, serials: bool) {
    if let Some(kind) = facts.kind {
        settle_kind(device, kind);
    }
    fill(&mut device.model, facts.model.as_ref());
    fill(&mut device.firmware, facts.firmware.as_ref());
    fill(&mut device.serial, facts.serial.as_ref().filter(|_| serials));
    fill(&mut device.capacity_bytes, facts.capacity_bytes.as_ref());
    fill(&mut device.rpm, facts.rpm.as_ref());
    // Bridges report other sectors than the drive, so the tree counts first.
    fill(&mut device.queue.logical_sector_bytes, facts.sectors.0.as_ref());
    fill(&mut device.queue.physical_sector_bytes, facts.sectors.1.as_ref());
    fill(&mut device.link.speed_gbps, facts.link.0.as_ref());
    fill(&mut device.link.drive_gbps, facts.link.1.as_ref());
    device.link.settle();
    fill(&mut device.smart.supported, facts.smart.0.as_ref());
    fill(&mut device.smart.enabled, facts.smart.1.as_ref());
    fill(&mut device.temperature_celsius, facts.celsius.0.as_ref());
    fill(&mut device.heat.celsius, facts.celsius.0.as_ref());
    fill(&mut device.heat.limit_celsius, facts.celsius.1.as_ref());
    // A volume of a RAID controller answers for the cache of the controller.
    let own_cache = facts.write_cache.filter(|_| device.kind != Kind::Scsi);
    if let Some(on) = own_cache {
        let text = if on { "write back" } else { "write through" };
        fill(&mut device.write_cache.device, Some(&text.to_owned()));
    }
    if device.kind == Kind::Ata {
        apply_ata(device, facts);
    }
    if device.kind == Kind::Nvme && (facts.transport.is_some() || facts.address.is_some()) {
        let nvme = device.nvme.get_or_insert_with(Nvme::default);
        fill(&mut nvme.transport, facts.transport.as_ref());
        fill(&mut device.controller.address, facts.address.as_ref());
    }
    if let Some(health) = &facts.health {
        device.health.get_or_insert_with(Default::default).add(health);
    }
    // Evidence names the tool without its options.
    let tool = facts.tool.split_whitespace().next().unwrap_or_default().to_owned();
    if !tool.is_empty() && !device.sources.contains(&tool) {
        device.sources.push(tool);
    }
}

/// The output of a drive itself says what the drive is, but not how it is attached.
fn settle_kind(device: &mut Device, kind: Kind) {
    // A bridge hides the bus of the drive behind it, and the bridge is what the host has.
    let weak = device.kind == Kind::Other || device.kind == Kind::Scsi && kind != Kind::Other;
    if weak && !(device.kind == Kind::Scsi && kind == Kind::Ata && device.usb.is_some()) {
        device.kind = kind;
    }
}

fn apply_ata(device: &mut Device, facts: &Facts) {
    let says = facts.queue_depth.is_some()
        || facts.ncq.is_some()
        || facts.look_ahead.is_some()
        || facts.link.1.is_some();
    if !says && device.ata.is_none() {
        return;
    }
    let ata = device.ata.get_or_insert_with(Ata::default);
    fill(&mut ata.drive_queue_depth, facts.queue_depth.as_ref());
    fill(&mut ata.ncq_supported, facts.ncq.as_ref());
    fill(&mut ata.look_ahead, facts.look_ahead.as_ref());
    fill(&mut ata.write_cache, facts.write_cache.as_ref());
    fill(&mut ata.sata, facts.link.1.map(|_| true).as_ref());
}

fn fill<T: Clone>(slot: &mut Option<T>, value: Option<&T>) {
    if slot.is_none() {
        *slot = value.cloned();
    }
}
