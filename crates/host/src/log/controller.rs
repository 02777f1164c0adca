//! Lines about a PCI function in the log, or in a listing of `lspci -nnk` used instead of it.

use super::effect::Effect;
use super::{KernelLog, Lines, entry};
use crate::speed::Speed;

/// One PCI function that is related to disks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControllerLog {
    /// The driver that reports it.
    pub driver: Option<String>,
    /// Class and programming interface: `0x01018a`.
    pub class: Option<u32>,
    /// Vendor and device.
    pub id: Option<(u16, u16)>,
    /// The fastest link that its ports support (`AHCI ... 6 Gbps`).
    pub link_max: Option<Speed>,
    /// Its mode according to its own registers: `SATA`, `IDE` or `RAID`.
    pub mode: Option<String>,
    /// The lines from which all this was read.
    pub lines: Lines,
    /// NVMe drives that the firmware hides behind it.
    pub remapped_nvme: Lines,
    /// Lines saying that its PCIe link is narrower or slower than possible.
    pub bandwidth: Lines,
}

/// Drivers of disk controllers, by prefix.
pub(super) const DRIVERS: &[&str] = &[
    "ahci", "ata_", "pata_", "sata_", "nvme", "mpt", "megaraid", "aacraid", "hpsa", "smartpqi",
    "arcmsr", "stex", "3w-", "isci", "mvsas", "pm80", "vmd", "aic94xx",
];

/// Drivers of other functions behind which there are disks: hosts of USB and memory cards, adapters
/// of storage networks, and virtual ones.
pub(super) const OTHER_DRIVERS: &[&str] = &[
    "xhci",
    "ehci",
    "sdhci",
    "rtsx",
    "ufshcd",
    "lpfc",
    "qla",
    "bfa",
    "fnic",
    "be2iscsi",
    "hptiop",
    "esas2r",
    "mvumi",
    "cciss",
    "vmw_pvscsi",
];

/// Returns whether disks may be behind a function of this driver.
pub(crate) fn is_of_storage(driver: &str) -> bool {
    DRIVERS.iter().chain(OTHER_DRIVERS).any(|start| driver.starts_with(start))
}

impl KernelLog {
    pub(super) fn controller_line(&mut self, message: &str, indented: bool) -> bool {
        if indented && let Some(driver) = message.trim().strip_prefix("Kernel driver in use: ") {
            return self.listed_driver(driver);
        }
        if let Some((address, rest)) = listed(message) {
            return self.listed_function(address, rest, message);
        }
        let Some((driver, rest)) = message.split_once(' ') else { return false };
        // `DRIVER ADDRESS: MESSAGE`, as `dev_printk` writes it.
        let Some((address, rest)) = rest.split_once(": ") else { return false };
        if !is_address(address) {
            return false;
        }
        if driver == "pci" {
            let found = self.found_range(address, rest)
                || self.found_function(address, rest, message)
                || self.found_bridge(address, rest);
            // A range is of interest once its function is known.
            if !found && !rest.starts_with("reg ") && !rest.starts_with("BAR ") {
                self.note_unkept(|| Effect::Nothing);
            }
            return found;
        }
        if !DRIVERS.iter().any(|name| driver.starts_with(name)) {
            return false;
        }
        let Some(controller) = entry(&mut self.controllers, address.to_owned()) else {
            return false;
        };
        controller.driver = Some(driver.to_owned());
        let is_of_interest = controller.speak(rest, message);
        self.speaking = Some(address.to_owned());
        if !is_of_interest {
            let (driver, address) = (driver.to_owned(), address.to_owned());
            self.note_effect(|| Effect::Spoken { driver, address });
        }
        true
    }

    /// A driver says of a function what no rule reads.
    pub(super) fn spoken(&mut self, driver: &str, address: &str, message: &str) {
        let Some(controller) = self.controllers.get_mut(address) else { return };
        driver.clone_into(controller.driver.get_or_insert_default());
        controller.lines.add(message);
        if self.speaking.as_deref() != Some(address) {
            self.speaking = Some(address.to_owned());
        }
    }

