//! Reads one block device of the tree, with everything on the path to it.

use std::collections::BTreeMap;

use super::{
    BackingFile, Device, Heat, InFlight, Kind, Mapped, Mounts, Partition, Power, Queue, Raid,
    Smart, Volumes, WriteCache, stack,
};
use crate::bus::ata::{self, AtaView, NcqEvidence};
use crate::bus::mmc::CardBus;
use crate::bus::nvme::Nvme;
use crate::bus::pcie::Pcie;
use crate::bus::scsi::{self, Scsi};
use crate::bus::usb::Usb;
use crate::bus::virtio::Virtio;
use crate::bus::{self, Controller, pci, pcie};
use crate::fingerprint::fingerprint;
use crate::forced::Forced;
use crate::log::KernelLog;
use crate::root::Node;

/// The facts about the machine, collected before any device is read.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) log: KernelLog,
    pub(crate) mounts: Mounts,
    pub(crate) forced: Vec<Forced>,
    /// Version of the kernel: 6 and 1 for `6.1.0-18-amd64`.
    pub(crate) kernel: Option<(u32, u32)>,
    pub(crate) arrays: BTreeMap<String, Raid>,
    pub(crate) volumes: Volumes,
    /// Number of memory nodes; 0 if unknown.
    pub(crate) memory_nodes: usize,
    pub(crate) serials: bool,
    pub(crate) temperature: bool,
    /// True if there is no tree but what the output of tools says.
    pub(crate) described: bool,
}

impl Machine {
    /// A machine of which only the log is known.
    pub(crate) fn of_log(log: KernelLog) -> Self {
        let kernel = log.release.as_deref().and_then(version);
        Self {
            log,
            mounts: Mounts::default(),
            forced: Vec::new(),
            kernel,
            arrays: BTreeMap::new(),
            volumes: Volumes::default(),
            memory_nodes: 0,
            serials: false,
            temperature: false,
            described: false,
        }
    }
}

/// Returns the first two numbers of a kernel's release: 6 and 1 of `6.1.0-18-amd64`.
pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

pub(crate) fn build(block: &Node<'_>, machine: &Machine) -> Device {
    let hardware = block.child("device");
    let mut device = Device {
        name: block.name().to_owned(),
        // Sysfs writes `!` for a slash in a name.
        path: Some(format!("/dev/{}", block.name().replace('!', "/"))),
        kind: Kind::of(block, hardware.as_ref().or(Some(block))),
        // sysfs counts in sectors of 512 bytes, also on drives with 4096.
        capacity_bytes: block.number::<u64>("size").and_then(|sectors| sectors.checked_mul(512)),
        read_only: block.flag("ro"),
        removable: block.flag("removable"),
        queue: Queue::read(block),
        slaves: block.child("slaves").map(|node| node.folders()).unwrap_or_default(),
        holders: block.child("holders").map(|node| node.folders()).unwrap_or_default(),
        in_flight: InFlight::read(block),
        ..Device::default()
    };
    device.write_cache.kernel = block.text("queue/write_cache");
    stacked(&mut device, block, machine);
    partitions(&mut device, block, machine);
    let number = block.text("dev");
    device.number.clone_from(&number);
    device.mounts = machine.mounts.of_device(number.as_deref(), &names(&device));
    attach(&mut device, block, hardware.as_ref(), machine);
    if device.is_drive() && device.identity.is_none() {
        let own = known_serial(hardware.as_ref()).or_else(|| block.text("wwid"));
        device.identity = own.and_then(|own| identity(&device, &own));
    }
    if machine.serials {
        device.serial = device.serial.or_else(|| serial(block, hardware.as_ref()));
    }
    device
}

/// Returns the identity that distinguishes a drive from others of its model: makers number each
/// model separately.
fn identity(device: &Device, own: &str) -> Option<String> {
    let model = device.model.as_deref().unwrap_or_default();
    if own.trim().is_empty() {
        return None;
    }
    fingerprint(&format!("{} {}", model.trim(), own.trim()))
}

