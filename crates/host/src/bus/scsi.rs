//! The SCSI layer's facts about a disk and its host.

use serde::{Deserialize, Serialize};

use super::{Hop, HopKind, Link};
use crate::root::Node;
use crate::speed::Speed;

/// Facts of a disk of the SCSI layer, including SATA and USB disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scsi {
    /// Host, channel, target, unit: `0:0:0:0`.
    pub address: String,
    /// `ATA` for SATA drives, otherwise the vendor.
    pub vendor: Option<String>,
    /// The driver of the host: `ahci`, `usb-storage`.
    pub host_driver: Option<String>,
    /// Number of commands that the host accepts at once, over all its disks.
    pub host_queue_depth: Option<u32>,
    /// True if the drive is behind SAS.
    pub sas: bool,
    /// `running`, `offline`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<String>,
    /// Time that the kernel waits for a command.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_s: Option<u32>,
    /// Number of commands that were not answered in time; for ATA, that error handling took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeouts: Option<u64>,
    /// The command for discards: `unmap`, `writesame_16`, `full` (none).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provisioning_mode: Option<String>,
    /// Invalid words and losses of synchronisation on the phys of its SAS port.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phy_errors: Option<u64>,
}

/// Returns whether a SCSI host is a port of libata, by the name of its driver.
pub(crate) fn is_libata(driver: &str) -> bool {
    driver == "ahci"
        || driver == "ata_piix"
        || driver == "acard-ahci"
        || ["ahci_", "ahci-", "sata_", "sata-", "pata_", "ata_"]
            .iter()
            .any(|it| driver.starts_with(it))
}

impl Scsi {
    /// A disk of which only the address is known, from the log.
    pub(crate) fn at(address: &str) -> Self {
        Self { address: address.to_owned(), ..Self::default() }
    }

    pub(crate) fn read(device: &Node<'_>) -> Option<Self> {
        let (host, ..) = numbers(device.name())?;
        let class = format!("sys/class/scsi_host/host{host}");
        let host = device.root().node(&class).or_else(|| {
            let host = device.ancestors().find(|node| node.name() == format!("host{host}"))?;
            host.child(&format!("scsi_host/{}", host.name()))
        });
        Some(Self {
            address: device.name().to_owned(),
            vendor: device.text("vendor"),
            // A driver without a name, such as `uas`, is printed so.
            host_driver: host
                .as_ref()
                .and_then(|host| host.text("proc_name"))
                .filter(|name| name != "(null)"),
            host_queue_depth: host.as_ref().and_then(|host| host.number("can_queue")),
            // The SAS transport class puts an end device above each drive (`scsi_transport_sas.c`).
            state: device.text("state"),
            phy_errors: phy_errors(device),
            timeout_s: device.number("timeout"),
            timeouts: device.hex("iotmo_cnt").map(u64::from),
            provisioning_mode: of_disk(device, "provisioning_mode"),
            sas: device.ancestors().any(|node| node.name().starts_with("end_device-")),
        })
    }

    /// Returns whether it is a drive on a port of libata.
    pub(crate) fn is_libata_disk(&self) -> bool {
        self.vendor.as_deref() == Some("ATA") && self.host_driver.as_deref().is_some_and(is_libata)
    }

    /// Returns whether it is a flash of a phone or board.
    pub(crate) fn is_ufs(&self) -> bool {
        self.host_driver.as_deref().is_some_and(|driver| driver.starts_with("ufshcd"))
    }

    pub(crate) fn unit(&self) -> (u32, u32) {
        numbers(&self.address).map_or((0, 0), |(_, channel, target, _)| (channel, target))
    }

    pub(crate) fn host(&self) -> Option<u32> {
        numbers(&self.address).map(|(host, ..)| host)
    }

    pub(crate) fn hop(&self, link: &Link) -> Hop {
        let mut about = if self.sas { "SAS".to_owned() } else { "SCSI".to_owned() };
        if let Some(speed) = link.speed_gbps {
            about.push_str(&format!(" at {speed} Gb/s"));
        }
        if let Some(driver) = &self.host_driver {
            about.push_str(&format!(" ({driver})"));
        }
        Hop { kind: HopKind::Scsi, name: self.address.clone(), about }
    }
}

/// Splits `0:0:1:0`.
pub(crate) fn numbers(address: &str) -> Option<(u32, u32, u32, u64)> {
    let mut parts = address.split(':');
    let host = parts.next()?.parse().ok()?;
    let channel = parts.next()?.parse().ok()?;
    let target = parts.next()?.parse().ok()?;
    let unit = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some((host, channel, target, unit))
}

/// Returns the drive's report of its write cache: `class/scsi_disk/H:C:T:L/cache_type`.
pub(crate) fn cache_type(device: &Node<'_>) -> Option<String> {
    of_disk(device, "cache_type")
}

/// An attribute that the driver of SCSI disks adds.
fn of_disk(device: &Node<'_>, attribute: &str) -> Option<String> {
    let name = device.name();
    let class = device.root().node(&format!("sys/class/scsi_disk/{name}"));
    class.or_else(|| device.child(&format!("scsi_disk/{name}")))?.text(attribute)
}

/// The rate of the SAS link, from the first phy of the port that leads to the drive.
pub(crate) fn sas_link(device: &Node<'_>) -> Option<Link> {
    let port = device.ancestors().find(|node| node.name().starts_with("port-"))?;
    // All phys of a wide port have one rate.
    let phy = port.folders().into_iter().find(|name| name.starts_with("phy-"))?;
    let class = port.root().node(&format!("sys/class/sas_phy/{phy}"));
    let phy = class.or_else(|| port.child(&format!("{phy}/sas_phy/{phy}")))?;
    let [speed_gbps, host_gbps, limit_gbps] =
        ["negotiated_linkrate", "maximum_linkrate_hw", "maximum_linkrate"]
            .map(|name| phy.text(name).and_then(|text| Speed::parse(&text)));
    Some(Link { speed_gbps, host_gbps, limit_gbps, ..Link::default() })
}

/// The errors that the phys of the SAS port count.
fn phy_errors(device: &Node<'_>) -> Option<u64> {
    let port = device.ancestors().find(|node| node.name().starts_with("port-"))?;
    let phys = port.folders().into_iter().filter(|name| name.starts_with("phy-"));
    let counts = phys.filter_map(|phy| {
        let class = port.root().node(&format!("sys/class/sas_phy/{phy}"));
        let node = class.or_else(|| port.child(&format!("{phy}/sas_phy/{phy}")))?;
        let names = ["invalid_dword_count", "loss_of_dword_sync_count"];
        names.iter().filter_map(|name| node.number::<u64>(name)).reduce(u64::saturating_add)
    });
    counts.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_four_numbers() {
        assert_eq!(numbers("6:0:12:3"), Some((6, 0, 12, 3)));
        for bad in ["", "6:0:12", "6:0:12:3:4", "a:0:0:0", "block"] {
            assert_eq!(numbers(bad), None, "{bad}");
        }
    }
}
