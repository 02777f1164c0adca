//! What a solid-state drive is made from.

use drivelab_core::{Request, Span};

use super::backend::BackendRules;
use super::ftl::ShapeError;

/// What a solid-state drive is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SsdParts {
    /// Flash and translation layer.
    pub backend: BackendRules,
    /// Sectors that are mapped as one.
    pub sectors_per_unit: u64,
    /// What the controller needs for a read before the flash begins.
    pub read_processing: Span,
    /// What the controller needs for a write after its data has come.
    pub write_processing: Span,
    /// What a flush takes when nothing is left to write.
    pub flush_processing: Span,
    /// Units that the write buffer holds.
    pub buffer_units: u32,
    /// Whether writes are acknowledged before they are programmed.
    pub write_cache: bool,
    /// Whether capacitors save the buffer when power fails: what it holds is durable then.
    pub protected: bool,
    /// For how long no command must come before blocks written as SLC are folded out.
    pub fold_after: Span,
    /// What of the map is in memory; all of it where absent.
    pub map_cache: Option<MapCache>,
}

/// A map that lies on the flash, with parts of it in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapCache {
    /// Units that one page of the map places.
    pub units: u32,
    /// Pages of the map that are in memory at once; at least 1.
    pub pages: u32,
}

/// Why a drive cannot be made of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    /// The flash does not fit the translation layer.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Pages are begun on all dies at once, and the buffer must hold them.
    #[error("a write buffer of {units} units cannot hold the pages begun: it needs {least}")]
    SmallBuffer {
        /// What it holds.
        units: u32,
        /// What it must hold at least.
        least: u32,
    },
}

impl SsdParts {
    /// The units that a request touches.
    pub(super) fn units(&self, request: &Request) -> (u32, u32) {
        let unit = |sectors: u64| u32::try_from(sectors).expect("the capacity was checked");
        let end = request.end().get().div_ceil(self.sectors_per_unit);
        (unit(request.lba.get() / self.sectors_per_unit), unit(end))
    }

    pub(crate) fn check(&self) -> Result<(), PartsError> {
        let backend = &self.backend;
        let page = backend.units_per_page * backend.planes;
        let least = page * (backend.shape.dies + u32::from(backend.slc.is_some()));
        let units = self.buffer_units;
        if units < least { Err(PartsError::SmallBuffer { units, least }) } else { Ok(()) }
    }
}
