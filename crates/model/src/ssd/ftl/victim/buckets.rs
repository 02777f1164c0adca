//! Closed blocks in order: by their valid slots, or by age alone.

use super::super::address::NONE;

/// Lists of blocks by key, each first in, first out; the lowest key is found without a search.
///
/// The lists run through arrays that are as long as the die has blocks: nothing is allocated when
/// a block moves from one to another.
#[derive(Debug, Clone)]
pub(in super::super) struct Buckets {
    heads: Vec<u32>,
    tails: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    key: Vec<u32>,
    /// No list below this key has a block.
    lowest: usize,
}

impl Buckets {
    /// Lists for keys from 0 to `highest` over `blocks` blocks.
    pub(super) fn new(blocks: u32, highest: u32) -> Self {
        let (blocks, keys) = (blocks as usize, highest as usize + 1);
        Self {
            heads: vec![NONE; keys],
            tails: vec![NONE; keys],
            next: vec![NONE; blocks],
            previous: vec![NONE; blocks],
            key: vec![NONE; blocks],
            lowest: keys,
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, block: u32, key: u32) {
        let (place, list) = (block as usize, key as usize);
        debug_assert_eq!(self.key[place], NONE, "the block is listed twice");
        let tail = self.tails[list];
        self.key[place] = key;
        self.previous[place] = tail;
        self.next[place] = NONE;
        self.tails[list] = block;
        if tail == NONE {
            self.heads[list] = block;
        } else {
            self.next[tail as usize] = block;
        }
        self.lowest = self.lowest.min(list);
    }

    #[inline]
    pub(super) fn remove(&mut self, block: u32) {
        let place = block as usize;
        let list = self.key[place] as usize;
        let (before, after) = (self.previous[place], self.next[place]);
        self.key[place] = NONE;
        if before == NONE {
            self.heads[list] = after;
        } else {
            self.next[before as usize] = after;
        }
        if after == NONE {
            self.tails[list] = before;
        } else {
            self.previous[after as usize] = before;
        }
    }

    /// Takes the oldest block of the lowest key.
    pub(super) fn take_lowest(&mut self) -> Option<u32> {
        while self.lowest < self.heads.len() {
            let block = self.heads[self.lowest];
            if block != NONE {
                self.remove(block);
                return Some(block);
            }
            self.lowest += 1;
        }
        None
    }

    pub(super) fn holds(&self, block: u32) -> bool {
        self.key[block as usize] != NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_key_comes_first_and_ties_come_in_order() {
        let mut buckets = Buckets::new(6, 4);
        for (block, key) in [(0, 3), (1, 1), (2, 4), (3, 1), (4, 1)] {
            buckets.insert(block, key);
        }
        buckets.remove(3);
        assert_eq!(buckets.take_lowest(), Some(1));
        buckets.insert(3, 0);
        let rest: Vec<u32> = std::iter::from_fn(|| buckets.take_lowest()).collect();
        assert_eq!(rest, [3, 4, 0, 2]);
    }
}
