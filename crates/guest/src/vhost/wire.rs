//! Messages of the vhost-user protocol (QEMU's `docs/interop/vhost-user.rst`).

use zerocopy::native_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The number of bytes before the payload of a message.
pub const HEADER_BYTES: usize = size_of::<Header>();
/// The largest payload that a guest sends: a configuration space, or eight memory regions.
pub const PAYLOAD_MAX: usize = 512;
/// The most files that come with a message: one for each memory region.
pub const FILES_MAX: usize = 8;

/// The header of a message.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Header {
    pub(super) request: U32,
    pub(super) flags: U32,
    pub(super) length: U32,
}

impl Header {
    /// The length of the payload; `None` where it exceeds [`PAYLOAD_MAX`].
    pub(crate) fn payload_bytes(self) -> Option<usize> {
        usize::try_from(self.length.get()).ok().filter(|length| *length <= PAYLOAD_MAX)
    }
}

/// The version of the protocol, in the flags.
const VERSION: u32 = 1;
const REPLY: u32 = 4;
/// The sender requests an acknowledgement.
pub(super) const NEED_REPLY: u32 = 8;

pub(super) const GET_FEATURES: u32 = 1;
pub(super) const SET_FEATURES: u32 = 2;
pub(super) const SET_OWNER: u32 = 3;
pub(super) const SET_MEM_TABLE: u32 = 5;
pub(super) const SET_VRING_NUM: u32 = 8;
pub(super) const SET_VRING_ADDR: u32 = 9;
pub(super) const SET_VRING_BASE: u32 = 10;
pub(super) const GET_PROTOCOL_FEATURES: u32 = 15;
pub(super) const SET_PROTOCOL_FEATURES: u32 = 16;
pub(super) const SET_VRING_ENABLE: u32 = 18;
pub(super) const SET_SLAVE_REQ_FD: u32 = 21;
pub(super) const GET_CONFIG: u32 = 24;
pub(super) const SET_CONFIG: u32 = 25;
pub(super) const VRING_KICK: u32 = 35;
/// A request of the device.
const SLAVE_VRING_CALL: u32 = 4;

/// Protocol features of every device: `REPLY_ACK`, `SLAVE_REQ`, `INBAND_NOTIFICATIONS`.
pub(super) const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 14;
/// `CONFIG`: the device has a configuration space.
pub(super) const WITH_CONFIG: u64 = 1 << 9;

#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct VringState {
    pub(super) index: U32,
    pub(super) number: U32,
}

#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct VringAddresses {
    pub(super) index: U32,
    pub(super) flags: U32,
    pub(super) descriptors: U64,
    pub(super) used: U64,
    pub(super) available: U64,
    pub(super) log: U64,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Clone, Copy)]
#[repr(C)]
pub(super) struct ConfigHead {
    pub(super) offset: U32,
    pub(super) length: U32,
    pub(super) flags: U32,
}

#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct TableHead {
    pub(super) regions: U32,
    pub(super) padding: U32,
}

#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct RawRegion {
    pub(super) guest_address: U64,
    pub(super) length: U64,
    pub(super) user_address: U64,
    pub(super) file_offset: U64,
}

/// The answer to a request.
pub(super) fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    message(request, VERSION | REPLY, payload)
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    debug_assert!(payload.len() <= PAYLOAD_MAX, "both sides use one limit");
    let length = u32::try_from(payload.len()).expect("our messages are short");
    let header = Header { request: request.into(), flags: flags.into(), length: length.into() };
    [header.as_bytes(), payload].concat()
}

/// An interrupt of a queue, which the guest must acknowledge.
pub fn call(index: u16) -> Vec<u8> {
    let payload = u64::from(index).to_le_bytes();
    message(SLAVE_VRING_CALL, VERSION | NEED_REPLY, &payload)
}

/// The number of bytes of the acknowledgement of a [`call`].
pub const CALLED_BYTES: usize = HEADER_BYTES + 8;

/// Returns whether an acknowledgement reports that the interrupt was taken.
pub fn was_called(bytes: &[u8; CALLED_BYTES]) -> bool {
    let (header, status) = bytes.split_at(HEADER_BYTES);
    let header = Header::read_from_bytes(header).expect("it has the length of a header");
    header.request.get() == SLAVE_VRING_CALL
        && header.flags.get() & REPLY != 0
        && status.iter().all(|byte| *byte == 0)
}
