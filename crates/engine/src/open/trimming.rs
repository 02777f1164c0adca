//! Whether a block device discards blocks.

use std::fs::File;
use std::path::Path;

use super::OpenError;
use crate::sys::discard::discard;

/// Refuses a device without discards before any request fails.
pub(super) fn check(path: &Path, file: &File) -> Result<(), OpenError> {
    // Half a block from the second byte on: a device that discards refuses that, and one that does
    // not says that it never does. Nothing is discarded by either.
    let refused = discard(file, 1, 512);
    match refused.err().and_then(|error| error.raw_os_error()) {
        Some(libc::EOPNOTSUPP | libc::ENOTTY) => Err(OpenError::NoDiscard {
            path: path.into(),
            why: "the device has no discard (TRIM, UNMAP, Deallocate)".into(),
            instead: "`queue/discard_max_bytes` of the device in /sys/block must be above 0".into(),
        }),
        _ => Ok(()),
    }
}