    /// Returns the PCI function of a new port: by the address of its registers (`abar
    /// m2048@0xf7d1b000`, `bmdma 0x30b0`), or else the one whose driver spoke last, if that driver
    /// makes such ports. Functions are probed at the same time, so their messages are mixed.
    pub(super) fn controller_of_port(&self, line: &str) -> Option<String> {
        let memory = line.split_once("abar ").and_then(|(_, text)| text.split_once("@0x"));
        let bus_master = line.split_once("bmdma 0x");
        for (_, text) in memory.into_iter().chain(bus_master) {
            let start = text.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or("");
            let Ok(start) = u64::from_str_radix(start, 16) else { continue };
            // The second channel has the second half of 16 bytes.
            if let Some(address) =
                self.ranges.get(&start).or_else(|| self.ranges.get(&(start & !15)))
            {
                return Some(address.clone());
            }
        }
        let is_ahci = |address: &String| {
            let driver = self.controllers.get(address).and_then(|log| log.driver.as_deref());
            driver.is_some_and(|driver| driver.contains("ahci"))
        };
        let speaking = self.speaking.clone().filter(|address| is_ahci(address) == memory.is_some());
        speaking.or_else(|| {
            let mut fitting = self.controllers.keys().filter(|it| memory.is_some() && is_ahci(it));
            let only = fitting.next()?;
            fitting.next().is_none().then(|| only.clone())
        })
    }

    /// `reg 0x24: [mem 0xf7d1b000-0xf7d1b7ff]`, `BAR 5 [mem 0xf7d1b000-0xf7d1b7ff]`.
    fn found_range(&mut self, address: &str, rest: &str) -> bool {
        if !rest.starts_with("reg ") && !rest.starts_with("BAR ") {
            return false;
        }
        let Some((_, range)) = rest.split_once("[mem 0x").or_else(|| rest.split_once("[io  0x"))
        else {
            return false;
        };
        let start = range.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
        let Some(start) = start.filter(|_| self.controllers.contains_key(address)) else {
            return false;
        };
        entry(&mut self.ranges, start).map(|owner| address.clone_into(owner)).is_some()
    }

    /// `pci 0000:00:1d.0: PCI bridge to [bus 03-04]`.
    fn found_bridge(&mut self, address: &str, rest: &str) -> bool {
        let Some(buses) = rest.strip_prefix("PCI bridge to [bus ") else { return false };
        let (Some(bus), Some((domain, _))) = (buses.get(..2), address.split_once(':')) else {
            return false;
        };
        let bus = format!("{domain}:{bus}");
        entry(&mut self.bridges, bus).map(|bridge| address.clone_into(bridge)).is_some()
    }

    /// `Kernel driver in use: ahci` below the line of `lspci -k` that names the function.
    fn listed_driver(&mut self, driver: &str) -> bool {
        let address = self.speaking.clone().unwrap_or_default();
        let Some(controller) = self.controllers.get_mut(&address) else { return false };
        controller.driver = Some(driver.trim().to_owned());
        controller.lines.add(&format!("Kernel driver in use: {}", driver.trim()));
        true
    }

    /// `00:1f.2 IDE interface [0101]: Intel ... [8086:2820] (prog-if 8a [Master SecP PriP])`.
    fn listed_function(&mut self, address: &str, rest: &str, message: &str) -> bool {
        let Some(class) = bracketed(rest).find_map(|text| hex(text, 4)) else { return false };
        self.speaking = None;
        // Class 01h: mass storage.
        if class >> 8 != 1 {
            return false;
        }
        let prog_if = rest.split_once("prog-if ").and_then(|(_, text)| hex(text.get(..2)?, 2));
        // `lspci` leaves the domain out where all are 0000.
        let address =
            if address.len() == 7 { format!("0000:{address}") } else { address.to_owned() };
        let Some(controller) = entry(&mut self.controllers, address.clone()) else { return false };
        controller.class = Some(class << 8 | prog_if.unwrap_or(0));
        // The class stands in brackets, too; vendor and device come last.
        controller.id = bracketed(rest).filter_map(pair).last();
        controller.lines.add(message);
        self.speaking = Some(address);
        true
    }

