//! Drives and controllers that the tree does not show as disks: known only from the log, or hidden
//! by a RAID mode.

use std::collections::BTreeMap;

use super::build::{Machine, apply_ata};
use super::{Device, Kind};
use crate::bus::pci;
use crate::bus::{Controller, ata};
use crate::log::{AtaPortLog, ControllerLog};
use crate::root::Root;

/// The ones that are not among the devices `seen`, by name.
pub(crate) fn unseen(
    root: &Root,
    seen: &BTreeMap<String, Device>,
    machine: &Machine,
) -> Vec<Device> {
    let mut found = logged_drives(seen, machine);
    let used = |address: &str| {
        let on = |device: &Device| device.controller.address.as_deref() == Some(address);
        let above = |device: &Device| device.hops.iter().any(|hop| hop.name == address);
        seen.values().chain(&found).any(|device| on(device) || above(device))
    };
    let mut controllers = hiding_controllers(root, &used);
    for (address, log) in &machine.log.controllers {
        let known = controllers.iter().any(|device| device.name == *address) || used(address);
        let shown = is_in_tree(root, address) && log.remapped_nvme.is_empty();
        if !known && !shown && is_of_disks(log) {
            controllers.push(device_of(pci::from_log(address, log), true));
        }
    }
    found.extend(controllers);
    found
}

fn logged_drives(seen: &BTreeMap<String, Device>, machine: &Machine) -> Vec<Device> {
    let taken = |unit: (u32, u32)| {
        let at = |device: &Device| device.ata.as_ref().map(|ata| (ata.port, ata.device));
        seen.values().any(|device| at(device) == Some(unit))
    };
    let mut found = Vec::new();
    for (&number, port) in &machine.log.ports {
        for unit in units(port) {
            if taken((number, unit)) {
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
    let up = |link: &crate::log::AtaLinkLog| link.speed.is_some() || !link.downshifts.is_empty();
    let links = port.links.iter().filter(|(_, link)| up(link)).map(|(unit, _)| unit.unwrap_or(0));
    let troubled = (!port.errors.is_empty() || !port.forced.is_empty()).then_some(0);
    let mut units: Vec<u32> = port.devices.keys().copied().chain(links).collect();
    if units.is_empty() {
        units.extend(troubled);
    }
    units.sort_unstable();
    units.dedup();
    units
}

/// RAID controllers of the tree without any disk under them.
fn hiding_controllers(root: &Root, used: &dyn Fn(&str) -> bool) -> Vec<Device> {
    let Some(functions) = root.node("sys/bus/pci/devices") else { return Vec::new() };
    let mut found = Vec::new();
    for name in functions.folders().into_iter().filter(|name| crate::log::is_address(name)) {
        let Some(node) = functions.child(&name) else { continue };
        if node.hex("class").is_none_or(|class| class >> 8 != 0x0104) || used(&name) {
            continue;
        }
        found.push(device_of(pci::controller(&node), false));
    }
    found
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

/// Whether a line of the log justifies an entry for a controller.
fn is_of_disks(log: &ControllerLog) -> bool {
    let class = log.class.or_else(|| log.driver.as_deref().and_then(pci::class_by_driver));
    !log.remapped_nvme.is_empty() || class.is_some_and(|class| class >> 16 == 1)
}

/// Whether the tree has the function; the log then adds no controller.
fn is_in_tree(root: &Root, address: &str) -> bool {
    root.node(&format!("sys/bus/pci/devices/{address}")).is_some()
}
