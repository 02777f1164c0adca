//! Messages of the kernel: as much of `include/uapi/linux/fuse.h` (7.31 and later) as one file
//! needs. Numbers are in the host's byte order.

use drivelab_core::Bytes;
use rustix::fs::OFlags;

/// The most that one request carries.
pub(super) const MOST_BYTES: u32 = 1 << 20;

/// Requests the kernel keeps in flight; congestion at three quarters.
const MAX_BACKGROUND: u16 = 256;

const EPERM: i32 = 1;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// `S_IFREG | 0600`.
const MODE: u32 = 0o100_600;

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

/// `FUSE_ASYNC_READ`, `FUSE_BIG_WRITES`, `FUSE_ASYNC_DIO` (direct requests in parallel) and
/// `FUSE_MAX_PAGES`.
const FLAGS: u32 = 1 | 1 << 5 | 1 << 15 | 1 << 22;
/// `FUSE_INIT_EXT`: there are 32 flags more.
const MORE_FLAGS: u32 = 1 << 30;
/// Of those `FUSE_DIRECT_IO_ALLOW_MMAP`, bit 36 of all (Linux 6.6): the file can be mapped shared.
const ALLOW_MMAP: u32 = 1 << 4;
/// `FOPEN_DIRECT_IO` and `FOPEN_PARALLEL_DIRECT_WRITES`.
const OPEN_FLAGS: u32 = 1 | 1 << 6;
/// `FATTR_SIZE`.
const SETS_SIZE: u32 = 1 << 3;

