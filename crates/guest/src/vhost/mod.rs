//! A virtio device at the end of a vhost-user socket: the protocol, as a state machine.
//!
//! Kicks and interrupts pass as messages (`INBAND_NOTIFICATIONS`), so that each is answered before
//! the other side continues: otherwise virtual time would depend on the host's scheduling.

mod wire;

use thiserror::Error;
use zerocopy::native_endian::U64;
use zerocopy::{FromBytes as _, IntoBytes as _};

pub use wire::{CALLED_BYTES, FILES_MAX, HEADER_BYTES, Header, PAYLOAD_MAX, call, was_called};

use crate::machine::{Feature, Hardware, Queues, Ring, WRITE_CACHE_AT};

/// A region of guest memory, in a file that came with the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Its guest-physical address.
    pub guest_address: u64,
    /// The number of bytes.
    pub length: u64,
    /// Its offset in its file.
    pub file_offset: u64,
    /// Its address in the guest's process, by which rings are named.
    user_address: u64,
}

/// The effect of a message on the device, which precedes the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Nothing outside the protocol.
    Nothing,
    /// Use this memory; each region has a file.
    Memory(Vec<Region>),
    /// Send interrupts to the file that came with the message.
    Interrupts,
    /// Use this queue, by its number.
    Queue(u16, Ring),
    /// Take what is available in the queue of this number.
    Kick(u16),
    /// Switch the write cache.
    WriteCache(bool),
}

/// The effect of a message, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The effect, which comes first.
    pub effect: Effect,
    /// The answer, if the message has one.
    pub reply: Option<Vec<u8>>,
}

/// A message that no guest should send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VhostError {
    /// A request that the device did not offer.
    #[error("vhost-user: request {0} is unknown")]
    Unknown(u32),
    /// The payload is too short for the request.
    #[error("vhost-user: request {0} is cut short")]
    Short(u32),
    /// More regions than files, or more than there may be.
    #[error("vhost-user: {regions} memory regions with {files} files")]
    Regions {
        /// Number of regions in the message.
        regions: u32,
        /// Number of files that came with it.
        files: usize,
    },
    /// A queue that the device does not have.
    #[error("vhost-user: queue {0} does not exist")]
    Queue(u32),
    /// A ring at an address that lies in no region.
    #[error("vhost-user: a ring at {0:#x}, which is not shared")]
    Ring(u64),
}

/// The state of the protocol.
#[derive(Debug)]
pub struct Session {
    hardware: Hardware,
    regions: Vec<Region>,
    queues: [Declared; Queues::COUNT],
}

/// Parameters of a queue that precede its addresses.
#[derive(Debug, Clone, Copy, Default)]
struct Declared {
    size: u16,
    base: u16,
}

impl Session {
    /// A session that offers this device.
    pub fn new(hardware: Hardware) -> Self {
        Self { hardware, regions: Vec::new(), queues: Default::default() }
    }

    /// Takes a message that came with `files` files.
    pub fn take(
        &mut self,
        header: Header,
        payload: &[u8],
        files: usize,
    ) -> Result<Step, VhostError> {
        let request = header.request.get();
        let effect = match request {
            wire::GET_FEATURES => return Ok(answer(request, &self.features().to_ne_bytes())),
            wire::GET_PROTOCOL_FEATURES => {
                return Ok(answer(request, &self.protocol_features().to_ne_bytes()));
            }
            wire::GET_CONFIG => return Ok(answer(request, &self.read_config(payload)?)),
            wire::SET_CONFIG => self.write_config(payload)?,
            wire::SET_MEM_TABLE => self.set_memory(payload, files)?,
            wire::SET_VRING_NUM => {
                let (index, number) = of_queue(request, payload)?;
                self.queues[usize::from(index)].size = number;
                Effect::Nothing
            }
            wire::SET_VRING_BASE => {
                let (index, number) = of_queue(request, payload)?;
                self.queues[usize::from(index)].base = number;
                Effect::Nothing
            }
            wire::SET_VRING_ADDR => {
                let (index, ring) = self.ring(payload)?;
                Effect::Queue(index, ring)
            }
            wire::VRING_KICK => Effect::Kick(of_queue(request, payload)?.0),
            wire::SET_SLAVE_REQ_FD if files == 1 => Effect::Interrupts,
            wire::SET_SLAVE_REQ_FD => return Err(VhostError::Short(request)),
            // The device works as soon as its queues are set, with all that it offered.
            wire::SET_FEATURES
            | wire::SET_PROTOCOL_FEATURES
            | wire::SET_OWNER
            | wire::SET_VRING_ENABLE => Effect::Nothing,
            _ => return Err(VhostError::Unknown(request)),
        };
        // Requests without a specified answer are acknowledged on demand (REPLY_ACK).
        let wanted = header.flags.get() & wire::NEED_REPLY != 0;
        let done = U64::new(0);
        Ok(Step { effect, reply: wanted.then(|| wire::reply(request, done.as_bytes())) })
    }

