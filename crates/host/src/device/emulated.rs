//! Disks that are no drive: emulated by a hypervisor, or a volume on a network.

use serde::{Deserialize, Serialize};

/// The origin of a disk that looks like a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Emulated {
    /// A disk of a virtual machine.
    Guest,
    /// A volume on the network of a cloud, with limits and credits.
    Cloud,
    /// A drive in the host of a cloud, which is erased with the machine.
    Instance,
    /// Memory of this machine, for tests of the kernel.
    Memory,
    /// A disk on another machine: iSCSI, NVMe over TCP, RDMA or Fibre Channel.
    Network,
}

/// Models and vendors, by their beginnings.
const NAMES: &[(&str, Emulated)] = &[
    ("Amazon Elastic Block Store", Emulated::Cloud),
    ("Amazon EC2 NVMe Instance Storage", Emulated::Instance),
    ("nvme_card-pd", Emulated::Cloud),
    ("nvme_card", Emulated::Instance),
    ("PersistentDisk", Emulated::Cloud),
    ("Google PersistentDisk", Emulated::Cloud),
    ("MSFT NVMe Accelerator", Emulated::Cloud),
    ("Microsoft NVMe Direct Disk", Emulated::Instance),
    ("Alibaba Cloud Elastic Block Storage", Emulated::Cloud),
    ("VMware", Emulated::Guest),
    ("QEMU", Emulated::Guest),
    ("VBOX", Emulated::Guest),
    ("Msft", Emulated::Guest),
    ("Xen", Emulated::Guest),
    ("LIO-ORG", Emulated::Network),
    ("scsi_debug", Emulated::Memory),
    ("Virtual disk", Emulated::Guest),
];

impl Emulated {
    /// Returns the origin of a disk with these names, and with a host and transport.
    pub(crate) fn of(names: [Option<&str>; 2], transport: Option<&str>) -> Option<Self> {
        let by_name = names.into_iter().flatten().find_map(|name| {
            NAMES.iter().find(|(start, _)| name.starts_with(start)).map(|(_, kind)| *kind)
        });
        let remote = ["tcp", "rdma", "fc", "loop", "iscsi_tcp", "iSCSI"];
        by_name
            .or_else(|| transport.is_some_and(|it| remote.contains(&it)).then_some(Self::Network))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_volumes_from_drives() {
        let check = |model, expected| assert_eq!(Emulated::of([Some(model), None], None), expected);
        check("Amazon Elastic Block Store", Some(Emulated::Cloud));
        check("QEMU HARDDISK", Some(Emulated::Guest));
        check("nvme_card-pd", Some(Emulated::Cloud));
        check("nvme_card", Some(Emulated::Instance));
        check("Samsung SSD 970 EVO", None);
        assert_eq!(Emulated::of([None, None], Some("tcp")), Some(Emulated::Network));
        assert_eq!(Emulated::of([None, None], Some("pcie")), None);
    }
}
