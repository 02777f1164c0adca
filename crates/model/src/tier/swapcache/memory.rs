//! The page cache: an active and an inactive list of pages; the oldest inactive page is replaced.

use std::collections::BTreeMap;

use super::super::lists::Lists;

const INACTIVE: usize = 0;
const ACTIVE: usize = 1;

/// Pages of the drive in memory.
#[derive(Debug)]
pub(super) struct Memory {
    limit: u32,
    lists: Lists<2>,
    page_in: Vec<u64>,
    frame_of: BTreeMap<u64, u32>,
    free: Vec<u32>,
    /// Number of writes under way to each page, which keep it dirty.
    writing: BTreeMap<u64, u32>,
    /// The last frame of the inactive list that the daemon has scanned; `None` at its start.
    marker: Option<u32>,
    /// Counts pages that become inactive; the daemon waits while it is negative.
    pub(super) heuristic: i64,
}

impl Memory {
    pub(super) fn new(limit: u32) -> Self {
        let mut memory = Self {
            limit: limit.max(1),
            lists: Lists::new(),
            page_in: Vec::new(),
            frame_of: BTreeMap::new(),
            free: Vec::new(),
            writing: BTreeMap::new(),
            marker: None,
            heuristic: 0,
        };
        memory.heuristic = -memory.hysteresis();
        // The first scan waits like any other, as after boot.
        memory
    }

    /// `v_inactive_target` is a quarter of the pages, and `vm_swapcache_hysteresis` half of that.
    fn hysteresis(&self) -> i64 {
        i64::from(self.inactive_target() / 2)
    }

    fn inactive_target(&self) -> u32 {
        self.limit / 4
    }

    pub(super) fn holds(&self, page: u64) -> bool {
        self.frame_of.contains_key(&page)
    }

    /// Returns true if the page in memory equals the one on the drive.
    pub(super) fn is_clean(&self, page: u64) -> bool {
        self.holds(page) && !self.writing.contains_key(&page)
    }

    /// Marks a page as used: it becomes active if it is in memory, else new and inactive.
    pub(super) fn used(&mut self, page: u64) {
        if let Some(&frame) = self.frame_of.get(&page) {
            self.unlink(frame);
            self.lists.push(ACTIVE, frame);
            return;
        }
        let frame = self.free_frame();
        if frame as usize == self.page_in.len() {
            self.page_in.push(page);
        } else {
            self.page_in[frame as usize] = page;
        }
        self.frame_of.insert(page, frame);
        self.deactivate(frame);
    }

    fn deactivate(&mut self, frame: u32) {
        self.lists.push(INACTIVE, frame);
        self.heuristic += 1;
    }

    fn unlink(&mut self, frame: u32) {
        if self.marker == Some(frame) {
            // The scan must not lose its position with the frame it stands on.
            self.marker = self.lists.before(frame);
        }
        self.lists.remove(frame);
    }

    /// Returns a frame without a page; evicts the oldest inactive page if none is free.
    fn free_frame(&mut self) -> u32 {
        if let Some(frame) = self.free.pop() {
            return frame;
        }
        let used = u32::try_from(self.page_in.len()).expect("at most the limit");
        // Frames are handed out once before any is reused.
        if used < self.limit {
            return used;
        }
        while self.lists.len(INACTIVE) < self.inactive_target().max(1)
        // Refilled from the active list first, so that the victim has had a second chance.
            && let Some(oldest) = self.lists.first(ACTIVE)
        {
            self.lists.remove(oldest);
            self.deactivate(oldest);
        }
        let oldest = self.lists.first(INACTIVE).expect("pages fill the memory");
        self.unlink(oldest);
        self.frame_of.remove(&self.page_in[oldest as usize]);
        oldest
    }

    pub(super) fn forget(&mut self, page: u64) {
        if let Some(frame) = self.frame_of.remove(&page) {
            self.unlink(frame);
            self.free.push(frame);
        }
    }

    pub(super) fn begin_write(&mut self, page: u64) {
        *self.writing.entry(page).or_default() += 1;
    }

    pub(super) fn end_write(&mut self, page: u64) {
        let under_way = self.writing.get_mut(&page).expect("the write was begun");
        *under_way -= 1;
        if *under_way == 0 {
            self.writing.remove(&page);
        }
    }

    /// Position of the daemon's scan.
    pub(super) const fn marker(&self) -> Option<u32> {
        self.marker
    }

    /// Returns the inactive frame after `seen`, and its page.
    pub(super) fn next_inactive(&self, seen: Option<u32>) -> Option<(u32, u64)> {
        let frame = match seen {
            Some(seen) => self.lists.after(seen),
            None => self.lists.first(INACTIVE),
        }?;
        Some((frame, self.page_in[frame as usize]))
    }

    pub(super) fn scanned_to(&mut self, seen: Option<u32>) {
        self.marker = seen;
    }

    /// Ends a scan at the end of the list.
    pub(super) fn scanned_all(&mut self) {
        self.marker = self.lists.last(INACTIVE);
        self.heuristic = -self.hysteresis();
    }

    /// Returns true if a scan is due and has pages.
    pub(super) fn needs_scan(&self) -> bool {
        self.heuristic >= 0 && self.next_inactive(self.marker).is_some()
    }

    #[cfg(test)]
    pub(super) fn active(&self) -> u32 {
        self.lists.len(ACTIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_twice_outlives_what_is_used_once() {
        let mut memory = Memory::new(8);
        for page in [0, 1, 2, 3, 0, 1] {
            memory.used(page);
        }
        assert_eq!(memory.active(), 2);
        for page in 10..30 {
            memory.used(page);
        }
        assert!(memory.holds(0) && memory.holds(1) && !memory.holds(2));
        assert!(memory.holds(29) && !memory.holds(20));
    }

    #[test]
    fn the_marker_survives_the_page_that_it_stands_at() {
        let mut memory = Memory::new(4);
        for page in 0..4 {
            memory.used(page);
        }
        let (first, _) = memory.next_inactive(None).unwrap();
        let (second, page) = memory.next_inactive(Some(first)).unwrap();
        memory.scanned_to(Some(second));
        memory.forget(page);
        assert_eq!(memory.next_inactive(memory.marker()).unwrap().1, 2);
        memory.used(0);
        assert_eq!(memory.next_inactive(memory.marker()).unwrap().1, 2);
    }
}
