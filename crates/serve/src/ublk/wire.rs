//! Messages of the driver: as much of `include/uapi/linux/ublk_cmd.h` as one queue without zero
//! copy needs. Numbers are in the host's byte order.

use drivelab_core::Bytes;

use super::Attributes;
use crate::server::Task;

/// Commands that the driver takes, numbered as `_IOR` and `_IOWR` of `asm-generic/ioctl.h` do.
pub(super) mod command {
    /// `'u'` and a number, with what the command reads (2) and writes (1), and its size.
    const fn encode(direction: u32, number: u32, bytes: u32) -> u32 {
        direction << 30 | bytes << 16 | (b'u' as u32) << 8 | number
    }

    /// For `/dev/ublk-control`, with a `struct ublksrv_ctrl_cmd`.
    pub(in crate::ublk) const GET_DEV_INFO: u32 = encode(2, 0x02, 32);
    pub(in crate::ublk) const ADD_DEV: u32 = encode(3, 0x04, 32);
    pub(in crate::ublk) const DEL_DEV: u32 = encode(3, 0x05, 32);
    pub(in crate::ublk) const START_DEV: u32 = encode(3, 0x06, 32);
    pub(in crate::ublk) const STOP_DEV: u32 = encode(3, 0x07, 32);
    pub(in crate::ublk) const SET_PARAMS: u32 = encode(3, 0x08, 32);

    /// For `/dev/ublkcN`, with a `struct ublksrv_io_cmd`.
    pub(in crate::ublk) const FETCH_REQ: u32 = encode(3, 0x20, 16);
    pub(in crate::ublk) const COMMIT_AND_FETCH_REQ: u32 = encode(3, 0x21, 16);
}

/// Requests that the kernel keeps with us at most: as many as over FUSE.
pub(super) const DEPTH: u16 = 256;

/// The most that one request carries: as over FUSE.
const MOST_BYTES: u32 = 1 << 20;

/// The most that one discard or one request for zeros covers: the kernel counts bytes in 32 bits.
const MOST_SECTORS: u32 = u32::MAX >> 9;

/// `UBLK_F_CMD_IOCTL_ENCODE`, which kernels without the old numbers ask for.
const IOCTL_ENCODE: u64 = 1 << 6;
/// `UBLK_F_USER_COPY`: data is read and written like that of a file, since Linux 6.5.
const USER_COPY: u64 = 1 << 7;

/// What a tag's command brings when there is a request, and when there will never be one.
pub(super) const RESULT_OK: i32 = 0;
pub(super) const RESULT_ABORT: i32 = -19;

/// `EIO`, `EINVAL` and `EOPNOTSUPP`, as the kernel numbers them.
pub(super) const EIO: i32 = 5;
const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;

/// What tells our devices from those of other programs: the word that the driver keeps for its
/// servers begins with `dlab`.
const MARK: u64 = 0x646c_6162 << 32;

/// `struct ublksrv_io_desc`.
pub(super) const DESCRIPTOR_BYTES: usize = 24;

/// `struct ublksrv_ctrl_dev_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Info {
    pub(super) number: u32,
    state: u16,
    flags: u64,
    server: u64,
}

impl Info {
    pub(super) const BYTES: usize = 64;

    /// What a new device is asked for with, by the process of this number.
    pub(super) fn ask(process: u32) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        put(&mut bytes, 0, &1_u16.to_ne_bytes());
        put(&mut bytes, 2, &DEPTH.to_ne_bytes());
        put(&mut bytes, 8, &MOST_BYTES.to_ne_bytes());
        // Any number that is free.
        put(&mut bytes, 12, &u32::MAX.to_ne_bytes());
        put(&mut bytes, 24, &(IOCTL_ENCODE | USER_COPY).to_ne_bytes());
        put(&mut bytes, 32, &(MARK | u64::from(process)).to_ne_bytes());
        bytes
    }

    pub(super) fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let state = u16::from_ne_bytes([bytes[4], bytes[5]]);
        let (number, flags, server) = (u32_at(bytes, 12), u64_at(bytes, 24), u64_at(bytes, 32));
        Self { number, state, flags, server }
    }

    /// Whether the driver agreed to all that was asked for.
    pub(super) fn copies(&self) -> bool {
        self.flags & USER_COPY != 0
    }

    /// The process that made this device, if it was drivelab and the device serves nobody.
    pub(super) fn dead_server(&self) -> Option<u32> {
        let ours = self.state == 0 && self.server >> 32 == MARK >> 32;
        ours.then(|| u32::try_from(self.server & u64::from(u32::MAX)).expect("32 bits"))
    }
}