    fn features(&self) -> u64 {
        match self.hardware {
            Hardware::Block(_) => Feature::offered(&Feature::OF_BLOCK),
            Hardware::Ahci(_) | Hardware::Ide(..) => Feature::offered(&Feature::OF_ALL),
        }
    }

    fn protocol_features(&self) -> u64 {
        match self.hardware {
            Hardware::Block(_) => wire::PROTOCOL_FEATURES | wire::WITH_CONFIG,
            Hardware::Ahci(_) | Hardware::Ide(..) => wire::PROTOCOL_FEATURES,
        }
    }

    fn read_config(&self, payload: &[u8]) -> Result<Vec<u8>, VhostError> {
        let short = VhostError::Short(wire::GET_CONFIG);
        let (head, _) = wire::ConfigHead::read_from_prefix(payload).map_err(|_| short)?;
        let Hardware::Block(config) = &self.hardware else { return Err(short) };
        let config = config.to_bytes();
        let (from, length) = (head.offset.get() as usize, head.length.get() as usize);
        let mut answer = head.as_bytes().to_vec();
        // A guest of a later version may ask for more than there is: that reads as zeros.
        let end = answer.len() + length;
        if end > PAYLOAD_MAX {
            return Err(short);
        }
        let known = config.get(from..config.len().min(from.saturating_add(length)));
        answer.extend(known.unwrap_or_default());
        answer.resize(end, 0);
        Ok(answer)
    }

    fn write_config(&mut self, payload: &[u8]) -> Result<Effect, VhostError> {
        let short = VhostError::Short(wire::SET_CONFIG);
        let (head, bytes) = wire::ConfigHead::read_from_prefix(payload).map_err(|_| short)?;
        // Everything else in the space is read-only.
        if head.offset.get() as usize != WRITE_CACHE_AT {
            return Ok(Effect::Nothing);
        }
        let on = *bytes.first().ok_or(short)? != 0;
        let Hardware::Block(config) = &mut self.hardware else { return Err(short) };
        config.write_cache = on;
        Ok(Effect::WriteCache(on))
    }

    fn set_memory(&mut self, payload: &[u8], files: usize) -> Result<Effect, VhostError> {
        let short = VhostError::Short(wire::SET_MEM_TABLE);
        let (head, rest) = wire::TableHead::read_from_prefix(payload).map_err(|_| short)?;
        let regions = head.regions.get();
        let count = regions as usize;
        // A region without its file could not be mapped, and a file without a region would leak.
        if count > FILES_MAX || count != files {
            return Err(VhostError::Regions { regions, files });
        }
        let (table, _) =
            <[wire::RawRegion]>::ref_from_prefix_with_elems(rest, count).map_err(|_| short)?;
        let regions = table.iter().map(|raw| Region {
            guest_address: raw.guest_address.get(),
            length: raw.length.get(),
            file_offset: raw.file_offset.get(),
            user_address: raw.user_address.get(),
        });
        self.regions = regions.collect();
        Ok(Effect::Memory(self.regions.clone()))
    }

    fn ring(&self, payload: &[u8]) -> Result<(u16, Ring), VhostError> {
        let short = VhostError::Short(wire::SET_VRING_ADDR);
        let (raw, _) = wire::VringAddresses::read_from_prefix(payload).map_err(|_| short)?;
        let index = queue_index(raw.index.get())?;
        debug_assert!(usize::from(index) < Queues::COUNT, "checked with the message");
        let Declared { size, base } = self.queues[usize::from(index)];
        let ring = Ring {
            size,
            descriptors: self.guest_address(raw.descriptors.get())?,
            available: self.guest_address(raw.available.get())?,
            used: self.guest_address(raw.used.get())?,
            base,
        };
        Ok((index, ring))
    }

    /// Converts an address in the guest's process, by which rings are named, to a guest-physical
    /// one.
    fn guest_address(&self, user: u64) -> Result<u64, VhostError> {
        for region in &self.regions {
            if let Some(at) = user.checked_sub(region.user_address)
                && at < region.length
            {
                return Ok(at.wrapping_add(region.guest_address));
            }
        }
        Err(VhostError::Ring(user))
    }
}

/// An answer without an effect.
fn answer(request: u32, payload: &[u8]) -> Step {
    Step { effect: Effect::Nothing, reply: Some(wire::reply(request, payload)) }
}

/// Returns the queue and the number in a message about it.
fn of_queue(request: u32, payload: &[u8]) -> Result<(u16, u16), VhostError> {
    let short = VhostError::Short(request);
    let (state, _) = wire::VringState::read_from_prefix(payload).map_err(|_| short)?;
    let number = u16::try_from(state.number.get()).map_err(|_| short)?;
    Ok((queue_index(state.index.get())?, number))
}

fn queue_index(index: u32) -> Result<u16, VhostError> {
    let known = u16::try_from(index).ok().filter(|index| usize::from(*index) < Queues::COUNT);
    known.ok_or(VhostError::Queue(index))
}

#[cfg(test)]
mod tests;
