//! A virtio block device at the end of a vhost-user socket: the protocol, as a state machine.
//!
//! Kicks and interrupts pass as messages (`INBAND_NOTIFICATIONS`), so that each is answered before
//! the other side goes on: without that, virtual time would depend on who is scheduled first.

mod wire;

use thiserror::Error;
use zerocopy::native_endian::U64;
use zerocopy::{FromBytes as _, IntoBytes as _};

pub use wire::{CALLED_BYTES, FILES_MAX, HEADER_BYTES, Header, PAYLOAD_MAX, call, was_called};

use crate::machine::{BlockConfig, Feature, Ring, WRITE_CACHE_AT};

/// A stretch of guest memory, in a file that came with the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where the guest has it.
    pub guest_address: u64,
    /// The number of bytes.
    pub length: u64,
    /// Where it begins in its file.
    pub file_offset: u64,
    /// By what it must be shifted where the guest names an address of its own process.
    user_address: u64,
}

/// What a message makes the device do, before it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Nothing outside the protocol.
    Nothing,
    /// Use this memory; each region has a file.
    Memory(Vec<Region>),
    /// Send interrupts to the file that came with the message.
    Interrupts,
    /// Use this queue.
    Queue(Ring),
    /// Take what is available in the queue.
    Kick,
    /// Switch the write cache.
    WriteCache(bool),
}

/// What to do about a message, and what to answer then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// To be done first.
    pub effect: Effect,
    /// To be sent then.
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
        /// As the message says.
        regions: u32,
        /// That came with it.
        files: usize,
    },
    /// Another queue than the only one.
    #[error("vhost-user: queue {0} does not exist")]
    Queue(u32),
    /// A ring at an address that lies in no region.
    #[error("vhost-user: a ring at {0:#x}, which is not shared")]
    Ring(u64),
}

/// The state of the protocol.
#[derive(Debug)]
pub struct Session {
    config: BlockConfig,
    regions: Vec<Region>,
    size: u16,
    base: u16,
}

impl Session {
    /// A session that offers a device of this configuration.
    pub fn new(config: BlockConfig) -> Self {
        Self { config, regions: Vec::new(), size: 0, base: 0 }
    }

    /// Takes a message that came with `files` files.
    pub fn take(
        &mut self,
        header: Header,
        payload: &[u8],
        files: usize,
    ) -> Result<Step, VhostError> {
        let request = header.request.get();
        let answer = |payload: &[u8]| {
            let reply = Some(wire::reply(request, payload));
            Ok(Step { effect: Effect::Nothing, reply })
        };
        let effect = match request {
            wire::GET_FEATURES => return answer(&Feature::offered().to_ne_bytes()),
            wire::GET_PROTOCOL_FEATURES => return answer(&wire::PROTOCOL_FEATURES.to_ne_bytes()),
            wire::GET_CONFIG => return answer(&self.read_config(payload)?),
            wire::SET_CONFIG => self.write_config(payload)?,
            wire::SET_MEM_TABLE => self.set_memory(payload, files)?,
            wire::SET_VRING_NUM => {
                let number = of_queue(request, payload)?;
                self.size = u16::try_from(number).map_err(|_| VhostError::Short(request))?;
                Effect::Nothing
            }
            wire::SET_VRING_BASE => {
                let number = of_queue(request, payload)?;
                self.base = u16::try_from(number).map_err(|_| VhostError::Short(request))?;
                Effect::Nothing
            }
            wire::SET_VRING_ADDR => Effect::Queue(self.ring(payload)?),
            wire::VRING_KICK => {
                of_queue(request, payload)?;
                Effect::Kick
            }
            wire::SET_SLAVE_REQ_FD if files == 1 => Effect::Interrupts,
            wire::SET_SLAVE_REQ_FD => return Err(VhostError::Short(request)),
            wire::SET_FEATURES
            | wire::SET_PROTOCOL_FEATURES
            | wire::SET_OWNER
            | wire::SET_VRING_ENABLE => Effect::Nothing,
            _ => return Err(VhostError::Unknown(request)),
        };
        let wanted = header.flags.get() & wire::NEED_REPLY != 0;
        let done = U64::new(0);
        Ok(Step { effect, reply: wanted.then(|| wire::reply(request, done.as_bytes())) })
    }

    fn read_config(&self, payload: &[u8]) -> Result<Vec<u8>, VhostError> {
        let short = VhostError::Short(wire::GET_CONFIG);
        let (head, _) = wire::ConfigHead::read_from_prefix(payload).map_err(|_| short)?;
        let config = self.config.to_bytes();
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
        if head.offset.get() as usize != WRITE_CACHE_AT {
            return Ok(Effect::Nothing);
        }
        let on = *bytes.first().ok_or(short)? != 0;
        self.config.write_cache = on;
        Ok(Effect::WriteCache(on))
    }

    fn set_memory(&mut self, payload: &[u8], files: usize) -> Result<Effect, VhostError> {
        let short = VhostError::Short(wire::SET_MEM_TABLE);
        let (head, rest) = wire::TableHead::read_from_prefix(payload).map_err(|_| short)?;
        let regions = head.regions.get();
        let count = regions as usize;
        if count > FILES_MAX || count != files {
            return Err(VhostError::Regions { regions, files });
        }
        let (table, _) =
            <[wire::RawRegion]>::ref_from_prefix_with_elems(rest, count).map_err(|_| short)?;
        let region = |raw: &wire::RawRegion| Region {
            guest_address: raw.guest_address.get(),
            length: raw.length.get(),
            file_offset: raw.file_offset.get(),
            user_address: raw.user_address.get(),
        };
        self.regions = table.iter().map(region).collect();
        Ok(Effect::Memory(self.regions.clone()))
    }

    fn ring(&self, payload: &[u8]) -> Result<Ring, VhostError> {
        let short = VhostError::Short(wire::SET_VRING_ADDR);
        let (raw, _) = wire::VringAddresses::read_from_prefix(payload).map_err(|_| short)?;
        if raw.index.get() != 0 {
            return Err(VhostError::Queue(raw.index.get()));
        }
        Ok(Ring {
            size: self.size,
            descriptors: self.guest_address(raw.descriptors.get())?,
            available: self.guest_address(raw.available.get())?,
            used: self.guest_address(raw.used.get())?,
            base: self.base,
        })
    }

    /// Rings are named by addresses of the guest's process, buffers by guest-physical ones.
    fn guest_address(&self, user: u64) -> Result<u64, VhostError> {
        let within = |region: &&Region| {
            user.checked_sub(region.user_address).is_some_and(|at| at < region.length)
        };
        let region = self.regions.iter().find(within).ok_or(VhostError::Ring(user))?;
        Ok((user - region.user_address).wrapping_add(region.guest_address))
    }
}

/// The number in a message about the only queue.
fn of_queue(request: u32, payload: &[u8]) -> Result<u32, VhostError> {
    let state = wire::VringState::read_from_prefix(payload);
    let (state, _) = state.map_err(|_| VhostError::Short(request))?;
    match state.index.get() {
        0 => Ok(state.number.get()),
        other => Err(VhostError::Queue(other)),
    }
}

#[cfg(test)]
mod tests;
