//! Conversion of a hard disk's profile keys to checked parts.

use drivelab_core::{Invalid, Ratio, Sectors, Span, invalid};

use super::raw::{Raw, required};
use super::values::{CommitName, Interface, Memory, OrderName};
use crate::controller::Link;
use crate::disk::geometry::{Geometry, ZoneShape};
use crate::disk::mechanics::Mechanics;
use crate::disk::parts::{Overheads, Parts, Retries, UncachedWrites, WriteCacheLimits};
use crate::disk::queue::Order;
use crate::disk::seek::{CurveFrom, SeekCurve, SeekTable};
use crate::disk::shingled::Shingling;
use crate::options::{Precondition, Switch};
use crate::spindle::Spindle;

/// A checked hard disk, which can be built without errors.
#[derive(Debug, Clone)]
pub(crate) struct HddProfile {
    /// Its parts, with the write cache on.
    pub(crate) parts: Parts,
    milli_rpm: u64,
    pub(crate) write_cache: Switch,
    pub(crate) queue_depth: usize,
    pub(crate) guard_growth: Option<f64>,
    pub(crate) interface: Interface,
    pub(crate) link: Link,
    /// `None` where no tracks overlap.
    pub(crate) shingling: Option<Shingling>,
    pub(crate) precondition: Precondition,
    /// For SCSI, where the bus is not a SATA link.
    pub(crate) bus: ScsiBus,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ScsiBus {
    pub(crate) bytes_per_s: u64,
    /// Overhead of a command on the bus, without its data.
    pub(crate) per_command: Span,
}

/// A bound on the seek table, above any real drive.
const MAX_CYLINDERS: u64 = 4_000_000;
/// Time in which a host answers with another request, for firmware that waits for it: our estimate.
const REACTION: Span = Span::from_us(50);
const MIN_BAND: Sectors = Sectors::new(2048);

impl HddProfile {
    pub(super) fn assemble(raw: &Raw) -> Result<Self, Invalid> {
        let capacity = required(raw.capacity_bytes, "capacity_bytes")?.0;
        let milli_rpm = required(raw.rpm, "rpm")?.0;
        let heads = required(raw.heads, "heads")?.0;
        let head_switch = required(raw.head_switch, "head_switch")?.0;
        let write_settle = raw.write_settle.map_or(Span::ZERO, |span| span.0);
        let spindle = Spindle::new(milli_rpm);
        let step = track_step(raw)?;
        // The defaults of the skews hide exactly one switch: a stream continues without losing a
        // turn.
        let skews = Skews {
            track: raw.track_skew.map_or(head_switch, |span| span.0),
            cylinder: raw.cylinder_skew.map_or(step.max(head_switch), |span| span.0),
        };
        let shape = shingling(raw)?;
        let reserved = shape.map_or(Sectors::ZERO, Shingling::reserved);
        let zones = zone_sizes(raw, capacity + reserved, heads)?
            .into_iter()
            .map(|(cylinders, per_track)| skews.apply(&spindle, cylinders, per_track))
            .collect::<Vec<_>>();
        let geometry = Geometry::new(heads, capacity, &zones).reserving(reserved);
        // Only after the layout: the average seek is one over addresses, not over cylinders.
        let seeks = seek_times(raw, &geometry)?;
        let order = queue_order(raw, &spindle, short_seek(raw, &seeks, geometry.cylinders()))?;
        let track_step = step;
        let mechanics =
            Mechanics { spindle, geometry, seeks, track_step, head_switch, write_settle };
        let parts = Parts {
            mechanics,
            order,
            uncached_writes: match raw.uncached_writes.unwrap_or(OrderName::Sptf) {
                OrderName::Sptf => UncachedWrites::ByTheRule,
                OrderName::Fifo => UncachedWrites::InOrder,
            },
            late: lateness(raw)?,
            overheads: overheads(raw)?,
            // Defaults of a desktop drive: 16 segments of 1 MiB, 256 KiB of read-ahead, and 8 MiB
            // of write cache in at most 64 runs.
            read_segments: raw.read_segments.map_or(16, |count| count.0 as usize),
            segment_size: memory_or(raw.segment_bytes, Sectors::new(2048)),
            read_ahead: memory_or(raw.read_ahead_bytes, Sectors::new(512)),
            write_cache: Some(WriteCacheLimits {
                size: memory_or(raw.write_cache_bytes, Sectors::new(16_384)),
                runs: raw.write_cache_runs.map_or(64, |count| count.0 as usize),
            }),
            hit_share: raw.hit_share.map_or(Ratio::ZERO, |share| share.0),
            retries: Retries {
                share: raw.retry_share.map_or(Ratio::ZERO, |share| share.0),
                revolutions: raw.retry_revolutions.map_or(1, |count| u64::from(count.0)),
            },
            physical_sector: raw.sector_bytes.map_or(Sectors::new(1), |bytes| bytes.0),
        };
        Ok(Self {
            parts,
            milli_rpm,
            write_cache: raw.write_cache.unwrap_or(Switch::On),
            guard_growth: raw.guard_growth.map(|share| share.0).filter(|share| *share > 0.0),
            queue_depth: raw.queue_depth.map_or(32, |count| count.0 as usize),
            interface: raw.interface.unwrap_or(Interface::Sata),
            link: raw.link.unwrap_or(Link::Sata2),
            shingling: shape,
            precondition: raw.precondition.unwrap_or_default(),
            // 320 MB/s is Ultra320 SCSI; the overhead of 10 us is an estimate.
            bus: ScsiBus {
                bytes_per_s: raw.bus_mb_per_s.map_or(320, |rate| u64::from(rate.0)) * 1_000_000,
                per_command: raw.bus_overhead.map_or(Span::from_us(10), |span| span.0),
            },
        })
    }

