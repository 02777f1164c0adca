//! The addresses of requests.

mod shuffle;
mod skew;
mod strided;
mod zipf;
mod zones;

pub use strided::Strided;
pub(super) use strided::Walk;
pub use zones::Zones;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use self::shuffle::Shuffle;
use self::skew::{Normal, Pareto, Skew};
use self::zipf::Zipf;
use self::zones::Zoned;
use crate::numbers::gcd;
use crate::rng::Rng;
use crate::units::{Lba, Sectors};
use crate::{Invalid, invalid};

/// The spread of random addresses over the region, as fio's `random_distribution`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Distribution {
    /// Every block equally likely.
    Uniform,
    /// The n-th hottest block is used in proportion to 1 / n^theta; 0 < theta <= 5.
    ///
    /// The hot blocks are scattered over the region, as on a used disk.
    Zipf(f64),
    /// A share of the blocks gets the remaining share of the requests, at every scale: with 0.2 a
    /// fifth gets four fifths. The hot blocks are scattered, too.
    Pareto(f64),
    /// The mean of twelve equally likely blocks, give or take half of this percentage of the
    /// blocks. The hot blocks are scattered, too.
    Normal(f64),
    /// Parts of the region, each with its share of the requests.
    Zoned(Zones),
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.pad("random"),
            Self::Zipf(theta) => f.pad(&format!("zipf:{theta}")),
            Self::Pareto(share) => f.pad(&format!("pareto:{share}")),
            Self::Normal(deviation) => f.pad(&format!("normal:{deviation}")),
            Self::Zoned(zones) => f.pad(&zones.to_string()),
        }
    }
}

impl FromStr for Distribution {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "random" | "uniform" if value.is_empty() => Ok(Self::Uniform),
            "zipf" => match value.parse::<f64>() {
                Ok(theta) if theta > 0.0 && theta <= 5.0 => Ok(Self::Zipf(theta)),
                _ => Err(invalid!("`{text}` needs a theta above 0 and up to 5: `zipf:1.1`")),
            },
            "pareto" => match value.parse::<f64>() {
                Ok(share) if share > 0.0 && share < 1.0 => Ok(Self::Pareto(share)),
                _ => Err(invalid!("`{text}` needs a share above 0 and below 1: `pareto:0.2`")),
            },
            "normal" => match value.parse::<f64>() {
                Ok(deviation) if (0.0..=100.0).contains(&deviation) => Ok(Self::Normal(deviation)),
                _ => Err(invalid!("`{text}` needs a percentage from 0 to 100: `normal:10`")),
            },
            "zoned" | "zoned_abs" => text.parse().map(Self::Zoned),
            _ => Err(invalid!(
                "unknown distribution `{text}`: write `random`, `zipf:1.1`, `pareto:0.2`, \
                 `normal:10` or `zoned:60/10:40/90`"
            )),
        }
    }
}

impl TryFrom<String> for Distribution {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<Distribution> for String {
    fn from(distribution: Distribution) -> Self {
        distribution.to_string()
    }
}

/// Draws the address of each next request inside a region of aligned blocks.
#[derive(Debug, Clone)]
pub(super) enum Addresses {
    Uniform(Slots),
    Shuffled(Slots, Shuffle),
    Zoned(Slots, Zoned),
    Skewed { slots: Slots, ranks: Skew, spread: u64 },
    Streams(Streams),
}

/// The addresses at which random blocks may begin: `count` slots, `step` sectors apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    pub(super) first: Lba,
    pub(super) step: Sectors,
    pub(super) count: u64,
}

impl Slots {
    #[inline]
    fn lba(self, slot: u64) -> Lba {
        debug_assert!(slot < self.count, "slot {slot} of {}", self.count);
        self.first + Sectors::new(slot * self.step.get())
    }
}

/// The sectors that are used, up to `end`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    pub(super) first: Lba,
    pub(super) end: Lba,
}

/// Sequential cursors, each in its own part of the region, used in turn.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    parts: Vec<Region>,
    /// Address at which each continues; backwards, the end of its next block.
    cursors: Vec<Lba>,
    order: Order,
    turn: usize,
}

/// The order in which a stream uses its blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Order {
    /// Distance between the starts of blocks; default: no gaps.
    pub(super) stride: Option<Sectors>,
    /// From the end to the beginning.
    pub(super) backwards: bool,
}

impl Addresses {
    /// Random addresses, each slot drawn independently of earlier draws.
    pub(super) fn random(distribution: &Distribution, slots: Slots) -> Self {
        debug_assert!(slots.count > 0, "a region has room for a block");
        let ranks = match distribution {
            Distribution::Uniform => return Self::Uniform(slots),
            Distribution::Zoned(zones) => {
                return Self::Zoned(slots, zones.over(slots.count, slots.step.bytes().get()));
            }
            Distribution::Zipf(theta) => Skew::Zipf(Zipf::new(slots.count, *theta)),
            Distribution::Pareto(share) => Skew::Pareto(Pareto::new(slots.count, *share)),
            Distribution::Normal(deviation) => Skew::Normal(Normal::new(slots.count, *deviation)),
        };
        Self::Skewed { slots, ranks, spread: scatter(slots.count) }
    }

    /// Random addresses, every slot once before any is repeated.
    pub(super) fn shuffled(slots: Slots) -> Self {
        Self::Shuffled(slots, Shuffle::new(slots.count))
    }

