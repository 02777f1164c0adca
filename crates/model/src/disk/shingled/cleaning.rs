//! Moving the newest data of a band from the media cache into the band.

use std::collections::VecDeque;

use drivelab_core::{Lba, Sectors};

use super::log::Log;

/// An access of the drive for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CleaningStep {
    pub(crate) lba: Lba,
    pub(crate) sectors: Sectors,
    pub(crate) write: bool,
}

/// The cleaning of a band.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    band: u64,
    /// The position of the log from which on data came later and stays.
    before: u64,
    steps: VecDeque<CleaningStep>,
}

/// Pieces in the log that are as near to one another are read in one go.
// Passing 1 MiB takes less than a seek with its rotation.
const NEAR: u64 = 2048;

impl Job {
    /// The cleaning of a band with these sectors, of which the log, in an area of `size`, has some.
    pub(crate) fn new(log: &Log, size: Sectors, band: u64, (start, end): (u64, u64)) -> Self {
        let before = log.head();
        let pieces = log.of_band(band, before);
        let mut steps = reads_of(log, size.get(), &pieces);
        let (lba, sectors) = (Lba::new(start), Sectors::new(end - start));
        let held: u64 = pieces.iter().map(|(_, sectors)| sectors).sum();
        if held < end - start {
            steps.push_back(CleaningStep { lba, sectors, write: false });
        }
        // First into the band that is kept free, then into its own sectors.
        let free = log.address(0) + size;
        steps.push_back(CleaningStep { lba: free, sectors, write: true });
        steps.push_back(CleaningStep { lba, sectors, write: true });
        Self { band, before, steps }
    }

    /// The band, and the position of the log from which on its data came later and stays.
    pub(crate) fn cleans(&self) -> (u64, u64) {
        (self.band, self.before)
    }

    pub(crate) fn next(&mut self) -> Option<CleaningStep> {
        self.steps.pop_front()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Reads of the pieces of a band in the log.
fn reads_of(log: &Log, size: u64, pieces: &[(u64, u64)]) -> VecDeque<CleaningStep> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &(at, sectors) in pieces {
        match ranges.last_mut() {
            // One access does not pass the end of the area.
            Some((from, to)) if at < *to + NEAR && *from / size == at / size => *to = at + sectors,
            _ => ranges.push((at, at + sectors)),
        }
    }
    let steps = ranges.into_iter().map(|(from, to)| CleaningStep {
        lba: log.address(from),
        sectors: Sectors::new(to - from),
        write: false,
    });
    steps.collect()
}
