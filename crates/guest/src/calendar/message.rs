//! Messages of the time-travel protocol (`include/uapi/linux/um_timetravel.h` of Linux 6.12).

use zerocopy::native_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The number of bytes of a message.
pub const MESSAGE_BYTES: usize = size_of::<Raw>();

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Raw {
    op: U32,
    sequence: U32,
    time: U64,
}

/// The operation of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Op {
    /// The answer to the message of the same sequence number.
    Ack = 0,
    /// The guest connects.
    Start = 1,
    /// The guest wants to run at a time.
    Request = 2,
    /// The guest waits until it may run.
    Wait = 3,
    /// The guest asks for the time.
    Get = 4,
    /// The guest has moved the time.
    Update = 5,
    /// The guest may run.
    Run = 6,
    /// The guest may move the time by itself, up to a limit.
    FreeUntil = 7,
    /// The guest asks for the time of day.
    GetTimeOfDay = 8,
    /// The guest broadcasts a message to all others.
    Broadcast = 9,
}

const OPS: [Op; 10] = [
    Op::Ack,
    Op::Start,
    Op::Request,
    Op::Wait,
    Op::Get,
    Op::Update,
    Op::Run,
    Op::FreeUntil,
    Op::GetTimeOfDay,
    Op::Broadcast,
];

/// One message, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Its operation.
    pub op: Op,
    /// An acknowledgement repeats the number of what it answers.
    pub sequence: u32,
    /// A time in nanoseconds; each [`Op`] has its own use for it.
    pub time: u64,
}

impl Message {
    /// Reads a message; `None` where no such operation exists.
    pub fn from_bytes(bytes: [u8; MESSAGE_BYTES]) -> Option<Self> {
        let raw: Raw = zerocopy::transmute!(bytes);
        let op = OPS.get(usize::try_from(raw.op.get()).ok()?)?;
        debug_assert_eq!(*op as u32, raw.op.get(), "the table is in the order of the numbers");
        Some(Self { op: *op, sequence: raw.sequence.get(), time: raw.time.get() })
    }

    /// The message as it is sent.
    pub fn to_bytes(self) -> [u8; MESSAGE_BYTES] {
        let (op, sequence) = (U32::new(self.op as u32), U32::new(self.sequence));
        zerocopy::transmute!(Raw { op, sequence, time: U64::new(self.time) })
    }
}
