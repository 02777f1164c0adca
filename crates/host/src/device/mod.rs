//! One block device: its kind, how it is attached, and its settings.
//!
//! The field names are the keys of `drivelab inspect --json`: a contract with scripts. Unknown
//! values are null; numbers have their unit in the name.

mod build;
mod emulated;
mod faults;
mod heat;
mod kind;
mod mount;
mod partition;
mod queue;
mod stack;
mod unseen;

pub use emulated::Emulated;
pub use heat::Heat;
pub use kind::Kind;
pub use mount::{Mount, Mounts};
pub use partition::{Alignment, Partition};
pub use queue::{InFlight, Queue};
pub use stack::{BackingFile, Mapped, Raid};

pub(crate) use build::{
    Machine, attach_function, build, is_ide, is_native, redacted_uuid, version,
};
pub(crate) use mount::{UNKNOWN_FILE_SYSTEM, Volumes, mount_line, unescaped};
pub(crate) use stack::parse_mdstat;
pub(crate) use unseen::{UNSETTLED_MIN, fabric_min, unseen};

use serde::{Deserialize, Serialize};

use crate::bus::ata::{Ata, NcqOff};
use crate::bus::mmc::CardBus;
use crate::bus::nvme::Nvme;
use crate::bus::pcie::Pcie;
use crate::bus::scsi::Scsi;
use crate::bus::usb::Usb;
use crate::bus::virtio::Virtio;
use crate::bus::{Controller, Hop, Link};
use crate::found::Finding;
use crate::tools::Health;

/// A block device, or a drive that only the kernel log knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// The kernel's name: `sda`, `nvme0n1`, `dm-0`; `ata2.00` for a drive that only the log knows.
    pub name: String,
    /// Its device file: `/dev/sda`.
    pub path: Option<String>,
    /// Its major and minor number: `8:0`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub number: Option<String>,
    /// Its kind.
    pub kind: Kind,
    /// True if only the kernel log knows it.
    pub log_only: bool,
    /// The drive's own name.
    pub model: Option<String>,
    /// Its firmware.
    pub firmware: Option<String>,
    /// Its serial number, if requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub serial: Option<String>,
    /// Sixteen digits derived from model and serial number or world wide name: they distinguish
    /// disks across boots without naming them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub identity: Option<String>,
    /// Its size.
    pub capacity_bytes: Option<u64>,
    /// True if it is read-only.
    pub read_only: Option<bool>,
    /// True if the medium can be removed.
    pub removable: Option<bool>,
    /// Its controller.
    pub controller: Controller,
    /// The link to it.
    pub link: Link,
    /// The PCIe link of the controller.
    pub pcie: Pcie,
    /// Number of commands that it accepts at once.
    pub queue_depth: Option<u32>,
    /// True if native command queuing is on; null if it does not apply.
    pub ncq: Option<bool>,
    /// The reason why it is off.
    pub ncq_off_cause: Option<NcqOff>,
    /// Its write cache.
    pub write_cache: WriteCache,
    /// The queue in front of it.
    #[serde(flatten)]
    pub queue: Queue,
    /// Revolutions per minute; 0 for a drive without platters.
    pub rpm: Option<u32>,
    /// Power management.
    pub power: Power,
    /// Its temperature, if requested.
    pub temperature_celsius: Option<i32>,
    /// Heat, as its sensor reports it, if requested.
    #[serde(skip_serializing_if = "Heat::is_empty", default)]
    pub heat: Heat,
    /// Its self-monitoring (SMART).
    pub smart: Smart,
    /// The stations from the processor down to it.
    pub hops: Vec<Hop>,
    /// Its partitions.
    pub partitions: Vec<Partition>,
    /// Its position, if it is itself a partition.
    pub partition: Option<Partition>,
    /// The devices that it is built on.
    pub slaves: Vec<String>,
    /// The devices built on it.
    pub holders: Vec<String>,
    /// File systems on it; those of partitions are listed there.
    pub mounts: Vec<Mount>,
    /// Requests that were in flight when it was read.
    pub in_flight: InFlight,
    /// Facts of an ATA drive.
    pub ata: Option<Ata>,
    /// Facts of the SCSI layer.
    pub scsi: Option<Scsi>,
    /// Facts of an NVMe controller.
    pub nvme: Option<Nvme>,
    /// Facts of a USB bridge.
    pub usb: Option<Usb>,
    /// Facts of a virtio device.
    pub virtio: Option<Virtio>,
    /// The bus of a memory card.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub card_bus: Option<CardBus>,
    /// Facts of the device mapper.
    pub dm: Option<Mapped>,
    /// Facts of a RAID array.
    pub md: Option<Raid>,
    /// The drive's own record, if an output of a tool has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub health: Option<Health>,
    /// The tools whose output is about it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sources: Vec<String>,
    /// The file behind a loop device.
    pub backing: Option<BackingFile>,
    /// Its findings, worst first.
    pub findings: Vec<Finding>,
}

