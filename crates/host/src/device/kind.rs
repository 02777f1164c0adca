//! What a block device is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::root::Node;

/// The kinds of block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A SATA or parallel ATA drive on a port of its own.
    Ata,
    /// A drive behind a SAS link; SATA drives can be.
    Sas,
    /// Another disk of the SCSI layer, a volume of a RAID controller among them.
    Scsi,
    /// An NVMe namespace.
    Nvme,
    /// A disk of a virtual machine, by virtio.
    Virtio,
    /// A disk of a virtual machine, by Hyper-V.
    #[serde(rename = "hyperv")]
    HyperV,
    /// A disk of a virtual machine, by Xen.
    Xen,
    /// A disk behind a USB bridge.
    Usb,
    /// A memory card or soldered flash.
    Mmc,
    /// A software RAID array.
    Md,
    /// A logical volume.
    Lvm,
    /// An encrypted volume (LUKS or plain dm-crypt).
    Luks,
    /// Several paths to one disk, made one.
    Multipath,
    /// Another device of the device mapper.
    Dm,
    /// A disk with a faster one as its cache, by bcache.
    Bcache,
    /// A file presented as a disk.
    Loop,
    /// Compressed memory presented as a disk.
    Zram,
    /// Memory presented as a disk.
    Ram,
    /// A disk of another machine: NBD, RBD.
    Network,
    /// A part of a disk.
    Partition,
    /// An optical drive or a diskette.
    Removable,
    /// A disk controller, named because of what it hides.
    Controller,
    /// Something else.
    #[default]
    Other,
}

impl Kind {
    /// The kind of the block device in folder `block`, whose hardware is in folder `device`.
    pub(crate) fn of(block: &Node<'_>, device: Option<&Node<'_>>) -> Self {
        let name = block.name();
        if block.child("dm").is_some() {
            return Self::mapped(block);
        }
        let by_name = [
            ("dm-", Self::Dm),
            ("md", Self::Md),
            ("bcache", Self::Bcache),
            ("loop", Self::Loop),
            ("zram", Self::Zram),
            ("ram", Self::Ram),
            ("nbd", Self::Network),
            ("rbd", Self::Network),
            ("drbd", Self::Network),
            ("sr", Self::Removable),
            ("fd", Self::Removable),
            ("nvme", Self::Nvme),
            ("mmcblk", Self::Mmc),
            ("xvd", Self::Xen),
            ("vd", Self::Virtio),
        ];
        if let Some((_, kind)) = by_name.iter().find(|(start, _)| name.starts_with(start)) {
            return *kind;
        }
        device.map_or(Self::Other, Self::by_path)
    }

    /// By the prefix that the owner of a device-mapper device puts before its uuid.
    fn mapped(block: &Node<'_>) -> Self {
        let uuid = block.text("dm/uuid").unwrap_or_default();
        match uuid.split('-').next() {
            Some("LVM") => Self::Lvm,
            Some("CRYPT") => Self::Luks,
            Some("mpath") => Self::Multipath,
            _ => Self::Dm,
        }
    }

    /// By the stations on the way to it.
    fn by_path(device: &Node<'_>) -> Self {
        let mut found = Self::Other;
        for part in device.path().split('/') {
            let numbered = |start: &str| {
                let rest = part.strip_prefix(start);
                rest.is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()))
            };
            found = match part {
                _ if numbered("usb") => Self::Usb,
                _ if numbered("virtio") => Self::Virtio,
                _ if numbered("ata") && found == Self::Other => Self::Ata,
                _ if part.starts_with("VMBUS") => Self::HyperV,
                _ if part.starts_with("vbd-") => Self::Xen,
                _ if part.starts_with("end_device-") => Self::Sas,
                _ if numbered("host") && found == Self::Other => Self::Scsi,
                _ => continue,
            };
        }
        found
    }

    /// Whether it is a drive, real or virtual.
    pub fn is_drive(self) -> bool {
        self.is_physical() || matches!(self, Self::Virtio | Self::HyperV | Self::Xen)
    }

    /// Whether it is a drive that can be touched.
    pub fn is_physical(self) -> bool {
        matches!(self, Self::Ata | Self::Sas | Self::Scsi | Self::Nvme | Self::Usb | Self::Mmc)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ata => "ATA disk",
            Self::Sas => "SAS disk",
            Self::Scsi => "SCSI disk",
            Self::Nvme => "NVMe drive",
            Self::Virtio => "virtio disk of a virtual machine",
            Self::HyperV => "Hyper-V disk of a virtual machine",
            Self::Xen => "Xen disk of a virtual machine",
            Self::Usb => "USB disk",
            Self::Mmc => "memory card",
            Self::Md => "software RAID (md)",
            Self::Lvm => "logical volume (LVM)",
            Self::Luks => "encrypted volume (LUKS)",
            Self::Multipath => "multipath disk",
            Self::Dm => "device-mapper device",
            Self::Bcache => "cached volume (bcache)",
            Self::Loop => "loop device: a file, not a disk",
            Self::Zram => "zram: compressed memory, not a disk",
            Self::Ram => "RAM disk: memory, not a disk",
            Self::Network => "network disk",
            Self::Partition => "partition",
            Self::Removable => "removable medium",
            Self::Controller => "disk controller",
            Self::Other => "block device",
        })
    }
}
