//! A disk behind a USB bridge.

use serde::{Deserialize, Serialize};

use super::{Hop, HopKind, Link};
use crate::root::Node;
use crate::speed::Speed;

/// Facts of a USB bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usb {
    /// Its location: `2-1` (bus and ports).
    #[serde(rename = "place")]
    pub location: String,
    /// The driver of its interface: `usb-storage` (one command at a time) or `uas`.
    pub driver: Option<String>,
    /// The USB version that it reports: `3.20`.
    pub version: Option<String>,
    /// Vendor and product: `174c:55aa`.
    pub vendor_product: Option<String>,
    /// Its rate in Mb/s.
    pub speed_mbps: Option<u32>,
    /// True if its descriptors offer UAS, false if they do not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uas: Option<bool>,
}

impl Usb {
    pub(crate) fn read(device: &Node<'_>) -> Option<Self> {
        // The nearest interface: behind a hub there are others above it.
        let interface = device.ancestors().find(|node| is_interface(node.name()))?;
        let node = interface.parent()?;
        let [vendor, product] =
            ["idVendor", "idProduct"].map(|name| node.text(name).filter(|text| text.len() == 4));
        let pair = vendor.zip(product);
        Some(Self {
            location: node.name().to_owned(),
            driver: interface.link_name("driver"),
            version: node.text("version"),
            vendor_product: pair.map(|(vendor, product)| format!("{vendor}:{product}")),
            // `1.5` is the only rate that is not a whole number, and no disk has it.
            speed_mbps: node.number("speed"),
            uas: node.bytes("descriptors").as_deref().and_then(offers_uas),
        })
    }

    /// Returns whether it is a USB 3 device that runs at the speed of USB 2: such a device reports
    /// version 2.10 there, and 3.x at its own speed (USB 3.2, 9.2.6.6 and 9.6.1).
    pub(crate) fn is_slowed_usb3(&self) -> bool {
        let says = self.version.as_deref().is_some_and(|text| text.starts_with("2.1"));
        says && self.speed_mbps.is_some_and(|mbps| mbps <= 480)
    }

    pub(crate) fn link(&self) -> Link {
        let speed = self.speed_mbps.filter(|mbps| *mbps > 0).map(Speed::mbps);
        // The slowest rate of USB 3.
        let drive = self.is_slowed_usb3().then(|| Speed::mbps(5000));
        Link { speed_gbps: speed, drive_gbps: drive, ..Link::default() }
    }

    pub(crate) fn hop(&self) -> Hop {
        let mut about = "USB".to_owned();
        if let Some(mbps) = self.speed_mbps {
            about.push_str(&format!(" at {mbps} Mb/s"));
        }
        if let Some(driver) = &self.driver {
            about.push_str(&format!(", driver {driver}"));
        }
        Hop { kind: HopKind::Usb, name: self.location.clone(), about }
    }
}

/// Returns whether an interface of the descriptors is one of USB Attached SCSI: class 08h (mass
/// storage), subclass 06h (SCSI), protocol 62h; `None` if they are not descriptors.
fn offers_uas(bytes: &[u8]) -> Option<bool> {
    const INTERFACE: u8 = 4;
    // The descriptor of the device comes first: 18 bytes, kind 1.
    if bytes.len() < 18 || bytes[..2] != [18, 1] {
        return None;
    }
    let mut rest = bytes;
    let mut offers = false;
    while let [length, kind, ..] = *rest {
        let length = usize::from(length);
        if length < 2 || length > rest.len() {
            break;
        }
        offers |= kind == INTERFACE && length >= 9 && rest[5..8] == [0x08, 0x06, 0x62];
        rest = &rest[length..];
    }
    Some(offers)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `2-1:1.0`, `2-1.4:1.0`: location, configuration and number of an interface.
pub(crate) fn is_interface(name: &str) -> bool {
    let Some((location, interface)) = name.split_once(':') else { return false };
    let Some((bus, ports)) = location.split_once('-') else { return false };
    is_number(bus) && [ports, interface].iter().all(|path| path.split('.').all(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uas_is_an_alternate_setting_of_the_interface() {
        let mut descriptors = vec![18, 1];
        descriptors.resize(18, 0);
        descriptors.extend([9, 2, 0, 0, 1, 1, 0, 0, 0]);
        descriptors.extend([9, 4, 0, 0, 2, 0x08, 0x06, 0x50, 0]);
        assert_eq!(offers_uas(&descriptors), Some(false));
        descriptors.extend([9, 4, 0, 1, 4, 0x08, 0x06, 0x62, 0]);
        assert_eq!(offers_uas(&descriptors), Some(true));
        descriptors.extend([0, 0]);
        assert_eq!(offers_uas(&descriptors), Some(true));
        assert_eq!(offers_uas(b"text"), None);
    }

    #[test]
    fn interfaces_are_told_from_other_names() {
        for good in ["2-1:1.0", "2-1.4:1.0", "10-3:1.1"] {
            assert!(is_interface(good), "{good}");
        }
        for bad in ["2-1", "usb2", "0000:00:1f.2", "0:0:0:0", "2-1:", "-:"] {
            assert!(!is_interface(bad), "{bad}");
        }
    }
}
