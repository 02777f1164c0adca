//! How several drives are put together: the keys of the spec for a shelf and an array.

use drivelab_core::config::Value;
use drivelab_core::units::Bytes;

use super::whole;
use crate::raid::Level;
use crate::shelf::Bus;

/// Several drives, what they share, and how their data is laid out; `None` is left to defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShelfOptions {
    /// Drives of this model, 1 to 32.
    pub drives: Option<u32>,
    /// How an array keeps its data; one drive after another where absent.
    pub raid: Option<Level>,
    /// Data of one stripe on one drive.
    pub chunk: Option<Bytes>,
    /// The drive that has failed, counted from 0.
    pub failed: Option<u32>,
    /// The bus that all drives share.
    pub bus: Option<Bus>,
    /// Commands that the controller takes at once, over all drives.
    pub host_queue: Option<u32>,
    /// The longest request that the host sends, in KiB; longer ones are cut.
    pub max_sectors_kb: Option<u32>,
}

/// The most drives: as many as anybody put behind one controller here, and as a word has bits.
const DRIVES_MAX: u32 = 32;

impl ShelfOptions {
    /// Whether nothing of it is set: a drive of its own.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Sets `key` where it is one of these.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "drives" => self.drives = Some(whole(value, 1..=DRIVES_MAX)?),
            "raid" => self.raid = Some(Value::read(value)?),
            "chunk" => self.chunk = Some(chunk(value)?),
            "failed" => self.failed = Some(whole(value, 0..=DRIVES_MAX - 1)?),
            "bus" => self.bus = Some(Value::read(value)?),
            "host-queue" => self.host_queue = Some(whole(value, 1..=65_536)?),
            "max-sectors-kb" => self.max_sectors_kb = Some(whole(value, 4..=1_048_576)?),
            _ => unreachable!("the caller looked the key up in KEYS"),
        }
        Ok(())
    }

    pub(super) fn overlaid_with(&self, over: &Self) -> Self {
        Self {
            drives: over.drives.or(self.drives),
            raid: over.raid.or(self.raid),
            chunk: over.chunk.or(self.chunk),
            failed: over.failed.or(self.failed),
            bus: over.bus.or(self.bus),
            host_queue: over.host_queue.or(self.host_queue),
            max_sectors_kb: over.max_sectors_kb.or(self.max_sectors_kb),
        }
    }

    /// The values as text, in the order of the keys.
    pub(super) fn values(&self) -> [Option<String>; 7] {
        [
            self.drives.map(|value| value.to_string()),
            self.raid.map(|value| value.to_string()),
            self.chunk.map(|value| value.to_string()),
            self.failed.map(|value| value.to_string()),
            self.bus.map(|value| value.to_string()),
            self.host_queue.map(|value| value.to_string()),
            self.max_sectors_kb.map(|value| value.to_string()),
        ]
    }
}

/// md takes chunks that are powers of two, of a page at least.
fn chunk(text: &str) -> Result<Bytes, String> {
    let chunk = Bytes::read(text)?;
    if chunk.get().is_power_of_two() && (4096..=1 << 30).contains(&chunk.get()) {
        return Ok(chunk);
    }
    Err(format!(
        "`{text}` is not a chunk size: give a power of two from 4k to 1G, for example 512k"
    ))
}
