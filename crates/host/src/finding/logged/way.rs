//! The way to a disk, which decides about a remedy.

use super::super::context::Context;
use crate::device::{Device, Emulated, Kind};

/// The way on which requests reach a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// An NVMe drive on PCI Express.
    Nvme,
    /// A bridge of USB.
    Usb,
    /// An adapter for SAS or parallel SCSI.
    Sas,
    /// A SATA link.
    Sata,
    /// A cable of parallel ATA, or an adapter that looks like one.
    Pata,
    /// A slot for memory cards, or an eMMC.
    Card,
    /// A hypervisor.
    Guest,
    /// A network: iSCSI, Fibre Channel, NVMe over Fabrics, NBD.
    Network,
    /// The firmware of a RAID controller.
    Raid,
    /// Other block devices: md, device mapper.
    Stack,
    /// A name such as `sda` in an excerpt, which does not say more.
    Unknown,
    /// The controller itself.
    Controller,
}

/// Drivers of adapters of storage networks, as hosts are called.
const NETWORKS: &[&str] = &["iSCSI", "iscsi", "lpfc", "Emulex", "qla", "QLogic", "bfa", "fnic"];

impl Way {
    pub(super) fn of(context: &Context<'_>) -> Self {
        let device = context.device;
        let host = device.scsi.as_ref().and_then(|scsi| scsi.host_driver.as_deref());
        if host.is_some_and(|host| NETWORKS.iter().any(|start| host.starts_with(start))) {
            return Self::Network;
        }
        match device.emulated() {
            Some(Emulated::Network) => return Self::Network,
            Some(Emulated::Guest | Emulated::Cloud | Emulated::Instance | Emulated::Memory) => {
                return Self::Guest;
            }
            None => {}
        }
        if device.hidden_behind_raid() {
            return Self::Raid;
        }
        let is_nvme = device.controller.driver.as_deref() == Some("nvme");
        match device.kind {
            Kind::Nvme => Self::Nvme,
            Kind::Usb => Self::Usb,
            Kind::Mmc | Kind::Ufs => Self::Card,
            Kind::Virtio | Kind::HyperV | Kind::Xen => Self::Guest,
            Kind::Network => Self::Network,
            Kind::Ata if is_parallel(context) => Self::Pata,
            Kind::Ata => Self::Sata,
            Kind::Scsi if is_bare(device) => Self::Unknown,
            Kind::Sas | Kind::Scsi => Self::Sas,
            Kind::Controller if is_nvme => Self::Nvme,
            Kind::Controller => Self::Controller,
            _ => Self::Stack,
        }
    }
}

/// Returns whether nothing is known of a SCSI disk but its name.
fn is_bare(device: &Device) -> bool {
    let scsi = device.scsi.as_ref();
    device.log_only && scsi.is_none_or(|it| it.vendor.is_none() && it.host_driver.is_none())
}

fn is_parallel(context: &Context<'_>) -> bool {
    let Some(ata) = context.device.ata.as_ref() else { return false };
    let port = context.machine.log.port(ata.port);
    let line = port.and_then(|port| port.line.as_deref());
    ata.sata == Some(false) || line.is_some_and(|line| line.starts_with("PATA"))
}
