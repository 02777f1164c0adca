//! Messages of the protocol description, in big-endian byte order.

use zerocopy::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub(super) const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST: u32 = 0x2560_9513;
const SIMPLE_REPLY: u32 = 0x6744_6698;
const STRUCTURED_REPLY: u32 = 0x668e_33ef;
/// `NBD_REPLY_FLAG_DONE`: this chunk is the last.
const DONE: u16 = 1;

/// The header of an option.
#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct OptionHeader {
    pub(super) magic: U64,
    pub(super) option: U32,
    pub(super) length: U32,
}

#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct OptionReply {
    magic: U64,
    option: U32,
    kind: U32,
    length: U32,
}

/// The header of a request.
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct RequestHeader {
    pub(super) magic: U32,
    pub(super) flags: U16,
    pub(super) kind: U16,
    pub(super) cookie: U64,
    pub(super) offset: U64,
    pub(super) length: U32,
}

#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct SimpleReply {
    magic: U32,
    error: U32,
    cookie: U64,
}

#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct Chunk {
    magic: U32,
    flags: U16,
    kind: U16,
    cookie: U64,
    length: U32,
}

/// Answers an option.
pub(super) fn put_option_reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    let length = u32::try_from(data.len()).expect("our answers are short").into();
    let (option, kind) = (option.into(), kind.into());
    let reply = OptionReply { magic: OPTION_REPLY.into(), option, kind, length };
    out.extend_from_slice(reply.as_bytes());
    out.extend_from_slice(data);
}

/// Answers a request without data.
pub(super) fn put_simple(out: &mut Vec<u8>, cookie: u64, error: u32) {
    let (error, cookie) = (error.into(), cookie.into());
    out.extend_from_slice(SimpleReply { magic: SIMPLE_REPLY.into(), error, cookie }.as_bytes());
}

/// The header of a chunk that is also the last.
pub(super) fn put_chunk(out: &mut Vec<u8>, cookie: u64, kind: u16, length: u32) {
    let (magic, flags) = (STRUCTURED_REPLY.into(), DONE.into());
    let (kind, cookie, length) = (kind.into(), cookie.into(), length.into());
    out.extend_from_slice(Chunk { magic, flags, kind, cookie, length }.as_bytes());
}
