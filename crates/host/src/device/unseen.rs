//! Drives and controllers that the tree does not show as disks: known only from the log, or hidden
//! by a RAID mode.

use std::collections::{BTreeMap, BTreeSet};

use super::build::{Machine, apply_ata};
use super::{Device, Kind};
use crate::bus::pci;
use crate::bus::{Controller, ata};
use crate::log::{AtaPortLog, ControllerLog};
use crate::root::Root;

/// Returns the drives and controllers that are not among the devices `seen`, by name.
pub(crate) fn unseen(
    root: &Root,
    seen: &BTreeMap<String, Device>,
    machine: &Machine,
) -> Vec<Device> {
    let mut found = logged_drives(seen, machine);
    let known: Vec<&Device> = seen.values().chain(&found).collect();
    let mut controllers = hiding_controllers(root, &known);
    for (address, log) in &machine.log.controllers {
        let is_known =
            controllers.iter().any(|device| device.name == *address) || is_used(&known, address);
        // A controller in the tree without disks has none attached, unless its mode hides them.
        let shown = is_in_tree(root, address) && log.remapped_nvme.is_empty();
        if !is_known && !shown && is_of_disks(log) {
            controllers.push(device_of(pci::from_log(address, log), true));
        }
    }
    found.extend(controllers);
    found
}

fn logged_drives(seen: &BTreeMap<String, Device>, machine: &Machine) -> Vec<Device> {
    let units_seen: BTreeSet<(u32, u32)> = seen
        .values()
        .filter_map(|device| device.ata.as_ref().map(|ata| (ata.port, ata.device)))
        .collect();
    let mut found = Vec::new();
    for (&number, port) in &machine.log.ports {
        for unit in units(port) {
            if units_seen.contains(&(number, unit)) {
                continue;
            }
            let mut device = Device {
                name: format!("ata{number}.{unit:02}"),
                kind: Kind::Ata,
                log_only: true,
                ..Device::default()
            };
            let address = port.controller.as_deref();
            let log = address.and_then(|address| machine.log.controllers.get(address));
            if let (Some(address), Some(log)) = (address, log) {
                device.controller = pci::from_log(address, log);
                device.hops.push(pci::hop(&device.controller));
            }
            apply_ata(&mut device, ata::from_log(number, unit, &machine.log), machine);
            found.push(device);
        }
    }
    found
}

/// The drives that the lines on a port mention.
fn units(port: &AtaPortLog) -> Vec<u32> {
    // A link that never came up has no drive.
    let up =
        port.links.iter().filter(|(_, link)| link.speed.is_some() || !link.downshifts.is_empty());
    let links = up.map(|(unit, _)| unit.unwrap_or(0));
    let troubled = (!port.errors.is_empty() || !port.forced.is_empty()).then_some(0);
    // A port with errors only has at least one drive, whose number is unknown.
    let mut units: Vec<u32> = port.devices.keys().copied().chain(links).collect();
    if units.is_empty() {
        units.extend(troubled);
    }
    units.sort_unstable();
    units.dedup();
    units
}

/// RAID controllers of the tree without any disk under them.
fn hiding_controllers(root: &Root, known: &[&Device]) -> Vec<Device> {
    let Some(functions) = root.node("sys/bus/pci/devices") else { return Vec::new() };
    let mut found = Vec::new();
    for name in functions.folders().into_iter().filter(|name| crate::log::is_address(name)) {
        let Some(node) = functions.child(&name) else { continue };
        if node.hex("class").is_none_or(|class| class >> 8 != 0x0104) || is_used(known, &name) {
            continue;
        }
        found.push(device_of(pci::controller(&node), false));
    }
    found
}

/// Returns whether a device is attached to the PCI function, or below it.
fn is_used(devices: &[&Device], address: &str) -> bool {
    devices.iter().any(|device| {
        device.controller.address.as_deref() == Some(address)
            || device.hops.iter().any(|hop| hop.name == address)
    })
}

fn device_of(controller: Controller, log_only: bool) -> Device {
    Device {
        name: controller.address.clone().unwrap_or_default(),
        kind: Kind::Controller,
        log_only,
        hops: vec![pci::hop(&controller)],
        controller,
        ..Device::default()
    }
}

/// Returns whether a line of the log justifies an entry for a controller.
fn is_of_disks(log: &ControllerLog) -> bool {
    let class = log.class.or_else(|| log.driver.as_deref().and_then(pci::class_by_driver));
    !log.remapped_nvme.is_empty() || class.is_some_and(|class| class >> 16 == 1)
}

/// Returns whether the tree has the function; the log then adds no controller.
fn is_in_tree(root: &Root, address: &str) -> bool {
    root.node(&format!("sys/bus/pci/devices/{address}")).is_some()
}
