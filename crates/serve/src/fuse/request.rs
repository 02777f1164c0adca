//! The kernel's requests about one file.

use drivelab_core::Bytes;
use rustix::fs::OFlags;
use zerocopy::FromBytes as _;

use super::wire::{self, BYTES_MAX, Fallocate, Header, SetAttributes, Transfer};
use crate::task::{BlockRequest, Task};

const EPERM: i32 = 1;
const EINVAL: i32 = 22;
const EFBIG: i32 = 27;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

mod opcode {
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const SETATTR: u32 = 4;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const WRITE: u32 = 16;
    pub(super) const STATFS: u32 = 17;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FSYNC: u32 = 20;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const DESTROY: u32 = 38;
    pub(super) const BATCH_FORGET: u32 = 42;
    pub(super) const FALLOCATE: u32 = 43;
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A request that needs the drive.
    Request(BlockRequest),
    Answer(Vec<u8>),
    Error(i32),
    Open {
        pid: u32,
    },
    Release {
        handle: u64,
    },
    /// A message that needs no answer.
    Nothing,
}

impl Message {
    const DONE: Self = Self::Answer(Vec::new());

    /// Reads a message about a file of `size`; also returns its id. `None` if it is too short.
    pub(super) fn read(bytes: &[u8], size: Bytes) -> Option<(u64, Self)> {
        let (Header { opcode, unique, pid, .. }, body) = Header::read_from_prefix(bytes).ok()?;
        let message = match opcode {
            opcode::INIT => Ok(Self::Answer(wire::init(body))),
            opcode::GETATTR => Ok(Self::Answer(wire::attributes(size))),
            opcode::SETATTR => set_attributes(body, size),
            opcode::OPEN => Ok(Self::Open { pid }),
            opcode::RELEASE => read::<u64>(body).map(|(handle, _)| Self::Release { handle }),
            opcode::READ => ask_read(body, size.get()),
            opcode::WRITE => ask_write(body, size.get()),
            opcode::FALLOCATE => ask_fallocate(body, size.get()),
            opcode::FSYNC => Ok(Self::Request(BlockRequest::new(Task::Flush, 0, 0))),
            // A `struct fuse_kstatfs` of zeros: a drive is not a file system with free space.
            opcode::STATFS => Ok(Self::Answer(vec![0; 80])),
            opcode::FLUSH | opcode::DESTROY => Ok(Self::DONE),
            // The protocol has no reply to these three.
            opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT => Ok(Self::Nothing),
            // The kernel remembers this and does not send such a request again.
            _ => Err(ENOSYS),
        };
        Some((unique, message.unwrap_or_else(Self::Error)))
    }
}

fn read<T: zerocopy::FromBytes>(body: &[u8]) -> Result<(T, &[u8]), i32> {
    T::read_from_prefix(body).map_err(|_| EINVAL)
}

/// Size, mode and owner are fixed; setting a time has no effect.
fn set_attributes(body: &[u8], size: Bytes) -> Result<Message, i32> {
    /// `FATTR_SIZE`.
    const SETS_SIZE: u32 = 1 << 3;
    let (asked, _) = read::<SetAttributes>(body)?;
    if asked.valid & SETS_SIZE != 0 && asked.size != size.get() {
        return Err(EPERM);
    }
    // A success without an effect would be a promise that is not kept.
    if asked.changes_owner_or_mode() {
        return Err(EPERM);
    }
    Ok(Message::Answer(wire::attributes(size)))
}

/// A read or write and the data after it. Any range is answered, but with direct I/O only whole
/// sectors, as on every disk: without that error QEMU would round everything up to 4 KiB.
fn transfer(body: &[u8]) -> Result<(Transfer, &[u8]), i32> {
    let (asked, data) = read::<Transfer>(body)?;
    let direct = asked.flags & OFlags::DIRECT.bits() != 0;
    let aligned = asked.offset.is_multiple_of(512) && asked.size.is_multiple_of(512);
    if aligned || !direct { Ok((asked, data)) } else { Err(EINVAL) }
}

