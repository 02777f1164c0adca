//! Drives and controllers that the tree does not show as disks: known only from the log, or hidden
//! by a RAID mode.

use std::collections::{BTreeMap, BTreeSet};

use super::build::{Machine, apply_ata};
use super::{Device, Kind};
use crate::bus::scsi::Scsi;
use crate::bus::usb::Usb;
use crate::bus::{Controller, ata, nvme::Nvme, pci};
use crate::log::{AtaPortLog, Class, ControllerLog, Faults, HostLog, KernelLog, disk_of, name_of};
use crate::root::Root;

/// Number of reports of a SAS fabric that are more than one event.
const FABRIC_MIN: u64 = 10;
/// The same in an excerpt.
const FABRIC_OF_EXCERPT_MIN: u64 = 2;
/// Number of failed attempts to bring a link up after which a drive is slow no longer.
pub(crate) const UNSETTLED_MIN: u64 = 3;
/// Number of devices that a log adds; no machine has more.
const UNSEEN_MAX: usize = 4096;

/// Returns the drives and controllers that are not among the devices `seen`, by name.
pub(crate) fn unseen(
    root: &Root,
    seen: &BTreeMap<String, Device>,
    machine: &Machine,
) -> Vec<Device> {
    let mut found = logged_drives(seen, machine);
    found.extend(logged_disks(seen, &found, machine));
    let known: Vec<&Device> = seen.values().chain(&found).collect();
    let mut controllers = hiding_controllers(root, &known);
    for (address, log) in &machine.log.controllers {
        let is_known =
            controllers.iter().any(|device| device.name == *address) || is_used(&known, address);
        // A controller in the tree without disks has none attached, unless its mode hides them.
        let shown = is_in_tree(root, address) && log.remapped_nvme.is_empty();
        let volumes = log.driver.as_deref().is_some_and(|driver| has_disks(&known, driver));
        if !is_known && !shown && !volumes && is_of_disks(log) {
            controllers.push(device_of(pci::from_log(address, log), true));
        }
    }
    found.extend(controllers);
    let known: Vec<&Device> = seen.values().chain(&found).collect();
    let faulty = faulty_rest(&known, machine);
    found.extend(faulty);
    if found.len() > UNSEEN_MAX {
        let more = found.len() - UNSEEN_MAX;
        root.report("kernel log", &format!("names {more} devices more than are shown"));
        found.truncate(UNSEEN_MAX);
    }
    found
}

fn logged_drives(seen: &BTreeMap<String, Device>, machine: &Machine) -> Vec<Device> {
    let units_seen: BTreeSet<(u32, u32)> = seen
        .values()
        .filter_map(|device| device.ata.as_ref().map(|ata| (ata.port, ata.device)))
        .collect();
    let paths = machine.log.ata_disks();
    let mut found = Vec::new();
    for (&number, port) in &machine.log.ports {
        for unit in units(number, port, &machine.log) {
            if units_seen.contains(&(number, unit)) {
                continue;
            }
            let disk = paths.get(&(number, unit)).filter(|name| !seen.contains_key(*name));
            let logged = disk.and_then(|name| machine.log.disks.get(name));
            let mut device = Device {
                name: name_of(number, Some(unit)),
                path: disk.map(|name| format!("/dev/{name}")),
                kind: Kind::Ata,
                log_only: true,
                scsi: logged.and_then(|disk| disk.address.as_deref()).map(Scsi::at),
                ..Device::default()
            };
            add_controller(&mut device, port.controller.as_deref(), &machine.log);
            apply_ata(&mut device, ata::from_log(number, unit, &machine.log), machine);
            found.push(device);
        }
    }
    found
}

fn add_controller(device: &mut Device, address: Option<&str>, log: &KernelLog) {
    let Some(address) = address else { return };
    let Some(controller) = log.controllers.get(address) else { return };
    device.controller = pci::from_log(address, controller);
    device.hops.push(pci::hop(&device.controller));
}

