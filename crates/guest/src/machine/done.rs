//! What became of a request.

use drivelab_core::{Lba, Sectors, Time};

/// What became of a request: one line of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// When the guest handed the request over.
    pub submitted: Time,
    /// When it was answered.
    pub at: Time,
    /// Behind virtio `virtio_blk_outhdr.type`: 0 read, 1 write, 4 flush, 8 identify, 11 discard, 13
    /// write zeroes. Behind AHCI and IDE the ATA command.
    pub kind: u32,
    /// The first sector.
    pub lba: Lba,
    /// The number of sectors.
    pub sectors: Sectors,
    /// 0 done, 1 failed, 2 not supported.
    pub status: u8,
}
