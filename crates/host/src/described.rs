//! Devices that the output of other tools describes, together with the tree and the log.

use std::collections::BTreeMap;

use crate::bus::pci;
use crate::device::{self, Device, Kind, Machine};
use crate::root::Root;
use crate::tools::{self, Facts};

/// Maximum number of drives that are named together.
const NAMES_SHOWN: usize = 4;

/// Adds the facts to the devices of the tree and of the log, and devices for those of neither.
pub(crate) fn complete(
    root: &Root,
    all: &mut BTreeMap<String, Device>,
    unseen: &mut Vec<Device>,
    machine: &Machine,
    facts: &[Facts],
) {
    adopt(all, unseen, machine);
    // A drive that the log calls `ata1.00` is the `sda` of the tools.
    let mut logged = BTreeMap::new();
    for device in unseen.drain(..) {
        // The log and the tools name one drive differently.
        let file = device.path.as_deref().and_then(|path| path.strip_prefix("/dev/"));
        let name = file.filter(|name| !all.contains_key(*name)).unwrap_or(&device.name);
        logged.insert(name.to_owned(), device);
    }
    let known: Vec<String> = logged.keys().cloned().collect();
    all.append(&mut logged);
    tools::join(all, facts, machine.serials);
    unseen.extend(known.iter().filter_map(|name| all.remove(name)));
    functions(root, all, unseen, machine.described);
}

/// Merges a drive of the log with the device of the tree that has no port.
fn adopt(all: &mut BTreeMap<String, Device>, unseen: &mut Vec<Device>, machine: &Machine) {
    let paths = machine.log.ata_disks();
    unseen.retain(|logged| {
        let unit = logged.ata.as_ref().map(|ata| (ata.port, ata.device));
        let name = unit.and_then(|unit| paths.get(&unit));
        let own = name.and_then(|name| all.get_mut(name)).filter(|own| own.ata.is_none());
        let Some(own) = own else { return true };
        own.kind = Kind::Ata;
        own.ata.clone_from(&logged.ata);
        own.link = logged.link.clone();
        (own.ncq, own.ncq_off_cause) = (logged.ncq, logged.ncq_off_cause);
        if own.controller.address.is_none() {
            own.controller = logged.controller.clone();
            own.hops.splice(0..0, logged.hops.iter().cloned());
        }
        own.model = own.model.take().or_else(|| logged.model.clone());
        own.scsi = own.scsi.take().or_else(|| logged.scsi.clone());
        false
    });
}

/// Attaches NVMe drives to the functions that only `lspci` shows, and lists the controllers of
/// disks to which no drive could be attached.
fn functions(
    root: &Root,
    all: &mut BTreeMap<String, Device>,
    unseen: &mut Vec<Device>,
    described: bool,
) {
    let Some(folder) = root.node("sys/bus/pci/devices").filter(|_| described) else { return };
    let nodes = folder.folders().into_iter().filter_map(|name| folder.child(&name));
    let nodes: Vec<_> =
        nodes.filter(|node| node.hex("class").is_some_and(|class| class >> 16 == 1)).collect();
    for device in all.values_mut().filter(|device| device.hops.is_empty()) {
        let address = device.controller.address.clone();
        let node = nodes.iter().find(|node| address.as_deref() == Some(node.name()));
        if let Some(node) = node {
            device::attach_function(device, node);
        }
    }
    let nvme = nodes.iter().filter(|node| node.hex("class").is_some_and(|it| it >> 8 == 0x0108));
    let nvme: Vec<_> = nvme.collect();
    let mut drives =
        all.values_mut().filter(|device| device.kind == Kind::Nvme && device.hops.is_empty());
    // Which of several is which, neither output says.
    if let ([node], Some(drive), None) = (nvme.as_slice(), drives.next(), drives.next()) {
        device::attach_function(drive, node);
    }
    for node in &nodes {
        let used = all.values().chain(&*unseen).any(|device| {
            device.controller.address.as_deref() == Some(node.name())
                || device.hops.iter().any(|hop| hop.name == node.name())
        });
        if !used {
            let mut device = Device {
                name: node.name().to_owned(),
                kind: Kind::Controller,
                sources: vec!["lspci".to_owned()],
                ..Device::default()
            };
            device::attach_function(&mut device, node);
            debug_assert_eq!(device.controller.address.as_deref(), Some(node.name()));
            device.controller = pci::controller(node);
            unseen.push(device);
        }
    }
}

/// A test for a fact that is missing.
type Lacks = fn(&Device) -> bool;

/// The facts about the drives that the outputs lack, and the commands that print them.
pub(crate) fn missing(devices: &[Device], has_log: bool) -> Vec<String> {
    let mut found = Vec::new();
    if !has_log {
        found.push("the kernel log (`sudo dmesg`)".to_owned());
    }
    let asks: [(&str, &str, Lacks); 4] = [
        ("the drive's own record", "sudo smartctl -x", |drive| drive.health.is_none()),
        ("the settings of the queue", "lsblk --json -O", |drive| drive.queue.scheduler.is_none()),
        ("the rate of the link", "sudo smartctl -x", |drive| {
            drive.kind == Kind::Ata && drive.link.speed_gbps.is_none()
        }),
        ("the PCIe link", "sudo lspci -vvnn", |drive| {
            drive.kind == Kind::Nvme && drive.pcie.width.is_none()
        }),
    ];
    for (what, command, lacks) in asks {
        let drives = devices.iter().filter(|device| device.is_physical() && lacks(device));
        let names: Vec<&str> = drives.map(|drive| drive.name.as_str()).collect();
        let shown = names.iter().take(NAMES_SHOWN).copied().collect::<Vec<_>>().join(", ");
        let more = match names.len().saturating_sub(NAMES_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if !names.is_empty() {
            found.push(format!("{what} of {shown}{more} (`{command}`)"));
        }
    }
    found
}
