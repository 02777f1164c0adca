//! The block `dm_layout_g1`: zones, skews, spares and defects.

use drivelab_model::mechanics::Angle;

use super::error::DiskSimError;
use super::fields::Fields;
use super::tree::Value;
use crate::disk::{Heads, Layout, Sparing, Zone, ZoneShape};

pub(super) fn read(mut fields: Fields, heads: u32) -> Result<Layout, DiskSimError> {
    let order = match fields.whole("LBN-to-PBN mapping scheme", 0..=2)? {
        0 => Heads::Rising,
        1 => Heads::SerpentineInZone,
        _ => Heads::SerpentineOverall,
    };
    let scheme = fields.whole("Sparing scheme used", 0..=10)?;
    let range = u32::try_from(fields.whole("Rangesize for sparing", 1..=1 << 22)?)
        .expect("the limit is below 2^32");
    let unit = fields.optional("Skew units").map(|unit| unit.words("Skew units")).transpose()?;
    let zones = fields.value("Zones")?;
    fields.finish()?;
    let rules = Rules { scheme, range, heads, unit };
    let at = zones.at.clone();
    let mut list: Vec<Zone> = Vec::new();
    for zone in zones.list("Zones")? {
        let previous = list.last();
        list.push(rules.zone(zone, previous)?);
        if list.len() > 4096 {
            return Err(at.error("more than 4096 zones"));
        }
    }
    if list.is_empty() {
        return Err(at.error("`Zones`: expected at least one zone"));
    }
    Ok(Layout::new(list, heads, order))
}

/// What all zones share.
struct Rules {
    scheme: u64,
    range: u32,
    heads: u32,
    unit: Option<String>,
}

impl Rules {
    fn zone(&self, value: Value, previous: Option<&Zone>) -> Result<Zone, DiskSimError> {
        let mut fields = Fields::of(value.block("Zones", "dm_layout_g1_zone")?);
        let at = fields.at.clone();
        // The number of cylinders in the file is no limit: some zones go beyond it.
        let limit = 1 << 22;
        let first = fields.whole("First cylinder number", 0..=limit)?;
        let last = fields.whole("Last cylinder number", first..=limit)?;
        let (first, last) = (narrow(first), narrow(last));
        if previous.is_some_and(|zone| zone.last_cylinder() >= first) {
            return Err(at.error("this zone starts before the previous one ends"));
        }
        let per_track = narrow(fields.whole("Blocks per track", 1..=1 << 16)?);
        let unit = match fields.optional("Skew units") {
            Some(unit) => Some(unit.words("Skew units")?),
            None => self.unit.clone(),
        };
        let angle = match unit.as_deref() {
            None | Some("sectors") => |number: f64, per_track: u32| {
                whole_sectors(number).wrapping_mul(u64::MAX / u64::from(per_track))
            },
            Some("revolutions") => |number: f64, _| revolutions(number),
            Some(other) => {
                return Err(at.error(format!(
                    "`Skew units = {other}`: expected `sectors` or `revolutions`"
                )));
            }
        };
        let turn = -1e6..=1e6;
        let origin = fields.number("Offset of first block", turn.clone())?;
        let track = fields.number("Skew for track switch", turn.clone())?;
        let cylinder = fields.number("Skew for cylinder switch", turn)?;
        let slips = places(&mut fields, "slips")?;
        let remapped = places(&mut fields, "defects")?;
        if remapped.len() % 2 == 1 {
            return Err(at.error("`defects`: expected pairs of a bad place and its spare"));
        }
        let mut spares = fields.whole("Number of spares", 0..=1 << 32)?;
        if self.scheme == 10 {
            spares += slips.len() as u64;
        }
        let shape = ZoneShape {
            first_cylinder: first,
            cylinders: last - first + 1,
            per_track,
            origin: angle(origin, per_track),
            track_skew: angle(track, per_track),
            cylinder_skew: angle(cylinder, per_track),
            reserved: fields.whole("Empty space at zone front", 0..=1 << 40)?,
            spares,
            sparing: self.sparing(),
            slips,
            remapped: remapped.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
        };
        fields.finish()?;
        let begin = previous.map_or(0, |zone| zone.end);
        Zone::new(begin, self.heads, shape)
            .ok_or_else(|| at.error("spares, reserved and slipped sectors use up this zone"))
    }

    fn sparing(&self) -> Sparing {
        match self.scheme {
            0 => Sparing::None,
            1 => Sparing::Tracks,
            2 => Sparing::PerCylinder,
            3 => Sparing::PerTrack,
            4 => Sparing::PerCylinderSlipToEnd,
            5 => Sparing::PerCylinderAtFront,
            6 => Sparing::PerCylinderAtFrontSlipToEnd,
            7 => Sparing::AtEnd,
            8 => Sparing::PerRange(self.range),
            _ => Sparing::PerZone,
        }
    }
}

fn places(fields: &mut Fields, key: &'static str) -> Result<Vec<u64>, DiskSimError> {
    fields.value(key)?.list(key)?.iter().map(|place| place.whole(key, 0..=1 << 40)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "limited to 10^6 sectors")]
fn whole_sectors(number: f64) -> u64 {
    // Two's complement: a negative skew turns the other way.
    (number as i64).cast_unsigned()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the fraction of a revolution in units of 2^-64"
)]
fn revolutions(number: f64) -> Angle {
    let fraction = number - libm_floor(number);
    (fraction * 18_446_744_073_709_551_616.0) as u64
}

/// The greatest whole number not above `number`, which is within 10^6.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "limited to 10^6 revolutions"
)]
fn libm_floor(number: f64) -> f64 {
    let whole = number as i64 as f64;
    if whole > number { whole - 1.0 } else { whole }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).expect("the limits are below 2^32")
}
