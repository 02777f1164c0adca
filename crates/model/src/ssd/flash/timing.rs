//! Times and counts of the flash.

use drivelab_core::{Ratio, Rng, Span};

/// The index of all pages that are written as SLC.
pub const SLC_PAGE: u32 = u32::MAX;

/// The index of all pages that are closed or written for a commit.
pub const COMMIT_PAGE: u32 = u32::MAX - 1;

/// Read and program times of one kind of page.
///
/// The bits of one cell belong to pages of different kinds with different times: an MLC block
/// alternates between two of them, a TLC block between three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageTimes {
    /// From the command until the page is in the die's register.
    pub read: Span,
    /// From the last byte in the register until the page is programmed.
    pub program: Span,
}

/// Interruption of a program or an erase by a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspend {
    /// From the command to suspend until the die can read.
    pub stop: Span,
    /// From the last read until the operation continues.
    pub resume: Span,
    /// Maximum interruptions of an operation.
    pub most: u32,
}

/// Reads with uncorrectable data, which are repeated with other thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The share of reads that is repeated, and of repetitions that is repeated again.
    pub share: Ratio,
    /// Time of one repetition.
    pub again: Span,
}

/// Maximum repetitions of a read.
// Our choice: then a drive rebuilds the data from parity.
const MOST_RETRIES: u64 = 8;

/// Times and counts of the flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlashRules {
    /// Channels; dies are assigned to them in turn.
    pub channels: u32,
    /// Dies.
    pub dies: u32,
    /// The kinds of page in their order within a block; at least one.
    pub pages: Vec<PageTimes>,
    /// Times of pages written as SLC.
    pub slc: Option<PageTimes>,
    /// Program time of pages of the map, and of pages that a commit closes; default: as by their
    /// index.
    pub commit: Option<Span>,
    /// Time of an erase.
    pub erase: Span,
    /// Time of one unit on the channel.
    pub transfer: Span,
    /// Overhead of a command on the channel, before its data.
    pub channel_command: Span,
    /// Interruption of programs and erases by reads, if the flash supports it.
    pub suspend: Option<Suspend>,
    /// Maximum reads that overtake a waiting program, erase or copy.
    pub overtaking_reads: u32,
    /// Repetition of host reads.
    pub retry: Option<Retry>,
    /// Seed of the choice of repeated reads.
    pub seed: u64,
}

impl FlashRules {
    /// The times of the page with index `page` in its block.
    #[inline]
    pub fn times_of(&self, page: u32) -> PageTimes {
        if page >= COMMIT_PAGE {
            return self.special_times_of(page);
        }
        self.pages[page as usize % self.pages.len()]
    }

    fn special_times_of(&self, page: u32) -> PageTimes {
        match (page, self.slc, self.commit) {
            (SLC_PAGE, Some(slc), _) => slc,
            (COMMIT_PAGE, _, Some(program)) => PageTimes { program, ..self.pages[0] },
            _ => self.pages[0],
        }
    }

    /// Draws the time that repetitions add to a read.
    pub(super) fn repeated(&self, rng: &mut Rng) -> Span {
        let Some(retry) = self.retry else { return Span::ZERO };
        let mut times = 0;
        while times < MOST_RETRIES && rng.chance(retry.share) {
            times += 1;
        }
        retry.again * times
    }
}
