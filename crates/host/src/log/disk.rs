//! The log's lines that introduce disks: SCSI, USB, virtio, NVMe and memory cards.

use super::{KernelLog, Lines, entry, is_address};

/// One disk (`sda`, `vda`, `mmcblk0`), as the log shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskLog {
    /// `Write cache: enabled, read cache: enabled, doesn't support DPO or FUA`.
    pub write_cache: Option<String>,
    /// The kernel could not ask the drive, and assumed a write-through cache.
    pub assumed_write_through: Lines,
    /// Host, channel, target and unit of a SCSI disk: `6:0:0:0`.
    pub address: Option<String>,
    /// Its name, if the line that introduces it has one.
    pub model: Option<String>,
    /// Its size.
    pub capacity_bytes: Option<u64>,
}

/// The device at a SCSI address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScsiLog {
    /// `ATA`, or the name of the maker.
    pub vendor: String,
    /// The first 16 characters of the model.
    pub model: String,
    /// True for a disk, false for a drive for discs, an enclosure and others.
    pub is_disk: bool,
}

/// A SCSI host: a port of an adapter, or a USB bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostLog {
    /// `ahci`, `uas`, `usb-storage`, `mpt3sas`.
    pub driver: String,
    /// The location of its USB bridge: `2-1`.
    pub usb: Option<String>,
}

impl HostLog {
    /// Returns whether its disks are attached by USB.
    pub fn is_usb(&self) -> bool {
        self.usb.is_some() || self.driver == "uas" || self.driver.starts_with("usb-storage")
    }
}

/// A named unit on the path to a disk (`2-1`, `nvme0`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitLog {
    /// The kernel did not use UAS for this bridge.
    pub uas_ignored: Lines,
    /// The PCI function of an NVMe controller.
    pub function: Option<String>,
    /// True if a driver for USB disks found it.
    pub stores: bool,
}

impl KernelLog {
    /// A line that introduces a disk, its host or its bridge.
    pub(super) fn disk_line(&mut self, message: &str) -> bool {
        let Some((first, rest)) = message.split_once([' ', ':']) else { return false };
        match first {
            "sd" => self.scsi_disk(rest),
            "scsi" => self.scsi_line(rest),
            "usb" | "nvme" | "usb-storage" | "uas" => self.unit_line(first, rest, message),
            "virtio_blk" => self.virtio_disk(rest),
            "blkfront" => self.xen_disk(rest),
            _ if first.starts_with("scsi") => self.old_host(first, rest),
            _ if first.starts_with("vd") || first.starts_with("xvd") => self.parted(first, rest),
            _ if super::fault::is_ide(first) => self.ide_disk(first, rest),
            _ if first.starts_with("mmcblk") => self.card(first, rest),
            _ => false,
        }
    }

    /// `0:0:0:0: [sda] ...`.
    fn scsi_disk(&mut self, rest: &str) -> bool {
        let Some((address, rest)) = rest.split_once(": [") else { return false };
        let Some((name, rest)) = rest.split_once("] ") else { return false };
        if self.note_spinning(name, rest) {
            return true;
        }
        if rest.starts_with("Attached SCSI ") {
            // Names are reused: earlier faults under this name belong to another attachment.
            self.forget(name);
            self.forget(address);
            self.attached(name, address);
        }
        let assumed = rest.starts_with("Assuming drive cache: write through");
        let cache = rest.starts_with("Write cache: ");
        let size = size_in(rest);
        if !assumed && !cache && size.is_none() && !rest.starts_with("Attached SCSI ") {
            return false;
        }
        let Some(disk) = entry(&mut self.disks, name.to_owned()) else { return false };
        disk.address = Some(address.to_owned());
        disk.capacity_bytes = size.or(disk.capacity_bytes);
        if size.is_some_and(|size| size > 0) {
            self.has_medium(name);
        }
        let Some(disk) = self.disks.get_mut(name) else { return false };
        if assumed {
            disk.assumed_write_through.add(rest);
        } else if cache {
            // The drive answered after all, or again: the latest answer counts.
            disk.assumed_write_through = Lines::default();
            disk.write_cache = Some(rest.to_owned());
        }
        true
    }

