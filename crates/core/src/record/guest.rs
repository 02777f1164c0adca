//! The kernel under which a run was made in virtual time.

use serde::{Deserialize, Serialize};

/// A guest of the kernel stage: two runs of one configuration have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// The release of its kernel.
    pub kernel: String,
    /// The SHA-256 of the kernel program.
    pub kernel_sha256: String,
    /// The requests that its driver sent to the drive, those of the boot included.
    pub requests: u64,
    /// How long it ran, by its own clock.
    pub virtual_ns: u64,
    /// The SHA-256 of the trace: every request with its virtual times.
    pub trace_sha256: String,
    /// The SHA-256 of what its kernel and programs printed.
    pub console_sha256: String,
}
