//! Block sizes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::units::{Bytes, SECTOR_BYTES, Sectors};
use crate::{Invalid, invalid};

/// One block size, or several with their weights: `4k`, `4k/60:64k/40` as fio's
/// `bssplit`, or `4k-64k` as its `bsrange`.
///
/// Never empty; every size is a multiple of 512 bytes, at most 1 GiB, and the weights are not all
/// zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BlockSizes {
    // Shared: a matrix has a copy in each of its cells.
    sizes: Arc<[(Bytes, u32)]>,
    /// The weight of each size and all before it.
    weights: Arc<[u64]>,
}

/// No workload has more sizes than this; fio's own tables end at 100.
const SIZES_MAX: u64 = 4096;
/// A larger block is a transfer: both fio and the kernel split it.
const LARGEST: Bytes = Bytes::gib(1);

impl BlockSizes {
    /// Blocks of one size.
    ///
    /// # Errors
    /// The size is zero, not a multiple of 512, or above 1 GiB.
    pub fn one(size: Bytes) -> Result<Self, Invalid> {
        Self::split(vec![(size, 1)])
    }

    /// Blocks of several sizes, each with a frequency proportional to its weight.
    ///
    /// # Errors
    /// A size is not acceptable, there is none, or no weight is above zero.
    pub fn split(sizes: Vec<(Bytes, u32)>) -> Result<Self, Invalid> {
        if sizes.len() as u64 > SIZES_MAX {
            return Err(invalid!("{} sizes; at most {SIZES_MAX} are allowed", sizes.len()));
        }
        for (size, _) in &sizes {
            if size.get() == 0 || !size.get().is_multiple_of(SECTOR_BYTES) || *size > LARGEST {
                return Err(invalid!(
                    "block size {size} must be a multiple of 512 bytes from 512 to 1G"
                ));
            }
        }
        let mut sum = 0;
        let mut weights = Vec::with_capacity(sizes.len());
        for (_, weight) in &sizes {
            sum += u64::from(*weight);
            weights.push(sum);
        }
        if sum == 0 {
            return Err("all weights are 0: give at least one block size a weight above 0".into());
        }
        Ok(Self { sizes: sizes.into(), weights: weights.into() })
    }

    /// Blocks of several sizes, as in fio's `bssplit`: sizes without a percentage share the rest
    /// equally.
    ///
    /// # Errors
    /// As [`Self::split`], or the percentages sum to more than 100.
    pub fn sharing(sizes: &[(Bytes, Option<u32>)]) -> Result<Self, Invalid> {
        let percentages = sizes.iter().filter_map(|(_, percent)| *percent);
        let given = percentages.fold(0_u32, u32::saturating_add);
        let Some(left) = 100_u32.checked_sub(given) else {
            return Err(invalid!("the percentages add up to {given}, more than 100"));
        };
        let open = sizes.iter().filter(|(_, percent)| percent.is_none()).count();
        let open = u32::try_from(open).unwrap_or(u32::MAX).max(1);
        // Weights and not percentages, so that the rest divides evenly.
        let mut weighed = Vec::with_capacity(sizes.len());
        for (size, percent) in sizes {
            let weight = percent.map_or(left, |own| own.saturating_mul(open));
            if weight > 0 {
                weighed.push((*size, weight));
            }
        }
        Self::split(weighed)
    }

    /// Reads a user's text: numbers after sizes are percentages, as in fio; if all sizes have one
    /// and they sum to less than a hundred, they are weights.
    pub fn of_percentages(text: &str) -> Result<Self, Invalid> {
        let given = text.split(':').filter(|part| part.contains('/')).count();
        if given == 0 {
            return text.parse();
        }
        let mut sizes = Vec::new();
        for part in text.split(':') {
            let (size, percent) = part.split_once('/').unwrap_or((part, ""));
            let percent = match percent {
                "" => None,
                percent => Some(percent.parse::<u32>().map_err(|_| {
                    format!("`{percent}` is not a percentage: write `4k/60:64k/40`")
                })?),
            };
            sizes.push((size.parse()?, percent));
        }
        Self::sharing(&sizes)
    }

    /// Blocks of every multiple of `smallest` up to `largest`, all equally frequent.
    pub fn range(smallest: Bytes, largest: Bytes) -> Result<Self, Invalid> {
        let (least, most) = (smallest.get(), largest.get());
        if least == 0 || most < least || !most.is_multiple_of(least) {
            return Err(invalid!("{largest} is not a multiple of {smallest}: write `4k-64k`"));
        }
        if most / least > SIZES_MAX {
            return Err(invalid!("{smallest} to {largest} gives more than {SIZES_MAX} sizes"));
        }
        Self::split((1..=most / least).map(|times| (Bytes::new(times * least), 1)).collect())
    }

