//! Writes that are answered once they are programmed: with the write cache off, or forced.

use super::ftl::Unit;
use crate::stack::Tag;

#[derive(Debug, Clone, Copy)]
struct Owing {
    unit: Unit,
    tag: Tag,
    /// The page that the unit was placed in; `None` while it waits for one.
    page: Option<u32>,
}

/// Units whose writes wait until they are programmed, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Owed(Vec<Owing>);

impl Owed {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A unit of the write that holds `tag` is in the buffer.
    pub(super) fn taken(&mut self, unit: Unit, tag: Tag) {
        self.0.push(Owing { unit, tag, page: None });
    }

    /// What waited of `unit` goes into `page`.
    pub(super) fn placed(&mut self, unit: Unit, page: u32) {
        for owing in self.0.iter_mut().filter(|owing| owing.unit == unit && owing.page.is_none()) {
            owing.page = Some(page);
        }
    }

    /// The next write that waited for `page`, which is programmed.
    pub(super) fn programmed(&mut self, page: u32) -> Option<Tag> {
        self.settled(|owing| owing.page == Some(page))
    }

    /// The next write that waited for `unit`, which will not be written.
    pub(super) fn dropped(&mut self, unit: Unit) -> Option<Tag> {
        self.settled(|owing| owing.unit == unit && owing.page.is_none())
    }

    fn settled(&mut self, which: impl Fn(&Owing) -> bool) -> Option<Tag> {
        let place = self.0.iter().position(which)?;
        Some(self.0.remove(place).tag)
    }
}
