//! A profile as it stands in its file, before it is known to make sense.

use drivelab_core::Span;
use drivelab_core::config::{ConfigError, Row, Section};

use super::values::{
    Capacity, Count, Growth, Interface, Kind, Memory, OrderName, Patience, Rpm, SectorSize, Shape,
    Share, Short, Sigma, VictimsName,
};
use crate::controller::Link;
use crate::options::{Precondition, Scale, Switch};

/// Lists the keys of a profile once: reading, overriding and the list of known keys follow.
macro_rules! profile_keys {
    ($($(#[$doc:meta])* $key:ident: $type:ty,)+) => {
        #[derive(Debug, Default, Clone)]
        pub(super) struct Raw {
            $($(#[$doc])* pub(super) $key: Option<$type>,)+
            /// Cylinders and sectors per track, from the outside in.
            pub(super) zones: Option<Vec<(u32, u32)>>,
            /// Cylinders and time, rising.
            pub(super) seek_table: Option<Vec<(u32, Span)>>,
            /// Read time of each kind of page.
            pub(super) page_read: Option<Vec<Span>>,
            /// Program time of each kind of page.
            pub(super) page_program: Option<Vec<Span>>,
        }

        #[cfg(test)]
        pub(super) const KEYS: &[&str] = &[$(stringify!($key),)+ "zones", "seek_table", "page_read",
            "page_program", "source"];

        impl Raw {
            fn read_keys(section: &mut Section) -> Result<Self, ConfigError> {
                Ok(Self {
                    $($key: section.take(stringify!($key))?,)+
                    zones: zones(section)?,
                    seek_table: seek_table(section)?,
                    page_read: times(section, "page_read")?,
                    page_program: times(section, "page_program")?,
                })
            }

            /// These keys, and those of `base` where one is missing.
            pub(super) fn over(self, mut base: Self) -> Self {
                self.displace_alternatives(&mut base);
                Self {
                    $($key: self.$key.or(base.$key),)+
                    zones: self.zones.or(base.zones),
                    seek_table: self.seek_table.or(base.seek_table),
                    page_read: self.page_read.or(base.page_read),
                    page_program: self.page_program.or(base.page_program),
                }
            }
        }
    };
}

profile_keys! {
    /// The profile that this one starts from.
    base: String,
    kind: Kind,
    model: String,
    capacity_bytes: Capacity,
    sector_bytes: SectorSize,
    /// What the profile knowingly does not say.
    leaves_out: String,
    /// By how much depth 1 is uncertain.
    fit_sigma: Sigma,
    // Geometry.
    rpm: Rpm,
    heads: Count<1, 64>,
    sectors_per_track_outer: Count<8, 65_536>,
    sectors_per_track_inner: Count<8, 65_536>,
    zone_count: Count<1, 256>,
    head_switch: Short,
    track_skew: Short,
    cylinder_skew: Short,
    // Seek.
    /// Sequential, from one track to the next.
    seek_track: Short,
    /// Settled, to a cylinder near by.
    seek_short: Short,
    seek_average: Short,
    seek_full: Short,
    seek_shape: Shape,
    write_settle: Short,
    // Buffer.
    read_segments: Count<0, 64>,
    segment_bytes: Memory,
    read_ahead_bytes: Memory,
    write_cache: Switch,
    write_cache_bytes: Memory,
    write_cache_runs: Count<1, 1024>,
    // Queue.
    queue_depth: Count<1, 1023>,
    /// By how much the gain at depth 32 is uncertain.
    gain_sigma: Sigma,
    order: OrderName,
    guard: Short,
    guard_growth: Growth,
    guard_from: Short,
    uncached_writes: OrderName,
    ageing: Share,
    age_limit: Patience,
    // Firmware time.
    overhead_read_miss: Short,
    overhead_read_hit: Short,
    overhead_write_miss: Short,
    overhead_write_hit: Short,
    /// Reads answered out of the buffer for reasons that the model does not follow.
    hit_share: Share,
    retry_share: Share,
    retry_revolutions: Count<0, 1000>,
    // Attachment.
    interface: Interface,
    link: Link,
    bus_mb_per_s: Count<1, 10_000>,
    bus_overhead: Short,
    // Flash.
    raw_bytes: Capacity,
    dies: Count<1, 4096>,
    channels: Count<1, 256>,
    planes: Count<1, 16>,
    page_bytes: Memory,
    block_pages: Count<1, 65_536>,
    erase: Short,
    channel_mb_per_s: Count<1, 10_000>,
    channel_command: Short,
    suspend_stop: Short,
    suspend_resume: Short,
    suspend_most: Count<1, 1000>,
    overtaking_reads: Count<0, 1000>,
    read_retry_share: Share,
    read_retry: Short,
    // Translation layer.
    victims: VictimsName,
    victim_draws: Count<1, 1000>,
    low_water: Count<1, 64>,
    map_cache_bytes: Memory,
    power_loss_protection: Switch,
    // Controller of a solid-state drive.
    command_processing: Short,
    read_processing: Short,
    write_processing: Short,
    flush_processing: Short,
    // What of it is modelled.
    scale: Scale,
    precondition: Precondition,
    // A drive of exactly known service time.
    service: Short,
    servers: Count<1, 4096>,
}

/// The tables of a profile. Leaf keys are unique over all of them, so that an override may leave
/// the heading out.
pub(super) const TABLES: [&str; 13] = [
    "drive",
    "geometry",
    "seek",
    "buffer",
    "queue",
    "overhead",
    "tail",
    "flash",
    "translation",
    "processing",
    "modelled",
    "attachment",
    "fixed",
];

impl Raw {
    /// Reads `text`; the second value is what the file says about its sources.
    pub(super) fn read(file: &str, text: &str) -> Result<(Self, Vec<String>), ConfigError> {
        let mut section = Section::parse(file, text)?;
        for table in TABLES {
            section.lift(table)?;
        }
        let raw = Self::read_keys(&mut section)?;
        let mut sources = Vec::new();
        while let Some(source) = section.take::<String>("source")? {
            sources.push(source);
        }
        section.finish()?;
        Ok((raw, sources))
    }
}

impl Raw {
    /// Takes out of `base` what these keys say in another way.
    fn displace_alternatives(&self, base: &mut Self) {
        if self.zones.is_some() {
            (base.sectors_per_track_outer, base.sectors_per_track_inner) = (None, None);
            base.zone_count = None;
        } else if self.sectors_per_track_outer.is_some() || self.sectors_per_track_inner.is_some() {
            base.zones = None;
        }
        if self.seek_table.is_some() {
            (base.seek_track, base.seek_short, base.seek_average) = (None, None, None);
            (base.seek_full, base.seek_shape) = (None, None);
        } else if [self.seek_track, self.seek_short, self.seek_average].iter().any(Option::is_some)
        {
            base.seek_table = None;
        }
        // Any two of average, full stroke and shape fix the third.
        let average = self.seek_average.is_some() || base.seek_average.is_some();
        if average && self.seek_full.is_some() {
            base.seek_shape = None;
        } else if average && self.seek_shape.is_some() {
            base.seek_full = None;
        }
    }
}

/// No drive has more: a bound on what is allocated.
const MAX_ROWS: usize = 4096;

fn check_rows(rows: &[Row], width: usize) -> Result<(), ConfigError> {
    if let Some(row) = rows.get(MAX_ROWS) {
        return Err(row.error(format!("more than {MAX_ROWS} rows")));
    }
    match rows.iter().find(|row| row.len() != width) {
        Some(row) => Err(row.error(format!("this row has {} values, not {width}", row.len()))),
        None => Ok(()),
    }
}

fn zones(section: &mut Section) -> Result<Option<Vec<(u32, u32)>>, ConfigError> {
    let Some(rows) = section.rows("zones")? else { return Ok(None) };
    check_rows(&rows, 2)?;
    let read = |row: &Row| {
        let cylinders: Count<1, 4_000_000> = row.get(0)?;
        let per_track: Count<8, 65_536> = row.get(1)?;
        Ok((cylinders.0, per_track.0))
    };
    rows.iter().map(read).collect::<Result<_, _>>().map(Some)
}

fn times(section: &mut Section, key: &'static str) -> Result<Option<Vec<Span>>, ConfigError> {
    let list = section.list::<Short>(key)?;
    Ok(list.map(|times| times.into_iter().map(|time| time.0).collect()))
}

fn seek_table(section: &mut Section) -> Result<Option<Vec<(u32, Span)>>, ConfigError> {
    let Some(rows) = section.rows("seek_table")? else { return Ok(None) };
    check_rows(&rows, 2)?;
    let mut points: Vec<(u32, Span)> = Vec::with_capacity(rows.len());
    for row in &rows {
        let distance: Count<1, 4_000_000> = row.get(0)?;
        let time: Short = row.get(1)?;
        if points.last().is_some_and(|(before, _)| *before >= distance.0) {
            return Err(row.error("distances must increase from row to row"));
        }
        points.push((distance.0, time.0));
    }
    if let [_] = points[..] {
        return Err(rows[0].error("a curve needs at least two points"));
    }
    Ok(Some(points))
}

/// The value of a key that a profile must have.
pub(super) fn required<T>(value: Option<T>, key: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("`{key}` is missing; add a line `{key} = ...`"))
}