/// `struct ublksrv_ctrl_cmd`, in the room that an entry of the ring has for it.
pub(super) fn control(device: u32, (address, length): (u64, u16), data: u64) -> [u8; 80] {
    let mut bytes = [0; 80];
    put(&mut bytes, 0, &device.to_ne_bytes());
    // No queue of its own.
    put(&mut bytes, 4, &u16::MAX.to_ne_bytes());
    put(&mut bytes, 6, &length.to_ne_bytes());
    put(&mut bytes, 8, &address.to_ne_bytes());
    put(&mut bytes, 16, &data.to_ne_bytes());
    bytes
}

/// `struct ublksrv_io_cmd`: hands `tag` to the driver, with the result of its last request.
pub(super) fn io(tag: u16, result: i32) -> [u8; 16] {
    let mut bytes = [0; 16];
    put(&mut bytes, 2, &tag.to_ne_bytes());
    put(&mut bytes, 4, &result.to_ne_bytes());
    bytes
}

/// Where in `/dev/ublkcN` the data of a tag's request begins: 32 MiB for each above 2 GiB.
pub(super) fn data_offset(tag: u16) -> u64 {
    0x8000_0000 + (u64::from(tag) << 25)
}

/// `struct ublk_params`, as far as the limits for discards.
pub(super) fn parameters(size: Bytes, attributes: Attributes) -> [u8; 60] {
    const BASIC_AND_DISCARD: u32 = 1 | 1 << 1;
    const ROTATIONAL: u32 = 1 << 1;
    const VOLATILE_CACHE: u32 = 1 << 2;
    const FUA: u32 = 1 << 3;
    let mut bits = 0;
    if attributes.rotational {
        bits |= ROTATIONAL;
    }
    if attributes.volatile_cache {
        bits |= VOLATILE_CACHE | FUA;
    }
    let physical = u32::try_from(attributes.physical_sector.bytes().get()).expect("a few KiB");
    let shift = u8::try_from(physical.trailing_zeros()).expect("below 32");
    let mut bytes = [0; 60];
    put(&mut bytes, 0, &60_u32.to_ne_bytes());
    put(&mut bytes, 4, &BASIC_AND_DISCARD.to_ne_bytes());
    put(&mut bytes, 8, &bits.to_ne_bytes());
    // Logical and physical sector, optimal and least size of a request, as powers of two.
    put(&mut bytes, 12, &[9, shift, shift, shift]);
    put(&mut bytes, 16, &(MOST_BYTES >> 9).to_ne_bytes());
    put(&mut bytes, 24, &(size.get() / 512).to_ne_bytes());
    put(&mut bytes, 44, &physical.to_ne_bytes());
    put(&mut bytes, 48, &MOST_SECTORS.to_ne_bytes());
    put(&mut bytes, 52, &MOST_SECTORS.to_ne_bytes());
    // Stretches in one discard.
    put(&mut bytes, 56, &1_u16.to_ne_bytes());
    bytes
}

/// What the kernel wants of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// What to do.
    pub(crate) task: Task,
    /// First byte.
    pub(crate) offset: u64,
    /// How many; 0 for a flush.
    pub(crate) length: u64,
    /// Force unit access.
    pub(crate) fua: bool,
}

impl Wanted {
    /// Reads a descriptor of a drive of `size`.
    ///
    /// # Errors
    /// The number of the error to answer with.
    pub(super) fn read(bytes: &[u8; DESCRIPTOR_BYTES], size: Bytes) -> Result<Self, i32> {
        const FUA: u32 = 1 << 13;
        const NOUNMAP: u32 = 1 << 15;
        let flags = u32_at(bytes, 0);
        let task = match flags & 0xff {
            0 => Task::Read,
            1 => Task::Write,
            2 => Task::Flush,
            5 if flags & NOUNMAP != 0 => Task::Zero,
            3 | 5 => Task::Free,
            _ => return Err(EOPNOTSUPP),
        };
        let fua = flags & FUA != 0;
        if task == Task::Flush {
            return Ok(Self { task, offset: 0, length: 0, fua });
        }
        let length = u64::from(u32_at(bytes, 4)) * 512;
        let offset = u64_at(bytes, 8).checked_mul(512).ok_or(EINVAL)?;
        let end = offset.checked_add(length).ok_or(EINVAL)?;
        let carries = matches!(task, Task::Read | Task::Write);
        if length == 0 || end > size.get() || carries && length > u64::from(MOST_BYTES) {
            return Err(EINVAL);
        }
        Ok(Self { task, offset, length, fua })
    }
}

fn put(bytes: &mut [u8], place: usize, number: &[u8]) {
    bytes[place..place + number.len()].copy_from_slice(number);
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    let number = bytes[place..place + 4].try_into().expect("four bytes");
    u32::from_ne_bytes(number)
}

fn u64_at(bytes: &[u8], place: usize) -> u64 {
    let number = bytes[place..place + 8].try_into().expect("eight bytes");
    u64::from_ne_bytes(number)
}

#[cfg(test)]
mod tests {
    use drivelab_core::Sectors;

    use super::*;

