//! Moving the newest data of a band from the media cache into the band.

use std::collections::VecDeque;

use drivelab_core::{Lba, Sectors};

use super::{Log, Shingled};

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
    /// What the log holds from here on came later and stays.
    before: u64,
    steps: VecDeque<CleaningStep>,
}

/// Pieces in the log that are as near to one another are read in one go.
// Passing 1 MiB takes less than a seek with its rotation.
const NEAR: u64 = 2048;

impl Job {
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
    let step = |(from, to)| CleaningStep {
        lba: log.address(from),
        sectors: Sectors::new(to - from),
        write: false,
    };
    ranges.into_iter().map(step).collect()
}

impl Shingled {
    /// Begins to clean the band of the oldest data, if any waits.
    pub(in crate::disk) fn begin_job(&mut self) -> bool {
        debug_assert!(self.job.is_none(), "one band at a time");
        let oldest = self.log.oldest_band().or_else(|| self.bands.oldest_left());
        let Some(band) = oldest else { return false };
        let before = self.log.head();
        let pieces = self.log.of_band(band, before);
        let mut steps = reads_of(&self.log, self.shape.cache.get(), &pieces);
        let (start, end) = self.bands.range(band);
        let (lba, sectors) = (Lba::new(start), Sectors::new(end - start));
        let held: u64 = pieces.iter().map(|(_, sectors)| sectors).sum();
        if held < end - start {
            steps.push_back(CleaningStep { lba, sectors, write: false });
        }
        // First into the band that is kept free, then in place.
        let free = self.log.address(0) + self.shape.cache;
        steps.push_back(CleaningStep { lba: free, sectors, write: true });
        steps.push_back(CleaningStep { lba, sectors, write: true });
        self.job = Some(Job { band, before, steps });
        true
    }

    /// Ends the job whose last step is done.
    pub(in crate::disk) fn end_job(&mut self) {
        let job = self.job.take().expect("a step belongs to a job");
        debug_assert!(job.is_done(), "it has steps left");
        self.log.cleaned(job.band, job.before);
        self.bands.cleaned(job.band);
    }
}
