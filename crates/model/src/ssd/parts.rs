//! The parts of a solid-state drive.

use drivelab_core::{Request, Span};

use super::backend::BackendRules;
use super::ftl::ShapeError;

/// The parts of a solid-state drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SsdParts {
    /// Flash and translation layer.
    pub backend: BackendRules,
    /// Sectors of a unit of the map.
    pub sectors_per_unit: u64,
    /// Processing of a read, before the flash begins.
    pub read_processing: Span,
    /// Processing of a write, after its data has arrived.
    pub write_processing: Span,
    /// Processing of a flush without data to write.
    pub flush_processing: Span,
    /// Size of the write buffer in units.
    pub buffer_units: u32,
    /// True if writes are acknowledged before they are programmed.
    pub write_cache: bool,
    /// True if capacitors save the buffer on power loss, which makes its data durable.
    pub protected: bool,
    /// The writing of the map for flushes and durable writes; `None` if the map is durable with
    /// the data.
    pub commit: Option<CommitRules>,
    /// Idle time before SLC blocks are folded.
    pub fold_after: Span,
    /// The cached part of the map; `None` if all of it is in memory.
    pub map_cache: Option<MapCache>,
    /// The slowdown by heat; `None` if it is never hot.
    pub throttle: Option<Throttle>,
}

/// The writing of the map for flushes and durable writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitRules {
    /// Pages of the map that a commit programs one after another, behind the data.
    pub map_pages: u32,
}

/// Heat: a drive that has moved much in a short time slows down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttle {
    /// Bytes that a cold drive moves before.
    pub after: u64,
    /// Bytes a second that it moves for ever.
    pub bytes_per_s: u64,
}

/// A map on the flash with parts of it in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapCache {
    /// Units that one page of the map locates.
    pub units: u32,
    /// Maximum pages of the map in memory; at least 1.
    pub pages: u32,
}

/// Parts that do not make a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    /// The flash does not fit the translation layer.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A buffer that cannot hold the open pages of all dies.
    #[error("a write buffer of {units} units cannot hold the pages begun: it needs {least}")]
    SmallBuffer {
        /// Its size.
        units: u32,
        /// The minimum size.
        least: u32,
    },
}

impl SsdParts {
    /// The units that a request touches.
    pub(super) fn units(&self, request: &Request) -> (u32, u32) {
        let first = request.lba.get() / self.sectors_per_unit;
        let end = request.end().get().div_ceil(self.sectors_per_unit);
        debug_assert!(end <= u64::from(self.backend.shape.units), "{request:?} is beyond the end");
        let [first, end] =
            [first, end].map(|unit| u32::try_from(unit).expect("the capacity was checked"));
        (first, end)
    }

    pub(crate) fn check(&self) -> Result<(), PartsError> {
        let backend = &self.backend;
        let page = backend.units_per_page * backend.planes;
        // Every die may have an open page, and one more among the SLC blocks.
        let least = page * (backend.shape.dies + u32::from(backend.slc.is_some()));
        let units = self.buffer_units;
        if units < least { Err(PartsError::SmallBuffer { units, least }) } else { Ok(()) }
    }
}