fn ask_read(body: &[u8], size: u64) -> Result<Message, i32> {
    let (Transfer { offset, size: length, .. }, _) = transfer(body)?;
    // A read at the end of a file is short, and beyond it empty.
    let length = u64::from(length.min(BYTES_MAX)).min(size.saturating_sub(offset));
    if length == 0 {
        return Ok(Message::DONE);
    }
    Ok(Message::Request(BlockRequest::new(Task::Read, offset, length)))
}

fn ask_write(body: &[u8], size: u64) -> Result<Message, i32> {
    let (Transfer { offset, size: length, .. }, data) = transfer(body)?;
    let data = data.get(..length as usize).ok_or(EINVAL)?;
    if data.is_empty() {
        return Ok(Message::Answer(vec![0; 8]));
    }
    // As on a full disk: the part that fits is written, and then nothing more.
    let room = size.checked_sub(offset).filter(|room| *room > 0).ok_or(ENOSPC)?;
    let data = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
    let request = BlockRequest::new(Task::Write, offset, data.len() as u64);
    Ok(Message::Request(BlockRequest { data: Some(data.into()), ..request }))
}

/// Punching holes and zeroing, as `losetup` passes on discards and zeroes.
fn ask_fallocate(body: &[u8], size: u64) -> Result<Message, i32> {
    const KEEP_SIZE: u32 = 1;
    const PUNCH_HOLE: u32 = 2;
    const ZERO_RANGE: u32 = 0x10;
    let (Fallocate { offset, length, mode, .. }, _) = read::<Fallocate>(body)?;
    let operation = mode & !KEEP_SIZE;
    if !matches!(operation, 0 | PUNCH_HOLE | ZERO_RANGE) {
        return Err(EOPNOTSUPP);
    }
    // Beyond the end there is nothing to punch, and nothing to zero in a file that keeps its size.
    // Everything else would make the drive larger.
    let clips = operation == PUNCH_HOLE || mode & KEEP_SIZE != 0 && operation == ZERO_RANGE;
    let end = offset.checked_add(length).ok_or(EFBIG)?;
    if end > size && !clips {
        return Err(ENOSPC);
    }
    let length = length.min(size.saturating_sub(offset));
    let task = match operation {
        PUNCH_HOLE if length > 0 => Task::Free,
        ZERO_RANGE if length > 0 => Task::Zero,
        _ => return Ok(Message::DONE),
    };
    debug_assert!(offset + length <= size, "clipped to the drive above");
    Ok(Message::Request(BlockRequest::new(task, offset, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::mib(1);

    /// A message with this opcode, and numbers of 64 bits after the header.
    fn parse(opcode: u32, numbers: &[u64], data: &[u8]) -> Message {
        let mut bytes = vec![0; 40];
        bytes[4..8].copy_from_slice(&opcode.to_ne_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend_from_slice(data);
        Message::read(&bytes, SIZE).unwrap().1
    }

    fn read(offset: u64, length: u64) -> Message {
        parse(opcode::READ, &[1, offset, length, 0, 0], &[])
    }

    #[test]
    fn reads_are_of_any_size_and_end_with_the_drive() {
        let asked =
            |offset, length| Message::Request(BlockRequest::new(Task::Read, offset, length));
        assert_eq!(read(512, 4096), asked(512, 4096));
        assert_eq!(read((1 << 20) - 512, 4096), asked((1 << 20) - 512, 512));
        assert_eq!(read(1 << 20, 4096), Message::Answer(Vec::new()));
        assert_eq!(read(100, 512), asked(100, 512));
        assert_eq!(read((1 << 20) - 1, 100), asked((1 << 20) - 1, 1));
    }

    #[test]
    fn direct_requests_are_whole_sectors() {
        let direct = u64::from(OFlags::DIRECT.bits());
        let read = |offset, length| parse(opcode::READ, &[1, offset, length, 0, direct], &[]);
        assert!(matches!(read(512, 4096), Message::Request(_)));
        assert_eq!(read(100, 512), Message::Error(EINVAL));
        assert_eq!(read(512, 100), Message::Error(EINVAL));
        let write = parse(opcode::WRITE, &[1, 0, 100, 0, direct], &[0; 100]);
        assert_eq!(write, Message::Error(EINVAL));
    }

    #[test]
    fn openings_and_closings_are_told_apart() {
        assert_eq!(parse(opcode::OPEN, &[0], &[]), Message::Open { pid: 0 });
        assert_eq!(parse(opcode::RELEASE, &[7, 0, 0], &[]), Message::Release { handle: 7 });
    }

    #[test]
    fn writes_carry_their_data_and_do_not_extend_the_drive() {
        let write = |offset, length: u64, data: &[u8]| {
            parse(opcode::WRITE, &[1, offset, length, 0, 0], data)
        };
        let data = [7; 512];
        let asked = |offset, data: &[u8]| {
            let request = BlockRequest::new(Task::Write, offset, data.len() as u64);
            Message::Request(BlockRequest { data: Some(data.into()), ..request })
        };
        assert_eq!(write(1024, 512, &data), asked(1024, &data));
        assert_eq!(write(1024, 512, &data[..100]), Message::Error(EINVAL));
        assert_eq!(write(1 << 20, 512, &data), Message::Error(ENOSPC));
        let offset = (1 << 20) - 100;
        assert_eq!(write(offset, 512, &data), asked(offset, &[7; 100]), "as much as fits");
        assert_eq!(write(u64::MAX - 511, 512, &data), Message::Error(ENOSPC));
    }

    #[test]
    fn holes_are_punched_and_other_changes_of_shape_refused() {
        let fallocate = |mode| parse(opcode::FALLOCATE, &[1, 4096, 8192, mode], &[]);
        let asked = |task| Message::Request(BlockRequest::new(task, 4096, 8192));
        assert_eq!(fallocate(3), asked(Task::Free));
        assert_eq!(fallocate(0x11), asked(Task::Zero));
        assert_eq!(fallocate(8), Message::Error(EOPNOTSUPP));
        assert_eq!(parse(999, &[], &[]), Message::Error(ENOSYS));
    }

    #[test]
    fn a_drive_is_not_made_larger() {
        let end = SIZE.get();
        let check = |offset: u64, length: u64, mode: u64, expected: Result<(), i32>| {
            let found = match parse(opcode::FALLOCATE, &[1, offset, length, mode], &[]) {
                Message::Error(errno) => Err(errno),
                _ => Ok(()),
            };
            assert_eq!(found, expected, "{offset}+{length}, mode {mode:#x}");
        };
        check(0, end, 0, Ok(()));
        check(0, 2 * end, 0, Err(ENOSPC));
        check(0, 2 * end, 1, Err(ENOSPC));
        check(end, 512, 0, Err(ENOSPC));
        check(0, 2 * end, 0x10, Err(ENOSPC));
        check(0, 2 * end, 0x11, Ok(()));
        check(0, 2 * end, 3, Ok(()));
        check(512, u64::MAX, 0, Err(EFBIG));
        check(end, 512, 8, Err(EOPNOTSUPP));
    }

    #[test]
    fn mode_and_owner_cannot_be_changed() {
        let own = u64::from(rustix::process::getuid().as_raw());
        let check = |valid: u64, mode: u64, uid: u64, is_done: bool| {
            // `valid`, handle, size, lock owner, times; then nanoseconds, mode, unused, owners.
            let gid = u64::from(rustix::process::getgid().as_raw());
            let numbers = [valid, 0, 0, 0, 0, 0, 0, 0, mode << 32, uid << 32, gid];
            let answer = parse(opcode::SETATTR, &numbers, &[]);
            assert_eq!(matches!(answer, Message::Answer(_)), is_done, "{valid} {mode:o} {uid}");
        };
        check(1, 0o600, own, true);
        check(1, 0o100_600, own, true);
        check(1, 0o666, own, false);
        check(2, 0o666, own, true);
        check(2, 0o600, own + 1, false);
        check(4, 0o666, own + 1, true);
        check(1 << 4, 0, 0, true);
    }

    proptest::proptest! {
        #[test]
        fn no_message_makes_it_panic(bytes: Vec<u8>, opcode in 0_u32..64) {
            let mut message = vec![0; 40];
            message[4..8].copy_from_slice(&opcode.to_ne_bytes());
            message.extend_from_slice(&bytes);
            Message::read(&message, SIZE).unwrap();
        }
    }
}