    /// Sequential addresses in equal parts of `region`, one part per stream.
    ///
    /// Parts begin at multiples of `align`, so that a stream's blocks stay aligned.
    pub(super) fn sequential(region: Region, streams: u32, align: Sectors, order: Order) -> Self {
        let Region { first, end } = region;
        // Whole blocks for each part, so that no block belongs to two streams.
        let length = (end - first).get() / u64::from(streams) / align.get() * align.get();
        let (mut parts, mut cursors) = (Vec::new(), Vec::new());
        for stream in 0..u64::from(streams) {
            let first = first + Sectors::new(stream * length);
            let part = Region { first, end: first + Sectors::new(length) };
            cursors.push(if order.backwards { part.end } else { part.first });
            parts.push(part);
        }
        Self::Streams(Streams { parts, cursors, order, turn: 0 })
    }

    /// Begins a zone: sequential addresses continue at its beginning.
    pub(super) fn begin_zone(&mut self) {
        if let Self::Streams(streams) = self {
            debug_assert!(!streams.order.backwards, "zones are used forwards");
            for (cursor, part) in streams.cursors.iter_mut().zip(&streams.parts) {
                *cursor = part.first;
            }
        }
    }

    /// The address of the next request, which is `sectors` long.
    ///
    /// The usual kind is drawn inline, the others in a call: together they are too large to inline
    /// into the load loop.
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Rng, sectors: Sectors) -> Lba {
        match self {
            Self::Uniform(slots) => slots.lba(rng.below(slots.count)),
            other => other.unusual(rng, sectors),
        }
    }

    #[inline(never)]
    fn unusual(&mut self, rng: &mut Rng, sectors: Sectors) -> Lba {
        match self {
            Self::Uniform(_) => unreachable!("drawn in `next`"),
            Self::Shuffled(slots, shuffle) => slots.lba(shuffle.draw(rng)),
            Self::Zoned(slots, zones) => slots.lba(zones.draw(rng)),
            Self::Skewed { slots, ranks, spread } => {
                let rank = u128::from(ranks.draw(rng));
                let slot = rank * u128::from(*spread) % u128::from(slots.count);
                slots.lba(u64::try_from(slot).expect("a remainder of a 64-bit count"))
            }
            Self::Streams(streams) => streams.next(sectors),
        }
    }
}

impl Streams {
    fn next(&mut self, sectors: Sectors) -> Lba {
        let turn = self.turn;
        self.turn = if turn + 1 == self.cursors.len() { 0 } else { turn + 1 };
        let Region { first: start, end } = self.parts[turn];
        let lba = self.cursors[turn];
        let step = self.order.stride.unwrap_or(sectors);
        if self.order.backwards {
            // A block that no longer fits before the part's beginning comes from its end again.
            let lba = if (lba - start).get() < sectors.get() { end } else { lba };
            let left = (lba - start).get().saturating_sub(step.get());
            self.cursors[turn] = start + Sectors::new(left);
            debug_assert!(lba - start >= sectors, "a part has room for a block");
            return start + Sectors::new((lba - start).get() - sectors.get());
        }
        // A stream that would exceed its part starts again at its beginning.
        let lba = if lba + sectors > end { start } else { lba };
        self.cursors[turn] = lba + step;
        debug_assert!(lba >= start && lba + sectors <= end);
        lba
    }
}

/// A multiplier that shares no factor with `count`, so that ranks map one to one to slots.
fn scatter(count: u64) -> u64 {
    // Near the golden section of the range, so that neighbouring ranks are far apart.
    let mut candidate = (count / 1000 * 618).max(1) | 1;
    while gcd(candidate, count) != 1 {
        candidate += 2;
    }
    debug_assert!(count == 1 || !candidate.is_multiple_of(count));
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skewed_addresses_reach_every_slot_and_only_those() {
        reach(&Distribution::Zipf(0.5));
        reach(&Distribution::Pareto(0.4));
        reach(&"zoned:60/10:40/".parse().unwrap());
    }

    fn reach(distribution: &Distribution) {
        let count = 64;
        let slots = Slots { first: Lba::new(1000), step: Sectors::new(8), count };
        let mut addresses = Addresses::random(distribution, slots);
        let mut rng = Rng::new(2);
        let mut seen = [false; 64];
        for _ in 0..20_000 {
            let lba = addresses.next(&mut rng, Sectors::new(8)).get();
            assert!(lba >= 1000 && (lba - 1000).is_multiple_of(8));
            seen[usize::try_from((lba - 1000) / 8).unwrap()] = true;
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn streams_take_turns_in_their_own_parts_and_begin_again() {
        let region = Region { first: Lba::new(0), end: Lba::new(32) };
        let mut addresses = Addresses::sequential(region, 2, Sectors::new(8), Order::default());
        let mut rng = Rng::new(0);
        let drawn: Vec<u64> =
            (0..6).map(|_| addresses.next(&mut rng, Sectors::new(8)).get()).collect();
        assert_eq!(drawn, [0, 16, 8, 24, 0, 16]);
    }

    fn in_order(stride: Option<u64>, backwards: bool) -> Vec<u64> {
        let region = Region { first: Lba::new(0), end: Lba::new(64) };
        let order = Order { stride: stride.map(Sectors::new), backwards };
        let mut addresses = Addresses::sequential(region, 1, Sectors::new(8), order);
        let mut rng = Rng::new(0);
        (0..4).map(|_| addresses.next(&mut rng, Sectors::new(8)).get()).collect()
    }

    #[test]
    fn strides_leave_gaps() {
        assert_eq!(in_order(Some(24), false), [0, 24, 48, 0]);
    }

    #[test]
    fn backwards_begins_at_the_end() {
        assert_eq!(in_order(None, true), [56, 48, 40, 32]);
        assert_eq!(in_order(Some(24), true), [56, 32, 8, 56]);
    }
}