    /// `host6: uas`, `6:0:0:0: Direct-Access     ATA      WDC WD10EZEX-00B 1A01 PQ: 0 ANSI: 5`.
    fn scsi_line(&mut self, rest: &str) -> bool {
        if let Some((number, text)) = rest.strip_prefix("host").and_then(|it| it.split_once(": ")) {
            return number.parse().is_ok_and(|number| self.host(number, text));
        }
        let Some((address, text)) = rest.split_once(": ") else { return false };
        let Some((vendor, model)) = inquiry(text) else { return false };
        let is_disk = text.starts_with("Direct-Access ") || text.starts_with("Direct-Access-ZBC ");
        let (vendor, model) = (vendor.to_owned(), model.to_owned());
        let Some(unit) = entry(&mut self.scsi, address.to_owned()) else { return false };
        *unit = ScsiLog { vendor, model, is_disk };
        true
    }

    /// `scsi6 : SCSI emulation for USB Mass Storage devices`, of Linux before 3.16.
    fn old_host(&mut self, first: &str, rest: &str) -> bool {
        let number = first.strip_prefix("scsi").and_then(|number| number.parse().ok());
        let Some(text) = rest.trim_start().strip_prefix(": ").or_else(|| rest.strip_prefix(' '))
        else {
            return false;
        };
        number.is_some_and(|number| self.host(number, text.trim_start_matches(": ")))
    }

    fn host(&mut self, number: u32, text: &str) -> bool {
        let mut words = text.split_whitespace();
        let Some(driver) = words.next() else { return false };
        let location = words
            .next()
            .and_then(|word| word.split(':').next())
            .filter(|_| driver == "usb-storage");
        let location = location.map(str::to_owned);
        let location = location.or_else(|| self.usb_found_last().filter(|_| driver == "uas"));
        let driver = if text.contains("USB Mass Storage") { "usb-storage" } else { driver };
        // Messages of error handling name a host as well.
        let named = text.split(' ').count() <= 2
            || driver == "usb-storage"
            || text.contains("SAS")
            || driver == "iSCSI";
        if !named || driver.contains("_eh_") {
            return false;
        }
        let Some(host) = entry(&mut self.hosts, number) else { return false };
        *host = HostLog { driver: driver.to_owned(), usb: location };
        true
    }

    pub(super) fn host_of(&self, address: &str) -> Option<&HostLog> {
        self.hosts.get(&address.split(':').next()?.parse().ok()?)
    }

    /// `virtio2: [vda] 41943040 512-byte logical blocks (21.5 GB/20.0 GiB)`.
    fn virtio_disk(&mut self, rest: &str) -> bool {
        let Some((_, rest)) = rest.split_once(": [") else { return false };
        let Some((name, rest)) = rest.split_once("] ") else { return false };
        let Some(size) = size_in(rest) else { return false };
        let disk = entry(&mut self.disks, name.to_owned());
        disk.map(|disk| disk.capacity_bytes = Some(size)).is_some()
    }

    /// `vda: vda1 vda2`, the only line about a virtio disk in Linux before 4.16.
    fn parted(&mut self, name: &str, rest: &str) -> bool {
        let mut parts = rest.split_whitespace().filter(|word| !matches!(*word, "<" | ">"));
        let first = parts.next();
        let all_are = first.into_iter().chain(parts).all(|part| part.starts_with(name));
        first.is_some() && all_are && entry(&mut self.disks, name.to_owned()).is_some()
    }

    /// `hda: WDC WD800BB-00CAA1, ATA DISK drive`, `hda: 156301488 sectors (80026 MB) w/2048KiB`.
    fn ide_disk(&mut self, name: &str, rest: &str) -> bool {
        let rest = rest.trim_start();
        let model =
            rest.strip_suffix(", ATA DISK drive").or_else(|| rest.strip_suffix(", CFA DISK drive"));
        let sectors =
            rest.split_once(" sectors (").and_then(|(count, _)| count.parse::<u64>().ok());
        if model.is_none() && sectors.is_none() {
            return false;
        }
        let Some(disk) = entry(&mut self.disks, name.to_owned()) else { return false };
        disk.model = model.map(str::to_owned).or_else(|| disk.model.take());
        let size = sectors.and_then(|count| count.checked_mul(512));
        disk.capacity_bytes = size.or(disk.capacity_bytes);
        true
    }

    /// `xvda: flush diskcache: enabled; persistent grants: enabled;`.
    fn xen_disk(&mut self, rest: &str) -> bool {
        let name = rest.trim_start().split(':').next().filter(|name| name.starts_with("xvd"));
        name.and_then(|name| entry(&mut self.disks, name.to_owned())).is_some()
    }

