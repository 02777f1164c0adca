//! The front end of a guest's disk: a virtio block device, or an adapter on PCI.

use drivelab_core::Time;
use drivelab_core::disk::Disk;

use super::ahci::Ahci;
use super::ata::AtaConfig;
use super::block::{Block, BlockError};
use super::config::BlockConfig;
use super::ide::Ide;
use super::pci::Configuration;
use super::pci_device::{INTERRUPTS, PciDevice};
use super::queue::Queue;
use super::trace_entry::TraceEntry;
use crate::memory::Memory;
use crate::mirror::Mirror;

/// The hardware through which a guest sees its disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hardware {
    /// Behind virtio.
    Block(BlockConfig),
    /// Behind an AHCI adapter.
    Ahci(AtaConfig),
    /// On the channel of an IDE controller: its first drive, and perhaps a second one.
    Ide(AtaConfig, Option<Box<AtaConfig>>),
}

/// Hardware with its disks: one, or both drives of an IDE channel.
#[derive(Debug)]
pub struct Adapter<D> {
    /// The hardware.
    pub hardware: Hardware,
    /// The disks behind it.
    pub disks: Vec<D>,
}

impl<D> Adapter<D> {
    /// Hardware with one disk.
    pub fn of(disk: D, hardware: &Hardware) -> Self {
        Self { hardware: hardware.clone(), disks: vec![disk] }
    }
}

/// The device at the other end of a guest's virtqueues.
#[derive(Debug)]
pub enum Front<D> {
    /// A virtio block device, with one queue.
    Block(Block<D>),
    /// A PCI device, with a queue of accesses and one of interrupts.
    Ahci(Box<PciDevice<Ahci<D>>>),
    /// An IDE controller as such a PCI device.
    Ide(Box<PciDevice<Ide<D>>>),
}

/// The only queue of a block device.
const REQUESTS: u16 = 0;

/// The queues that a guest has set up, by number.
#[derive(Debug, Default)]
pub struct Queues([Option<Queue>; Queues::COUNT]);

impl Queues {
    /// The maximum number of queues of a device.
    pub const COUNT: usize = 2;

    /// Sets the queue number `index`, which is below [`Self::COUNT`].
    pub fn set(&mut self, index: u16, queue: Queue) {
        assert!(usize::from(index) < Self::COUNT, "the protocol checked the number");
        self.0[usize::from(index)] = Some(queue);
    }

    fn get(&mut self, index: u16) -> Result<&mut Queue, BlockError> {
        let queue = self.0.get_mut(usize::from(index)).and_then(Option::as_mut);
        queue.ok_or(BlockError::Early)
    }
}

impl Hardware {
    /// Returns its virtio device id.
    pub(crate) fn device_id(&self) -> u32 {
        match self {
            Self::Block(_) => 2,
            // `CONFIG_UML_PCI_OVER_VIRTIO_DEVICE_ID` of our kernel: the standard has no number.
            Self::Ahci(_) | Self::Ide(..) => 1234,
        }
    }

    /// The number of disks that it has.
    pub fn disks(&self) -> usize {
        if matches!(self, Self::Ide(_, Some(_))) { 2 } else { 1 }
    }
}

impl<D: Disk> Front<D> {
    /// The device in front of the disks of an adapter.
    pub fn new(adapter: Adapter<D>) -> Self {
        let Adapter { hardware, disks } = adapter;
        assert_eq!(disks.len(), hardware.disks(), "a disk for each position");
        let mut disks = disks.into_iter();
        let first = disks.next().expect("an adapter has a disk");
        match hardware {
            Hardware::Block(config) => Self::Block(Block::new(first, config.write_cache)),
            Hardware::Ahci(config) => {
                let adapter = Ahci::new(first, config);
                Self::Ahci(Box::new(PciDevice::new(Configuration::ahci(), adapter)))
            }
            Hardware::Ide(config, second) => {
                let second = second.zip(disks.next()).map(|(config, disk)| (disk, *config));
                let space = Configuration::ide(second.is_some());
                Self::Ide(Box::new(PciDevice::new(space, Ide::new((first, config), second))))
            }
        }
    }

    /// The disks, once no guest uses the device.
    pub fn into_disks(self) -> Vec<D> {
        match self {
            Self::Block(block) => vec![block.into_disk()],
            Self::Ahci(device) => vec![device.into_function().into_disk()],
            Self::Ide(device) => device.into_function().into_disks(),
        }
    }

    /// The first disk, while no disk has a command and none is on its way to one.
    pub fn idle_disk(&mut self) -> Option<&mut D> {
        match self {
            Self::Block(block) => block.idle_disk(),
            Self::Ahci(device) => device.function_mut().idle_disk(),
            Self::Ide(device) => device.function_mut().idle_disk(),
        }
    }

    /// Returns the time of the next event of the device.
    pub fn next_event(&self) -> Option<Time> {
        match self {
            Self::Block(block) => block.next_event(),
            Self::Ahci(device) => device.next_event(),
            Self::Ide(device) => device.next_event(),
        }
    }

    /// Returns whether the guest need not notify the device when it fills this queue.
    pub fn is_silent(&self, index: u16) -> bool {
        !matches!(self, Self::Block(_)) && index == INTERRUPTS
    }

    /// Switches the write cache, as the guest requested in the configuration space.
    pub fn set_write_cache(&mut self, on: bool) {
        if let Self::Block(block) = self {
            block.set_write_cache(on);
        }
    }

    /// Takes the available requests of a queue.
    pub fn kick(
        &mut self,
        now: Time,
        index: u16,
        queues: &mut Queues,
        memory: &mut impl Memory,
    ) -> Result<(), BlockError> {
        let queue = queues.get(index)?;
        match self {
            Self::Block(block) => block.kick(now, queue, memory),
            Self::Ahci(device) => device.kick(now, index, queue, memory),
            Self::Ide(device) => device.kick(now, index, queue, memory),
        }
    }

    /// Returns the registers that the guest may read without a message, and the time until which
    /// the processor waits for registers.
    pub fn mirror(&self) -> Option<(Mirror, Time)> {
        match self {
            Self::Ahci(device) => Some(device.function().mirror()),
            Self::Block(_) | Self::Ide(_) => None,
        }
    }

    /// Takes that time from a guest that has read registers without a message.
    pub fn wait_until(&mut self, waits: Time) {
        if let Self::Ahci(device) = self {
            device.function_mut().wait_until(waits);
        }
    }

    /// Carries out the events that are due at `now`; returns the queue for which the guest must be
    /// interrupted.
    pub fn advance(
        &mut self,
        now: Time,
        queues: &mut Queues,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> Result<Option<u16>, BlockError> {
        // A device interrupts for one queue only, so a single index is enough.
        let (index, wanted) = match self {
            Self::Block(block) => {
                (REQUESTS, block.advance(now, queues.get(REQUESTS)?, memory, done)?)
            }
            Self::Ahci(device) => {
                (INTERRUPTS, device.advance(now, queues.get(INTERRUPTS)?, memory, done)?)
            }
            Self::Ide(device) => {
                (INTERRUPTS, device.advance(now, queues.get(INTERRUPTS)?, memory, done)?)
            }
        };
        Ok(wanted.then_some(index))
    }
}
