//! The path between a disk and the processor: its stations, and the facts about each.

use serde::{Deserialize, Serialize};

use crate::root::Node;
use crate::speed::Speed;

/// The controller of a disk. Absent facts are null; the keys are always present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// Its PCI address: `0000:00:1f.2`.
    pub address: Option<String>,
    /// PCI class and subclass: `0x0106`.
    pub pci_class: Option<String>,
    /// PCI programming interface: `0x01`.
    pub prog_if: Option<String>,
    /// PCI vendor and device: `8086:2820`.
    pub vendor_device: Option<String>,
    /// The kernel driver that owns it.
    pub driver: Option<String>,
    /// The meaning of class and programming interface, in a word: `ahci`, `ide-compatibility`,
    /// `raid`.
    pub mode: Option<String>,
    /// The same in words.
    pub meaning: Option<String>,
    /// The memory node that it is attached to, on a machine with several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub numa_node: Option<u32>,
}

/// The link between controller and disk. Absent facts are null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The present rate.
    pub speed_gbps: Option<Speed>,
    /// The rate that both drive and controller support.
    pub max_gbps: Option<Speed>,
    /// The rate that the drive supports.
    pub drive_gbps: Option<Speed>,
    /// The rate that the controller supports.
    pub host_gbps: Option<Speed>,
    /// A limit set by the kernel or the user.
    pub limit_gbps: Option<Speed>,
}

impl Link {
    pub(crate) fn settle(&mut self) {
        self.max_gbps = match (self.drive_gbps, self.host_gbps) {
            (Some(drive), Some(host)) => Some(drive.min(host)),
            // With only one end known, its rate is an upper bound.
            (drive, host) => drive.or(host),
        };
    }
}

/// One station on the path from the processor to the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Its kind.
    pub kind: HopKind,
    /// Its name in the tree.
    pub name: String,
    /// Its description.
    pub about: String,
}

/// The kinds of station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HopKind {
    /// A PCI bridge or root port.
    Bridge,
    /// The PCI function of the controller.
    Controller,
    /// A paravirtual bus: virtio, VMBus, Xen.
    Virtual,
    /// A USB bridge.
    Usb,
    /// An ATA port and link.
    Ata,
    /// A SCSI host.
    Scsi,
    /// An NVMe controller.
    Nvme,
}

/// The PCI functions from the disk's own up to the root, as folders.
pub(crate) fn functions<'r>(device: &Node<'r>) -> Vec<Node<'r>> {
    device.ancestors().filter(|node| crate::log::is_address(node.name())).collect()
}

/// The paravirtual bus of the disk, if there is no PCI function.
pub(crate) fn paravirtual(device: &Node<'_>) -> Option<(Controller, Hop)> {
    for node in device.ancestors() {
        let name = node.name();
        if name.starts_with("vbd-") {
            return Some(virtual_bus(&node, "xen", "Xen virtual block device"));
        }
        if node.parent().is_some_and(|parent| parent.name().starts_with("VMBUS")) {
            return Some(virtual_bus(&node, "hyperv", "Hyper-V virtual storage"));
        }
        if node.link_name("driver").as_deref() == Some("hv_storvsc") {
            return Some(virtual_bus(&node, "hyperv", "Hyper-V virtual storage"));
        }
        if name.starts_with("mmc") && name.contains(':') {
            return Some(virtual_bus(&node, "mmc", "memory card or soldered flash"));
        }
    }
    None
}

fn virtual_bus(node: &Node<'_>, mode: &str, meaning: &str) -> (Controller, Hop) {
    let driver = node.link_name("driver");
    let about = format!("{meaning}{}", driver.as_deref().map(in_brackets).unwrap_or_default());
    let hop = Hop { kind: HopKind::Virtual, name: node.name().to_owned(), about };
    let (mode, meaning) = (Some(mode.to_owned()), Some(meaning.to_owned()));
    (Controller { driver, mode, meaning, ..Controller::default() }, hop)
}

/// ` (text)`.
pub(crate) fn in_brackets(text: &str) -> String {
    format!(" ({text})")
}

impl Controller {
    /// Splits a class code as in `/sys`, `0x010601`.
    pub(crate) fn set_class(&mut self, class: u32) {
        self.pci_class = Some(format!("0x{:04x}", class >> 8));
        self.prog_if = Some(format!("0x{:02x}", class & 0xff));
    }

    /// Class, subclass and interface as one number.
    pub fn class(&self) -> Option<u32> {
        let [class, prog_if] = [&self.pci_class, &self.prog_if]
            .map(|text| u32::from_str_radix(text.as_deref()?.trim_start_matches("0x"), 16).ok());
        Some(class? << 8 | prog_if.unwrap_or(0))
    }

    /// The PCI vendor, in hexadecimal.
    pub fn vendor(&self) -> Option<&str> {
        self.vendor_device.as_deref()?.split(':').next()
    }
}
