//! Steps inside a drive, for external checks of its rules.

use drivelab_core::{Lba, Request, Sectors, Span, Time};

use crate::disk::geometry::Geometry;
use crate::disk::seek::SeekTable;
use crate::spindle::{Angle, Spindle};
use crate::tag::Tag;

/// One step of a drive; steps are reported in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A request became a command on the wire.
    Sent {
        /// Time of the step.
        at: Time,
        /// The tag that it holds until it is done.
        tag: Tag,
        /// The request.
        request: Request,
    },
    /// The data of a write is in the volatile cache.
    Cached {
        /// Time of the step.
        at: Time,
        /// The write's tag.
        tag: Tag,
    },
    /// The medium was committed to an access.
    Begun {
        /// Time of the step.
        at: Time,
        /// The access.
        access: Access,
    },
    /// The current access has finished.
    Ended {
        /// Time of the step.
        at: Time,
    },
    /// The idle head continues to read beyond the request.
    ReadsAhead {
        /// First sector.
        from: Lba,
        /// Limit (exclusive).
        to: Lba,
    },
    /// The host received the completion of a command.
    Done {
        /// Time of the step.
        at: Time,
        /// Its tag.
        tag: Tag,
    },
}

/// One access of the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The command that it serves; `None` for data out of the write cache.
    pub tag: Option<Tag>,
    /// True for a write.
    pub write: bool,
    /// Its first sector.
    pub lba: Lba,
    /// Its length.
    pub sectors: Sectors,
    /// True for a read that continues read-ahead: its first sectors may have passed already.
    pub continues_read_ahead: bool,
    /// Time at which the first sector comes under the head.
    pub on_sector: Time,
    /// Time at which the last sector has passed.
    pub until: Time,
}

/// The layout of a rotating disk, for pictures.
#[derive(Debug, Clone, Copy)]
pub struct Platter<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) spindle: &'a Spindle,
    pub(crate) seeks: &'a SeekTable,
}

/// A band of cylinders with equally long tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Band {
    /// The first sector behind it.
    pub end: u64,
    /// Its first cylinder, counted from the outer edge.
    pub first_cylinder: u32,
    /// Sectors of a track.
    pub per_track: u64,
}

/// A place on a platter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The cylinder, counted from the outer edge.
    pub cylinder: u32,
    /// The head.
    pub head: u32,
    /// The angle at which its first bit passes the head.
    pub angle: Angle,
}

impl Platter<'_> {
    /// The bands, from the outside in.
    pub fn bands(&self) -> Vec<Band> {
        let bands = self.geometry.zones().iter().map(|zone| Band {
            end: zone.end,
            first_cylinder: zone.first_cylinder,
            per_track: zone.per_track,
        });
        bands.collect()
    }

    /// Cylinders that hold addressable sectors.
    pub fn cylinders(&self) -> u32 {
        self.geometry.cylinders()
    }

    /// The place of a sector below the capacity.
    pub fn place(&self, lba: Lba) -> Place {
        let location = self.geometry.locate(lba);
        Place { cylinder: location.arm.cylinder, head: location.arm.head, angle: location.angle }
    }

    /// Time of a seek over this number of cylinders.
    pub fn seek(&self, cylinders: u32) -> Span {
        self.seeks.time(cylinders)
    }

    /// Time of a revolution; at time zero the index mark is under the heads.
    pub fn revolution(&self) -> Span {
        self.spindle.period()
    }
}

/// The activity of a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DieWork {
    /// Nothing.
    Idle,
    /// A read for the host or its map.
    Read,
    /// A program, of data of the host or of copied data.
    Program,
    /// A read for garbage collection or folding.
    Collect,
    /// An erase.
    Erase,
}