/// The disks that the lines on a port mention.
fn units(number: u32, port: &AtaPortLog, log: &KernelLog) -> Vec<u32> {
    if port.never_linked() {
        // Chatter on the lines of an empty port is no drive. One that fails to reset has a drive,
        // which does not answer: `sata_link_hardreset` resets only a link that is in use.
        let faults = log.faults.get(&name_of(number, None));
        let lost = faults.is_some_and(|it| it.of(Class::Lost).is_some() || never_settles(it));
        return lost.then_some(0).into_iter().collect();
    }
    if port.stays_empty() && !log.faults.contains_key(&name_of(number, None)) {
        return Vec::new();
    }
    // A link that never came up has no drive.
    let up = port.links.iter().filter(|(_, link)| {
        !link.stays_down && (link.speed.is_some() || !link.downshifts.is_empty())
    });
    let up: BTreeSet<Option<u32>> = up.map(|(unit, _)| *unit).collect();
    let several = up.iter().any(Option::is_some);
    // The link of a port multiplier leads to no drive.
    let links =
        up.into_iter().filter(|unit| unit.is_some() || !several).map(Option::unwrap_or_default);
    let faulty = (0..16).filter(|unit| is_faulty(name_of(number, Some(*unit)).as_str(), log));
    let mut units: BTreeSet<u32> =
        port.devices.keys().copied().chain(links).chain(faulty).collect();
    // A port with faults only has at least one drive, whose number is unknown.
    let port_is_faulty = is_faulty(&name_of(number, None), log);
    let searches = log.faults.get(&name_of(number, None)).is_some_and(never_settles);
    if units.is_empty() && (port_is_faulty || searches || !port.forced.is_empty()) {
        units.insert(0);
    }
    // 15 is the port multiplier itself.
    units.retain(|unit| *unit != 15 && port.devices.get(unit).is_none_or(|it| !it.packet));
    units.into_iter().collect()
}

/// Returns whether something is attached to a port and does not come up: the link of an empty one
/// is down after the first reset.
fn never_settles(faults: &Faults) -> bool {
    faults.of(Class::Unsettled).is_some_and(|lines| lines.count >= UNSETTLED_MIN)
}

/// Number of reports of a SAS fabric that are more than one event.
pub(crate) fn fabric_min(log: &KernelLog) -> u64 {
    if log.is_excerpt() { FABRIC_OF_EXCERPT_MIN } else { FABRIC_MIN }
}

/// Returns whether there are faults other than those of a device that is being searched.
fn is_faulty(name: &str, log: &KernelLog) -> bool {
    let usual = [Class::Unsettled, Class::Corrected, Class::Reset, Class::Mode];
    let Some(faults) = log.faults.get(name) else { return false };
    faults.by_class.iter().any(|(class, lines)| match class {
        Class::Fabric => lines.count >= fabric_min(log),
        // Who asks about these lines only has a reason.
        Class::Corrected => log.is_excerpt() && log.faults.len() == 1,
        Class::Reset => lines.count > 1 && log.is_excerpt() && !log.names_more_than(name),
        class => !usual.contains(class),
    })
}

/// Disks on other buses than ATA. With a tree, only those with faults: others are gone.
fn logged_disks(
    seen: &BTreeMap<String, Device>,
    drives: &[Device],
    machine: &Machine,
) -> Vec<Device> {
    let log = &machine.log;
    let paths: BTreeSet<&str> = drives.iter().filter_map(|drive| drive.path.as_deref()).collect();
    let mut names = disk_names(log);
    let known_controllers: BTreeSet<&str> = seen
        .values()
        .filter_map(|device| device.nvme.as_ref().map(|nvme| nvme.controller.as_str()))
        .collect();
    names.retain(|name| {
        let path = format!("/dev/{name}");
        let controller = controller_of(name);
        !seen.contains_key(*name)
            && !paths.contains(path.as_str())
            && !controller.is_some_and(|it| known_controllers.contains(it))
            && (seen.is_empty() || names_faults(log, name))
    });
    names.into_iter().filter_map(|name| logged_disk(name, machine)).collect()
}

/// The disks that the log names, and NVMe controllers of which it names no disk.
fn disk_names(log: &KernelLog) -> BTreeSet<&str> {
    let mut names: BTreeSet<&str> = log.disks.keys().map(String::as_str).collect();
    let faulty = log.faults.keys().filter(|name| is_faulty(name, log));
    names.extend(faulty.map(|name| disk_of(name)).filter(|name| kind_of(name).is_some()));
    let controllers = log.units.iter().filter(|(_, unit)| unit.function.is_some());
    for (name, _) in controllers {
        let start = format!("{name}n");
        let next = names.range(start.as_str()..).next();
        if !next.is_some_and(|disk| disk.starts_with(&start)) {
            names.insert(name);
        }
    }
    // A controller with faults, or the slot of a card, is shown with its disk.
    let disks = names.iter().filter(|name| is_disk_name(name));
    let covered: BTreeSet<&str> =
        disks.filter_map(|name| card_host_of(name, log).or(controller_of(name))).collect();
    names.retain(|name| !covered.contains(name));
    names
}

