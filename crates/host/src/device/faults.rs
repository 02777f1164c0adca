//! The names under which the kernel reports faults of a device.

use std::collections::BTreeMap;

use super::{Device, Kind};
use crate::bus::HopKind;
use crate::log::{Class, KernelLog, Lines, name_of, port_name};

impl Device {
    /// The names by which messages about it, and about what is on it, name it.
    pub(crate) fn fault_names(&self, log: &KernelLog) -> Vec<String> {
        let mut names = vec![self.name.clone()];
        names.extend(self.path.iter().map(|path| path.trim_start_matches("/dev/").to_owned()));
        names.extend(self.partitions.iter().map(|partition| partition.name.clone()));
        names.extend(self.number.clone());
        names.extend(self.scsi.as_ref().map(|scsi| scsi.address.clone()));
        names.extend(self.nvme.as_ref().map(|nvme| nvme.controller.clone()));
        let usb = self.usb.as_ref().map(|usb| usb.location.clone());
        names.extend(usb.filter(|location| !location.is_empty()));
        self.add_ata_names(&mut names, log);
        if self.kind == Kind::Usb
            && let Some(host) = self.scsi.as_ref().and_then(crate::bus::scsi::Scsi::host)
        {
            names.push(format!("host{host}"));
        }
        // Other devices than disks are below a controller of USB.
        if self.kind != Kind::Usb && self.kind != Kind::Controller {
            names.extend(self.controller.address.clone());
            let function = self.controller.address.as_deref();
            names.extend(function.and_then(|it| log.bridge_of(it)).map(port_name));
        }
        names.extend(self.dm.iter().filter_map(|dm| Some(format!("mapper/{}", dm.name.as_ref()?))));
        if self.kind == Kind::Mmc {
            let hops = self.hops.iter().filter(|hop| hop.kind == HopKind::Virtual);
            let logged = log.disks.get(&self.name).and_then(|disk| disk.address.as_deref());
            let cards = hops.map(|hop| hop.name.as_str()).chain(logged);
            names.extend(cards.filter_map(|card| card.split(':').next()).map(str::to_owned));
            // Since Linux 4.7 the number of the disk is that of its host.
            let number = self.name.strip_prefix("mmcblk").filter(|_| logged.is_none());
            names.extend(number.map(|number| format!("mmc{number}")));
        }
        if self.log_only {
            let path = self.path.as_deref().unwrap_or_default().trim_start_matches("/dev/");
            for name in [self.name.as_str(), path].into_iter().filter(|name| !name.is_empty()) {
                names.extend(log.fault_names_of(name));
            }
        }
        names.sort();
        names.dedup();
        names
    }

    fn add_ata_names(&self, names: &mut Vec<String>, log: &KernelLog) {
        let Some(ata) = &self.ata else { return };
        names.push(name_of(ata.port, Some(ata.device)));
        // What concerns the port concerns its only drive.
        let port = log.port(ata.port);
        if port.is_none_or(|port| {
            !port.multiplier && port.devices.keys().all(|unit| *unit == ata.device)
        }) {
            names.push(name_of(ata.port, None));
        }
    }

    /// The faults of the device in the log, by kind.
    pub(crate) fn faults(&self, log: &KernelLog) -> BTreeMap<Class, Lines> {
        let mut all: BTreeMap<Class, Lines> = BTreeMap::new();
        for name in self.fault_names(log) {
            let Some(faults) = log.faults.get(&name) else { continue };
            for (class, lines) in &faults.by_class {
                all.entry(*class).or_default().add_all(lines);
            }
        }
        all
    }
}