/// What the drive has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Data.
    Read {
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// These bytes written.
    Write {
        /// First byte.
        offset: u64,
        /// The bytes.
        data: Box<[u8]>,
    },
    /// The range freed: a hole punched.
    Free {
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// The range zeroed, and still allocated.
    Zero {
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// Everything acknowledged durable.
    Flush,
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    Asked(Asked),
    Answer(Vec<u8>),
    Error(i32),
    /// A process opens the file.
    Open {
        pid: u32,
    },
    /// What was opened under this number is closed.
    Release {
        handle: u64,
    },
    /// It wants no answer.
    Nothing,
}

/// A message and its header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming<'a> {
    pub(super) unique: u64,
    opcode: u32,
    pid: u32,
    body: &'a [u8],
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

impl<'a> Incoming<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let body = bytes.get(40..)?;
        let (opcode, pid) = (u32_at(bytes, 4)?, u32_at(bytes, 32)?);
        Some(Self { unique: u64_at(bytes, 8)?, opcode, pid, body })
    }

    /// What a message means on a file of `size`.
    pub(super) fn parse(&self, size: Bytes) -> Parsed {
        let size = size.get();
        match self.opcode {
            opcode::INIT => Parsed::Answer(self.init()),
            opcode::GETATTR => Parsed::Answer(attributes(size)),
            opcode::SETATTR => self.set_attributes(size),
            opcode::OPEN => Parsed::Open { pid: self.pid },
            opcode::RELEASE => match u64_at(self.body, 0) {
                Some(handle) => Parsed::Release { handle },
                None => Parsed::Error(EINVAL),
            },
            opcode::READ => self.ask_read(size).unwrap_or_else(Parsed::Error),
            opcode::WRITE => self.ask_write(size).unwrap_or_else(Parsed::Error),
            opcode::FALLOCATE => self.ask_fallocate(size).unwrap_or_else(Parsed::Error),
            opcode::FSYNC => Parsed::Asked(Asked::Flush),
            opcode::STATFS => Parsed::Answer(vec![0; 80]),
            opcode::FLUSH | opcode::DESTROY => Parsed::Answer(Vec::new()),
            opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT => Parsed::Nothing,
            _ => Parsed::Error(ENOSYS),
        }
    }

    fn init(&self) -> Vec<u8> {
        let read_ahead = u32_at(self.body, 8).unwrap_or(0);
        let offered = u32_at(self.body, 12).unwrap_or(0);
        let mut body = vec![0; 64];
        let mut put = |place: usize, bytes: &[u8]| {
            body[place..place + bytes.len()].copy_from_slice(bytes);
        };
        put(0, &7_u32.to_ne_bytes());
        put(4, &31_u32.to_ne_bytes());
        put(8, &read_ahead.to_ne_bytes());
        let more = if offered & MORE_FLAGS == 0 { None } else { u32_at(self.body, 16) };
        let more = more.map_or(0, |offered| offered & ALLOW_MMAP);
        let extended = if more == 0 { 0 } else { MORE_FLAGS };
        put(12, &(FLAGS & offered | extended).to_ne_bytes());
        put(32, &more.to_ne_bytes());
        put(16, &MAX_BACKGROUND.to_ne_bytes());
        put(18, &(MAX_BACKGROUND / 4 * 3).to_ne_bytes());
        put(20, &MOST_BYTES.to_ne_bytes());
        put(24, &1_u32.to_ne_bytes());
        let pages = u16::try_from(MOST_BYTES / 4096).expect("256 pages");
        put(28, &pages.to_ne_bytes());
        body
    }

    /// A drive keeps its size; whatever else is set changes nothing.
    fn set_attributes(&self, size: u64) -> Parsed {
        let sets_size = u32_at(self.body, 0).is_some_and(|valid| valid & SETS_SIZE != 0);
        if sets_size && u64_at(self.body, 16) != Some(size) {
            return Parsed::Error(EPERM);
        }
        Parsed::Answer(attributes(size))
    }

    /// Offset and length of a read or write: any, but whole sectors from those who asked for
    /// direct I/O, as of every disk. Without that error QEMU would round everything up to 4 KiB.
    fn range(&self) -> Result<(u64, u64), i32> {
        let offset = u64_at(self.body, 8).ok_or(EINVAL)?;
        let length = u64::from(u32_at(self.body, 16).ok_or(EINVAL)?);
        let direct = u32_at(self.body, 32).ok_or(EINVAL)? & OFlags::DIRECT.bits() != 0;
        let aligned = offset.is_multiple_of(512) && length.is_multiple_of(512);
        if aligned || !direct { Ok((offset, length)) } else { Err(EINVAL) }
    }

    fn ask_read(&self, size: u64) -> Result<Parsed, i32> {
        let (offset, length) = self.range()?;
        let length = length.min(u64::from(MOST_BYTES));
        let length = length.min(size.saturating_sub(offset));
        if length == 0 {
            return Ok(Parsed::Answer(Vec::new()));
        }
        Ok(Parsed::Asked(Asked::Read { offset, length }))
    }

    fn ask_write(&self, size: u64) -> Result<Parsed, i32> {
        let (offset, length) = self.range()?;
        let bytes = usize::try_from(length).map_err(|_| EINVAL)?;
        let data = self.body.get(40..40 + bytes).ok_or(EINVAL)?;
        if data.is_empty() {
            return Ok(Parsed::Answer(vec![0; 8]));
        }
        // As on a disk that is full: what fits is written, and then nothing more.
        let room = size.checked_sub(offset).filter(|room| *room > 0).ok_or(ENOSPC)?;
        let data = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        Ok(Parsed::Asked(Asked::Write { offset, data: data.into() }))
    }

    /// Punching holes and zeroing, as `losetup` passes discards and zeroes on.
    fn ask_fallocate(&self, size: u64) -> Result<Parsed, i32> {
        const KEEP_SIZE: u32 = 1;
        const PUNCH_HOLE: u32 = 2;
        const ZERO_RANGE: u32 = 0x10;
        let offset = u64_at(self.body, 8).ok_or(EINVAL)?;
        let length = u64_at(self.body, 16).ok_or(EINVAL)?;
        let mode = u32_at(self.body, 24).ok_or(EINVAL)?;
        let length = length.min(size.saturating_sub(offset));
        if length == 0 {
            return Ok(Parsed::Answer(Vec::new()));
        }
        match mode & !KEEP_SIZE {
            PUNCH_HOLE => Ok(Parsed::Asked(Asked::Free { offset, length })),
            ZERO_RANGE => Ok(Parsed::Asked(Asked::Zero { offset, length })),
            0 => Ok(Parsed::Answer(Vec::new())),
            _ => Err(EOPNOTSUPP),
        }
    }
}

/// The answer to an opening.
pub(super) fn opened(handle: u64) -> Vec<u8> {
    let mut body = vec![0; 16];
    body[..8].copy_from_slice(&handle.to_ne_bytes());
    body[8..12].copy_from_slice(&OPEN_FLAGS.to_ne_bytes());
    body
}

