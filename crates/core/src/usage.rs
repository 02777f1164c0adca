//! The processes and devices that use the disks of this machine: facts that `host` reads from
//! Linux and `engine` judges.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::units::Bytes;

/// Reads facts about this machine at the moment of the call.
pub trait Census: fmt::Debug + Sync {
    /// The machine's block devices, and what is mounted, used as swap or built on them.
    ///
    /// # Errors
    /// Part of it cannot be read, so a user of a device may have been missed.
    fn usage(&self) -> io::Result<Usage>;

    /// The devices under the target with this device number, without their users: its block device
    /// and, for a partition, the disk. If there is none: every device, and the mounts of this
    /// process's namespace.
    fn under(&self, number: DeviceNumber) -> Usage;

    /// One entry for each time that a process has one of `devices` open. Processes of other users
    /// are seen only by root.
    fn openers(&self, devices: &[DeviceNumber]) -> io::Result<Vec<Opener>>;

    /// The running process that holds a `flock(2)` lock on `file`.
    fn lock_holder(&self, file: Identity) -> Option<Process>;

    /// The counters now; bytes moved are those of `device`.
    fn counters(&self, device: Option<DeviceNumber>) -> Counters;

    /// Facts that do not change during a run.
    fn machine(&self) -> Machine;
}

/// The number of a block device. Displays as the kernel writes it: `8:1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// The driver's number.
    pub major: u32,
    /// The device's number within the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Reads `8:1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Identifies a file or a block device, regardless of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// A block device, which may have several device files.
    Device(DeviceNumber),
    /// A regular file.
    File {
        /// The device number of its file system.
        device: DeviceNumber,
        /// Its inode.
        inode: u64,
    },
}

impl Identity {
    /// The number of a block device.
    pub fn device(self) -> Option<DeviceNumber> {
        match self {
            Self::Device(number) => Some(number),
            Self::File { .. } => None,
        }
    }
}

/// A process. Displays as `process 708 (fio)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub id: u32,
    /// Its name, as truncated by the kernel.
    pub name: String,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.id, self.name)
    }
}

/// A process that has a block device open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opener {
    /// The device.
    pub device: DeviceNumber,
    /// The process.
    pub process: Process,
}

/// The block devices of a machine and their users, except for processes that have one open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Every block device, partitions included.
    pub devices: Vec<BlockDevice>,
    /// Mounts of this process's namespace first, then of every other visible one.
    pub mounts: Vec<Mounted>,
    /// The swap areas.
    pub swaps: Vec<Identity>,
    /// The devices of each mounted btrfs file system.
    pub btrfs: Vec<Vec<DeviceNumber>>,
}

impl Usage {
    /// The device with this number.
    pub fn device(&self, number: DeviceNumber) -> Option<&BlockDevice> {
        self.devices.iter().find(|device| device.number == number)
    }

    /// The partitions of `disk`.
    pub fn partitions(&self, disk: DeviceNumber) -> impl Iterator<Item = &BlockDevice> {
        let devices = self.devices.iter();
        devices.filter(move |device| device.part.is_some_and(|part| part.disk == disk))
    }

    /// The disk that `device` is a partition of.
    pub fn whole(&self, device: &BlockDevice) -> Option<&BlockDevice> {
        self.device(device.part.as_ref()?.disk)
    }

    /// The devices built on `device`, for people: `dm-0 (LVM volume vg-root)`.
    pub fn holders(&self, device: &BlockDevice) -> Vec<String> {
        let mut holders = Vec::with_capacity(device.holders.len());
        for name in &device.holders {
            let holder = self.devices.iter().find(|holder| holder.name == *name);
            holders.push(match holder.and_then(|holder| holder.volume.as_ref()) {
                Some(volume) => format!("{name} ({volume})"),
                None => name.clone(),
            });
        }
        holders
    }
}

/// A block device as sysfs describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its number.
    pub number: DeviceNumber,
    /// The kernel's name: `sda1`.
    pub name: String,
    /// Its position on its disk; absent for a whole disk.
    pub part: Option<Part>,
    /// True if the kernel refuses to write it.
    pub read_only: bool,
    /// Names of the devices built on it.
    pub holders: Vec<String>,
    /// Its kind as a device-mapper or md device: `LVM volume vg-root`, `md array, raid1`.
    pub volume: Option<String>,
    /// The file or device behind a loop device.
    pub backing: Option<Backing>,
    /// True if writes are acknowledged from a cache in the drive, as the kernel sees it.
    pub write_back: bool,
    /// True if its queue can be polled for completions; absent if it has no queue.
    pub polled: Option<bool>,
}

impl BlockDevice {
    /// A whole disk of this number and name that nothing uses.
    pub fn new(number: DeviceNumber, name: impl Into<String>) -> Self {
        Self {
            number,
            name: name.into(),
            part: None,
            read_only: false,
            holders: Vec::new(),
            volume: None,
            backing: None,
            write_back: false,
            polled: None,
        }
    }

    /// Its device file: `/dev/sda1`.
    pub fn node(&self) -> String {
        // Sysfs writes `!` for the slash of names like `cciss/c0d0`.
        format!("/dev/{}", self.name.replace('!', "/"))
    }
}

/// A partition's position on its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The disk.
    pub disk: DeviceNumber,
    /// Absent if sysfs does not report it.
    pub extent: Option<Extent>,
}

/// Bytes `start..start + length` of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Extent {
    /// True if the byte `at` of the disk lies in it.
    pub fn contains(self, at: u64) -> bool {
        // A difference, as a start plus a length may overflow.
        at >= self.start && at - self.start < self.length
    }
}

/// The file or device that a loop device reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backing {
    /// Its path, as seen by the process that set up the loop device.
    pub path: PathBuf,
    /// Its identity; absent if nothing exists at the path any more.
    pub identity: Option<Identity>,
    /// Number of its bytes that the loop device shows.
    pub reach: Option<Bytes>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// The device number that its files show; btrfs has a separate one.
    pub device: DeviceNumber,
    /// The mount point.
    pub at: String,
    /// A process in whose mount namespace it is, if that is not ours.
    pub seen_by: Option<Process>,
    /// The device or file that is mounted.
    pub source: Option<Identity>,
    /// Further files and devices that its options name: `logdev=/dev/sdb1`.
    pub others: Vec<Identity>,
}

/// Counters of a machine at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Processor time; absent if the kernel does not report it.
    pub ticks: Option<Ticks>,
    /// Number of times that processors were slowed down, by heat or by the quota of a
    /// control group.
    pub throttled: u64,
    /// Bytes that the device read and wrote.
    pub moved_bytes: Option<u64>,
    /// True if the kernel counts them (`queue/iostats`), if that is known.
    pub is_counted: Option<bool>,
}

/// Processor time in the kernel's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// Time that the hypervisor gave to others.
    pub stolen: u64,
    /// Idle time, including waits for I/O.
    pub idle: u64,
    /// All time, including the stolen part.
    pub all: u64,
}

/// Facts that do not change on a machine while it measures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its memory; zero if the kernel does not report it.
    pub memory: Bytes,
    /// The policy by which processors choose their frequency: `performance`, `schedutil`.
    pub cpu_governor: Option<String>,
}
