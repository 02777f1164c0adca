//! The keys of a profile's file, before validation.

use std::collections::BTreeMap;

use drivelab_core::config::{ConfigError, Row, Section, Stated, Value};
use drivelab_core::{Invalid, Span, invalid};

use super::values::{
    Capacity, CommitName, Count, Factor, Growth, Interface, Kind, MediaCache, Memory, OrderName,
    Patience, Rpm, SectorSize, Shape, Share, Short, Sigma, SlcSize, VictimsName,
};
use crate::controller::Link;
use crate::options::{Precondition, Scale, Switch};
use crate::unknown::{Nature, Open, Posterior, Prior};

/// Declares the keys of a profile once, from which reading, overriding and the list of keys derive.
macro_rules! profile_keys {
    ($($(#[$doc:meta])* $key:ident: $type:ty,)+) => {
        #[derive(Debug, Default, Clone)]
        pub(super) struct Raw {
            $($(#[$doc])* pub(super) $key: Option<$type>,)+
            /// Cylinders and sectors per track, from the outer edge.
            pub(super) zones: Option<Vec<(u32, u32)>>,
            /// Distances in cylinders, ascending, with their times.
            pub(super) seek_table: Option<Vec<(u32, Span)>>,
            /// Read time of each kind of page.
            pub(super) page_read: Option<Vec<Span>>,
            /// Program time of each kind of page.
            pub(super) page_program: Option<Vec<Span>>,
            /// Priors of open keys, which have the values of the median drive above.
            pub(super) priors: BTreeMap<&'static str, Prior>,
            /// Joint draws of several open keys, which replace their priors.
            pub(super) posteriors: Vec<Posterior>,
            pub(super) lacks: Lacks,
            /// Text and comment of each key in the file that sets it.
            pub(super) stated: BTreeMap<&'static str, Stated>,
        }

        /// Every key, in the order of the reference.
        pub(super) const KEYS: &[&str] = &[$(stringify!($key),)+ "zones", "seek_table",
            "page_read", "page_program"];

        impl Raw {
            fn read_keys(section: &mut Section, file: &str) -> Result<Self, ConfigError> {
                let stated =
                KEYS.iter().filter_map(|key| Some((*key, section.stated(key)?))).collect();
                let mut priors = BTreeMap::new();
                Ok(Self {
                    $($key: take(section, stringify!($key), file, &mut priors)?,)+
                    zones: take_zones(section)?,
                    seek_table: take_seek_table(section)?,
                    page_read: take_times(section, "page_read")?,
                    page_program: take_times(section, "page_program")?,
                    priors,
                    posteriors: Vec::new(),
                    lacks: Lacks::default(),
                    stated,
                })
            }

            /// Adds the keys of `base` that are missing here.
            pub(super) fn over(mut self, mut base: Self) -> Self {
                self.displace_alternatives(&mut base);
                let inherited: Vec<&str> = KEYS
                .iter()
                .copied()
                .filter(|key| base.has(key) && !self.has(key))
                .collect();
                // An overridden key loses its prior and comment together with its value.
                base.priors.retain(|key, _| inherited.contains(key));
                base.stated.retain(|key, _| inherited.contains(key));
                base.priors.append(&mut self.priors);
                base.stated.append(&mut self.stated);
                let posteriors = base.posteriors.into_iter().filter_map(|posterior| {
                posterior.restricted(|key| inherited.contains(&key))
                });
                Self {
                    $($key: self.$key.or(base.$key),)+
                    zones: self.zones.or(base.zones),
                    seek_table: self.seek_table.or(base.seek_table),
                    page_read: self.page_read.or(base.page_read),
                    page_program: self.page_program.or(base.page_program),
                    priors: base.priors,
                    posteriors: posteriors.chain(self.posteriors).collect(),
                    lacks: self.lacks.over(base.lacks),
                    stated: base.stated,
                }
            }

            /// Returns true if `key` has a value.
            pub(super) fn has(&self, key: &str) -> bool {
                match key {
                    $(stringify!($key) => self.$key.is_some(),)+
                    "zones" => self.zones.is_some(),
                    "seek_table" => self.seek_table.is_some(),
                    "page_read" => self.page_read.is_some(),
                    "page_program" => self.page_program.is_some(),
                    _ => false,
                }
            }

            /// Sets `key` to the value of `text`.
            pub(super) fn set(&mut self, key: &str, text: &str) -> Result<(), Invalid> {
                match key {
                    $(stringify!($key) => self.$key = Some(<$type>::read(text)?),)+
                    _ => return Err(invalid!("`{key}` is not a single value")),
                }
                Ok(())
            }

            /// Looks up a key that may be open; returns it with the kind of its values.
            pub(super) fn may_be_open(name: &str) -> Option<(&'static str, Nature)> {
                match name {
                    $(stringify!($key) => Some((stringify!($key), <$type as Open>::NATURE?)),)+
                    _ => None,
                }
            }
        }
    };
}

profile_keys! {
    /// The base profile.
    base: String,
    /// True if its open numbers are drawn apart from those of its base.
    independent: Switch,
    kind: Kind,
    model: String,
    capacity_bytes: Capacity,
    sector_bytes: SectorSize,
    /// Properties that the profile knowingly omits.
    leaves_out: String,
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
    /// To the adjacent cylinder, including settling.
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
    // Shingled tracks.
    band_bytes: Memory,
    media_cache_bytes: MediaCache,
    /// Entries of the map of the media cache.
    media_cache_writes: Count<64, 100_000_000>,
    /// Idle time after which it is cleaned.
    clean_after: Patience,
    // Queue.
    queue_depth: Count<1, 1023>,
    order: OrderName,
    guard: Short,
    guard_growth: Growth,
    guard_from: Short,
    uncached_writes: OrderName,
    commit: CommitName,
    ageing: Share,
    age_limit: Patience,
    // Firmware time.
    overhead_read_miss: Short,
    overhead_read_hit: Short,
    overhead_write_miss: Short,
    overhead_write_hit: Short,
    /// Reads answered from the buffer without a modelled cause.
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
    /// Flash beyond the capacity, as a share of it; an alternative to `raw_bytes`.
    spare: Share,
    dies: Count<1, 4096>,
    channels: Count<1, 256>,
    planes: Count<1, 16>,
    page_bytes: Memory,
    block_pages: Count<1, 65_536>,
    /// Factors of one drive on the times of the lists.
    page_read_factor: Factor,
    page_program_factor: Factor,
    erase: Short,
    channel_mb_per_s: Count<1, 10_000>,
    channel_command: Short,
    suspend_stop: Short,
    suspend_resume: Short,
    suspend_most: Count<1, 1000>,
    overtaking_reads: Count<0, 1000>,
    read_retry_share: Share,
    read_retry: Short,
    slc_bytes: SlcSize,
    slc_read: Short,
    slc_program: Short,
    slc_fold_after: Patience,
    /// The share of the free space that is written as SLC in addition to `slc_bytes`.
    slc_free_share: Share,
    /// Bits of a cell; default: as many as there are kinds of page.
    cell_bits: Count<1, 5>,
    /// Of a page that is closed for a flush, and of a page of the map.
    flush_program: Short,
    /// Pages of the map that a flush writes behind the data.
    flush_map_pages: Count<0, 64>,
    // Translation layer.
    victims: VictimsName,
    victim_draws: Count<1, 1000>,
    low_water: Count<1, 64>,
    map_cache_bytes: Memory,
    /// Time that each command needs to look into a map outside of the controller.
    map_access: Short,
    power_loss_protection: Switch,
    /// The host reads of a volatile cache; default: where there is one, and on SATA always.
    reports_write_cache: Switch,
    // Controller of a solid-state drive.
    command_processing: Short,
    commands_at_once: Count<1, 65_536>,
    read_processing: Short,
    write_processing: Short,
    flush_processing: Short,
    /// Bytes that a cold drive moves before heat slows it down to `throttle_mb_per_s`.
    throttle_after: SlcSize,
    throttle_mb_per_s: Count<1, 100_000>,
    // The modelled part and its initial state.
    scale: Scale,
    precondition: Precondition,
    // A volume of a cloud.
    iops: Count<1, 10_000_000>,
    /// Instead of `iops`, by size, within these limits.
    iops_per_gib: Count<1, 10_000>,
    iops_min: Count<1, 10_000_000>,
    iops_max: Count<1, 10_000_000>,
    /// While credits last, which the unused part of `iops` saves up.
    burst_iops: Count<1, 10_000_000>,
    burst_credits: Count<1, 4_000_000_000>,
    bytes_per_s: SlcSize,
    /// Above this size, in GiB, the volume has the following rate instead.
    large_gib: Count<1, 65_536>,
    large_bytes_per_s: SlcSize,
    burst_bytes_per_s: SlcSize,
    burst_bytes: SlcSize,
    /// The largest request that counts as one.
    io_bytes: Memory,
    latency: Short,
    /// Of the first access to each 512 KiB, which come from a snapshot.
    first_touch: Short,
    // A drive of exactly known service time.
    service: Short,
    servers: Count<1, 4096>,
}

/// Errors of the model: standard deviations of the logarithm of a rate.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lacks {
    /// Of any figure.
    pub(super) any: Option<Sigma>,
    /// Of figures behind an elevator of the host.
    pub(super) elevator: Option<Sigma>,
    pub(super) source: Option<String>,
}

impl Lacks {
    fn read(table: Option<Section>) -> Result<Self, ConfigError> {
        let Some(mut table) = table else { return Ok(Self::default()) };
        let (any, elevator) = (table.take("any")?, table.take("elevator")?);
        let read = Self { any, elevator, source: table.take("source")? };
        table.finish()?;
        Ok(read)
    }

    fn over(self, base: Self) -> Self {
        Self {
            any: self.any.or(base.any),
            elevator: self.elevator.or(base.elevator),
            source: self.source.or(base.source),
        }
    }
}

/// The tables of a profile. Leaf keys are unique over all of them, so that an override may omit the
/// heading.
pub(super) const TABLES: [&str; 15] = [
    "drive",
    "geometry",
    "seek",
    "buffer",
    "shingled",
    "queue",
    "overhead",
    "tail",
    "flash",
    "translation",
    "processing",
    "modelled",
    "attachment",
    "volume",
    "fixed",
];

impl Raw {
    /// Reads `text`; the second value lists the file's sources.
    pub(super) fn read(file: &str, text: &str) -> Result<(Self, Vec<String>), ConfigError> {
        let mut section = Section::parse(file, text)?;
        for table in TABLES {
            section.lift(table)?;
        }
        let mut raw = Self::read_keys(&mut section, file)?;
        raw.lacks = Lacks::read(section.section("lacks")?)?;
        if let Some(table) = section.section("posterior")? {
            raw.add_posterior(Posterior::read(table, file, Self::may_be_open, |key, text| {
                Self::default().set(key, text)
            })?);
        }
        let mut sources = Vec::new();
        while let Some(source) = section.take::<String>("source")? {
            sources.push(source);
        }
        section.finish()?;
        Ok((raw, sources))
    }
}

impl Raw {
    /// Adds a posterior, which replaces the priors of its keys. A value next to it is that of the
    /// median drive.
    fn add_posterior(&mut self, posterior: Posterior) {
        for key in posterior.keys() {
            // The median drive must change with its posterior, unless the file states another
            // number.
            let was_open = self.priors.remove(key).is_some();
            if was_open || !self.has(key) {
                let median = posterior.marginal(key, 0.5).expect("it is one of its keys");
                self.set(key, &median.text).expect("every draw was checked");
                self.stated.remove(key);
            }
        }
        self.posteriors.push(posterior);
    }

    /// Declares its open numbers those of `origin`.
    pub(super) fn rename_origins(&mut self, origin: &str) {
        for prior in self.priors.values_mut() {
            origin.clone_into(&mut prior.origin);
        }
        for posterior in &mut self.posteriors {
            origin.clone_into(&mut posterior.origin);
        }
    }

    /// Removes the alternatives of these keys from `base`.
    fn displace_alternatives(&self, base: &mut Self) {
        // Two ways to state the same: the file's replaces the base's, or they would contradict.
        if self.raw_bytes.is_some() {
            base.spare = None;
        } else if self.spare.is_some() {
            base.raw_bytes = None;
        }
        if self.iops.is_some() || self.iops_per_gib.is_some() {
            (base.iops, base.iops_per_gib) = (None, None);
            (base.iops_min, base.iops_max) = (None, None);
            // Credits belong to the rate that saves them up.
            (base.burst_iops, base.burst_credits) = (None, None);
        }
        if self.bytes_per_s.is_some() {
            (base.burst_bytes_per_s, base.burst_bytes) = (None, None);
            (base.large_gib, base.large_bytes_per_s) = (None, None);
        }
        if self.zones.is_some() {
            (base.sectors_per_track_outer, base.sectors_per_track_inner) = (None, None);
            base.zone_count = None;
        } else if self.sectors_per_track_outer.is_some() || self.sectors_per_track_inner.is_some() {
            base.zones = None;
        }
        // The step to the next track is part of a table, and the averages are redundant with it.
        if self.seek_table.is_some() {
            (base.seek_track, base.seek_short, base.seek_average) = (None, None, None);
            (base.seek_full, base.seek_shape) = (None, None);
        } else if [self.seek_track, self.seek_short, self.seek_average].iter().any(Option::is_some)
        {
            base.seek_table = None;
        }
        // Two of average, full stroke and shape determine the third.
        let average = self.seek_average.is_some() || base.seek_average.is_some();
        if average && self.seek_full.is_some() {
            base.seek_shape = None;
        } else if average && self.seek_shape.is_some() {
            base.seek_full = None;
        }
    }
}

/// Takes the value of `key`, or the median of an open one.
fn take<T: Value + Open>(
    section: &mut Section,
    key: &'static str,
    file: &str,
    priors: &mut BTreeMap<&'static str, Prior>,
) -> Result<Option<T>, ConfigError> {
    let Some(nature) = T::NATURE.filter(|_| section.is_table(key)) else {
        return section.take(key);
    };
    let prior = Prior::read(section, key, nature, |text| T::read(text).map(drop), file)?;
    let median = prior.distribution.at(0.5, nature);
    priors.insert(key, prior);
    Ok(Some(T::read(&median.text).expect("it is between checked values")))
}

/// A bound on allocation, above any real drive.
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

fn take_zones(section: &mut Section) -> Result<Option<Vec<(u32, u32)>>, ConfigError> {
    let Some(rows) = section.rows("zones")? else { return Ok(None) };
    check_rows(&rows, 2)?;
    let mut zones = Vec::with_capacity(rows.len());
    for row in &rows {
        let cylinders: Count<1, 4_000_000> = row.get(0)?;
        let per_track: Count<8, 65_536> = row.get(1)?;
        zones.push((cylinders.0, per_track.0));
    }
    Ok(Some(zones))
}

fn take_times(section: &mut Section, key: &'static str) -> Result<Option<Vec<Span>>, ConfigError> {
    let list = section.list::<Short>(key)?;
    Ok(list.map(|times| times.into_iter().map(|time| time.0).collect()))
}

fn take_seek_table(section: &mut Section) -> Result<Option<Vec<(u32, Span)>>, ConfigError> {
    let Some(rows) = section.rows("seek_table")? else { return Ok(None) };
    check_rows(&rows, 2)?;
    let mut points: Vec<(u32, Span)> = Vec::with_capacity(rows.len());
    for row in &rows {
        let distance: Count<1, 4_000_000> = row.get(0)?;
        let time: Short = row.get(1)?;
        // Equal distances would make the interpolation divide by zero.
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

/// Returns the value of a mandatory key.
pub(super) fn required<T>(value: Option<T>, key: &str) -> Result<T, Invalid> {
    value.ok_or_else(|| invalid!("`{key}` is missing; add a line `{key} = ...`"))
}
