//! Who uses the disks of this machine: facts that `host` reads from Linux and `engine` judges.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::units::Bytes;

/// Reads what this machine tells of itself at the moment of the call.
pub trait Census: fmt::Debug + Sync {
    /// Its block devices, and what is mounted, swapped to or built on them.
    ///
    /// # Errors
    /// A part of it cannot be read, so that a user may have been missed.
    fn usage(&self) -> io::Result<Usage>;

    /// What the target with this device number lies on, not who uses it: its block device and, of a
    /// partition, the disk. Where there is none every device, and the mounts of our own namespace.
    fn under(&self, number: DeviceNumber) -> Usage;

    /// One entry for each time that a process has one of `devices` open. Processes of other users
    /// are seen only by root.
    fn openers(&self, devices: &[DeviceNumber]) -> io::Result<Vec<Opener>>;

    /// The running process that holds a `flock(2)` lock on `file`.
    fn lock_holder(&self, file: Identity) -> Option<Process>;

    /// The counters now; bytes moved are those of `device`.
    fn counters(&self, device: Option<DeviceNumber>) -> Counters;

    /// What does not change during a run.
    fn machine(&self) -> Machine;
}

/// The number of a block device. Displays as the kernel writes it: `8:1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// Of the driver.
    pub major: u32,
    /// Of the device among the driver's.
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

/// Tells a file or a block device from every other, under whatever name.
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
    /// Its number.
    pub id: u32,
    /// Its name, as the kernel cuts it.
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

/// The block devices of a machine and who uses them, but for processes that have one open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Every block device, partitions included.
    pub devices: Vec<BlockDevice>,
    /// Mounts of our own mount namespace first, then of every other that can be seen.
    pub mounts: Vec<Mounted>,
    /// What memory is swapped to.
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
        let is_part = move |part: &Part| part.disk == disk;
        self.devices.iter().filter(move |device| device.part.as_ref().is_some_and(is_part))
    }

    /// The disk that `device` is a partition of.
    pub fn whole(&self, device: &BlockDevice) -> Option<&BlockDevice> {
        self.device(device.part.as_ref()?.disk)
    }

    /// What is built on `device`, for people: `dm-0 (LVM volume vg-root)`.
    pub fn holders(&self, device: &BlockDevice) -> Vec<String> {
        let described = |name: &String| {
            let holder = self.devices.iter().find(|holder| holder.name == *name);
            let volume = holder.and_then(|holder| holder.volume.as_ref());
            volume.map_or_else(|| name.clone(), |volume| format!("{name} ({volume})"))
        };
        device.holders.iter().map(described).collect()
    }
}

/// A block device as sysfs describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its number.
    pub number: DeviceNumber,
    /// The kernel's name: `sda1`.
    pub name: String,
    /// Where it lies on its disk; absent for a whole disk.
    pub part: Option<Part>,
    /// Whether the kernel refuses to write it.
    pub read_only: bool,
    /// Names of the devices built on it.
    pub holders: Vec<String>,
    /// What the device mapper or md made it: `LVM volume vg-root`, `md array, raid1`.
    pub volume: Option<String>,
    /// The file or device behind a loop device.
    pub backing: Option<Backing>,
    /// Whether writes are done when a cache in the drive has them, as the kernel sees it.
    pub write_back: bool,
    /// Whether its queue can be polled for completions; absent where it has no queue.
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
        format!("/dev/{}", self.name.replace('!', "/"))
    }
}

/// A partition's place on its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The disk.
    pub disk: DeviceNumber,
    /// Absent where sysfs does not say.
    pub extent: Option<Extent>,
}

/// Bytes `start..start + length` of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub start: u64,
    /// How many.
    pub length: u64,
}

impl Extent {
    /// Whether the byte `at` of the disk lies in it.
    pub fn contains(self, at: u64) -> bool {
        at >= self.start && at - self.start < self.length
    }
}

/// What a loop device reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backing {
    /// Its path, as whoever set the loop device up saw it.
    pub path: PathBuf,
    /// What it is; absent where nothing lies under the path any more.
    pub identity: Option<Identity>,
    /// How far into it the loop device reaches.
    pub reach: Option<Bytes>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// The number that its files show; of btrfs one of its own.
    pub device: DeviceNumber,
    /// Where it is mounted.
    pub at: String,
    /// A process in whose mount namespace it is, where that is not ours.
    pub seen_by: Option<Process>,
    /// What is mounted.
    pub source: Option<Identity>,
    /// Further files and devices that its options name: `logdev=/dev/sdb1`.
    pub others: Vec<Identity>,
}

/// Counters of a machine at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Processor time; absent where the kernel does not tell.
    pub ticks: Option<Ticks>,
    /// How often processors were slowed down, by heat or by the quota of a control group.
    pub throttled: u64,
    /// Bytes that the device read and wrote.
    pub moved_bytes: Option<u64>,
}

/// Processor time in the kernel's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// What the hypervisor gave to others.
    pub stolen: u64,
    /// What nothing ran in, waiting for I/O included.
    pub idle: u64,
    /// All, the stolen ones included.
    pub all: u64,
}

/// What does not change on a machine while it measures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its memory; zero where the kernel does not tell.
    pub memory: Bytes,
    /// How the processors choose their frequency: `performance`, `schedutil`.
    pub cpu_governor: Option<String>,
}