/// The caching of writes, according to two sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteCache {
    /// According to the device: `write back`, `write through`, `none`.
    pub device: Option<String>,
    /// As the kernel treats it: with `write through` it sends no flushes.
    pub kernel: Option<String>,
}

impl WriteCache {
    /// Returns whether the device keeps acknowledged writes in a cache; `None` if it does not
    /// report it.
    pub(crate) fn device_caches(&self) -> Option<bool> {
        self.device.as_deref().map(|text| text.starts_with("write back"))
    }

    /// Returns whether the kernel sends flushes.
    pub(crate) fn kernel_flushes(&self) -> Option<bool> {
        self.kernel.as_deref().map(|text| text.starts_with("write back"))
    }
}

/// Power management, as far as files report it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Power {
    /// Of the SATA link: `max_performance`, `med_power_with_dipm`, `min_power`.
    pub link_policy: Option<String>,
    /// The kernel's permission to suspend the disk: `on` (none), `auto`.
    pub runtime_control: Option<String>,
    /// `active`, `suspended`, `unsupported`.
    pub runtime_status: Option<String>,
}

/// Self-monitoring, as far as files report it: its presence, not its values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Smart {
    /// True if the drive has it.
    pub supported: Option<bool>,
    /// True if it is on.
    pub enabled: Option<bool>,
}

impl Device {
    /// Returns whether it is a drive, real or virtual, and not built on other devices or in memory.
    pub fn is_drive(&self) -> bool {
        self.kind.is_drive()
    }

    /// Returns whether it is known to be a rotating disk: a drive that reports it, or a physical
    /// one that the kernel treats as one.
    pub(crate) fn is_known_to_rotate(&self) -> bool {
        if let Some(rpm) = self.rpm {
            return rpm > 0;
        }
        // USB bridges and virtual disks report any value for it.
        if self.emulated().is_some() {
            return false;
        }
        let sees = matches!(self.kind, Kind::Ata | Kind::Sas | Kind::Scsi);
        sees && !self.hidden_behind_raid() && self.queue.rotational == Some(true)
    }

    /// Returns the origin of a disk that looks like a drive and is none.
    pub(crate) fn emulated(&self) -> Option<Emulated> {
        let vendor = self.scsi.as_ref().and_then(|scsi| scsi.vendor.as_deref());
        let transport = self.nvme.as_ref().and_then(|nvme| nvme.transport.as_deref());
        let host = self.scsi.as_ref().and_then(|scsi| scsi.host_driver.as_deref());
        Emulated::of([self.model.as_deref(), vendor], transport.or(host))
    }

    /// Returns whether it is a disk of a virtual machine: its driver or its name says so.
    pub fn is_of_guest(&self) -> bool {
        matches!(self.kind, Kind::Virtio | Kind::HyperV | Kind::Xen)
            || self.emulated() == Some(Emulated::Guest)
    }

    /// Returns whether it is a drive that can be held in a hand.
    pub(crate) fn is_physical(&self) -> bool {
        self.kind.is_physical() && self.emulated().is_none()
    }

    /// Returns the state of the drive's write cache: the drive's own statement (identity word 85)
    /// where there is one, otherwise the cache mode that the kernel read.
    pub(crate) fn caches_writes(&self) -> Option<bool> {
        let identity = self.ata.as_ref().and_then(|ata| ata.write_cache);
        identity.or_else(|| self.write_cache.device_caches())
    }

    /// Returns whether RAID firmware stands between the kernel and the drive.
    pub(crate) fn hidden_behind_raid(&self) -> bool {
        self.controller.mode.as_deref() == Some("raid")
            && !matches!(self.kind, Kind::Ata | Kind::Nvme)
            // A drive that the controller passes on shows its own vendor.
            && self.scsi.as_ref().and_then(|scsi| scsi.vendor.as_deref()) != Some("ATA")
    }

    /// File systems on it and on its partitions.
    pub fn all_mounts(&self) -> impl Iterator<Item = &Mount> {
        let parts = self.partitions.iter().flat_map(|partition| &partition.mounts);
        self.mounts.iter().chain(parts)
    }
}
