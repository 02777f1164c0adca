//! Writes of a run to the flash of a modelled solid-state drive.

use serde::{Deserialize, Serialize};

/// Writes to the flash during a run; blocks written as SLC are not included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlashWritten {
    /// Data of the host; what was folded out of SLC counts here.
    pub host_bytes: u64,
    /// Data that collection moved.
    pub copied_bytes: u64,
    /// Space left empty to complete pages.
    pub padded_bytes: u64,
    /// All three by the first.
    pub write_amplification: f64,
}

impl FlashWritten {
    /// The account of `[host, copied, padded]` bytes; `None` where nothing was written.
    pub fn new(bytes: [u64; 3]) -> Option<Self> {
        let [host_bytes, copied_bytes, padded_bytes] = bytes;
        if host_bytes == 0 {
            return None;
        }
        // The host's bytes are never moved by collection alone, so the ratio is at least 1.
        let all = host_bytes + copied_bytes + padded_bytes;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 bytes, and a ratio of both")]
        let write_amplification = all as f64 / host_bytes as f64;
        Some(Self { host_bytes, copied_bytes, padded_bytes, write_amplification })
    }
}
