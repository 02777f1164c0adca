//! Messages of `include/uapi/linux/fuse.h` (7.31 and later), in the host's byte order. Unused
//! fields begin with an underscore.

use drivelab_core::Bytes;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

pub(super) const BYTES_MAX: u32 = 1 << 20;

/// Requests that the kernel keeps in flight; three quarters of it count as congestion.
const BACKGROUND_MAX: u16 = 256;

/// `FUSE_ASYNC_READ`, `FUSE_BIG_WRITES`, `FUSE_ASYNC_DIO` (direct requests in parallel) and
/// `FUSE_MAX_PAGES`.
const FLAGS: u32 = 1 | 1 << 5 | 1 << 15 | 1 << 22;
/// `FUSE_INIT_EXT`: 32 more flags follow.
const MORE_FLAGS: u32 = 1 << 30;
/// `FUSE_DIRECT_IO_ALLOW_MMAP`, bit 36 of all, and so bit 4 of the extension (Linux 6.6): the file
/// can be mapped shared.
const ALLOW_MMAP: u32 = 1 << 4;
/// `FOPEN_DIRECT_IO` and `FOPEN_PARALLEL_DIRECT_WRITES`.
const OPEN_FLAGS: u32 = 1 | 1 << 6;
/// `S_IFREG | 0600`.
const MODE: u32 = 0o100_600;
/// Bits of a mode that `chmod` sets.
const PERMISSIONS: u32 = 0o7777;

/// `struct fuse_in_header`.
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Header {
    _bytes: u32,
    pub(super) opcode: u32,
    pub(super) unique: u64,
    _node_and_owner: [u64; 2],
    pub(super) pid: u32,
    _extensions: u32,
}

/// `struct fuse_init_in` as it was before 7.36; from then on `flags2` follows.
#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Init {
    _version: [u32; 2],
    read_ahead: u32,
    flags: u32,
}

/// `struct fuse_init_out`.
#[derive(FromZeros, IntoBytes, Immutable)]
#[repr(C)]
struct InitReply {
    version: [u32; 2],
    read_ahead: u32,
    flags: u32,
    background: u16,
    congestion: u16,
    write_bytes: u32,
    time_granularity_ns: u32,
    pages: u16,
    map_alignment: u16,
    more_flags: u32,
    unused: [u32; 7],
}

/// `struct fuse_setattr_in`, as far as the owner.
#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct SetAttributes {
    pub(super) valid: u32,
    _padding: u32,
    _handle: u64,
    pub(super) size: u64,
    _lock_owner: u64,
    _times_s: [u64; 3],
    _times_ns: [u32; 3],
    pub(super) mode: u32,
    _unused: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// `struct fuse_read_in` and `struct fuse_write_in`, which the data follow.
#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Transfer {
    _handle: u64,
    pub(super) offset: u64,
    pub(super) size: u32,
    _flags_of_kind: u32,
    _lock_owner: u64,
    /// The flags with which the file was opened.
    pub(super) flags: u32,
    _padding: u32,
}

/// `struct fuse_fallocate_in`.
#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Fallocate {
    _handle: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) mode: u32,
    _padding: u32,
}

/// `struct fuse_open_out`.
#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct OpenReply {
    handle: u64,
    flags: u32,
    backing: u32,
}

/// `struct fuse_attr_out`.
#[derive(FromZeros, IntoBytes, Immutable)]
#[repr(C)]
struct AttributesReply {
    valid_s: u64,
    valid_ns: u64,
    inode: u64,
    size: u64,
    blocks: u64,
    times_s: [u64; 3],
    times_ns: [u32; 3],
    mode: u32,
    links: u32,
    uid: u32,
    gid: u32,
    device: u32,
    block_bytes: u32,
    flags: u32,
}

/// `struct fuse_out_header`.
#[derive(IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct ReplyHeader {
    pub(super) bytes: u32,
    /// Negative.
    pub(super) error: i32,
    pub(super) unique: u64,
}

