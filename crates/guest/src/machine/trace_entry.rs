//! An answered request in a trace.

use drivelab_core::{Lba, Sectors, Time};

/// An answered request: one line of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceEntry {
    /// The number of the disk: within its adapter there, and in the whole guest in a trace.
    pub disk: u16,
    /// Time of the submission by the guest.
    pub submitted: Time,
    /// Time of the answer.
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
