//! The request in a descriptor of the driver.

use drivelab_core::Bytes;

use super::wire::{BYTES_MAX, Descriptor};
use crate::task::{BlockRequest, Task};

const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;

/// Reads a descriptor of a drive of `size`; the data of a write is elsewhere.
pub(super) fn read(descriptor: &Descriptor, size: Bytes) -> Result<BlockRequest, i32> {
    const FUA: u32 = 1 << 13;
    const NOUNMAP: u32 = 1 << 15;
    let flags = descriptor.flags;
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
        return Ok(BlockRequest { fua, ..BlockRequest::new(task, 0, 0) });
    }
    let length = u64::from(descriptor.sectors) * 512;
    let offset = descriptor.first_sector.checked_mul(512).ok_or(EINVAL)?;
    let end = offset.checked_add(length).ok_or(EINVAL)?;
    let carries = matches!(task, Task::Read | Task::Write);
    if length == 0 || end > size.get() || carries && length > u64::from(BYTES_MAX) {
        return Err(EINVAL);
    }
    Ok(BlockRequest { fua, ..BlockRequest::new(task, offset, length) })
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes as _;

    use super::*;

    fn read(flags: u32, sectors: u32, first: u64) -> Result<BlockRequest, i32> {
        let mut bytes = [0; size_of::<Descriptor>()];
        bytes[..4].copy_from_slice(flags.as_bytes());
        bytes[4..8].copy_from_slice(sectors.as_bytes());
        bytes[8..16].copy_from_slice(first.as_bytes());
        super::read(&zerocopy::transmute!(bytes), Bytes::mib(8))
    }

    #[test]
    fn requests_are_read_with_their_flags() {
        let check = |flags: u32, task: Task, fua: bool| {
            let expected = BlockRequest { fua, ..BlockRequest::new(task, 4096, 1024) };
            assert_eq!(read(flags, 2, 8), Ok(expected), "{flags:#x}");
        };
        check(0, Task::Read, false);
        check(1, Task::Write, false);
        check(1 | 1 << 13, Task::Write, true);
        check(3, Task::Free, false);
        check(5, Task::Free, false);
        check(5 | 1 << 15, Task::Zero, false);
        // The address of a flush does not matter.
        let flush = BlockRequest::new(Task::Flush, 0, 0);
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
        // More than was announced would let the kernel claim memory; a discard takes none.
        assert_eq!(read(0, 2049, 0), Err(EINVAL));
        assert_eq!(read(3, 2049, 0).map(|wanted| wanted.length), Ok(2049 * 512));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_accepted_lies_within_the_drive(
            bytes: [u8; size_of::<Descriptor>()],
            op in 0_u32..8,
        ) {
            let descriptor: Descriptor = zerocopy::transmute!(bytes);
            let descriptor = Descriptor { flags: descriptor.flags & !0xff | op, ..descriptor };
            if let Ok(wanted) = super::read(&descriptor, Bytes::gib(64)) {
                proptest::prop_assert!(wanted.offset + wanted.length <= 64 << 30);
            }
        }
    }
}