/// `mmc0` of `mmcblk0`: as the log introduces the card, or else by its number.
fn card_host_of<'l>(name: &'l str, log: &'l KernelLog) -> Option<&'l str> {
    let number = name.strip_prefix("mmcblk")?;
    let known = log.disks.get(name).and_then(|disk| disk.address.as_deref());
    match known {
        Some(address) => address.split(':').next(),
        None => {
            log.faults.keys().find(|it| it.strip_prefix("mmc") == Some(number)).map(String::as_str)
        }
    }
}

/// Returns whether it is the name of a disk, not of its controller or slot.
fn is_disk_name(name: &str) -> bool {
    match name.strip_prefix("nvme") {
        Some(rest) => rest.contains('n'),
        None => !name.starts_with("mmc") || name.starts_with("mmcblk"),
    }
}

fn names_faults(log: &KernelLog, name: &str) -> bool {
    !log.fault_names_of(name).is_empty()
}

/// `nvme0` of `nvme0n1` and of itself.
fn controller_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("nvme")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    debug_assert!(digits <= rest.len(), "digits are one byte each");
    (digits > 0).then(|| &name[..4 + digits])
}

/// The kind of a disk by its name in a message; `None` for what is no disk.
fn kind_of(name: &str) -> Option<Kind> {
    let kinds = [
        ("nvme", Kind::Nvme),
        ("mmcblk", Kind::Mmc),
        ("mmc", Kind::Mmc),
        ("xvd", Kind::Xen),
        ("vd", Kind::Virtio),
        ("sd", Kind::Scsi),
        ("hd", Kind::Ata),
        ("md", Kind::Md),
        ("dm-", Kind::Dm),
        ("bcache", Kind::Bcache),
        ("nbd", Kind::Network),
        ("rbd", Kind::Network),
        ("drbd", Kind::Network),
        ("dasd", Kind::Dasd),
        ("pmem", Kind::Pmem),
        ("loop", Kind::Loop),
        // Disks in messages of programs: behind a RAID controller, by their identity, of FreeBSD.
        ("megaraid_disk_", Kind::Scsi),
        ("3ware_disk_", Kind::Scsi),
        ("cciss_disk_", Kind::Scsi),
        ("areca_disk#", Kind::Scsi),
        ("ata-", Kind::Ata),
        ("scsi-", Kind::Scsi),
        ("usb-", Kind::Usb),
        ("ada", Kind::Ata),
        ("da", Kind::Scsi),
        ("zpool/", Kind::Other),
    ];
    let (start, kind) = kinds.iter().find(|(start, _)| name.starts_with(start))?;
    (name.len() > start.len()).then_some(*kind)
}

/// Returns whether it is a name below `/dev`; programs have others.
fn is_file_name(name: &str) -> bool {
    !name.contains("_disk")
        && !["ata-", "scsi-", "usb-", "nvme-", "zpool/"].iter().any(|start| name.starts_with(start))
}

fn logged_disk(name: &str, machine: &Machine) -> Option<Device> {
    let log = &machine.log;
    let mut device = Device {
        name: name.to_owned(),
        path: is_file_name(name).then(|| format!("/dev/{name}")),
        kind: kind_of(name)?,
        log_only: true,
        ..Device::default()
    };
    if let Some(disk) = log.disks.get(name) {
        device.capacity_bytes = disk.capacity_bytes;
        device.model.clone_from(&disk.model);
        let card = disk.address.as_deref().and_then(|it| it.split(':').next());
        device.card_bus = card.and_then(|host| log.cards.get(host).cloned());
        if device.kind == Kind::Scsi {
            let unit = log.scsi_of(disk);
            if unit.is_some_and(|unit| !unit.is_disk) {
                return None;
            }
            device.model = unit.map(|unit| unit.model.clone());
            device.scsi = disk.address.as_deref().map(Scsi::at);
            add_host(&mut device, unit.map(|unit| unit.vendor.as_str()), log);
        }
    }
    if device.kind == Kind::Nvme
        && let Some(controller) = controller_of(name)
    {
        let function = log.units.get(controller).and_then(|unit| unit.function.clone());
        device.nvme = Some(Nvme { controller: controller.to_owned(), ..Nvme::default() });
        add_controller(&mut device, function.as_deref(), log);
        device.controller.address = device.controller.address.take().or(function);
    }
    Some(device)
}

