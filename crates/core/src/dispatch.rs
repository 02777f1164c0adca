//! Tag dispatch: which waiting request may become a command on the wire.
//!
//! One pure policy, used by the controller of a modelled drive, in front of a served drive, and in
//! front of a real file or disk.

use crate::choice_as_text;
use crate::config::Choice;
use crate::request::Op;

/// How tags are assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatch {
    /// One command at a time, as IDE does.
    Single,
    /// Any request may take any free tag, in the order of the queue.
    Shared,
    /// Reads and writes wait separately, and neither may take all tags, as in `DragonFly` BSD since
    /// April 2011 (commits af0aa0ac35 and a3c9d3d8c0, `sys/bus/cam/scsi/scsi_da.c`).
    Split,
}

impl Choice for Dispatch {
    const WHAT: &'static str = "dispatch policy";
    const NAMES: &'static [(&'static str, Self)] =
        &[("single", Self::Single), ("shared", Self::Shared), ("split", Self::Split)];
}
choice_as_text!(Dispatch);

/// The two queues of [`Dispatch::Split`]; a flush or trim counts as a write, as in `scsi_da`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Data from the drive.
    Read,
    /// Everything else.
    Write,
}

impl From<Op> for Class {
    fn from(op: Op) -> Self {
        if op == Op::Read { Self::Read } else { Self::Write }
    }
}

/// The waiting requests, as far as the policy needs to know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Waiting reads.
    pub reads: usize,
    /// Waiting writes, flushes and trims.
    pub writes: usize,
    /// The class of the request that the one common queue would send next, if any waits.
    pub head: Option<Class>,
}

/// Counts the tags in use and chooses the next class to send.
///
/// Invariants: tags in use never exceed the pool; with [`Dispatch::Split`] neither class ever holds
/// more than `tags * 2 / 3 + 1` of them.
#[derive(Debug, Clone)]
pub struct TagPool {
    policy: Dispatch,
    tags: usize,
    reads: usize,
    writes: usize,
}

impl TagPool {
    /// A pool of `tags` tags; at least one, and exactly one with [`Dispatch::Single`].
    pub fn new(policy: Dispatch, tags: usize) -> Self {
        let tags = if policy == Dispatch::Single { 1 } else { tags.max(1) };
        Self { policy, tags, reads: 0, writes: 0 }
    }

    /// Number of tags.
    #[inline]
    pub fn tags(&self) -> usize {
        self.tags
    }

    /// Number of tags in use.
    #[inline]
    pub fn in_use(&self) -> usize {
        debug_assert!(self.reads + self.writes <= self.tags);
        self.reads + self.writes
    }

    /// The most tags that one class may hold.
    ///
    /// The division is an integer one, before the addition: 31 tags give 21, so ten always remain
    /// for the other class; 1 tag gives 1.
    #[inline]
    pub fn class_limit(&self) -> usize {
        match self.policy {
            Dispatch::Single | Dispatch::Shared => self.tags,
            Dispatch::Split => self.tags * 2 / 3 + 1,
        }
    }

    /// The class that may be sent now, or `None` if nothing may.
    ///
    /// [`Dispatch::Split`] lets reads go first whenever both may, without ageing: that is the rule
    /// as published, not an oversight.
    #[inline]
    pub fn next(&self, waiting: Waiting) -> Option<Class> {
        if self.in_use() >= self.tags {
            return None;
        }
        match self.policy {
            Dispatch::Single | Dispatch::Shared => waiting.head,
            Dispatch::Split if waiting.reads > 0 && self.reads < self.class_limit() => {
                Some(Class::Read)
            }
            Dispatch::Split if waiting.writes > 0 && self.writes < self.class_limit() => {
                Some(Class::Write)
            }
            Dispatch::Split => None,
        }
    }

    /// Takes a tag for a request of `class`.
    #[inline]
    pub fn take(&mut self, class: Class) {
        assert!(self.in_use() < self.tags, "no tag is free");
        *self.held(class) += 1;
        assert!(*self.held(class) <= self.class_limit(), "the class holds too many tags");
    }

    /// Returns the tag of a completed request.
    #[inline]
    pub fn release(&mut self, class: Class) {
        let count = self.held(class);
        assert!(*count > 0, "no tag of this class is in use");
        *count -= 1;
    }

    #[inline]
    fn held(&mut self, class: Class) -> &mut usize {
        match class {
            Class::Read => &mut self.reads,
            Class::Write => &mut self.writes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Waiting = Waiting { reads: 1000, writes: 1000, head: Some(Class::Read) };

    fn fill(pool: &mut TagPool, waiting: Waiting) -> (usize, usize) {
        while let Some(class) = pool.next(waiting) {
            pool.take(class);
        }
        (pool.reads, pool.writes)
    }

    #[test]
    fn split_limits_are_those_published() {
        let check = |tags, limit| {
            assert_eq!(TagPool::new(Dispatch::Split, tags).class_limit(), limit, "{tags} tags");
        };
        check(0, 1);
        check(1, 1);
        check(2, 2);
        check(4, 3);
        check(31, 21);
        check(32, 22);
    }

    #[test]
    fn of_31_tags_reads_take_21_and_leave_10_for_writes() {
        let mut pool = TagPool::new(Dispatch::Split, 31);
        assert_eq!(fill(&mut pool, BOTH), (21, 10));
    }

    #[test]
    fn one_class_alone_cannot_take_all() {
        let mut pool = TagPool::new(Dispatch::Split, 31);
        let reads_only = Waiting { reads: 1000, writes: 0, head: Some(Class::Read) };
        assert_eq!(fill(&mut pool, reads_only), (21, 0));
    }

    #[test]
    fn a_shared_pool_lets_one_class_take_all() {
        let mut pool = TagPool::new(Dispatch::Shared, 31);
        assert_eq!(fill(&mut pool, BOTH), (31, 0));
        pool.release(Class::Read);
        assert_eq!(pool.next(Waiting { head: Some(Class::Write), ..BOTH }), Some(Class::Write));
    }

    #[test]
    fn single_sends_one_command_whatever_the_tags() {
        let mut pool = TagPool::new(Dispatch::Single, 32);
        assert_eq!(fill(&mut pool, BOTH), (1, 0));
    }
}