    /// `mmc0:0001 032G34 29.1 GiB`.
    fn card(&mut self, name: &str, rest: &str) -> bool {
        let mut words = rest.split_whitespace();
        let host = words.next().filter(|word| word.starts_with("mmc") && word.contains(':'));
        let (Some(host), Some(model)) = (host, words.next()) else { return false };
        // Boot areas and the replay-protected one are no disks.
        if name.contains("boot") || name.contains("rpmb") || name.contains("gp") {
            return false;
        }
        let Some(disk) = entry(&mut self.disks, name.to_owned()) else { return false };
        disk.model = Some(model.to_owned());
        disk.address = Some(host.to_owned());
        true
    }

    /// `usb 2-1: ...`, `nvme nvme0: pci function ...`, `usb-storage 2-1:1.0: ...`.
    fn unit_line(&mut self, kind: &str, rest: &str, message: &str) -> bool {
        let Some((name, rest)) = rest.split_once(": ") else { return false };
        if kind == "nvme" {
            let Some(function) = rest.strip_prefix("pci function ") else { return false };
            // A controller that is found again starts without a history.
            self.forget(name);
            let Some(unit) = entry(&mut self.units, name.to_owned()) else { return false };
            unit.function = is_address(function.trim()).then(|| function.trim().to_owned());
            return true;
        }
        let location = name.split(':').next().unwrap_or(name);
        let ignored = rest.starts_with("UAS is ignored for this device")
            || rest.starts_with("UAS is blacklisted for this device");
        if !ignored && kind == "usb" {
            return false;
        }
        let Some(unit) = entry(&mut self.units, location.to_owned()) else { return false };
        unit.stores = true;
        if ignored {
            unit.uas_ignored.add(message);
        }
        true
    }

    /// Returns the model and size that the log knows of a SCSI disk.
    pub(crate) fn scsi_of(&self, disk: &DiskLog) -> Option<&ScsiLog> {
        self.scsi.get(disk.address.as_deref()?)
    }

    /// Returns the host of a SCSI disk.
    pub(crate) fn host_of_disk(&self, disk: &DiskLog) -> Option<&HostLog> {
        self.host_of(disk.address.as_deref()?)
    }
}

/// The maker and the model in `Direct-Access     ATA      WDC WD10EZEX-00B 1A01 PQ: 0 ANSI: 5`.
fn inquiry(text: &str) -> Option<(&str, &str)> {
    let end = text.find("PQ: ")?;
    // The kind has 18 columns, the maker 8 and the model 16, followed by the revision.
    if end == 49 {
        return Some((text.get(18..26)?.trim(), text.get(27..43)?.trim()));
    }
    // Some pages and programs collapse blanks; a kind has no blank, or is one of these.
    let kinds = ["Medium Changer", "Optical Device", "Simplified direct", "Unknown"];
    let kind = kinds.iter().find(|kind| text.starts_with(**kind));
    let kind = kind.map_or_else(|| text.find(' '), |kind| Some(kind.len()))?;
    let words = text.get(kind..end)?.trim();
    let (vendor, rest) = words.split_once(' ')?;
    let model = rest.trim().rsplit_once(' ').map_or(rest, |(model, _)| model);
    Some((vendor, model.trim()))
}