fn add_host(device: &mut Device, vendor: Option<&str>, log: &KernelLog) {
    let disk = log.disks.get(&device.name);
    let host = disk.and_then(|disk| log.host_of_disk(disk));
    let Some(scsi) = device.scsi.as_mut() else { return };
    scsi.vendor = vendor.map(str::to_owned);
    let Some(host) = host else { return };
    scsi.host_driver = Some(host.driver.clone());
    if host.is_usb() {
        device.kind = Kind::Usb;
        device.usb = Some(Usb {
            location: host.usb.clone().unwrap_or_default(),
            driver: Some(host.driver.clone()),
            ..Usb::default()
        });
    } else if vendor == Some("ATA") && crate::bus::scsi::is_libata(&host.driver) {
        device.kind = Kind::Ata;
    }
}

/// Names with faults that belong to no device: an address, an adapter, a bridge.
fn faulty_rest(known: &[&Device], machine: &Machine) -> Vec<Device> {
    let mut covered = BTreeSet::new();
    for device in known {
        covered.extend(device.fault_names(&machine.log));
    }
    let log = &machine.log;
    let rest = log.faults.keys().filter(|name| {
        !covered.contains(*name) && is_faulty(name, log) && !name.starts_with("ata")
    });
    rest.filter_map(|name| faulty(name, log)).collect()
}

/// A device of which the log reports faults, and nothing else.
fn faulty(name: &str, log: &KernelLog) -> Option<Device> {
    let is_pci = crate::log::is_address(name);
    let is_usb = name.contains('-') && name.starts_with(|c: char| c.is_ascii_digit());
    let stores = log.units.get(name).is_some_and(|unit| unit.stores);
    let is_adapter = is_pci
        || name.starts_with("mpt")
        || matches!(name, "aacraid" | "megasas")
        || name.strip_prefix("ioc").is_some_and(|it| it.parse::<u32>().is_ok())
        || name.starts_with("hv_storvsc")
        || name.starts_with("pcieport ") && log.is_about_port();
    let is_address =
        name.split(':').count() > 1 && name.split(':').all(|part| part.parse::<u64>().is_ok());
    let is_host = name.strip_prefix("host").is_some_and(|it| it.parse::<u32>().is_ok());
    // The connection of an iSCSI session: its disks have names only in other messages.
    let is_session = name.starts_with("connection");
    // Other devices than disks, and removable media, fail as well.
    let is_asked = is_usb && log.is_excerpt() && !log.names_more_than(name);
    if !(is_adapter || is_address || is_host || is_session || is_usb && stores || is_asked) {
        return None;
    }
    let of_usb = log.faults.get(name).is_some_and(Faults::is_of_usb_host);
    let has_usb_disks =
        log.hosts.values().any(HostLog::is_usb) || log.units.values().any(|unit| unit.stores);
    if of_usb && !has_usb_disks {
        return None;
    }
    let kind = if is_adapter {
        Kind::Controller
    } else if is_usb {
        Kind::Usb
    } else if is_session {
        Kind::Network
    } else {
        Kind::Scsi
    };
    let known = log.controllers.get(name).map(|controller| pci::from_log(name, controller));
    let address = is_pci.then(|| name.to_owned());
    Some(Device {
        name: name.to_owned(),
        kind,
        log_only: true,
        controller: known.unwrap_or(Controller { address, ..Controller::default() }),
        scsi: (kind == Kind::Scsi).then(|| Scsi::at(name)),
        usb: is_usb.then(|| Usb { location: name.to_owned(), ..Usb::default() }),
        ..Device::default()
    })
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

/// Returns whether a disk is on a SCSI host of the driver: `megaraid_sas` is `Avago SAS based
/// MegaRAID driver` there, so any host of an adapter counts.
fn has_disks(devices: &[&Device], driver: &str) -> bool {
    let is_adapter = ["mpt", "mega", "aacraid", "hpsa", "smartpqi", "arcmsr", "3w-", "stex"]
        .iter()
        .any(|start| driver.starts_with(start));
    is_adapter
        && devices.iter().any(|device| {
            device.log_only
                && matches!(device.kind, Kind::Scsi | Kind::Sas)
                && device.scsi.is_some()
        })
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
