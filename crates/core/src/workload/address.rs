//! Where requests fall.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::skew::{Pareto, Skew};
use super::zipf::Zipf;
use crate::rng::Rng;
use crate::units::{Lba, Sectors};

/// How random addresses are spread over the region, as fio's `random_distribution`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Distribution {
    /// Every block equally likely.
    Uniform,
    /// The n-th hottest block is used in proportion to 1 / n^theta; 0 < theta <= 5.
    ///
    /// The hot blocks lie scattered over the region, as they do on a used disk.
    Zipf(f64),
    /// A share of the blocks takes the rest of the requests, at every scale: with 0.2 a fifth takes
    /// four fifths. The hot blocks lie scattered too.
    Pareto(f64),
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.pad("random"),
            Self::Zipf(theta) => f.pad(&format!("zipf:{theta}")),
            Self::Pareto(share) => f.pad(&format!("pareto:{share}")),
        }
    }
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "random" | "uniform" if value.is_empty() => Ok(Self::Uniform),
            "zipf" => match value.parse::<f64>() {
                Ok(theta) if theta > 0.0 && theta <= 5.0 => Ok(Self::Zipf(theta)),
                _ => Err(format!("`{text}` needs a theta above 0 and up to 5: `zipf:1.1`")),
            },
            "pareto" => match value.parse::<f64>() {
                Ok(share) if share > 0.0 && share < 1.0 => Ok(Self::Pareto(share)),
                _ => Err(format!("`{text}` needs a share above 0 and below 1: `pareto:0.2`")),
            },
            _ => Err(format!(
                "`{text}` is no distribution: write `random`, `zipf:1.1` or `pareto:0.2`"
            )),
        }
    }
}

impl TryFrom<String> for Distribution {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
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
    Uniform { first: Lba, step: u64, count: u64 },
    Skewed { first: Lba, step: u64, count: u64, ranks: Skew, spread: u64 },
    Streams(Streams),
}

/// Sequential cursors, each in its own part of the region, taken in turn.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    parts: Vec<(Lba, Lba)>,
    cursors: Vec<Lba>,
    stride: Option<Sectors>,
    turn: usize,
}

impl Addresses {
    /// Random addresses over `count` slots of `step` sectors from `first`.
    pub(super) fn random(
        distribution: Distribution,
        (first, step): (Lba, Sectors),
        count: u64,
    ) -> Self {
        let step = step.get();
        let ranks = match distribution {
            Distribution::Uniform => return Self::Uniform { first, step, count },
            Distribution::Zipf(theta) => Skew::Zipf(Zipf::new(count, theta)),
            Distribution::Pareto(share) => Skew::Pareto(Pareto::new(count, share)),
        };
        Self::Skewed { first, step, count, ranks, spread: scatter(count) }
    }

    /// Sequential addresses in equal parts of `first..end`, one part a stream.
    ///
    /// Parts begin at multiples of `align`, so that a stream's blocks stay aligned.
    pub(super) fn sequential(
        (first, end): (Lba, Lba),
        streams: u32,
        align: Sectors,
        stride: Option<Sectors>,
    ) -> Self {
        let length = (end - first).get() / u64::from(streams) / align.get() * align.get();
        let parts: Vec<(Lba, Lba)> = (0..u64::from(streams))
            .map(|stream| {
                let start = first + Sectors::new(stream * length);
                (start, start + Sectors::new(length))
            })
            .collect();
        let cursors = parts.iter().map(|(start, _)| *start).collect();
        Self::Streams(Streams { parts, cursors, stride, turn: 0 })
    }

    /// The address of the next request, which is `sectors` long.
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Rng, sectors: Sectors) -> Lba {
        match self {
            Self::Uniform { first, step, count } => {
                *first + Sectors::new(rng.below(*count) * *step)
            }
            Self::Skewed { first, step, count, ranks, spread } => {
                let rank = u128::from(ranks.draw(rng));
                let slot = rank * u128::from(*spread) % u128::from(*count);
                let slot = u64::try_from(slot).expect("a remainder of a 64-bit count");
                *first + Sectors::new(slot * *step)
            }
            Self::Streams(streams) => streams.next(sectors),
        }
    }
}

impl Streams {
    fn next(&mut self, sectors: Sectors) -> Lba {
        let turn = self.turn;
        self.turn = if turn + 1 == self.cursors.len() { 0 } else { turn + 1 };
        let (start, end) = self.parts[turn];
        let lba = self.cursors[turn];
        // A stream that would reach past its part begins it again.
        let lba = if lba + sectors > end { start } else { lba };
        self.cursors[turn] = lba + self.stride.unwrap_or(sectors);
        lba
    }
}

/// A multiplier that shares no factor with `count`, so that ranks map one to one to slots.
fn scatter(count: u64) -> u64 {
    // The golden section of the range puts neighbouring ranks far apart.
    let mut candidate = (count / 1000 * 618).max(1) | 1;
    while gcd(candidate, count) != 1 {
        candidate += 2;
    }
    candidate
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skewed_addresses_reach_every_slot_and_only_those() {
        reach(Distribution::Zipf(0.5));
        reach(Distribution::Pareto(0.4));
    }

    fn reach(distribution: Distribution) {
        let count = 64;
        let region = (Lba::new(1000), Sectors::new(8));
        let mut addresses = Addresses::random(distribution, region, count);
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
        let region = (Lba::new(0), Lba::new(32));
        let mut addresses = Addresses::sequential(region, 2, Sectors::new(8), None);
        let mut rng = Rng::new(0);
        let drawn: Vec<u64> =
            (0..6).map(|_| addresses.next(&mut rng, Sectors::new(8)).get()).collect();
        assert_eq!(drawn, [0, 16, 8, 24, 0, 16]);
    }

    #[test]
    fn strides_leave_gaps() {
        let region = (Lba::new(0), Lba::new(64));
        let stride = Some(Sectors::new(24));
        let mut addresses = Addresses::sequential(region, 1, Sectors::new(8), stride);
        let mut rng = Rng::new(0);
        let drawn: Vec<u64> =
            (0..4).map(|_| addresses.next(&mut rng, Sectors::new(8)).get()).collect();
        assert_eq!(drawn, [0, 24, 48, 0]);
    }
}
