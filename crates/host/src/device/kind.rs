//! The kind of a block device.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::root::Node;

/// Declares the kinds, each with its key in JSON and its name for people.
macro_rules! kinds {
    ($($name:ident = $key:literal, $words:literal,)+) => {
        /// The kinds of block device.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub enum Kind {
            $(#[doc = $words] #[serde(rename = $key)] $name,)+
            /// Something else.
            #[default]
            #[serde(rename = "other")]
            Other,
        }

        impl fmt::Display for Kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$name => $words,)+ Self::Other => "block device" })
            }
        }
    };
}

kinds! {
    Ata = "ata", "ATA disk",
    Sas = "sas", "SAS disk",
    Scsi = "scsi", "SCSI disk",
    Nvme = "nvme", "NVMe drive",
    Virtio = "virtio", "virtio disk of a virtual machine",
    HyperV = "hyperv", "Hyper-V disk of a virtual machine",
    Xen = "xen", "Xen disk of a virtual machine",
    Usb = "usb", "USB disk",
    Mmc = "mmc", "memory card",
    Md = "md", "software RAID (md)",
    Lvm = "lvm", "logical volume (LVM)",
    Luks = "luks", "encrypted volume (LUKS)",
    Multipath = "multipath", "multipath disk",
    Dm = "dm", "device-mapper device",
    Bcache = "bcache", "cached volume (bcache)",
    Loop = "loop", "loop device: a file, not a disk",
    Zram = "zram", "zram: compressed memory, not a disk",
    Ram = "ram", "RAM disk: memory, not a disk",
    Network = "network", "network disk",
    Partition = "partition", "partition",
    Removable = "removable", "removable medium",
    Controller = "controller", "disk controller",
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

    /// By the prefix of a device-mapper device's uuid, which names its owner.
    fn mapped(block: &Node<'_>) -> Self {
        let uuid = block.text("dm/uuid").unwrap_or_default();
        match uuid.split('-').next() {
            Some("LVM") => Self::Lvm,
            Some("CRYPT") => Self::Luks,
            Some("mpath") => Self::Multipath,
            _ => Self::Dm,
        }
    }

    /// By the stations on the path to it.
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
