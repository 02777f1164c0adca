//! How long the flash takes for what.

use drivelab_core::{Ratio, Rng, Span};

/// The number of any page that is written as SLC.
pub const SLC_PAGE: u32 = u32::MAX;

/// Read and program times of one kind of page.
///
/// The bits of one cell belong to pages of different kinds, which take different times: an MLC
/// block repeats two of them, a TLC block three.
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
    /// How often one operation may be interrupted.
    pub most: u32,
}

/// Reads whose data cannot be corrected, and that are repeated with other thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The share of reads; of the repetitions the same share is repeated.
    pub share: Ratio,
    /// What one repetition takes.
    pub again: Span,
}

/// No drive repeats a read more often before it rebuilds the data from parity.
const MOST_RETRIES: u64 = 8;

/// Times and counts of the flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlashRules {
    /// Channels; dies are dealt out to them in turn.
    pub channels: u32,
    /// Dies.
    pub dies: u32,
    /// The kinds of page, in the order in which they follow one another in a block; at least one.
    pub pages: Vec<PageTimes>,
    /// Pages that are written as SLC.
    pub slc: Option<PageTimes>,
    /// An erase.
    pub erase: Span,
    /// One unit over the channel.
    pub transfer: Span,
    /// What a command costs on the channel before its data.
    pub channel_command: Span,
    /// Whether reads interrupt programs and erases.
    pub suspend: Option<Suspend>,
    /// Reads that may overtake a waiting program, erase or copy before it has its turn.
    pub overtaking_reads: u32,
    /// Reads of the host that are repeated.
    pub retry: Option<Retry>,
    /// What governs which reads are repeated.
    pub seed: u64,
}

impl FlashRules {
    /// The times of the page that is number `page` of its block.
    #[inline]
    pub fn times_of(&self, page: u32) -> PageTimes {
        if let (SLC_PAGE, Some(slc)) = (page, self.slc) {
            return slc;
        }
        self.pages[page as usize % self.pages.len()]
    }

    /// What repetitions add to a read.
    pub(super) fn repeated(&self, rng: &mut Rng) -> Span {
        let Some(retry) = self.retry else { return Span::ZERO };
        let mut times = 0;
        while times < MOST_RETRIES && rng.chance(retry.share) {
            times += 1;
        }
        retry.again * times
    }
}