    /// `pci 0000:00:1f.2: [8086:2820] type 00 class 0x01018a`, and the line on bandwidth.
    fn found_function(&mut self, address: &str, rest: &str, message: &str) -> bool {
        if rest.contains("available PCIe bandwidth, limited by") {
            let controller = entry(&mut self.controllers, address.to_owned());
            return controller.map(|controller| controller.bandwidth.add(message)).is_some();
        }
        let class = rest.split_once("class 0x").and_then(|(_, text)| hex(text.get(..6)?, 6));
        let Some(class) = class.filter(|class| class >> 16 == 1) else { return false };
        let Some(controller) = entry(&mut self.controllers, address.to_owned()) else {
            return false;
        };
        controller.class = Some(class);
        controller.id = bracketed(rest).find_map(pair);
        controller.lines.add(message);
        true
    }
}

impl ControllerLog {
    /// Reads what its driver says; returns whether that is of interest.
    fn speak(&mut self, rest: &str, message: &str) -> bool {
        let mut is_of_interest = false;
        if rest.contains("remapped NVMe device") || rest.starts_with("Switch your BIOS from RAID") {
            self.remapped_nvme.add(message);
            is_of_interest = true;
        }
        // `AHCI 0001.0300 32 slots 6 ports 6 Gbps 0x3f impl SATA mode`, since 2024
        // `AHCI vers 0001.0300, 32 command slots, 6 Gbps, SATA mode`.
        if rest.starts_with("AHCI ") && rest.contains(" mode") {
            is_of_interest = true;
            let words: Vec<&str> = rest.split([' ', ',']).filter(|word| !word.is_empty()).collect();
            for pair in words.windows(2) {
                if pair[1] == "Gbps" {
                    self.link_max = Speed::parse(&format!("{} Gbps", pair[0]));
                } else if pair[1] == "mode" {
                    self.mode = Some(pair[0].to_owned());
                }
            }
        }
        self.lines.add(message);
        is_of_interest
    }
}

/// Splits a line of `lspci -nn` after its leading address.
fn listed(message: &str) -> Option<(&str, &str)> {
    let (address, rest) = message.split_once(' ')?;
    let short = address.len() == 7 && is_address(&format!("0000:{address}"));
    (short || is_address(address)).then_some((address, rest))
}

/// Returns whether it is a PCI address: `0000:00:1f.2`, or with a longer domain, as behind a VMD.
pub(crate) fn is_address(text: &str) -> bool {
    let Some((domain, rest)) = text.split_once(':') else { return false };
    let [b1, b2, b':', d1, d2, b'.', function] = rest.as_bytes() else { return false };
    let mut digits = domain.bytes().chain([*b1, *b2, *d1, *d2]);
    (4..=8).contains(&domain.len())
        && digits.all(|digit| digit.is_ascii_hexdigit())
        && (b'0'..=b'7').contains(function)
}

/// The texts in square brackets.
fn bracketed(text: &str) -> impl Iterator<Item = &str> {
    text.split('[').skip(1).filter_map(|text| text.split_once(']').map(|(inside, _)| inside))
}

fn hex(text: &str, digits: usize) -> Option<u32> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    right.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

