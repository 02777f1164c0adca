//! Width and speed of the PCIe links between a controller and the processor.

use serde::{Deserialize, Serialize};

use super::{Hop, HopKind};
use crate::root::Node;
use crate::speed::Speed;

/// The PCIe link of a controller.
///
/// The kernel reads `current_link_*` from the device's registers, and since Linux 6.18 wakes it for
/// that (`pci_config_pm_runtime_get`). Absent facts are null: conventional PCI and functions inside
/// the chip set have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pcie {
    /// Present transfers per second and lane.
    pub speed_gts: Option<Speed>,
    /// Present number of lanes.
    pub width: Option<u32>,
    /// Transfers per second and lane that the controller supports.
    pub max_speed_gts: Option<Speed>,
    /// Lanes that the controller supports.
    pub max_width: Option<u32>,
    /// Transfers per second and lane that the slot supports.
    pub slot_max_speed_gts: Option<Speed>,
    /// Lanes that the slot supports.
    pub slot_max_width: Option<u32>,
    /// The bandwidth of the narrowest link up to the processor.
    pub bandwidth_gbps: Option<Speed>,
    /// The maximum bandwidth of the controller.
    pub max_bandwidth_gbps: Option<Speed>,
    /// True if the controller sleeps; its link is then not read, which would wake it.
    #[serde(default)]
    pub asleep: bool,
    /// Errors that the function counts.
    #[serde(default)]
    pub errors: PcieErrors,
    /// The bridge above the narrowest link, if that is not the controller's own.
    pub limited_by: Option<String>,
}

/// Errors of advanced error reporting since the boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieErrors {
    /// Repeated transfers.
    pub corrected: Option<u64>,
    /// Lost transfers.
    pub nonfatal: Option<u64>,
    /// Errors of the link itself.
    pub fatal: Option<u64>,
}

impl PcieErrors {
    fn read(node: &Node<'_>) -> Self {
        let [corrected, nonfatal, fatal] =
            ["aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"]
                .map(|name| node.lines(name).and_then(|text| total(&text)));
        Self { corrected, nonfatal, fatal }
    }
}

/// The number in the line `TOTAL_ERR_COR 51666`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("TOTAL_ERR_"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

impl Pcie {
    /// Reads the links of a function (the first of `functions`) and of the bridges above it.
    pub(crate) fn read(functions: &[Node<'_>]) -> Self {
        let Some((own, bridges)) = functions.split_first() else { return Self::default() };
        if !own.is_awake() {
            return Self { asleep: true, ..Self::default() };
        }
        let mut pcie = Self {
            speed_gts: speed(own, "current_link_speed"),
            width: width(own, "current_link_width"),
            max_speed_gts: speed(own, "max_link_speed"),
            max_width: width(own, "max_link_width"),
            errors: PcieErrors::read(own),
            ..Self::default()
        };
        if let Some(slot) = bridges.first().filter(|slot| slot.is_awake()) {
            pcie.slot_max_speed_gts = speed(slot, "max_link_speed");
            pcie.slot_max_width = width(slot, "max_link_width");
        }
        pcie.max_bandwidth_gbps = bandwidth(pcie.max_speed_gts, pcie.max_width);
        pcie.bandwidth_gbps = bandwidth(pcie.speed_gts, pcie.width);
        if pcie.bandwidth_gbps.is_none() {
            return pcie;
        }
        // The link of the slot is that of the controller; the links above it may be narrower.
        for bridge in bridges.iter().skip(1).filter(|bridge| bridge.is_awake()) {
            let link = (speed(bridge, "current_link_speed"), width(bridge, "current_link_width"));
            let carried = bandwidth(link.0, link.1);
            // Virtual bridges report no link, which limits nothing.
            if carried.is_some() && carried < pcie.bandwidth_gbps {
                pcie.bandwidth_gbps = carried;
                pcie.limited_by = Some(bridge.name().to_owned());
            }
        }
        pcie
    }

    /// `8.0 GT/s x2 of 8.0 GT/s x4`.
    pub fn summary(&self) -> Option<String> {
        let now = format!("{} GT/s x{}", self.speed_gts?, self.width?);
        let Some((speed, width)) = self.max_speed_gts.zip(self.max_width) else { return Some(now) };
        let most = format!("{speed} GT/s x{width}");
        Some(if now == most { now } else { format!("{now} of {most}") })
    }
}

/// The bridges between the controller and the processor, uppermost first.
pub(crate) fn bridge_hops(functions: &[Node<'_>]) -> Vec<Hop> {
    let bridges = functions.iter().skip(1).rev();
    let hops = bridges.map(|node| {
        if !node.is_awake() {
            let about = "PCI bridge, asleep: its link was not read".to_owned();
            return Hop { kind: HopKind::Bridge, name: node.name().to_owned(), about };
        }
        let link = (speed(node, "current_link_speed"), width(node, "current_link_width"));
        let about = match link {
            (Some(speed), Some(width)) => format!("PCIe bridge, {speed} GT/s x{width}"),
            // Intel's volume management device: drives on a separate root port are below it.
            _ if node.link_name("driver").as_deref() == Some("vmd") => {
                "Intel VMD (a RAID mode for NVMe drives), driver vmd".into()
            }
            _ => "PCI bridge".into(),
        };
        Hop { kind: HopKind::Bridge, name: node.name().to_owned(), about }
    });
    hops.collect()
}

fn speed(node: &Node<'_>, name: &str) -> Option<Speed> {
    let text = node.text(name)?;
    let speed = Speed::parse(&text);
    if speed.is_none() && !text.starts_with("Unknown") {
        node.misread(name, "a speed such as `8.0 GT/s PCIe`", &text);
    }
    speed
}

/// Number of lanes; 0 and 255 mean unknown (`drivers/pci/pci-sysfs.c`).
fn width(node: &Node<'_>, name: &str) -> Option<u32> {
    node.number(name).filter(|width| (1..=32).contains(width))
}

/// Bandwidth of this many lanes after line coding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s,
/// none from 64 GT/s on (`PCIE_SPEED2MBS_ENC`, `drivers/pci/pci.h`).
pub(crate) fn bandwidth(speed: Option<Speed>, width: Option<u32>) -> Option<Speed> {
    let speed = speed?.get();
    let lane = match speed {
        0..=5000 => speed / 10 * 8,
        5001..=32_000 => u32::try_from(u64::from(speed) * 128 / 130).ok()?,
        _ => speed,
    };
    debug_assert!(lane <= speed, "line coding never adds bandwidth");
    lane.checked_mul(width?).map(Speed::mbps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_what_the_kernel_prints() {
        let check = |speed, width, expected| {
            let found = bandwidth(Some(Speed::mbps(speed)), Some(width));
            assert_eq!(found.map(Speed::get), Some(expected), "{speed} x{width}");
        };
        // `31.504 Gb/s with 8.0 GT/s PCIe x4 link`, `2.000 Gb/s ... 2.5 GT/s PCIe x1 link`.
        check(8000, 4, 31_504);
        check(2500, 1, 2000);
        check(5000, 1, 4000);
        check(16_000, 4, 63_012);
    }
}