pub(super) fn init(message: &[u8]) -> Vec<u8> {
    // A message too short for the structure asks for no feature.
    let (asked, rest) = Init::read_from_prefix(message).unwrap_or((Init::new_zeroed(), &[]));
    let offered = u32::read_from_prefix(rest).map_or(0, |(flags, _)| flags);
    let more_flags = if asked.flags & MORE_FLAGS == 0 { 0 } else { offered & ALLOW_MMAP };
    // The extension (7.36) is announced only if it has a flag.
    let extended = if more_flags == 0 { 0 } else { MORE_FLAGS };
    let reply = InitReply {
        version: [7, 31],
        read_ahead: asked.read_ahead,
        flags: FLAGS & asked.flags | extended,
        background: BACKGROUND_MAX,
        congestion: BACKGROUND_MAX / 4 * 3,
        write_bytes: BYTES_MAX,
        time_granularity_ns: 1,
        pages: u16::try_from(BYTES_MAX / 4096).expect("256 pages"),
        more_flags,
        ..InitReply::new_zeroed()
    };
    reply.as_bytes().to_vec()
}

pub(super) fn opened(handle: u64) -> Vec<u8> {
    OpenReply { handle, flags: OPEN_FLAGS, backing: 0 }.as_bytes().to_vec()
}

impl SetAttributes {
    /// Returns whether it asks for a mode or an owner that the file does not have.
    pub(super) fn changes_owner_or_mode(&self) -> bool {
        /// `FATTR_MODE`, `FATTR_UID` and `FATTR_GID`.
        const SETS: [u32; 3] = [1, 1 << 1, 1 << 2];
        let [sets_mode, sets_uid, sets_gid] = SETS;
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        (self.valid & sets_mode != 0 && (self.mode ^ MODE) & PERMISSIONS != 0)
            || (self.valid & sets_uid != 0 && self.uid != uid)
            || (self.valid & sets_gid != 0 && self.gid != gid)
    }
}

/// Returns the file's attributes, valid for an hour: nothing but the server could change them.
pub(super) fn attributes(size: Bytes) -> Vec<u8> {
    let reply = AttributesReply {
        valid_s: 3600,
        inode: 1,
        size: size.get(),
        blocks: size.get() / 512,
        mode: MODE,
        links: 1,
        uid: rustix::process::getuid().as_raw(),
        gid: rustix::process::getgid().as_raw(),
        block_bytes: 4096,
        ..AttributesReply::new_zeroed()
    };
    reply.as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_can_be_mapped_where_the_kernel_knows_how() {
        let answered = |flags: u32, more: u32| {
            let body = init([7_u32, 31, 0, flags, more, 0].as_bytes());
            let number = |at: usize| u32::from_ne_bytes(body[at..at + 4].try_into().unwrap());
            (number(12) & MORE_FLAGS, number(32))
        };
        assert_eq!(answered(u32::MAX, u32::MAX), (MORE_FLAGS, ALLOW_MMAP));
        assert_eq!(answered(u32::MAX, 0), (0, 0));
        assert_eq!(answered(FLAGS, u32::MAX), (0, 0));
    }

    #[test]
    fn fields_lie_where_the_kernel_reads_them() {
        let number =
            |body: &[u8], at: usize| u32::from_ne_bytes(body[at..at + 4].try_into().unwrap());
        let body = attributes(Bytes::kib(8));
        assert_eq!(body.len(), 104);
        assert_eq!([24, 32, 76, 80, 96].map(|at| number(&body, at)), [8192, 16, MODE, 1, 4096]);
        let body = init([7_u32, 31, 4096, u32::MAX].as_bytes());
        assert_eq!(body.len(), 64);
        assert_eq!([8, 20, 24].map(|at| number(&body, at)), [4096, BYTES_MAX, 1]);
        assert_eq!((number(&body, 16), number(&body, 28)), (192 << 16 | 256, 256));
        assert_eq!((number(&opened(7), 0), number(&opened(7), 8)), (7, OPEN_FLAGS));
    }
}
