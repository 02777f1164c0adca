//! The map of pages with a copy on the fast drive.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::super::extend;

#[derive(Debug, Clone, Copy)]
struct Copy {
    slot: u32,
    /// True once it is written and thus readable.
    written: bool,
}

/// Copies of pages in swap.
#[derive(Debug)]
pub(super) struct Swap {
    slots: u32,
    copies: BTreeMap<u64, Copy>,
    /// The page in each used slot.
    page_in: Vec<u64>,
    free: VecDeque<u32>,
    /// Page at which cleaning continues.
    cursor: u64,
}

impl Swap {
    pub(super) const fn new(slots: u32) -> Self {
        Self {
            slots,
            copies: BTreeMap::new(),
            page_in: Vec::new(),
            free: VecDeque::new(),
            cursor: 0,
        }
    }

    /// Returns true if more than `percent` of the slots are in use.
    pub(super) fn is_fuller_than(&self, percent: u64) -> bool {
        self.in_use() > u64::from(self.slots) * percent / 100
    }

    fn in_use(&self) -> u64 {
        debug_assert!(self.page_in.len() <= self.slots as usize, "more copies than slots");
        (self.page_in.len() - self.free.len()) as u64
    }

    /// Returns true if the page has a readable copy.
    pub(super) fn is_readable(&self, page: u64) -> bool {
        self.copies.get(&page).is_some_and(|copy| copy.written)
    }

    /// Returns true if the page is being copied.
    pub(super) fn is_being_written(&self, page: u64) -> bool {
        self.copies.get(&page).is_some_and(|copy| !copy.written)
    }

    /// Returns the runs of slots that hold `pages`; `None` if a page has no copy.
    pub(super) fn runs(&self, pages: Range<u64>) -> Option<Vec<Range<u64>>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for page in pages {
            let copy = self.copies.get(&page).filter(|copy| copy.written)?;
            extend(&mut runs, u64::from(copy.slot));
        }
        Some(runs)
    }

    /// Assigns a slot to a new copy of `page`, which replaces the old one; `None` if swap is full.
    pub(super) fn assign(&mut self, page: u64) -> Option<u64> {
        let fresh = u32::try_from(self.page_in.len()).expect("at most the slots");
        // Unused slots first, so that writes stay sequential on the fast drive as long as possible.
        let slot = if fresh < self.slots {
            self.page_in.push(page);
            fresh
        } else {
            let slot = self.free.pop_front()?;
            self.page_in[slot as usize] = page;
            slot
        };
        self.forget(page);
        self.copies.insert(page, Copy { slot, written: false });
        Some(u64::from(slot))
    }

    /// Marks the copies in `slots` as written; the slots of dropped copies become free.
    pub(super) fn written(&mut self, slots: Range<u64>) {
        for slot in slots {
            let slot = u32::try_from(slot).expect("at most the slots");
            // The page may have been dropped or copied elsewhere while this write was under way.
            match self.copies.get_mut(&self.page_in[slot as usize]) {
                Some(copy) if copy.slot == slot => copy.written = true,
                _ => self.free.push_back(slot),
            }
        }
    }

    /// Drops the copy of a page. A slot that is being written becomes free after that.
    pub(super) fn forget(&mut self, page: u64) {
        if let Some(copy) = self.copies.remove(&page)
            && copy.written
        {
            self.free.push_back(copy.slot);
        }
    }

    /// Drops at most `count` copies in order of page, beginning where the last call stopped.
    pub(super) fn clean(&mut self, count: usize) {
        let found = self.copies.range(self.cursor..).filter(|(_, copy)| copy.written);
        let pages: Vec<u64> = found.map(|(page, _)| *page).take(count).collect();
        // A full batch means that there may be more behind it; otherwise start over.
        self.cursor = pages.last().filter(|_| pages.len() == count).map_or(0, |last| last + 1);
        for page in pages {
            self.forget(page);
        }
    }

    /// Replaces all copies by those of the first `pages` pages.
    pub(super) fn warm(&mut self, pages: u32) {
        let pages = pages.min(self.slots);
        self.copies =
            (0..pages).map(|page| (u64::from(page), Copy { slot: page, written: true })).collect();
        self.page_in = (0..u64::from(pages)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_given_up_while_it_is_written_is_never_read() {
        let mut swap = Swap::new(2);
        let slot = swap.assign(7).unwrap();
        swap.forget(7);
        assert_eq!(swap.assign(7), Some(1));
        assert_eq!(swap.assign(9), None);
        swap.written(slot..slot + 1);
        assert!(!swap.is_readable(7));
        assert_eq!(swap.assign(9), Some(0));
        swap.written(0..2);
        let one = std::iter::once(1..2);
        assert_eq!(swap.runs(7..8), Some(one.collect()));
        assert_eq!(swap.runs(7..9), None);
    }

    #[test]
    fn cleaning_goes_round_in_the_order_of_pages() {
        let mut swap = Swap::new(4);
        swap.warm(4);
        swap.clean(3);
        assert!(swap.is_readable(3) && !swap.is_readable(2));
        swap.clean(3);
        assert!(!swap.is_readable(3) && !swap.is_fuller_than(0));
    }
}
