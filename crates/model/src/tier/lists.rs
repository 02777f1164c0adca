//! Linked lists in arrays, so that moving an item allocates nothing.

const NONE: u32 = u32::MAX;

/// `N` lists over one set of items; each item is in at most one list.
#[derive(Debug, Clone)]
pub(super) struct Lists<const N: usize> {
    next: Vec<u32>,
    previous: Vec<u32>,
    /// The list of each item; `N` for none.
    holder: Vec<usize>,
    first: [u32; N],
    last: [u32; N],
    len: [u32; N],
}

const fn some(item: u32) -> Option<u32> {
    if item == NONE { None } else { Some(item) }
}

impl<const N: usize> Lists<N> {
    pub(super) const fn new() -> Self {
        Self {
            next: Vec::new(),
            previous: Vec::new(),
            holder: Vec::new(),
            first: [NONE; N],
            last: [NONE; N],
            len: [0; N],
        }
    }

    pub(super) fn holder(&self, item: u32) -> Option<usize> {
        self.holder.get(item as usize).copied().filter(|list| *list < N)
    }

    pub(super) const fn first(&self, list: usize) -> Option<u32> {
        some(self.first[list])
    }

    pub(super) const fn last(&self, list: usize) -> Option<u32> {
        some(self.last[list])
    }

    pub(super) const fn len(&self, list: usize) -> u32 {
        self.len[list]
    }

    pub(super) fn after(&self, item: u32) -> Option<u32> {
        some(self.next[item as usize])
    }

    pub(super) fn before(&self, item: u32) -> Option<u32> {
        some(self.previous[item as usize])
    }

    /// Appends `item`, which is in no list.
    pub(super) fn push(&mut self, list: usize, item: u32) {
        let index = item as usize;
        debug_assert_ne!(item, NONE, "the number is reserved for the end of a list");
        if index >= self.next.len() {
            // `resize` of all three together: an item has either all links or none.
            self.next.resize(index + 1, NONE);
            self.previous.resize(index + 1, NONE);
            self.holder.resize(index + 1, N);
        }
        debug_assert_eq!(self.holder[index], N, "the item is in a list");
        let tail = self.last[list];
        (self.previous[index], self.next[index], self.holder[index]) = (tail, NONE, list);
        match some(tail) {
            Some(tail) => self.next[tail as usize] = item,
            None => self.first[list] = item,
        }
        self.last[list] = item;
        self.len[list] += 1;
    }

    /// Removes `item` from its list, if any.
    pub(super) fn remove(&mut self, item: u32) {
        let Some(list) = self.holder(item) else { return };
        debug_assert!(self.len[list] > 0, "an item of an empty list");
        let index = item as usize;
        let (before, after) = (self.previous[index], self.next[index]);
        match some(before) {
            Some(before) => self.next[before as usize] = after,
            None => self.first[list] = after,
        }
        match some(after) {
            Some(after) => self.previous[after as usize] = before,
            None => self.last[list] = before,
        }
        self.holder[index] = N;
        self.len[list] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_and_change_lists() {
        let mut lists = Lists::<2>::new();
        for item in [3, 0, 2] {
            lists.push(0, item);
        }
        lists.remove(0);
        lists.push(1, 0);
        lists.push(0, 1);
        let order: Vec<u32> =
            std::iter::successors(lists.first(0), |item| lists.after(*item)).collect();
        assert_eq!(order, [3, 2, 1]);
        assert_eq!((lists.holder(0), lists.len(0), lists.len(1)), (Some(1), 3, 1));
        assert_eq!((lists.before(3), lists.last(0)), (None, Some(1)));
    }
}
