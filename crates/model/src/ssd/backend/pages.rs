//! Pages being written, whose data stays in the drive's memory until they are programmed.

use crate::ssd::ftl::Slot;

/// The state of each page of the flash.
#[derive(Debug, Clone)]
pub(super) struct Pages {
    slots_per_page: u32,
    /// 0 for a page that is not being written, else 1 plus its number of host units.
    writing: Vec<u16>,
}

impl Pages {
    pub(super) fn new(slots: u64, slots_per_page: u32) -> Self {
        let pages = slots.div_ceil(u64::from(slots_per_page));
        let pages = usize::try_from(pages).expect("the shape was checked");
        Self { slots_per_page, writing: vec![0; pages] }
    }

    /// The page of a slot.
    #[inline]
    pub(super) fn of(&self, slot: Slot) -> u32 {
        slot.0 / self.slots_per_page
    }

    /// Returns true if the data of `slot` is still in memory.
    #[inline]
    pub(super) fn in_memory(&self, slot: Slot) -> bool {
        self.writing[self.of(slot) as usize] != 0
    }

    /// Unprogrammed host units in the page of `slot`.
    #[inline]
    pub(super) fn host_units(&self, slot: Slot) -> u16 {
        self.writing[self.of(slot) as usize].saturating_sub(1)
    }

    /// Moves data into `slot`; returns the page if that completes it.
    #[inline]
    pub(super) fn fill(&mut self, slot: Slot, of_host: bool) -> Option<u32> {
        let page = self.of(slot);
        let state = &mut self.writing[page as usize];
        *state = (*state).max(1) + u16::from(of_host);
        debug_assert!(u32::from(*state) <= self.slots_per_page + 1, "more units than slots");
        (slot.0 + 1).is_multiple_of(self.slots_per_page).then_some(page)
    }

    /// Marks a page as programmed; returns its number of host units.
    #[inline]
    pub(super) fn programmed(&mut self, page: u32) -> u32 {
        u32::from(std::mem::take(&mut self.writing[page as usize]).saturating_sub(1))
    }
}