/// The answer to a question about the file's attributes, good for an hour.
fn attributes(size: u64) -> Vec<u8> {
    let mut body = vec![0; 104];
    let mut put = |place: usize, bytes: &[u8]| {
        body[place..place + bytes.len()].copy_from_slice(bytes);
    };
    put(0, &3600_u64.to_ne_bytes());
    put(16, &1_u64.to_ne_bytes());
    put(24, &size.to_ne_bytes());
    put(32, &(size / 512).to_ne_bytes());
    put(76, &MODE.to_ne_bytes());
    put(80, &1_u32.to_ne_bytes());
    put(84, &rustix::process::getuid().as_raw().to_ne_bytes());
    put(88, &rustix::process::getgid().as_raw().to_ne_bytes());
    put(96, &4096_u32.to_ne_bytes());
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::mib(1);

    /// A message with this opcode, and numbers of 64 bits after the header.
    fn parse(opcode: u32, numbers: &[u64], data: &[u8]) -> Parsed {
        let mut bytes = vec![0; 40];
        bytes[4..8].copy_from_slice(&opcode.to_ne_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend_from_slice(data);
        Incoming::read(&bytes).unwrap().parse(SIZE)
    }

    fn read(offset: u64, length: u64) -> Parsed {
        parse(opcode::READ, &[1, offset, length, 0, 0], &[])
    }

    #[test]
    fn reads_are_of_any_size_and_end_with_the_drive() {
        let asked = |offset, length| Parsed::Asked(Asked::Read { offset, length });
        assert_eq!(read(512, 4096), asked(512, 4096));
        assert_eq!(read((1 << 20) - 512, 4096), asked((1 << 20) - 512, 512));
        assert_eq!(read(1 << 20, 4096), Parsed::Answer(Vec::new()));
        assert_eq!(read(100, 512), asked(100, 512));
        assert_eq!(read((1 << 20) - 1, 100), asked((1 << 20) - 1, 1));
    }

    #[test]
    fn direct_requests_are_whole_sectors() {
        let direct = u64::from(OFlags::DIRECT.bits());
        let read = |offset, length| parse(opcode::READ, &[1, offset, length, 0, direct], &[]);
        assert!(matches!(read(512, 4096), Parsed::Asked(Asked::Read { .. })));
        assert_eq!(read(100, 512), Parsed::Error(EINVAL));
        assert_eq!(read(512, 100), Parsed::Error(EINVAL));
        let write = parse(opcode::WRITE, &[1, 0, 100, 0, direct], &[0; 100]);
        assert_eq!(write, Parsed::Error(EINVAL));
    }

    #[test]
    fn the_file_can_be_mapped_where_the_kernel_knows_how() {
        let answered = |flags: u32, more: u32| {
            let first = u64::from(31_u32) << 32 | 7;
            let second = u64::from(flags) << 32;
            let Parsed::Answer(body) =
                parse(opcode::INIT, &[first, second, u64::from(more), 0], &[])
            else {
                panic!("it is answered")
            };
            (u32_at(&body, 12).unwrap() & MORE_FLAGS, u32_at(&body, 32).unwrap())
        };
        assert_eq!(answered(u32::MAX, u32::MAX), (MORE_FLAGS, ALLOW_MMAP));
        assert_eq!(answered(u32::MAX, 0), (0, 0));
        assert_eq!(answered(FLAGS, u32::MAX), (0, 0));
    }

    #[test]
    fn openings_and_closings_are_told_apart() {
        assert_eq!(parse(opcode::OPEN, &[0], &[]), Parsed::Open { pid: 0 });
        assert_eq!(parse(opcode::RELEASE, &[7, 0, 0], &[]), Parsed::Release { handle: 7 });
        assert_eq!(u64_at(&opened(7), 0), Some(7));
    }

    #[test]
    fn writes_carry_their_data_and_do_not_extend_the_drive() {
        let write = |offset, length: u64, data: &[u8]| {
            parse(opcode::WRITE, &[1, offset, length, 0, 0], data)
        };
        let data = [7; 512];
        let asked = Asked::Write { offset: 1024, data: data.into() };
        assert_eq!(write(1024, 512, &data), Parsed::Asked(asked));
        assert_eq!(write(1024, 512, &data[..100]), Parsed::Error(EINVAL));
        assert_eq!(write(1 << 20, 512, &data), Parsed::Error(ENOSPC));
        let offset = (1 << 20) - 100;
        let fits = Asked::Write { offset, data: [7; 100].into() };
        assert_eq!(write(offset, 512, &data), Parsed::Asked(fits), "as much as fits");
        assert_eq!(write(u64::MAX - 511, 512, &data), Parsed::Error(ENOSPC));
    }

    #[test]
    fn holes_are_punched_and_other_changes_of_shape_refused() {
        let fallocate = |mode| parse(opcode::FALLOCATE, &[1, 4096, 8192, mode], &[]);
        let (offset, length) = (4096, 8192);
        assert_eq!(fallocate(3), Parsed::Asked(Asked::Free { offset, length }));
        assert_eq!(fallocate(0x11), Parsed::Asked(Asked::Zero { offset, length }));
        assert_eq!(fallocate(8), Parsed::Error(EOPNOTSUPP));
        assert_eq!(parse(999, &[], &[]), Parsed::Error(ENOSYS));
    }

    proptest::proptest! {
        #[test]
        fn no_message_makes_it_panic(bytes: Vec<u8>, opcode in 0_u32..64) {
            let mut message = vec![0; 40];
            message[4..8].copy_from_slice(&opcode.to_ne_bytes());
            message.extend_from_slice(&bytes);
            let _ = Incoming::read(&message).unwrap().parse(SIZE);
        }
    }
}
