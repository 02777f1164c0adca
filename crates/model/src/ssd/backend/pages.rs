//! Pages that are being written: until a page is programmed, its data is in the drive's memory.

use crate::ssd::ftl::Slot;

/// The state of each page of the flash: at rest, or being written with data of the host.
#[derive(Debug, Clone)]
pub(super) struct Pages {
    slots_per_page: u32,
    /// 0 for a page at rest; otherwise 1 and the units of the host in it.
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

    /// Whether what `slot` holds is still in memory.
    #[inline]
    pub(super) fn in_memory(&self, slot: Slot) -> bool {
        self.writing[self.of(slot) as usize] != 0
    }

    /// Units of the host in the page of `slot` that are not programmed.
    #[inline]
    pub(super) fn host_units(&self, slot: Slot) -> u16 {
        self.writing[self.of(slot) as usize].saturating_sub(1)
    }

    /// Data moves into `slot`; the page, once that completes it.
    #[inline]
    pub(super) fn place(&mut self, slot: Slot, of_host: bool) -> Option<u32> {
        let page = self.of(slot);
        let state = &mut self.writing[page as usize];
        *state = (*state).max(1) + u16::from(of_host);
        (slot.0 + 1).is_multiple_of(self.slots_per_page).then_some(page)
    }

    /// The page is programmed: how many units of the host were in it.
    #[inline]
    pub(super) fn programmed(&mut self, page: u32) -> u32 {
        u32::from(std::mem::take(&mut self.writing[page as usize]).saturating_sub(1))
    }
}