fn names(device: &Device) -> Vec<String> {
    let mapper = device.dm.as_ref().and_then(|dm| dm.name.as_ref());
    let mapper = mapper.map(|name| format!("/dev/mapper/{name}"));
    device.path.clone().into_iter().chain(mapper).collect()
}

fn stacked(device: &mut Device, block: &Node<'_>, machine: &Machine) {
    device.dm = block.child("dm").map(|node| Mapped::read(&node));
    let stat = machine.arrays.get(&device.name);
    let array = block.child("md");
    if array.is_some() || stat.is_some() {
        device.kind = Kind::Md;
        device.md = Some(Raid::read(array.as_ref(), stat));
    }
    device.backing = block.child("loop").map(|node| BackingFile::read(&node));
}

/// Partitions are the folders with an attribute `partition`.
fn partitions(device: &mut Device, block: &Node<'_>, machine: &Machine) {
    if device.kind == Kind::Loop && device.capacity_bytes == Some(0) {
        return;
    }
    for name in block.folders().into_iter().filter(|name| name.starts_with(block.name())) {
        let Some(node) = block.child(&name) else { continue };
        if node.number::<u32>("partition").is_some() || node.text("start").is_some() {
            device.partitions.push(Partition::read(&node, &device.name, &machine.mounts));
        }
    }
}

/// Follows the path up, from the disk to the PCI function.
fn attach(device: &mut Device, block: &Node<'_>, hardware: Option<&Node<'_>>, machine: &Machine) {
    // A device built on others has no path; its components have.
    if !device.is_drive() && device.kind != Kind::Removable && device.kind != Kind::Other {
        return;
    }
    let start = hardware.unwrap_or(block);
    let nvme = (device.kind == Kind::Nvme).then(|| bus::nvme::controller_of(block)).flatten();
    let start = nvme.as_ref().unwrap_or(start);
    controller(device, start);
    if let Some(node) = &nvme {
        attach_nvme(device, node);
    }
    device.virtio = Virtio::read(start);
    device.usb = Usb::read(start);
    device.scsi = Scsi::read(start);
    if device.kind == Kind::Scsi && device.scsi.as_ref().is_some_and(Scsi::is_libata_disk) {
        // Linux before 3.6 has no `ataN` in the path.
        device.kind = Kind::Ata;
    }
    if device.scsi.as_ref().is_some_and(Scsi::is_ufs) {
        device.kind = Kind::Ufs;
    }
    if device.kind == Kind::Mmc {
        let host = start.name().split(':').next().unwrap_or_default();
        device.card_bus =
            CardBus::of_host(start.root(), host).or_else(|| machine.log.cards.get(host).cloned());
    }
    if let Some(virtio) = &device.virtio {
        device.hops.push(virtio.hop());
    }
    if let Some(usb) = &device.usb {
        device.link = usb.link();
        device.hops.push(usb.hop());
    }
    attach_scsi(device, start, machine);
    device.write_cache.device = device.write_cache.device.take().or_else(|| {
        // virtio has the attribute next to the queue; NVMe reports it only to the kernel.
        block.text("cache_type").or_else(|| scsi::cache_type(start))
    });
    device.power.runtime_control = start.text("power/control");
    device.power.runtime_status = start.text("power/runtime_status");
    if machine.temperature && start.is_awake() {
        device.heat = Heat::read(start);
        device.temperature_celsius = device.heat.celsius;
    }
    // NVMe and virtio have no such attribute: their queue's size counts.
    device.queue_depth =
        start.number("queue_depth").or_else(|| device.queue_depth.or(device.queue.tags));
    device.model = device.model.take().or_else(|| start.text("model"));
    device.firmware =
        device.firmware.take().or_else(|| start.text("rev").or_else(|| start.text("firmware_rev")));
    attach_ata(device, start, machine);
    if device.ata.is_none() {
        device.link.settle();
    }
}

