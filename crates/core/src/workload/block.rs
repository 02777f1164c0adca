//! Block sizes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::units::{Bytes, SECTOR_BYTES, Sectors};

/// One block size, or several with their weights: `4k` or `4k/60:64k/40`, as fio's `bssplit`.
///
/// Never empty; every size is a multiple of 512 bytes, at most 1 GiB, and the weights are not all
/// zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BlockSizes {
    sizes: Vec<(Bytes, u32)>,
    weight: u64,
}

/// A block larger than this is no block but a transfer: fio and the kernel both split it.
const LARGEST: Bytes = Bytes::gib(1);

impl BlockSizes {
    /// Blocks of one size.
    ///
    /// # Errors
    /// The size is zero, no multiple of 512, or beyond 1 GiB.
    pub fn one(size: Bytes) -> Result<Self, String> {
        Self::split(vec![(size, 1)])
    }

    /// Blocks of several sizes, each as often as its weight says.
    ///
    /// # Errors
    /// A size is not acceptable, there is none, or no weight is above zero.
    pub fn split(sizes: Vec<(Bytes, u32)>) -> Result<Self, String> {
        for (size, _) in &sizes {
            if size.get() == 0 || !size.get().is_multiple_of(SECTOR_BYTES) || *size > LARGEST {
                return Err(format!(
                    "a block of {size} cannot be used: it must be a multiple of 512 bytes, from \
                     512 to 1G"
                ));
            }
        }
        let weight = sizes.iter().map(|(_, weight)| u64::from(*weight)).sum();
        if weight == 0 {
            return Err("no block size is ever used: give one a weight above 0".into());
        }
        Ok(Self { sizes, weight })
    }

    /// The largest size, which is also the alignment of addresses where sizes differ.
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
        Bytes::new(u64::try_from(sum / u128::from(self.weight)).expect("at most the largest size"))
    }

    /// Draws the size of the next block.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> Sectors {
        if let [(size, _)] = self.sizes[..] {
            return Sectors::holding(size);
        }
        let mut left = rng.below(self.weight);
        for (size, weight) in &self.sizes {
            let weight = u64::from(*weight);
            if left < weight {
                return Sectors::holding(*size);
            }
            left -= weight;
        }
        unreachable!("the weights sum to `weight`")
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(size, _)] = self.sizes[..] {
            return size.fmt(f);
        }
        let parts: Vec<String> =
            self.sizes.iter().map(|(size, weight)| format!("{size}/{weight}")).collect();
        f.pad(&parts.join(":"))
    }
}

impl FromStr for BlockSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut sizes = Vec::new();
        for part in text.split(':') {
            let (size, weight) = part.split_once('/').unwrap_or((part, "1"));
            let size = size.parse().map_err(|error| format!("{error}"))?;
            let weight = weight
                .parse()
                .map_err(|_| format!("`{weight}` is not a weight: write `4k/60:64k/40`"))?;
            sizes.push((size, weight));
        }
        Self::split(sizes)
    }
}

impl TryFrom<String> for BlockSizes {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
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
