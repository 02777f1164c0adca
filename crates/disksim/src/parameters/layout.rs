//! The block `dm_layout_g1`: zones, skews, spares and defects.

use drivelab_model::mechanics::Angle;

use super::error::DiskSimResult;
use super::fields::Fields;
use super::tree::Value;
use crate::disk::{Heads, Layout, Sparing, Zone, ZoneShape};

pub(super) fn read(mut fields: Fields, heads: u32) -> DiskSimResult<Layout> {
    let order = match fields.number("LBN-to-PBN mapping scheme", 0..=2)? {
        0 => Heads::Rising,
        1 => Heads::SerpentineInZone,
        _ => Heads::SerpentineOverall,
    };
    let scheme = fields.number("Sparing scheme used", 0..=10)?;
    let range = fields.number("Rangesize for sparing", 1..=1 << 22)?;
    let unit = read_skew_unit(&mut fields)?;
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

/// Settings that all zones share.
struct Rules {
    scheme: u64,
    range: u32,
    heads: u32,
    unit: Option<String>,
}

impl Rules {
    fn zone(&self, value: Value, previous: Option<&Zone>) -> DiskSimResult<Zone> {
        let mut fields = Fields::of(value.block("Zones", "dm_layout_g1_zone")?);
        let at = fields.block.at.clone();
        // The number of cylinders in the file is not a limit: some zones exceed it.
        let limit = 1 << 22;
        let first = fields.number("First cylinder number", 0..=limit)?;
        let last = fields.number("Last cylinder number", first..=limit)?;
        if previous.is_some_and(|zone| zone.last_cylinder() >= first) {
            return Err(at.error("this zone starts before the previous one ends"));
        }
        let per_track = fields.number("Blocks per track", 1..=1 << 16)?;
        let unit = read_skew_unit(&mut fields)?;
        let in_sectors = match unit.as_deref().or(self.unit.as_deref()) {
            None | Some("sectors") => true,
            Some("revolutions") => false,
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
        let [origin, track_skew, cylinder_skew] = [origin, track, cylinder].map(|number| {
            if in_sectors {
                whole_sectors(number).wrapping_mul(u64::MAX / u64::from(per_track))
            } else {
                revolutions(number)
            }
        });
        let slips = read_defects(&mut fields, "slips")?;
        let remapped = read_defects(&mut fields, "defects")?;
        if remapped.len() % 2 == 1 {
            return Err(at.error("`defects`: expected pairs of a bad place and its spare"));
        }
        let mut spares = fields.number("Number of spares", 0..=1 << 32)?;
        // Scheme 10 adds the slipped sectors to the spares of the zone; otherwise it is scheme 9.
        if self.scheme == 10 {
            spares += slips.len() as u64;
        }
        let shape = ZoneShape {
            first_cylinder: first,
            cylinders: last - first + 1,
            per_track,
            origin,
            track_skew,
            cylinder_skew,
            reserved: fields.number("Empty space at zone front", 0..=1 << 40)?,
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

fn read_skew_unit(fields: &mut Fields) -> DiskSimResult<Option<String>> {
    let Some(unit) = fields.optional("Skew units") else { return Ok(None) };
    Ok(Some(unit.words("Skew units")?.to_owned()))
}

fn read_defects(fields: &mut Fields, key: &'static str) -> DiskSimResult<Vec<u64>> {
    fields.value(key)?.list(key)?.iter().map(|value| value.number(key, 0..=1 << 40)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "limited to 10^6 sectors")]
fn whole_sectors(number: f64) -> u64 {
    // Two's complement: a negative skew rotates in the other direction.
    (number as i64).cast_unsigned()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the fraction of a revolution in units of 2^-64"
)]
fn revolutions(number: f64) -> Angle {
    ((number - number.floor()) * 18_446_744_073_709_551_616.0) as u64
}