/// Attaches a drive to the PCI function at a folder of the tree.
pub(crate) fn attach_function(device: &mut Device, function: &Node<'_>) {
    controller(device, function);
    if device.kind == Kind::Nvme {
        device.link.speed_gbps = device.pcie.bandwidth_gbps;
        device.link.drive_gbps = device.pcie.max_bandwidth_gbps;
        device.link.settle();
    }
}

fn controller(device: &mut Device, start: &Node<'_>) {
    let functions = bus::functions(start);
    let Some(own) = functions.first() else {
        if let Some((controller, hop)) = bus::paravirtual(start) {
            device.controller = controller;
            device.hops.push(hop);
        }
        return;
    };
    device.controller = pci::controller(own);
    device.pcie = Pcie::read(&functions);
    device.hops.extend(pcie::bridge_hops(&functions));
    let mut hop = pci::hop(&device.controller);
    if device.pcie.asleep {
        hop.about.push_str("; asleep: its link was not read");
    }
    device.hops.push(hop);
}

fn attach_nvme(device: &mut Device, node: &Node<'_>) {
    let nvme = Nvme::read(node);
    device.queue_depth = nvme.sqsize;
    device.link.speed_gbps = device.pcie.bandwidth_gbps;
    device.link.host_gbps =
        pcie::bandwidth(device.pcie.slot_max_speed_gts, device.pcie.slot_max_width);
    device.link.drive_gbps = device.pcie.max_bandwidth_gbps;
    device.hops.push(nvme.hop());
    device.nvme = Some(nvme);
}

fn attach_scsi(device: &mut Device, start: &Node<'_>, machine: &Machine) {
    let Some(scsi) = &device.scsi else { return };
    if let Some(link) = scsi::sas_link(start) {
        device.link = link;
    }
    if let Some(host) = scsi.host() {
        let policy = format!("sys/class/scsi_host/host{host}");
        let node = start.root().node(&policy);
        device.power.link_policy = node.and_then(|node| node.text("link_power_management_policy"));
    }
    device.controller.driver = device.controller.driver.take().or_else(|| scsi.host_driver.clone());
    if device.usb.is_none() && ata::port_of(start).is_none() {
        device.hops.push(scsi.hop(&device.link));
        // A SATA drive behind a SAS adapter: the adapter queues for it.
        if scsi.vendor.as_deref() == Some("ATA") && device.virtio.is_none() {
            device.ncq = start.number::<u32>("queue_depth").map(|depth| depth > 1);
        }
    }
    let name = device.name.clone();
    let logged = machine.log.disks.get(&name).and_then(|disk| disk.write_cache.as_deref());
    if let Some(logged) = logged.filter(|_| scsi::cache_type(start).is_none()) {
        let on = logged.starts_with("Write cache: enabled");
        let text = if on { "write back" } else { "write through" };
        device.write_cache.device = Some(text.into());
    }
}

fn attach_ata(device: &mut Device, start: &Node<'_>, machine: &Machine) {
    let Some((port, number)) = ata::port_of(start) else { return };
    let unit = device.scsi.as_ref().map_or((0, 0), Scsi::unit);
    let view = ata::read((&port, number), unit, &machine.log);
    apply_ata(device, view, machine);
}

