//! Closed blocks in order: by their valid slots, or by age alone.

/// Blocks with a common entry in `lowest`.
// Our choice: about the square root of a die's blocks.
const GROUP: usize = 32;

/// The rank of a block that is not listed.
const UNLISTED: u64 = u64::MAX;

/// Blocks by key, those of equal keys first in, first out.
///
/// The rank of a block combines its key with the turn in which it got this key, in the lower bits,
/// so that a single write moves a block. Keys of listed blocks only fall, so that the lowest rank
/// of a group needs no search. The lowest of all is searched for at removal, once for many moves.
#[derive(Debug, Clone)]
pub(in super::super) struct Ranks {
    rank: Vec<u64>,
    /// The lowest rank of each group of blocks.
    lowest: Vec<u64>,
    /// Number of bits of the turn in a rank.
    turn_bits: u32,
    turn: u64,
}

impl Ranks {
    /// Keys from 0 to `highest` for `blocks` blocks.
    pub(super) fn new(blocks: u32, highest: u32) -> Self {
        let blocks = blocks as usize;
        Self {
            rank: vec![UNLISTED; blocks],
            lowest: vec![UNLISTED; blocks.div_ceil(GROUP)],
            turn_bits: u64::from(highest.max(1)).leading_zeros(),
            turn: 0,
        }
    }

    /// Lists a block, or moves a listed one to a lower key.
    #[inline]
    pub(super) fn insert(&mut self, block: u32, key: u32) {
        let index = block as usize;
        debug_assert!(self.turn >> self.turn_bits == 0, "the turn overflows into the key");
        let rank = u64::from(key) << self.turn_bits | self.turn;
        debug_assert!(rank < self.rank[index], "the key of a listed block rises");
        self.turn += 1;
        self.rank[index] = rank;
        let lowest = &mut self.lowest[index / GROUP];
        *lowest = rank.min(*lowest);
    }

    /// Moves a block to a lower key, if it is listed.
    #[inline]
    pub(super) fn lower(&mut self, block: u32, key: u32) {
        if self.holds(block) {
            self.insert(block, key);
        }
    }

    /// Removes the oldest block of the lowest key.
    pub(super) fn take_lowest(&mut self) -> Option<u32> {
        let (group, lowest) = self.lowest.iter().copied().enumerate().min_by_key(|(_, it)| *it)?;
        if lowest == UNLISTED {
            return None;
        }
        let first = group * GROUP;
        let end = self.rank.len().min(first + GROUP);
        let ranks = &mut self.rank[first..end];
        let offset =
            ranks.iter().position(|rank| *rank == lowest).expect("one of the group has it");
        ranks[offset] = UNLISTED;
        self.lowest[group] = ranks.iter().copied().min().expect("a group has blocks");
        Some(u32::try_from(first + offset).expect("below the number of blocks"))
    }

    #[inline]
    pub(super) fn holds(&self, block: u32) -> bool {
        self.rank[block as usize] != UNLISTED
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use drivelab_core::Rng;

    use super::*;

    #[test]
    fn the_lowest_key_comes_first_and_ties_come_in_order() {
        let mut ranks = Ranks::new(6, 4);
        for (block, key) in [(0, 3), (1, 1), (2, 4), (3, 2), (4, 1)] {
            ranks.insert(block, key);
        }
        ranks.lower(3, 1);
        ranks.lower(5, 0);
        assert_eq!(ranks.take_lowest(), Some(1));
        ranks.lower(3, 0);
        let rest: Vec<u32> = std::iter::from_fn(|| ranks.take_lowest()).collect();
        assert_eq!(rest, [3, 4, 0, 2], "block 5 was never listed");
    }

    /// Against lists of blocks, one for each key.
    #[test]
    fn blocks_come_as_from_a_list_for_each_key() {
        let (blocks, highest) = (150, 9);
        let (mut ranks, mut rng) = (Ranks::new(blocks, highest), Rng::new(5));
        let mut lists: BTreeMap<u32, VecDeque<u32>> = BTreeMap::new();
        let mut below = |limit: u32| u32::try_from(rng.below(u64::from(limit))).unwrap();
        let mut taken = 0;
        for _ in 0..20_000 {
            let block = below(blocks);
            let key = lists.iter().find(|(_, list)| list.contains(&block)).map(|(key, _)| *key);
            if below(4) == 0 {
                let first = lists.values_mut().find_map(VecDeque::pop_front);
                assert_eq!(ranks.take_lowest(), first);
                taken += u32::from(first.is_some());
                continue;
            }
            let lower = match key {
                None => below(highest + 1),
                Some(0) => continue,
                Some(key) => below(key),
            };
            if let Some(list) = key.and_then(|key| lists.get_mut(&key)) {
                list.retain(|listed| *listed != block);
                ranks.lower(block, lower);
            } else {
                ranks.insert(block, lower);
            }
            lists.entry(lower).or_default().push_back(block);
        }
        assert!(taken > 1_000, "{taken}");
    }
}