    fn descriptor(flags: u32, sectors: u32, first: u64) -> [u8; DESCRIPTOR_BYTES] {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        put(&mut bytes, 0, &flags.to_ne_bytes());
        put(&mut bytes, 4, &sectors.to_ne_bytes());
        put(&mut bytes, 8, &first.to_ne_bytes());
        bytes
    }

    fn read(flags: u32, sectors: u32, first: u64) -> Result<Wanted, i32> {
        Wanted::read(&descriptor(flags, sectors, first), Bytes::mib(8))
    }

    #[test]
    fn commands_have_the_numbers_of_the_kernel() {
        // As a C compiler makes them of the header.
        assert_eq!(command::GET_DEV_INFO, 0x8020_7502);
        assert_eq!(command::ADD_DEV, 0xc020_7504);
        assert_eq!(command::STOP_DEV, 0xc020_7507);
        assert_eq!(command::FETCH_REQ, 0xc010_7520);
        assert_eq!(command::COMMIT_AND_FETCH_REQ, 0xc010_7521);
        assert_eq!(data_offset(3), 0x8600_0000);
    }

    #[test]
    fn requests_are_read_with_their_flags() {
        let check = |flags: u32, task: Task, fua: bool| {
            let expected = Wanted { task, offset: 4096, length: 1024, fua };
            assert_eq!(read(flags, 2, 8), Ok(expected), "{flags:#x}");
        };
        check(0, Task::Read, false);
        check(1, Task::Write, false);
        check(1 | 1 << 13, Task::Write, true);
        check(3, Task::Free, false);
        check(5, Task::Free, false);
        check(5 | 1 << 15, Task::Zero, false);
        // Where a flush claims to be does not matter.
        let flush = Wanted { task: Task::Flush, offset: 0, length: 0, fua: false };
        assert_eq!(read(2, 7, u64::MAX), Ok(flush));
        assert_eq!(read(13, 2, 8), Err(EOPNOTSUPP));
    }

    #[test]
    fn what_lies_outside_the_drive_is_refused() {
        assert_eq!(read(0, 1, 16_383).map(|wanted| wanted.length), Ok(512));
        assert_eq!(read(0, 2, 16_383), Err(EINVAL));
        assert_eq!(read(1, 1, u64::MAX), Err(EINVAL));
        assert_eq!(read(1, 1, u64::MAX / 512), Err(EINVAL));
        assert_eq!(read(1, 0, 0), Err(EINVAL));
        // More than was announced would be memory for the asking; a discard takes none.
        assert_eq!(read(0, 2049, 0), Err(EINVAL));
        assert_eq!(read(3, 2049, 0).map(|wanted| wanted.length), Ok(2049 * 512));
    }

    #[test]
    fn the_kernel_is_told_what_the_drive_is() {
        let mut attributes =
            Attributes { physical_sector: Sectors::new(8), rotational: true, volatile_cache: true };
        let bytes = parameters(Bytes::gib(1), attributes);
        assert_eq!(u32_at(&bytes, 8), 0b1110);
        assert_eq!(bytes[12..16], [9, 12, 12, 12]);
        assert_eq!(u64_at(&bytes, 24), 1 << 21);
        assert_eq!(u32_at(&bytes, 44), 4096);
        attributes.physical_sector = Sectors::new(1);
        attributes.rotational = false;
        attributes.volatile_cache = false;
        let bytes = parameters(Bytes::gib(1), attributes);
        assert_eq!(u32_at(&bytes, 8), 0);
        assert_eq!(bytes[12..16], [9, 9, 9, 9]);
    }

    #[test]
    fn only_dead_devices_of_ours_are_known_again() {
        let mut bytes = Info::ask(4711);
        let info = Info::read(&bytes);
        assert_eq!(info.dead_server(), Some(4711));
        assert!(info.copies());
        // Alive.
        put(&mut bytes, 4, &1_u16.to_ne_bytes());
        assert_eq!(Info::read(&bytes).dead_server(), None);
        // Another program's, which keeps numbers of its own there.
        put(&mut bytes, 4, &0_u16.to_ne_bytes());
        put(&mut bytes, 32, &0xffff_ffff_0000_0001_u64.to_ne_bytes());
        assert_eq!(Info::read(&bytes).dead_server(), None);
        // A driver from before data could be copied by the server.
        put(&mut bytes, 24, &IOCTL_ENCODE.to_ne_bytes());
        assert!(!Info::read(&bytes).copies());
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_accepted_lies_within_the_drive(
            bytes: [u8; DESCRIPTOR_BYTES],
            op in 0_u8..8,
        ) {
            let mut bytes = bytes;
            // The lowest byte of the flags, in any order of bytes.
            let flags = u32_at(&bytes, 0) & !0xff | u32::from(op);
            put(&mut bytes, 0, &flags.to_ne_bytes());
            if let Ok(wanted) = Wanted::read(&bytes, Bytes::gib(64)) {
                proptest::prop_assert!(wanted.offset + wanted.length <= 64 << 30);
            }
        }
    }
}
