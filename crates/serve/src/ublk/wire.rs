//! Messages of the driver: the part of `include/uapi/linux/ublk_cmd.h` that one queue without zero
//! copy needs. Numbers are in the host's byte order.

use drivelab_core::Bytes;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::drive::Attributes;

/// Commands of the driver, numbered as by `_IOR` and `_IOWR` of `asm-generic/ioctl.h`.
pub(super) mod command {
    /// `'u'` and a number, with whether the command reads (2) and writes (1), and its size.
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

/// Maximum number of requests that the kernel has in flight: as over FUSE.
pub(super) const DEPTH: u16 = 256;

/// Maximum size of one request: as over FUSE.
pub(super) const BYTES_MAX: u32 = 1 << 20;

/// Maximum range of one discard or one request for zeros: the kernel counts bytes in 32 bits.
const SECTORS_MAX: u32 = u32::MAX >> 9;

/// `UBLK_F_CMD_IOCTL_ENCODE`, required by kernels without the old numbers.
const IOCTL_ENCODE: u64 = 1 << 6;
/// `UBLK_F_USER_COPY`: data is read and written like that of a file, since Linux 6.5.
const USER_COPY: u64 = 1 << 7;

/// The result of a tag's command if there is a request, and if there will never be one.
pub(super) const RESULT_OK: i32 = 0;
pub(super) const RESULT_ABORT: i32 = -19;

/// Mark of our devices: the word that the driver stores for its server begins with `dlab`.
const MARK: u64 = 0x646c_6162 << 32;

/// `struct ublksrv_io_desc`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Descriptor {
    pub(super) flags: u32,
    pub(super) sectors: u32,
    pub(super) first_sector: u64,
    pub(super) address: u64,
}

/// `struct ublksrv_ctrl_dev_info`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Info {
    queues: u16,
    depth: u16,
    state: u16,
    padding: u16,
    bytes_max: u32,
    pub(super) number: u32,
    process: u32,
    more_padding: u32,
    flags: u64,
    server: u64,
    reserved: [u64; 3],
}

impl Info {
    /// The request for a new device, by the process with this id.
    pub(super) fn ask(process: u32) -> Self {
        Self {
            queues: 1,
            depth: DEPTH,
            bytes_max: BYTES_MAX,
            // Any free number.
            number: u32::MAX,
            flags: IOCTL_ENCODE | USER_COPY,
            server: MARK | u64::from(process),
            ..Self::new_zeroed()
        }
    }

    /// Returns whether the driver accepted all requested features.
    pub(super) fn copies(&self) -> bool {
        self.flags & USER_COPY != 0
    }

    /// The process that created this device, if it was drivelab and the device has no server any
    /// more.
    pub(super) fn dead_server(&self) -> Option<u32> {
        let ours = self.state == 0 && self.server >> 32 == MARK >> 32;
        ours.then(|| u32::try_from(self.server & u64::from(u32::MAX)).expect("32 bits"))
    }
}

/// `struct ublksrv_ctrl_cmd`.
#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct Control {
    device: u32,
    queue: u16,
    length: u16,
    address: u64,
    data: u64,
    unused: u64,
}

/// A command about a device that names no memory, in the space of a ring entry.
pub(super) fn control(device: u32, data: u64) -> [u8; 80] {
    control_with_buffer(device, 0, 0, data)
}

/// A command about a device that makes the driver read and write `length` bytes at `address`.
pub(super) fn control_with_buffer(device: u32, address: u64, length: u16, data: u64) -> [u8; 80] {
    // The command is about the device, not about one queue.
    let command = Control { device, queue: u16::MAX, length, address, data, unused: 0 };
    let mut bytes = [0; 80];
    bytes[..size_of::<Control>()].copy_from_slice(command.as_bytes());
    bytes
}

/// `struct ublksrv_io_cmd`.
#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct Io {
    queue: u16,
    tag: u16,
    result: i32,
    address: u64,
}

/// Hands `tag` to the driver, with the result of its last request.
pub(super) fn io(tag: u16, result: i32) -> [u8; 16] {
    zerocopy::transmute!(Io { queue: 0, tag, result, address: 0 })
}

/// Offset in `/dev/ublkcN` of the data of a tag's request: 32 MiB for each above 2 GiB.
pub(super) fn data_offset(tag: u16) -> u64 {
    debug_assert!(tag < DEPTH, "a tag of the queue");
    0x8000_0000 + (u64::from(tag) << 25)
}

