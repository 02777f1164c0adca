//! The alignment that direct I/O requires.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use rustix::fs::{AtFlags, StatxFlags};

use super::OpenError;

/// The alignment of direct I/O on a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alignment {
    pub(super) memory: usize,
    /// Of offsets and lengths; 0 if the file does not support direct I/O.
    pub(super) offset: u64,
}

/// Safe on every drive that we know: sectors of 4096 bytes.
const SAFE: u64 = 4096;

/// Asks the kernel (`STATX_DIOALIGN`, Linux 6.1), or tries if the kernel does not know.
pub(super) fn of(file: &File) -> io::Result<Alignment> {
    let wanted = StatxFlags::DIOALIGN;
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted);
    if let Ok(stat) = stat
        && stat.stx_mask & wanted.bits() != 0
    {
        let memory = stat.stx_dio_mem_align as usize;
        return Ok(Alignment { memory, offset: u64::from(stat.stx_dio_offset_align) });
    }
    by_reading(|buffer, offset| file.read_at(buffer, offset))
}

/// Tries whether single sectors of 512 bytes can be read.
fn by_reading(read: impl Fn(&mut [u8], u64) -> io::Result<usize>) -> io::Result<Alignment> {
    let memory = usize::try_from(SAFE).expect("4096");
    let mut space = vec![0_u8; 2 * memory];
    let first = space.as_ptr().align_offset(memory);
    // 512 bytes at byte 512 are aligned for no larger sector.
    match read(&mut space[first..first + 512], 512) {
        Ok(_) => Ok(Alignment { memory, offset: 512 }),
        // This is how O_DIRECT refuses a misaligned request (`man 2 open`).
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Ok(Alignment { memory, offset: SAFE })
        }
        Err(error) => Err(error),
    }
}

pub(super) fn check(workload: &Workload, align: u64, path: &Path) -> Result<(), OpenError> {
    let blocks = workload.blocks.sizes().map(|size| ("bs", size));
    let stride = workload.stride.map(|stride| ("stride", stride));
    assert!(align > 0, "a file without direct I/O was refused");
    for (option, value) in blocks.chain(stride).chain([("offset", workload.offset)]) {
        if !value.get().is_multiple_of(align) {
            let (path, align) = (path.to_owned(), Bytes::new(align));
            return Err(OpenError::Unaligned { path, option, value, align });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use drivelab_core::workload::WorkloadOptions;

    use super::*;

    #[test]
    fn a_kernel_that_does_not_tell_is_tried() {
        let offset =
            |answer: fn() -> io::Result<usize>| by_reading(|_, _| answer()).unwrap().offset;
        assert_eq!(offset(|| Ok(512)), 512);
        assert_eq!(offset(|| Err(io::Error::from_raw_os_error(libc::EINVAL))), 4096);
        let broken = by_reading(|_, _| Err(io::Error::from_raw_os_error(libc::EIO)));
        assert_eq!(broken.unwrap_err().raw_os_error(), Some(libc::EIO));
    }

    #[test]
    fn unaligned_workloads_are_refused_by_option() {
        let refused = |options: WorkloadOptions, align| {
            let workload = options.check().unwrap();
            check(&workload, align, Path::new("disk")).err().map(|error| error.to_string())
        };
        let small = || WorkloadOptions { bs: Some(Bytes::new(512)), ..Default::default() };
        assert_eq!(refused(small(), 512), None);
        let expected = "`bs` is 512, but direct I/O on disk goes in multiples of 4k bytes";
        assert_eq!(refused(small(), 4096).as_deref(), Some(expected));
        let mixed =
            WorkloadOptions { bssplit: Some("4k/50:6k/50".parse().unwrap()), ..Default::default() };
        assert!(refused(mixed, 4096).unwrap().starts_with("`bs` is 6k"));
        let shifted = WorkloadOptions { offset: Some(Bytes::new(512)), ..Default::default() };
        assert!(refused(shifted, 4096).unwrap().starts_with("`offset`"));
    }
}
