//! Commits, which make flushed data findable after a power cut.
//!
//! Data on the flash is found again only through the map. A drive without capacitors therefore
//! closes the begun pages for a flush or a durable write, and then writes the changed part of its
//! map, page by page. One commit is in progress at a time; what comes meanwhile gathers for the
//! next one, so that several writers share its cost.

use super::parts::CommitRules;
use crate::tag::Tag;

/// The commit in progress, and what waits for the next one.
#[derive(Debug)]
pub(super) struct Commits {
    pub(super) rules: CommitRules,
    /// Pages of the map that are not programmed yet; 0 between commits.
    pub(super) left: u32,
    /// Parts of durable writes on the flash that no commit covers yet.
    pub(super) programmed: Vec<Tag>,
    /// Parts of durable writes that the commit in progress covers.
    pub(super) covered: Vec<Tag>,
    /// Flushes that it covers, the oldest ones.
    pub(super) flushes: usize,
    /// True if the flash holds data that the map on the flash does not know of.
    pub(super) outdated: bool,
}

impl Commits {
    pub(super) fn new(rules: CommitRules, tags: usize) -> Self {
        Self {
            rules,
            left: 0,
            programmed: Vec::with_capacity(tags),
            covered: Vec::with_capacity(tags),
            flushes: 0,
            outdated: false,
        }
    }

    /// Notes that data was programmed of which the map on the flash does not know.
    pub(super) fn outdate(&mut self) {
        self.outdated = true;
    }

    /// Adds a part of a durable write that is on the flash.
    pub(super) fn add(&mut self, tag: Tag) {
        self.programmed.push(tag);
    }
}