    pub(super) fn milli_rpm(&self) -> u64 {
        self.milli_rpm
    }
}

/// The shingled tracks of a drive that has a media cache for them.
fn shingling(raw: &Raw) -> Result<Option<Shingling>, Invalid> {
    let Some(cache) = raw.media_cache_bytes else {
        return match raw.band_bytes {
            Some(_) => Err("`band_bytes` needs `media_cache_bytes`".into()),
            None => Ok(None),
        };
    };
    let physical_sector = raw.sector_bytes.map_or(Sectors::new(1), |bytes| bytes.0);
    // Whole physical sectors: a band and a write in the log begin with one.
    let band = required(raw.band_bytes, "band_bytes")?.0.get();
    let [band, cache] = [band, cache.0.get() / 512]
        .map(|sectors| Sectors::new(sectors - sectors % physical_sector.get()));
    if band < MIN_BAND || cache.get() < 4 * band.get() {
        return Err("a band has at least 1 MiB, and the media cache at least four bands".into());
    }
    Ok(Some(Shingling {
        band,
        cache,
        writes: required(raw.media_cache_writes, "media_cache_writes")?.0 as usize,
        clean_after: required(raw.clean_after, "clean_after")?.0,
        physical_sector,
    }))
}

/// The time for which firmware waits before it chooses.
fn lateness(raw: &Raw) -> Result<Span, Invalid> {
    Ok(match raw.commit.unwrap_or(CommitName::Early) {
        CommitName::Early => Span::ZERO,
        CommitName::Late => overheads(raw)?.read_miss + REACTION,
    })
}

fn memory_or(value: Option<Memory>, default: Sectors) -> Sectors {
    value.map_or(default, |memory| memory.0)
}

/// Times of the switch to the next track, which the layout leaves room for.
#[derive(Debug, Clone, Copy)]
struct Skews {
    track: Span,
    cylinder: Span,
}

impl Skews {
    /// Converts the skews to whole sectors of a zone, rounded up so that the next track is not
    /// missed.
    fn apply(self, spindle: &Spindle, cylinders: u32, per_track: u32) -> ZoneShape {
        let revolution = u128::from(spindle.period().ns());
        let [track_skew, cylinder_skew] = [self.track, self.cylinder].map(|skew| {
            let count = (u128::from(skew.ns()) * u128::from(per_track)).div_ceil(revolution);
            // Whole revolutions of skew have no effect on the angle.
            u32::try_from(count % u128::from(per_track)).expect("below the sectors of a track")
        });
        ZoneShape { cylinders, per_track, track_skew, cylinder_skew }
    }
}

fn track_step(raw: &Raw) -> Result<Span, Invalid> {
    match (&raw.seek_table, raw.seek_track) {
        (Some(points), None) => Ok(points[0].1),
        (None, Some(track)) => Ok(track.0),
        (Some(_), Some(_)) => Err("give `seek_table` or the keys of a curve, not both".into()),
        (None, None) => {
            Err("no seek times: give `seek_table`, or `seek_track` with `seek_average`".into())
        }
    }
}

/// Cylinders and sectors per track of each zone.
fn zone_sizes(raw: &Raw, capacity: Sectors, heads: u32) -> Result<Vec<(u32, u32)>, Invalid> {
    let zones = match (&raw.zones, raw.sectors_per_track_outer, raw.sectors_per_track_inner) {
        (Some(zones), None, None) => zones.clone(),
        (None, Some(outer), Some(inner)) => {
            let count = raw.zone_count.map_or(16, |count| count.0);
            linear_zones(capacity, heads, count, outer.0, inner.0)?
        }
        _ => {
            return Err("give `zones`, or both `sectors_per_track_outer` and \
                        `sectors_per_track_inner`"
                .into());
        }
    };
    let cylinders: u64 = zones.iter().map(|(cylinders, _)| u64::from(*cylinders)).sum();
    if cylinders > MAX_CYLINDERS {
        return Err(invalid!(
            "{cylinders} cylinders exceed any drive ({MAX_CYLINDERS}): raise the sectors per track \
             or the heads, or lower the capacity"
        ));
    }
    let held: u64 =
        zones.iter().map(|(c, s)| u64::from(*c) * u64::from(*s) * u64::from(heads)).sum();
    let wanted = capacity.get();
    // Up to a tenth more can be spare sectors; beyond that the zones contradict the capacity.
    if held < wanted || (raw.zones.is_some() && held > wanted + wanted / 10) {
        return Err(invalid!(
            "the zones hold {held} sectors, but `capacity_bytes` is {wanted} sectors"
        ));
    }
    Ok(zones)
}

/// Zones with equal numbers of cylinders and linearly decreasing density.
fn linear_zones(
    capacity: Sectors,
    heads: u32,
    count: u32,
    outer: u32,
    inner: u32,
) -> Result<Vec<(u32, u32)>, Invalid> {
    if inner > outer {
        return Err(invalid!(
            "the inner tracks ({inner} sectors) are longer than the outer ones ({outer})"
        ));
    }
    // `count` - 1 steps from the outer to the inner density; a single zone has the outer one.
    let densities: Vec<u32> = (0..count)
        .map(|zone| {
            let fall = u64::from(outer - inner) * u64::from(zone) / u64::from(count.max(2) - 1);
            outer - u32::try_from(fall).expect("below the outer density")
        })
        .collect();
    // One cylinder of every zone.
    let all: u64 = densities.iter().map(|density| u64::from(*density) * u64::from(heads)).sum();
    // Rounded up: the last cylinders may hold a few sectors more than the capacity.
    let cylinders = capacity.get().div_ceil(all);
    let cylinders = u32::try_from(cylinders)
        .map_err(|_| "the capacity is too large for this number of sectors per track".to_owned())?;
    Ok(densities.into_iter().map(|density| (cylinders, density)).collect())
}

fn seek_times(raw: &Raw, geometry: &Geometry) -> Result<SeekTable, Invalid> {
    let cylinders = geometry.cylinders();
    if let Some(points) = &raw.seek_table {
        return Ok(SeekTable::interpolated(points, cylinders));
    }
    let track = required(raw.seek_track, "seek_track")?.0;
    // Without a separate figure, a settled seek to the next cylinder is a sequential one.
    let short = raw.seek_short.map_or(track, |span| span.0);
    if short < track {
        return Err(
            "`seek_short`, a settled seek, takes less than `seek_track`, a seek in sequence".into(),
        );
    }
    let (average, full) = (raw.seek_average.map(|span| span.0), raw.seek_full.map(|span| span.0));
    let from = match (average, full, raw.seek_shape.map(|shape| shape.0)) {
        (Some(average), Some(full), None) => CurveFrom::AverageAndFull { average, full },
        (Some(average), None, Some(shape)) => CurveFrom::AverageAndShape { average, shape },
        (None, Some(full), Some(shape)) => CurveFrom::FullAndShape { full, shape },
        _ => {
            return Err("give two of `seek_average`, `seek_full` and `seek_shape`: they fix the \
                        third"
                .into());
        }
    };
    if full.is_some_and(|full| full < short) || average.is_some_and(|average| average < short) {
        return Err("the shortest seek takes longer than the average or the full seek".into());
    }
    let curve = SeekCurve::fit(geometry, short, from).map_err(|(low, high)| {
        format!(
            "no seek curve through these points has that average; with this full stroke it is \
             between {low} and {high}"
        )
    })?;
    Ok(curve.table(cylinders))
}

/// The settled short seek; for a seek table, the time of a two-thousandth of the stroke.
fn short_seek(raw: &Raw, seeks: &SeekTable, cylinders: u32) -> Span {
    match raw.seek_short.or(raw.seek_track) {
        Some(span) => span.0,
        None => seeks.time((cylinders / 2000).max(1)),
    }
}

fn queue_order(raw: &Raw, spindle: &Spindle, short_seek: Span) -> Result<Order, Invalid> {
    match raw.order.unwrap_or(OrderName::Sptf) {
        OrderName::Fifo => Ok(Order::Fifo),
        OrderName::Sptf => {
            let guard = raw.guard.map_or(Span::ZERO, |span| span.0);
            // A guard of a full revolution is allowed: it turns rotational ordering off.
            if guard > spindle.period() {
                return Err(invalid!(
                    "the guard band of {guard} is longer than a revolution ({})",
                    spindle.period()
                ));
            }
            // Measured tails (p99 3.5 to 4.5 times the mean at depth 32, the longest wait 1.1 to
            // 2.9 s) exclude a stricter limit (docs/internals/drive-facts.md).
            let age_limit = raw.age_limit.map_or(Span::from_secs(2), |span| span.0);
            let ageing = raw.ageing.map_or(Ratio::ZERO, |share| share.0);
            // Billionths to units of 2^-20, which the choice shifts out again.
            let scaled = u128::from(ageing.billionths()) << 20;
            let ageing = u64::try_from(scaled / 1_000_000_000).expect("at most 2^20");
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share from 0 to 10"
            )]
            let guard_growth = (raw.guard_growth.map_or(0.0, |share| share.0) * 1_048_576.0) as u64;
            let guard_from = raw.guard_from.map_or(short_seek, |span| span.0);
            Ok(Order::ShortestPositioning { guard, guard_growth, guard_from, ageing, age_limit })
        }
    }
}

fn overheads(raw: &Raw) -> Result<Overheads, Invalid> {
    let read_miss = required(raw.overhead_read_miss, "overhead_read_miss")?.0;
    let read_hit = required(raw.overhead_read_hit, "overhead_read_hit")?.0;
    // Writes take the overheads of reads unless they have been measured separately.
    Ok(Overheads {
        read_miss,
        read_hit,
        write_miss: raw.overhead_write_miss.map_or(read_miss, |span| span.0),
        write_hit: raw.overhead_write_hit.map_or(read_hit, |span| span.0),
    })
}
