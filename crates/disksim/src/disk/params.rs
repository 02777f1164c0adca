//! The parameters of a SCSI-era drive, as recorded by its makers and by measurements.

use drivelab_core::{Span, Time};
use drivelab_model::mechanics::{SeekTable, Spindle};

use super::layout::Layout;

/// A duration in nanoseconds that may be negative: the remainder when measured parts are subtracted
/// from a measured whole.
pub(crate) type Residual = i64;

#[derive(Debug, Clone)]
pub(crate) struct Params {
    pub(crate) mechanics: Mechanics,
    pub(crate) overheads: Overheads,
    pub(crate) bus: Bus,
    pub(crate) buffer: Buffer,
    pub(crate) writes: Writes,
}

#[derive(Debug, Clone)]
pub(crate) struct Mechanics {
    pub(crate) spindle: Spindle,
    pub(crate) layout: Layout,
    pub(crate) seeks: SeekTable,
    pub(crate) head_switch: Span,
    /// Additional time of a write compared with a read after a seek or a head switch.
    pub(crate) write_settle: Residual,
    /// The shortest first seek of a write.
    pub(crate) shortest_write_seek: Span,
}

/// An overhead that depends on the previous command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByPrevious {
    pub(crate) after_read: Residual,
    pub(crate) after_write: Residual,
}

/// Time of the firmware and the bus protocol, in the order of a command's course.
#[derive(Debug, Clone)]
pub(crate) struct Overheads {
    pub(crate) per_request: Residual,
    pub(crate) read_hit: ByPrevious,
    pub(crate) read_miss: ByPrevious,
    pub(crate) write_hit: ByPrevious,
    pub(crate) write_miss: ByPrevious,
    pub(crate) read_disconnect: ByPrevious,
    pub(crate) write_disconnect: Residual,
    pub(crate) first_reselect: Residual,
    pub(crate) other_reselect: Residual,
    pub(crate) data_preparation: Residual,
    pub(crate) read_completion: Residual,
    pub(crate) write_completion: Residual,
    /// The extra disconnect of some drives in a write that follows another.
    pub(crate) extra_disconnect: Option<ExtraDisconnect>,
}

/// The course of a write with an extra disconnect before its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExtraDisconnect {
    pub(crate) command: Residual,
    /// From the command until the seek begins, beyond `command`.
    pub(crate) seek: Residual,
    pub(crate) disconnect: Residual,
    pub(crate) pause: Residual,
    /// The second disconnect, after the data.
    pub(crate) second_disconnect: Residual,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bus {
    pub(crate) read_sector: Span,
    pub(crate) write_sector: Span,
    /// The bus is kept from the first data of a read to the last.
    pub(crate) held_in_reads: bool,
    pub(crate) never_disconnects: bool,
}

impl Bus {
    /// Passes another part of the path: the slowest determines the pace.
    pub(crate) fn slow_down(&mut self, read_sector: Span, write_sector: Span) {
        self.read_sector = self.read_sector.max(read_sector);
        self.write_sector = self.write_sector.max(write_sector);
    }
}

/// The extent of read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOn {
    Not,
    ToTrackEnd,
    ToCylinderEnd,
    /// By a number of sectors beyond the request, or with 0 as far as the segment has space.
    ToSegmentEnd,
    /// To the end of the track, and of the next one once the stream has come from the track before.
    OneTrackAhead,
}

/// The point at which a waiting command interrupts read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Immediately, even within a sector.
    WithinSector,
    /// After the sector, or the wait for it, that is in progress.
    AfterSector,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate parameter of the files")]
pub(crate) struct Buffer {
    pub(crate) segments: usize,
    pub(crate) segment_size: u64,
    /// One segment is for writes only.
    pub(crate) separate_write_segment: bool,
    pub(crate) caches: bool,
    pub(crate) hits_on_written: bool,
    pub(crate) hits_on_arriving: bool,
    pub(crate) full_hits_pass_writes: bool,
    /// Partial hits transfer their data at once.
    pub(crate) partial_hits_at_once: bool,
    pub(crate) read_on: ReadOn,
    pub(crate) longest_read_ahead: u64,
    /// Read-ahead may replace data that the host has received.
    pub(crate) keeps_request: bool,
    /// Data that the host has received is dropped.
    pub(crate) drops_taken: bool,
    pub(crate) reads_on_after_hits: bool,
    /// Sectors before the first requested one are kept if they pass anyway.
    pub(crate) keeps_what_passes: bool,
    pub(crate) reads_on_arrival: bool,
    pub(crate) stop: Stop,
    /// The share of a read, or of a segment, that must be there before the bus is requested.
    pub(crate) read_mark: f64,
    pub(crate) marks_by_request: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writes {
    /// A write is acknowledged when its data is in the buffer.
    pub(crate) immediate_report: bool,
    /// A write that continues where the last one ended joins it.
    pub(crate) joins_sequential: bool,
    pub(crate) on_arrival: bool,
}

/// `time` shifted by an overhead, which as a fitted residual may be negative.
pub(super) fn later(time: Time, overhead: Residual) -> Time {
    Time::from_ns(time.ns().saturating_add_signed(overhead))
}

/// The remaining time from `now` to `then`.
pub(super) fn until(now: Time, then: Time) -> Span {
    if then > now { then.since(now) } else { Span::ZERO }
}
