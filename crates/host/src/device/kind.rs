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
            /// Any other block device.
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
    Ufs = "ufs", "UFS flash",
    Dasd = "dasd", "DASD of a mainframe",
    Pmem = "pmem", "persistent memory, not a disk",
    Mtd = "mtd", "raw flash (MTD), not a disk",
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

/// Returns true for `usb2` with the prefix `usb`.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix).unwrap_or("");
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

impl Kind {
    /// Returns the kind of the block device in folder `block`, with its hardware in `device`.
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
            ("dasd", Self::Dasd),
            ("pmem", Self::Pmem),
            ("mtdblock", Self::Mtd),
            ("ubiblock", Self::Mtd),
            ("xvd", Self::Xen),
            ("vd", Self::Virtio),
        ];
        // These names belong to one driver each; disks of many transports are named `sd`.
        if let Some((_, kind)) = by_name.iter().find(|(start, _)| name.starts_with(start)) {
            return *kind;
        }
        device.map_or(Self::Other, Self::by_path)
    }

    /// Returns the kind of a device-mapper device: the prefix of its uuid names its owner.
    fn mapped(block: &Node<'_>) -> Self {
        let uuid = block.text("dm/uuid").unwrap_or_default();
        match uuid.split('-').next() {
            Some("LVM") => Self::Lvm,
            Some("CRYPT") => Self::Luks,
            Some("mpath") => Self::Multipath,
            _ => Self::Dm,
        }
    }

    /// Returns the kind of a device by the stations on the path to it.
    fn by_path(device: &Node<'_>) -> Self {
        // From the root downwards, so that a station nearer to the disk replaces an earlier one.
        let mut found = Self::Other;
        for part in device.path().split('/') {
            found = match part {
                _ if is_numbered(part, "usb") => Self::Usb,
                _ if is_numbered(part, "virtio") => Self::Virtio,
                // SCSI hosts of libata, USB and SAS are below their own folder: the first station
                // counts.
                _ if is_numbered(part, "ata") && found == Self::Other => Self::Ata,
                _ if part.starts_with("VMBUS") => Self::HyperV,
                _ if part.starts_with("vbd-") => Self::Xen,
                _ if part.starts_with("end_device-") => Self::Sas,
                _ if is_numbered(part, "host") && found == Self::Other => Self::Scsi,
                _ => continue,
            };
        }
        found
    }

    /// Returns whether it is a drive, real or virtual.
    pub fn is_drive(self) -> bool {
        self.is_physical() || matches!(self, Self::Virtio | Self::HyperV | Self::Xen)
    }

    /// Returns whether it is a physical drive, as opposed to one of a virtual machine.
    pub(crate) fn is_physical(self) -> bool {
        matches!(
            self,
            Self::Ata
                | Self::Sas
                | Self::Scsi
                | Self::Nvme
                | Self::Usb
                | Self::Mmc
                | Self::Ufs
                | Self::Dasd
        )
    }
}