/// The size in `1953525168 512-byte logical blocks: (1.00 TB/932 GiB)`.
fn size_in(text: &str) -> Option<u64> {
    let (count, rest) = text.split_once(' ')?;
    let (bytes, _) = rest.split_once("-byte ")?;
    rest.contains("logical blocks").then_some(())?;
    count.parse::<u64>().ok()?.checked_mul(bytes.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::Class;
    use super::*;

    #[test]
    fn write_caches_of_disks() {
        let log = KernelLog::parse(
            "sd 0:0:0:0: [sda] Write cache: enabled, read cache: enabled, doesn't support DPO or \
             FUA\n\
             sd 6:0:0:0: [sdb] Assuming drive cache: write through\n",
        );
        assert!(
            log.disks["sda"].write_cache.as_deref().unwrap().starts_with("Write cache: enabled")
        );
        assert_eq!(log.disks["sdb"].assumed_write_through.count, 1);
    }

    #[test]
    fn a_name_that_is_given_again_starts_without_faults() {
        let failed = "[  10.5] I/O error, dev sdb, sector 2048 op 0x0:(READ)\n";
        let attached = "[  11.5] sd 6:0:0:0: [sdb] Attached SCSI disk\n";
        let count = |text: &str| {
            let log = KernelLog::parse(text);
            log.faults.get("sdb").and_then(|faults| faults.of(Class::Io)).map_or(0, |it| it.count)
        };
        assert_eq!(count(&format!("{attached}{failed}{failed}")), 2);
        assert_eq!(count(&format!("{failed}{attached}")), 0);
        let timeout = "nvme nvme0: I/O 12 QID 3 timeout, aborting\n";
        let found = "nvme nvme0: pci function 0000:03:00.0\n";
        let log = KernelLog::parse(&format!("{found}{timeout}"));
        assert_eq!(log.faults["nvme0"].of(Class::Timeout).unwrap().count, 1);
        assert_eq!(log.units["nvme0"].function.as_deref(), Some("0000:03:00.0"));
        assert!(KernelLog::parse(&format!("{timeout}{found}")).faults.is_empty());
    }

    #[test]
    fn requests_to_a_usb_disk_that_was_pulled_are_no_faults() {
        let log = |text: &str| {
            let head = "scsi host6: usb-storage 2-1:1.0\nsd 6:0:0:0: [sdb] Attached SCSI disk\n";
            KernelLog::parse(&format!("{head}{text}"))
        };
        let failed = "I/O error, dev sdb, sector 8\n";
        assert_eq!(log(failed).faults.len(), 1);
        assert!(
            log(&format!("usb 2-1: USB disconnect, device number 4\n{failed}")).faults.is_empty()
        );
        let other = log(&format!("usb 2-2: USB disconnect, device number 5\n{failed}"));
        assert_eq!(other.faults.len(), 1);
    }

    #[test]
    fn a_reset_after_a_resume_is_usual() {
        let reset = "[ 5309.0] usb 2-3: reset SuperSpeed USB device number 2 using xhci_hcd\n";
        assert_eq!(KernelLog::parse(reset).faults.len(), 1);
        let resumed = format!("[ 5308.3] PM: suspend exit\n{reset}");
        assert!(KernelLog::parse(&resumed).faults.is_empty());
    }

    #[test]
    fn disks_are_introduced_with_their_size_and_model() {
        let log = KernelLog::parse(
            "scsi 0:0:0:0: Direct-Access     ATA      WDC WD10EZEX-00B 1A01 PQ: 0 ANSI: 5\n\
             ata1.00: ATA-8: WDC WD10EZEX-00BN5A0, 01.01A01, max UDMA/133\n\
             sd 0:0:0:0: [sda] 1953525168 512-byte logical blocks: (1.00 TB/932 GiB)\n\
             virtio_blk virtio2: [vda] 41943040 512-byte logical blocks (21.5 GB/20.0 GiB)\n\
             hda: WDC WD800BB-00CAA1, ATA DISK drive\n\
             hda: 156301488 sectors (80026 MB) w/2048KiB Cache, CHS=16383/255/63, UDMA(100)\n\
             vdb: vdb1 vdb2 < vdb5 >\nvdc: unknown partition table\n\
             mmcblk0: mmc0:0001 032G34 29.1 GiB\n\
             mmcblk0boot0: mmc0:0001 032G34 partition 1 4.00 MiB\n\
             usb-storage 2-2:1.0: USB Mass Storage device detected\n\
             usb 2-3: UAS is blacklisted for this device, using usb-storage instead\n",
        );
        assert_eq!(log.disks["sda"].capacity_bytes, Some(1_000_204_886_016));
        assert_eq!(log.scsi_of(&log.disks["sda"]).unwrap().model, "WDC WD10EZEX-00B");
        assert_eq!(log.ata_disks()[&(1, 0)], "sda");
        assert_eq!(log.disks["vda"].capacity_bytes, Some(21_474_836_480));
        assert!(log.disks.contains_key("vdb") && !log.disks.contains_key("vdc"));
        assert_eq!(log.disks["hda"].model.as_deref(), Some("WDC WD800BB-00CAA1"));
        assert_eq!(log.disks["hda"].capacity_bytes, Some(80_026_361_856));
        assert_eq!(log.disks["mmcblk0"].model.as_deref(), Some("032G34"));
        assert!(!log.disks.contains_key("mmcblk0boot0"));
        assert!(log.units["2-2"].stores && !log.units["2-3"].uas_ignored.is_empty());
    }
}