/// `struct ublk_params`, up to the limits for discards.
#[derive(FromZeros, IntoBytes, Immutable)]
#[repr(C)]
struct Parameters {
    bytes: u32,
    kinds: u32,
    bits: u32,
    /// Logical and physical sector, optimal and minimum size of a request, as powers of two.
    shifts: [u8; 4],
    request_sectors_max: u32,
    chunk_sectors: u32,
    sectors: u64,
    virtual_boundary: u64,
    discard_alignment: u32,
    discard_granularity: u32,
    discard_sectors_max: u32,
    zero_sectors_max: u32,
    discard_stretches_max: u16,
    unused: [u16; 3],
}

/// The bytes of [`Parameters`] that the kernel reads.
const PARAMETER_BYTES: u32 = 60;

/// The parameters of the drive for the kernel.
pub(super) fn parameters(size: Bytes, attributes: Attributes) -> Vec<u8> {
    const BASIC_AND_DISCARD: u32 = 1 | 1 << 1;
    const ROTATIONAL: u32 = 1 << 1;
    const VOLATILE_CACHE: u32 = 1 << 2;
    const FUA: u32 = 1 << 3;
    let rotational = if attributes.rotational { ROTATIONAL } else { 0 };
    let cached = if attributes.volatile_cache { VOLATILE_CACHE | FUA } else { 0 };
    let physical = u32::try_from(attributes.physical_sector.bytes().get()).expect("a few KiB");
    let shift = u8::try_from(physical.trailing_zeros()).expect("below 32");
    let parameters = Parameters {
        bytes: PARAMETER_BYTES,
        kinds: BASIC_AND_DISCARD,
        bits: rotational | cached,
        shifts: [9, shift, shift, shift],
        request_sectors_max: BYTES_MAX >> 9,
        sectors: size.get() / 512,
        discard_granularity: physical,
        discard_sectors_max: SECTORS_MAX,
        zero_sectors_max: SECTORS_MAX,
        discard_stretches_max: 1,
        ..Parameters::new_zeroed()
    };
    parameters.as_bytes()[..PARAMETER_BYTES as usize].to_vec()
}

#[cfg(test)]
mod tests {
    use drivelab_core::Sectors;

    use super::*;

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn commands_have_the_numbers_of_the_kernel() {
        // As a C compiler lays them out from the header.
        assert_eq!(command::GET_DEV_INFO, 0x8020_7502);
        assert_eq!(command::ADD_DEV, 0xc020_7504);
        assert_eq!(command::STOP_DEV, 0xc020_7507);
        assert_eq!(command::FETCH_REQ, 0xc010_7520);
        assert_eq!(command::COMMIT_AND_FETCH_REQ, 0xc010_7521);
        assert_eq!(data_offset(3), 0x8600_0000);
    }

    #[test]
    fn the_kernel_is_told_what_the_drive_is() {
        let mut attributes =
            Attributes { physical_sector: Sectors::new(8), rotational: true, volatile_cache: true };
        let bytes = parameters(Bytes::gib(1), attributes);
        assert_eq!(u32_at(&bytes, 8), 0b1110);
        assert_eq!(bytes[12..16], [9, 12, 12, 12]);
        assert_eq!(u32_at(&bytes, 24), 1 << 21);
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
        let info = Info::ask(4711);
        assert_eq!(info.dead_server(), Some(4711));
        assert!(info.copies());
        let alive = Info { state: 1, ..info };
        assert_eq!(alive.dead_server(), None);
        // Another program's, which stores its own numbers there.
        assert_eq!(Info { server: 0xffff_ffff_0000_0001, ..info }.dead_server(), None);
        // A driver older than copying of data by the server.
        assert!(!Info { flags: IOCTL_ENCODE, ..info }.copies());
    }

    #[test]
    fn fields_lie_where_the_driver_reads_them() {
        let info = Info::ask(7);
        let bytes = info.as_bytes();
        assert_eq!(bytes.len(), 64);
        assert_eq!([8, 12, 32].map(|at| u32_at(bytes, at)), [BYTES_MAX, u32::MAX, 7]);
        assert_eq!(u32_at(bytes, 24), 1 << 6 | 1 << 7);
        let bytes = control_with_buffer(3, 5, 64, 9);
        assert_eq!([0, 4, 8, 16].map(|at| u32_at(&bytes, at)), [3, 64 << 16 | 0xffff, 5, 9]);
        assert_eq!([0, 4].map(|at| u32_at(&io(7, -5), at)), [7 << 16, (-5_i32).cast_unsigned()]);
        assert_eq!(size_of::<Descriptor>(), 24);
    }
}