    /// True if it equals a range.
    fn is_range(&self) -> bool {
        let least = self.smallest().get();
        let mut numbered = (1..).zip(&*self.sizes);
        self.sizes.len() > 2
            && numbered.all(|(times, (size, weight))| size.get() == times * least && *weight == 1)
    }

    fn weight(&self) -> u64 {
        *self.weights.last().expect("there is a size")
    }

    /// The largest size, which is also the alignment of addresses if sizes differ.
    pub fn largest(&self) -> Bytes {
        self.sizes.iter().map(|(size, _)| *size).max().unwrap_or(Bytes::ZERO)
    }

    /// Every size that is used or given, in the order they were written.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.sizes.iter().map(|(size, _)| *size)
    }

    /// The smallest size.
    pub fn smallest(&self) -> Bytes {
        self.sizes.iter().map(|(size, _)| *size).min().unwrap_or(Bytes::ZERO)
    }

    /// The mean size, by weight, rounded down.
    pub fn mean(&self) -> Bytes {
        let sum: u128 = self
            .sizes
            .iter()
            .map(|(size, weight)| u128::from(size.get()) * u128::from(*weight))
            .sum();
        Bytes::new(
            u64::try_from(sum / u128::from(self.weight())).expect("at most the largest size"),
        )
    }

    /// Draws the size of the next block.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> Sectors {
        // Most workloads have one size: it takes no random number, and no search.
        if let [(size, _)] = self.sizes[..] {
            return Sectors::holding(size);
        }
        let drawn = rng.below(self.weight());
        let index = self.weights.partition_point(|sum| *sum <= drawn);
        debug_assert!(self.sizes[index].1 > 0, "a size of weight 0 was drawn");
        Sectors::holding(self.sizes[index].0)
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(size, _)] = self.sizes[..] {
            return size.fmt(f);
        }
        if self.is_range() {
            return f.pad(&format!("{}-{}", self.smallest(), self.largest()));
        }
        let parts: Vec<String> =
            self.sizes.iter().map(|(size, weight)| format!("{size}/{weight}")).collect();
        f.pad(&parts.join(":"))
    }
}

impl FromStr for BlockSizes {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some((smallest, largest)) = text.split_once('-') {
            return Self::range(smallest.parse()?, largest.parse()?);
        }
        let mut sizes = Vec::new();
        for part in text.split(':') {
            let (block, weight) = part.split_once('/').unwrap_or((part, "1"));
            let weight = weight
                .parse()
                .map_err(|_| format!("`{weight}` is not a weight: write `4k/60:64k/40`"))?;
            sizes.push((block.parse()?, weight));
        }
        Self::split(sizes)
    }
}

impl TryFrom<String> for BlockSizes {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<BlockSizes> for String {
    fn from(sizes: BlockSizes) -> Self {
        sizes.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_parse_print_and_refuse() {
        let check = |text: &str, expected: Option<&str>| {
            let read = text.parse::<BlockSizes>().ok().map(|sizes| sizes.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check("4k", Some("4k"));
        check("4k/60:64k/40", Some("4k/60:64k/40"));
        check("0", None);
        check("513", None);
        check("2G", None);
        check("4k/0", None);
        check("4k/60:", None);
        check("4k-16k", Some("4k-16k"));
        check("4k:8k:12k", Some("4k-12k"));
        check("4k-4k", Some("4k"));
        check("4k-8k", Some("4k/1:8k/1"));
        check("4k-10k", None);
        check("8k-4k", None);
        check("512-1G", None);
        check(&vec!["4k"; 5000].join(":"), None);
    }

    #[test]
    fn what_a_user_writes_are_percentages_and_what_a_record_holds_are_weights() {
        let read = |text: &str| <BlockSizes as crate::config::Value>::read(text);
        for wrong in ["4k/50:4k/60", "4k/101", "4k/4294967295:64k/101"] {
            assert!(read(wrong).unwrap_err().0.contains("100"), "{wrong}");
        }
        assert_eq!(read("4k/60:64k/40").unwrap().to_string(), "4k/60:64k/40");
        assert_eq!(read("4k/60:8k:16k").unwrap().to_string(), "4k/120:8k/40:16k/40");
        assert_eq!(read("4k-64k").unwrap().to_string(), "4k-64k");
        assert_eq!(read("4k/3:64k/1").unwrap().to_string(), "4k/3:64k/1");
        assert_eq!("4k/100:8k/50:16k/50".parse::<BlockSizes>().unwrap().largest(), Bytes::kib(16));
    }

    #[test]
    fn sizes_are_drawn_by_weight() {
        let sizes: BlockSizes = "4k/3:64k/1".parse().unwrap();
        let mut rng = Rng::new(5);
        let small = (0..40_000).filter(|_| sizes.draw(&mut rng) == Sectors::new(8)).count();
        // 30,000 expected, standard deviation 87.
        assert!((29_500..30_500).contains(&small), "{small}");
    }
}