/// Adds the facts that an ATA drive reports, and the kernel's facts about it.
pub(super) fn apply_ata(device: &mut Device, view: AtaView<'_>, machine: &Machine) {
    let AtaView { facts, identify, log, mut link } = view;
    let address = device.controller.address.clone().unwrap_or_default();
    let said = machine.log.controllers.get(&address).and_then(|controller| controller.link_max);
    link.host_gbps = link.host_gbps.or(said);
    link.settle();
    let evidence = NcqEvidence {
        facts: &facts,
        log,
        queue_depth: device.queue_depth,
        ide: is_ide(&device.controller),
        forced: &machine.forced,
    };
    (device.ncq, device.ncq_off_cause) = ata::ncq(&evidence);
    device.hops.push(ata::hop(&facts, &link));
    device.link = link;
    if let Some(identify) = &identify {
        device.model = identify.model().or(device.model.take());
        device.firmware = identify.firmware().or(device.firmware.take());
        device.identity = identify.serial().and_then(|own| identity(device, &own));
        device.serial = identify.serial().filter(|_| machine.serials);
        device.rpm = identify.rpm();
        let (supported, enabled) = identify.smart();
        device.smart = Smart { supported: Some(supported), enabled: Some(enabled) };
        // USB bridges and RAID firmware often report 512 bytes for a drive with 4096.
        let physical = identify.physical_sector_bytes();
        let told = device.queue.physical_sector_bytes;
        device.queue.physical_sector_bytes = physical.max(told).or(told);
    }
    if device.write_cache.device.is_none() {
        let text = facts.write_cache.map(|on| if on { "write back" } else { "write through" });
        device.write_cache.device = text.map(str::to_owned);
    }
    if let Some(log) = log {
        device.model = device.model.take().or_else(|| log.model.clone());
        let bytes = log.sectors.and_then(|sectors| sectors.checked_mul(512));
        device.capacity_bytes = device.capacity_bytes.or(bytes);
    }
    device.ata = Some(facts);
}

pub(crate) fn is_ide(controller: &Controller) -> bool {
    let driver = controller.driver.as_deref();
    // The kernel may switch a function to AHCI before it binds the driver.
    if driver == Some("ahci") || is_native(controller) {
        return false;
    }
    let class = controller.class().is_some_and(|class| class >> 8 == 0x0101);
    class || driver.is_some_and(|name| name == "ata_piix" || name.starts_with("pata_"))
}

/// Returns whether the controller has a SATA driver that knows its own registers. Its class may be
/// that of IDE all the same, and it has no AHCI mode to switch to.
pub(crate) fn is_native(controller: &Controller) -> bool {
    controller.driver.as_deref().is_some_and(|name| name.starts_with("sata_"))
}

/// The kernel knows a drive's serial number; a virtio disk's requires a request to its host
/// (`GET_ID`).
fn serial(block: &Node<'_>, hardware: Option<&Node<'_>>) -> Option<String> {
    if hardware.is_some_and(|node| !node.is_awake()) {
        return None;
    }
    let hardware = known_serial(hardware);
    hardware.or_else(|| block.text("serial")).or_else(|| block.text("wwid"))
}

/// Returns the serial number that the kernel has read from a drive that is awake.
fn known_serial(hardware: Option<&Node<'_>>) -> Option<String> {
    let node = hardware.filter(|node| node.is_awake())?;
    node.text("serial").or_else(|| node.text("wwid"))
}

impl Device {
    /// A requested partition as a device.
    pub(crate) fn of_partition(partition: Partition, disk: &Self) -> Self {
        Self {
            name: partition.name.clone(),
            path: Some(format!("/dev/{}", partition.name.replace('!', "/"))),
            kind: Kind::Partition,
            capacity_bytes: partition.size_bytes,
            read_only: disk.read_only,
            slaves: vec![disk.name.clone()],
            holders: partition.holders.clone(),
            mounts: partition.mounts.clone(),
            write_cache: WriteCache { device: None, kernel: disk.write_cache.kernel.clone() },
            queue: Queue {
                alignment_offset_bytes: partition.alignment_offset_bytes,
                ..disk.queue.clone()
            },
            power: Power::default(),
            partition: Some(partition),
            ..Self::default()
        }
    }
}

/// A capture keeps only the owner's part of a uuid.
pub(crate) fn redacted_uuid(uuid: &str) -> String {
    stack::owner(uuid.trim()).map_or_else(String::new, |owner| format!("{owner}-\n"))
}
