//! Writes that are answered once they are programmed: without a write cache, or with forced unit
//! access.

use super::ftl::Unit;
use crate::tag::Tag;

#[derive(Debug, Clone, Copy)]
struct Pending {
    unit: Unit,
    tag: Tag,
    /// The page of the unit; `None` while it waits for one.
    page: Option<u32>,
    /// True once its page was closed for a commit.
    closing: bool,
}

/// Units whose writes wait until they are programmed, in order of arrival.
#[derive(Debug, Clone, Default)]
pub(super) struct DurableWrites(Vec<Pending>);

impl DurableWrites {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a buffered unit of the write that holds `tag`.
    pub(super) fn buffered(&mut self, unit: Unit, tag: Tag) {
        self.0.push(Pending { unit, tag, page: None, closing: false });
    }

    /// Assigns `page` to the waiting data of `unit`.
    pub(super) fn assigned(&mut self, unit: Unit, page: u32) {
        // Several: a later write of the unit replaces the data of an earlier one in the buffer.
        for pending in self.0.iter_mut().filter(|it| it.unit == unit && it.page.is_none()) {
            pending.page = Some(page);
        }
    }

    /// Marks the writes whose pages were just closed.
    pub(super) fn close(&mut self) {
        for pending in &mut self.0 {
            pending.closing |= pending.page.is_some();
        }
    }

    /// Returns true if a closed page is not programmed yet.
    pub(super) fn are_closing(&self) -> bool {
        self.0.iter().any(|pending| pending.closing)
    }

    /// Removes the next write that waits for the programmed `page`.
    pub(super) fn programmed(&mut self, page: u32) -> Option<Tag> {
        self.remove_first(|pending| pending.page == Some(page))
    }

    /// Removes the next write that waits for `unit`, which will not be written.
    pub(super) fn dropped(&mut self, unit: Unit) -> Option<Tag> {
        self.remove_first(|pending| pending.unit == unit && pending.page.is_none())
    }

    fn remove_first(&mut self, matches: impl Fn(&Pending) -> bool) -> Option<Tag> {
        let index = self.0.iter().position(matches)?;
        Some(self.0.remove(index).tag)
    }
}
