//! Abilities that some workloads require of a target.

use std::fs::File;
use std::path::Path;

use drivelab_core::workload::Workload;

use super::OpenError;
use crate::sys::discard::discard;

/// Refuses a target that cannot be polled for completions.
///
/// `is_polled` is the state of the queue of the disk that the target is or lies on, if it has one.
pub(super) fn check_polling(
    path: &Path,
    workload: &Workload,
    direct: bool,
    is_polled: Option<bool>,
) -> Result<(), OpenError> {
    let (why, instead) = if !direct {
        ("the page cache has no completions to poll", "omit `--direct=0`")
    } else if workload.fsync > 0 || workload.rw.trims() {
        ("a polled ring supports reads and writes only", "omit `--hipri`")
    } else {
        match is_polled {
            Some(true) => return Ok(()),
            Some(false) => (
                "the device's driver has no poll queues",
                "boot with `nvme.poll_queues=2` or `virtio_blk.poll_queues=1`, or omit `--hipri`",
            ),
            None => ("it is not directly on a block device", "omit `--hipri`"),
        }
    };
    Err(OpenError::NoPolling { path: path.into(), why, instead })
}

/// Refuses a block device without discards before any request fails.
pub(super) fn check_discards(path: &Path, file: &File) -> Result<(), OpenError> {
    // Half a block from the second byte on: a device that discards refuses that as invalid, and one
    // that does not answers that it never discards. Neither discards anything.
    match discard(file, 1, 512).err().and_then(|error| error.raw_os_error()) {
        Some(libc::EOPNOTSUPP | libc::ENOTTY) => Err(OpenError::NoDiscard { path: path.into() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::workload::{Rw, WorkloadOptions};

    use super::*;

    #[test]
    fn only_a_queue_that_says_so_is_polled() {
        let reads = WorkloadOptions::default().check().unwrap();
        let refused = |is_polled| {
            let error = check_polling(Path::new("f"), &reads, true, is_polled).err()?;
            Some(format!("{error}; {}", error.hint()?))
        };
        assert_eq!(refused(Some(true)), None);
        assert!(refused(Some(false)).unwrap().contains("poll_queues"));
        assert!(refused(None).unwrap().contains("not directly on a block device"));
    }

    #[test]
    fn what_never_completes_by_polling_is_refused_before_the_queue_is_asked() {
        let check = |rw, fsync, direct, expected: &str| {
            let options = WorkloadOptions { rw: Some(rw), fsync, ..Default::default() };
            let workload = options.check().unwrap();
            let error = check_polling(Path::new("f"), &workload, direct, None).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(Rw::RandRead, None, false, "page cache");
        check(Rw::RandWrite, Some(1), true, "reads and writes only");
        check(Rw::Trim, None, true, "reads and writes only");
        check(Rw::RandRead, None, true, "not directly on a block device");
    }
}
