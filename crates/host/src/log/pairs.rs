//! The disks of the SCSI layer (`sda`) that are drives on ATA ports (`ata1.00`).

use std::collections::{BTreeMap, BTreeSet};

use super::fault::disk_of;
use super::{AtaDeviceLog, DiskLog, KernelLog};

/// Number of lines between libata's report of a failure and that of the SCSI layer.
const REPORT_LINES: u64 = 12;

/// A drive on an ATA port: the port and the unit.
type Unit = (u32, u32);

/// Pairs that were found, each drive and each disk once.
#[derive(Debug, Default)]
struct Pairs<'l> {
    found: BTreeMap<Unit, &'l str>,
    taken: BTreeSet<&'l str>,
}

impl<'l> Pairs<'l> {
    fn add(&mut self, unit: Unit, name: &'l str) {
        if !self.found.contains_key(&unit) && self.taken.insert(name) {
            self.found.insert(unit, name);
        }
    }

    /// Pairs drives and disks that have the same property, if they are equally many: both layers
    /// number their drives in the order in which they are found.
    fn by_property<P: Ord>(&mut self, units: Vec<(P, Unit)>, disks: Vec<(P, &'l str)>) {
        let mut sets: BTreeMap<P, (Vec<Unit>, Vec<&'l str>)> = BTreeMap::new();
        for (property, unit) in units {
            if !self.found.contains_key(&unit) {
                sets.entry(property).or_default().0.push(unit);
            }
        }
        for (property, name) in disks {
            if !self.taken.contains(name) {
                sets.entry(property).or_default().1.push(name);
            }
        }
        for (units, names) in sets.into_values().filter(|(units, names)| units.len() == names.len())
        {
            for (unit, name) in units.into_iter().zip(names) {
                self.add(unit, name);
            }
        }
    }
}

impl KernelLog {
    /// Pairs the only name of an excerpt with its only address: a person chose lines about one
    /// disk, which the kernel names in both ways.
    pub(super) fn pair_excerpt(&mut self) {
        if !self.is_excerpt() {
            return;
        }
        let mut names: BTreeSet<&str> = self.disks.keys().map(String::as_str).collect();
        names.extend(self.faults.keys().map(|name| disk_of(name)));
        names.retain(|name| name.starts_with("sd"));
        let mut known = self.disks.values().filter_map(|disk| disk.address.as_deref());
        let is_free = known.next().is_none();
        let mut addresses = self.faults.keys().filter(|name| {
            name.split(':').count() == 4 && name.split(':').all(|part| part.parse::<u64>().is_ok())
        });
        if let (Some(address), None) = (addresses.next(), addresses.next())
            && let [name] = names.into_iter().collect::<Vec<_>>()[..]
            && is_free
        {
            let (name, address) = (name.to_owned(), address.clone());
            self.disks.entry(name).or_default().address = Some(address);
        }
    }

    /// Returns the disks of the SCSI layer by port and unit: as the messages pair them, or else by
    /// the order of hosts and ports, by model, and by size.
    pub(crate) fn ata_disks(&self) -> BTreeMap<(u32, u32), String> {
        let disks = self.possible_ata_disks();
        let mut pairs = Pairs::default();
        for (unit, address) in &self.addresses {
            let named = disks.iter().find(|(_, disk)| disk.address == *address);
            if let Some((name, _)) = named.filter(|_| address.is_some()) {
                pairs.add(*unit, name);
            }
        }
        self.by_host(&disks, &mut pairs);
        // SCSI has the first 16 characters of the model.
        let models = self.ata_units().filter_map(|(unit, device)| {
            let model: String = device.model.as_ref()?.chars().take(16).collect();
            Some((model.trim().to_owned(), unit))
        });
        let named = disks.iter().filter_map(|(name, disk)| {
            let unit = self.scsi_of(disk).filter(|unit| !unit.model.is_empty())?;
            Some((unit.model.clone(), *name))
        });
        pairs.by_property(models.collect(), named.collect());
        let sizes = self
            .ata_units()
            .filter_map(|(unit, device)| Some((device.sectors?.checked_mul(512)?, unit)));
        let capacities =
            disks.iter().filter_map(|(name, disk)| Some((disk.capacity_bytes?, *name)));
        pairs.by_property(sizes.collect(), capacities.collect());
        pairs.found.into_iter().map(|(unit, name)| (unit, name.to_owned())).collect()
    }

    /// The drives on ATA ports, without those for discs and tapes.
    fn ata_units(&self) -> impl Iterator<Item = (Unit, &AtaDeviceLog)> {
        let all = self.ports.iter().flat_map(|(number, port)| {
            port.devices.iter().map(move |(unit, device)| ((*number, *unit), device))
        });
        all.filter(|(_, device)| !device.packet)
    }

    /// The disks that may be drives on ATA ports, in the order of their addresses.
    fn possible_ata_disks(&self) -> Vec<(&str, &DiskLog)> {
        let possible = self.disks.iter().filter(|(name, disk)| {
            name.starts_with("sd")
                && self.scsi_of(disk).is_none_or(|unit| unit.vendor == "ATA" && unit.is_disk)
                && self.host_of_disk(disk).is_none_or(|host| !host.is_usb())
        });
        let mut disks: Vec<(&str, &DiskLog)> =
            possible.map(|(name, disk)| (name.as_str(), disk)).collect();
        disks.sort_by_key(|(_, disk)| numbers(disk.address.as_deref().unwrap_or_default()));
        disks
    }

    /// Each port has one host, and those of a driver are numbered in the same order as its ports.
    /// Drivers are probed at the same time, so their hosts and ports are mixed.
    fn by_host<'l>(&self, disks: &[(&'l str, &DiskLog)], pairs: &mut Pairs<'l>) {
        let hosts = self.hosts.iter().filter(|(_, host)| crate::bus::scsi::is_libata(&host.driver));
        let (ahci, others): (Vec<_>, Vec<_>) =
            hosts.partition(|(_, host)| host.driver.contains("ahci"));
        let lines =
            self.ports.iter().filter_map(|(number, port)| Some((*number, port.line.as_ref()?)));
        let (with_abar, without): (Vec<_>, Vec<_>) =
            lines.partition(|(_, line)| line.contains("abar"));
        let mut port_of: BTreeMap<u64, u32> = BTreeMap::new();
        for (hosts, ports) in [(ahci, with_abar), (others, without)] {
            if hosts.len() == ports.len() {
                let numbers = hosts.iter().map(|(number, _)| u64::from(**number));
                port_of.extend(numbers.zip(ports.iter().map(|(number, _)| *number)));
            }
        }
        for (name, disk) in disks {
            let address = numbers(disk.address.as_deref().unwrap_or_default());
            let [host, channel, target, _] = address.as_slice() else { continue };
            let Some((number, port)) =
                port_of.get(host).and_then(|number| Some((*number, self.ports.get(number)?)))
            else {
                continue;
            };
            // Behind a port multiplier the link is the channel.
            let unit = if port.multiplier { *channel } else { *target };
            let Ok(unit) = u32::try_from(unit) else { continue };
            let fits = port.devices.get(&unit).is_some_and(|drive| self.may_be(disk, drive));
            if fits {
                pairs.add((number, unit), name);
            }
        }
    }

    /// Returns whether nothing that is known of a disk and a drive differs.
    fn may_be(&self, disk: &DiskLog, drive: &AtaDeviceLog) -> bool {
        let known = self.scsi_of(disk).map(|unit| unit.model.as_str()).zip(drive.model.as_deref());
        let sizes = disk.capacity_bytes.zip(drive.sectors.and_then(|it| it.checked_mul(512)));
        !drive.packet
            && known.is_none_or(|(short, whole)| whole.starts_with(short))
            && sizes.is_none_or(|(one, other)| one == other)
    }

    /// Notes that messages pair a drive with a SCSI address; contradictions pair nothing.
    pub(super) fn pair(&mut self, unit: (u32, u32), address: &str) {
        if self.addresses.len() >= super::NAMES_MAX {
            return;
        }
        let paired = self.addresses.entry(unit).or_insert_with(|| Some(address.to_owned()));
        if paired.as_deref() != Some(address) {
            *paired = None;
        }
    }

    /// The SCSI layer reports a failure right after libata does.
    pub(super) fn pair_report(&mut self, address: &str) {
        let Some((port, Some(unit))) = self.reporting else { return };
        let (line, then) = self.reported;
        let at_once = then.zip(self.at_s).is_none_or(|(then, now)| now >= then && now - then <= 1);
        let soon = at_once && self.lines - line <= REPORT_LINES;
        let host = self.host_of(address);
        if soon && host.is_none_or(|host| crate::bus::scsi::is_libata(&host.driver)) {
            self.pair((port, unit), address);
        }
    }
}

/// The numbers in a SCSI address.
fn numbers(address: &str) -> Vec<u64> {
    address.split(':').filter_map(|part| part.parse().ok()).collect()
}