/// `8086:2820`.
fn pair(text: &str) -> Option<(u16, u16)> {
    let (vendor, device) = text.split_once(':')?;
    let [vendor, device] =
        [vendor, device].map(|text| hex(text, 4).and_then(|number| u16::try_from(number).ok()));
    vendor.zip(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(text: &str) -> ControllerLog {
        KernelLog::parse(text).controllers.remove("0000:00:1f.2").unwrap_or_default()
    }

    #[test]
    fn ahci_lines_old_and_new() {
        for line in [
            "ahci 0000:00:1f.2: AHCI 0001.0300 32 slots 6 ports 6 Gbps 0x3f impl SATA mode",
            "ahci 0000:00:1f.2: AHCI vers 0001.0300, 32 command slots, 6 Gbps, SATA mode",
        ] {
            let controller = function(line);
            assert_eq!(controller.link_max, Some(Speed::mbps(6000)), "{line}");
            assert_eq!(controller.mode.as_deref(), Some("SATA"), "{line}");
            assert_eq!(controller.driver.as_deref(), Some("ahci"), "{line}");
        }
    }

    #[test]
    fn functions_are_read_from_a_listing_and_from_the_kernel() {
        let listed = function(
            "00:1f.2 IDE interface [0101]: Intel Corporation 82801H (ICH8 Family) 4 port SATA \
             Controller [IDE mode] [8086:2820] (rev 02) (prog-if 8a [Master SecP PriP])\n\
             \tKernel driver in use: ata_piix\n\tKernel modules: ata_piix, ahci",
        );
        assert_eq!(listed.class, Some(0x01_018a));
        assert_eq!(listed.id, Some((0x8086, 0x2820)));
        assert_eq!(listed.driver.as_deref(), Some("ata_piix"));
        let found = function("pci 0000:00:1f.2: [8086:2824] type 00 class 0x010601");
        assert_eq!((found.class, found.id), (Some(0x01_0601), Some((0x8086, 0x2824))));
    }

    #[test]
    fn ports_belong_to_the_function_that_spoke_before_them() {
        let log = KernelLog::parse(
            "ata_piix 0000:00:1f.2: MAP [ P0 P2 P1 P3 ]\n\
             ata1: SATA max UDMA/133 cmd 0x1f0 ctl 0x3f6 bmdma 0x30b0 irq 14\n",
        );
        assert_eq!(log.ports[&1].controller.as_deref(), Some("0000:00:1f.2"));
        assert!(log.ports[&1].is_sata_as_ide());
    }

    #[test]
    fn ports_belong_to_the_function_that_has_their_registers() {
        let functions = "pci 0000:00:11.0: [1002:4391] type 00 class 0x010601\n\
                         pci 0000:00:11.0: reg 0x24: [mem 0xfeb4e000-0xfeb4e3ff]\n\
                         pci 0000:00:14.1: [1002:439c] type 00 class 0x01018a\n\
                         pci 0000:00:14.1: reg 0x20: [io  0xf100-0xf10f]\n\
                         ahci 0000:00:11.0: AHCI 0001.0200 32 slots 3 ports 6 Gbps SATA mode\n\
                         pata_atiixp 0000:00:14.1: PCI->APIC IRQ transform: INT B -> IRQ 17\n";
        let of = |port: &str| {
            let log = KernelLog::parse(&format!("{functions}ata4: {port}"));
            log.ports[&4].controller.clone().unwrap_or_default()
        };
        let ahci = "SATA max UDMA/133 abar m1024@0xfeb4e000 port 0xfeb4e280 irq 19";
        assert_eq!(of(ahci), "0000:00:11.0");
        assert_eq!(of("PATA max UDMA/100 cmd 0x1f0 ctl 0x3f6 bmdma 0xf108 irq 14"), "0000:00:14.1");
    }

    #[test]
    fn addresses() {
        for good in ["0000:00:1f.2", "10000:e1:00.0"] {
            assert!(is_address(good), "{good}");
        }
        for bad in
            ["", "00:1f.2", "0000:00:1f.8", "0000:00:1f", "usb1", "0000:0000:1f.2", "é:00:1f.2"]
        {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
