//! Parts of the region that are used unequally often.

use std::fmt;
use std::str::FromStr;

use crate::rng::Rng;
use crate::units::Bytes;
use crate::{Invalid, invalid};

/// The length of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// Percent of the region.
    Share(u32),
    Bytes(Bytes),
    /// An equal part of what the others leave.
    Rest,
}

impl Length {
    /// The length in a region of `count` slots of `step` bytes; 0 for the rest.
    fn slots(self, count: u64, step: u64) -> u64 {
        match self {
            Self::Share(share) => count * u64::from(share) / 100,
            Self::Bytes(bytes) => bytes.get() / step,
            Self::Rest => 0,
        }
    }
}

/// Maximum number of zones, as in fio's table (`ZONESPLIT_MAX`).
const ZONES_MAX: usize = 256;

/// Consecutive zones of the region, each with the percentage of requests that it gets: fio's
/// `zoned:50/5:30/15:20/` and `zoned_abs:60/20G:40/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones {
    /// Percentage of the requests, and the length of the zone.
    zones: Vec<(u32, Length)>,
}

impl Zones {
    /// Reads the text after the colon; lengths are in bytes if `absolute`, otherwise in percent.
    pub(super) fn parse(text: &str, absolute: bool) -> Result<Self, Invalid> {
        if text.split(':').count() > ZONES_MAX {
            return Err(invalid!("more than {ZONES_MAX} zones"));
        }
        let mut zones = Vec::new();
        for zone in text.split(':') {
            let (often, length) = zone.split_once('/').unwrap_or((zone, ""));
            let length = match length {
                "" => Length::Rest,
                bytes if absolute => Length::Bytes(bytes.parse()?),
                share => Length::Share(percent(share)?),
            };
            zones.push((percent(often)?, length));
        }
        let sum = zones.iter().map(|(often, _)| often).sum::<u32>();
        if sum != 100 {
            return Err(invalid!("the request shares of the zones add up to {sum} %, not 100 %"));
        }
        let shares = zones.iter().map(|(_, length)| match length {
            Length::Share(share) => *share,
            Length::Bytes(_) | Length::Rest => 0,
        });
        let sum = shares.sum::<u32>();
        if sum > 100 {
            return Err(invalid!("the zones add up to {sum} % of the region"));
        }
        let full = sum == 100;
        // Such a zone would have to give requests to an address that it does not have.
        let empty = zones.iter().find(|(often, length)| match length {
            Length::Share(share) => *often > 0 && *share == 0,
            Length::Bytes(bytes) => *often > 0 && bytes.get() == 0,
            Length::Rest => *often > 0 && full,
        });
        if let Some((often, _)) = empty {
            return Err(invalid!("a zone of length 0 would get {often} % of the requests"));
        }
        Ok(Self { zones })
    }

    /// The zones of a region of `count` slots of `step` bytes.
    pub(super) fn over(&self, count: u64, step: u64) -> Zoned {
        debug_assert!(count > 0 && step > 0);
        let taken: u64 = self.zones.iter().map(|(_, length)| length.slots(count, step)).sum();
        let open = self.zones.iter().filter(|(_, length)| *length == Length::Rest).count() as u64;
        let rest = count.saturating_sub(taken) / open.max(1);
        let (mut first, mut below) = (0, 0);
        let mut parts = Vec::new();
        for (often, length) in &self.zones {
            let length = if *length == Length::Rest { rest } else { length.slots(count, step) };
            below += often;
            debug_assert!(below <= 100);
            // Zones are cut off at the end of the region; a zone without a block gets the one at
            // which it begins.
            let begin = first.min(count - 1);
            parts.push((below, begin, length.clamp(1, count - begin)));
            first += length;
        }
        Zoned { parts }
    }
}

fn percent(text: &str) -> Result<u32, Invalid> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<u32>();
    number
        .ok()
        .filter(|number| *number <= 100)
        .ok_or_else(|| invalid!("`{text}` is not a percentage: write `zoned:60/10:40/90`"))
}

impl fmt::Display for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let absolute = self.zones.iter().any(|(_, length)| matches!(length, Length::Bytes(_)));
        f.write_str(if absolute { "zoned_abs" } else { "zoned" })?;
        self.zones.iter().try_for_each(|(often, length)| match length {
            Length::Share(share) => write!(f, ":{often}/{share}"),
            Length::Bytes(bytes) => write!(f, ":{often}/{bytes}"),
            Length::Rest => write!(f, ":{often}/"),
        })
    }
}

impl FromStr for Zones {
    type Err = Invalid;

    /// Reads the output of [`Zones`].
    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.split_once(':') {
            Some(("zoned", zones)) => Self::parse(zones, false),
            Some(("zoned_abs", zones)) => Self::parse(zones, true),
            _ => Err(invalid!("`{text}` does not describe zones: write `zoned:60/10:40/90`")),
        }
    }
}

/// Zones of a region whose size is known.
#[derive(Debug, Clone)]
pub(in crate::workload) struct Zoned {
    /// Percentage of the requests that fall here or before, first slot, number of slots.
    parts: Vec<(u32, u64, u64)>,
}

impl Zoned {
    /// The slot of the next request.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let percent = rng.below(100);
        let found = self.parts.iter().find(|(below, ..)| percent < u64::from(*below));
        let (_, first, count) = found.expect("the shares of all zones are 100 %");
        first + rng.below(*count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_read_print_and_refuse() {
        let check = |text: &str, expected: Option<&str>| {
            let read = text.parse::<Zones>().ok().map(|zones| zones.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check("zoned:50/5:30/15:20/80", Some("zoned:50/5:30/15:20/80"));
        check("zoned:50/5:30/15:20", Some("zoned:50/5:30/15:20/"));
        check("zoned_abs:60/20G:40/", Some("zoned_abs:60/20G:40/"));
        check("zoned:50/5:30/15", None);
        check("zoned:50/80:50/80", None);
        check("zoned:101/5", None);
        check("zoned:", None);
        check("zones:100/100", None);
        // Requests that would have no place to go, and more zones than a table holds.
        check("zoned:100/0", None);
        check("zoned:50/100:50/", None);
        check("zoned_abs:100/0", None);
        check("zoned:0/0:100/100", Some("zoned:0/0:100/100"));
        check(&format!("zoned:100/{}", ":0/0".repeat(1000)), None);
    }

    #[test]
    fn each_zone_gets_its_share_of_the_requests() {
        let zones: Zones = "zoned:50/5:30/15:20/".parse().unwrap();
        let (placed, mut rng) = (zones.over(1000, 4096), Rng::new(7));
        let mut seen = [0_u32; 3];
        for _ in 0..100_000 {
            let slot = placed.draw(&mut rng);
            assert!(slot < 1000);
            seen[usize::from(slot >= 50) + usize::from(slot >= 200)] += 1;
        }
        for (seen, expected) in seen.into_iter().zip([50_000_u32, 30_000, 20_000]) {
            // The standard deviation of each is at most 158.
            assert!(seen.abs_diff(expected) < 640, "{seen} for {expected}");
        }
    }

    #[test]
    fn zones_beyond_a_small_region_are_cut_off() {
        let zones: Zones = "zoned_abs:60/1M:30/1M:10/".parse().unwrap();
        let (placed, mut rng) = (zones.over(100, 4096), Rng::new(7));
        assert!((0..10_000).all(|_| placed.draw(&mut rng) < 100));
    }
}
