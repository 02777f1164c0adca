//! Bands that are written directly, from their beginning.

use std::collections::VecDeque;

use drivelab_core::{Lba, Sectors};

/// Streams that a drive follows at once.
// Our estimate.
const STREAMS: usize = 8;
/// A shorter write does not begin or continue a stream.
// Our estimate: what the host sends in sequence is merged to more than that.
const SHORTEST: Sectors = Sectors::new(256);

/// Bands whose beginning has been written directly, with the sector behind it.
#[derive(Debug, Clone)]
pub(crate) struct Bands {
    length: u64,
    capacity: u64,
    /// The least recently continued stream comes first.
    open: VecDeque<u64>,
    /// Bands that a stream has left: what follows its end has to be written again.
    left: VecDeque<u64>,
}

impl Bands {
    pub(crate) fn new(length: Sectors, capacity: Sectors) -> Self {
        let (length, capacity) = (length.get(), capacity.get());
        Self { length, capacity, open: VecDeque::with_capacity(STREAMS + 1), left: VecDeque::new() }
    }

    fn end_of(&self, band: u64) -> u64 {
        ((band + 1) * self.length).min(self.capacity)
    }

    /// Sectors of a band: its first, and the one behind its last.
    pub(crate) fn range(&self, band: u64) -> (u64, u64) {
        (band * self.length, self.end_of(band))
    }

    /// Returns true if a write begins a band, continues what was written of it, or holds a whole
    /// one.
    pub(crate) fn takes(&self, lba: Lba, sectors: Sectors) -> bool {
        let begins = lba.get().is_multiple_of(self.length);
        let continues = begins || self.open.contains(&lba.get());
        (sectors >= SHORTEST && continues) || sectors.get() >= 2 * self.length
    }

    /// Notes a write that it takes.
    pub(crate) fn write(&mut self, lba: Lba, sectors: Sectors) {
        let (start, end) = (lba.get(), (lba + sectors).get());
        debug_assert!(self.takes(lba, sectors), "it belongs in the log");
        let first = start / self.length;
        let begins = start.is_multiple_of(self.length);
        let continues = begins || self.open.contains(&start);
        // It overwrites where streams in these bands have ended, but for the band of its end.
        let last = (end - 1) / self.length;
        self.left.retain(|band| !(first..=last).contains(band));
        self.open.retain(|frontier| !(first..=last).contains(&((frontier - 1) / self.length)));
        if !continues {
            self.left.push_back(first);
        }
        if !end.is_multiple_of(self.length) && end < self.capacity {
            self.open.push_back(end);
        }
        if self.open.len() > STREAMS {
            let frontier = self.open.pop_front().expect("it is too long");
            self.leave(frontier);
        }
    }

    fn leave(&mut self, frontier: u64) {
        let band = (frontier - 1) / self.length;
        if !self.left.contains(&band) {
            self.left.push_back(band);
        }
    }

    /// No stream is continued after an idle time.
    pub(crate) fn leave_all(&mut self) {
        while let Some(frontier) = self.open.pop_front() {
            self.leave(frontier);
        }
    }

    pub(crate) fn unfinished(&self) -> usize {
        self.left.len()
    }

    pub(crate) fn are_finished(&self) -> bool {
        self.open.is_empty() && self.left.is_empty()
    }

    /// The band that a stream left first.
    pub(crate) fn oldest_left(&self) -> Option<u64> {
        self.left.front().copied()
    }

    /// The band was written in full.
    pub(crate) fn cleaned(&mut self, band: u64) {
        self.left.retain(|left| *left != band);
        self.open.retain(|frontier| (frontier - 1) / self.length != band);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_from_the_beginning_of_a_band_is_written_directly() {
        let mut bands = Bands::new(Sectors::new(1000), Sectors::new(100_000));
        let (lba, run) = (Lba::new, Sectors::new(500));
        assert!(bands.takes(lba(3000), run));
        assert!(!bands.takes(lba(3500), run), "nothing is in front of it");
        assert!(!bands.takes(lba(3000), Sectors::new(8)), "too short for a stream");
        bands.write(lba(3000), run);
        assert!(bands.takes(lba(3500), run));
        bands.write(lba(3500), run);
        assert!(bands.are_finished(), "the band is full");
        bands.write(lba(7000), run);
        bands.leave_all();
        assert_eq!(bands.oldest_left(), Some(7));
        assert!(!bands.takes(lba(7500), run), "the stream has ended");
        bands.cleaned(7);
        assert!(bands.are_finished());
    }

    #[test]
    fn the_stream_that_was_not_continued_for_longest_is_left() {
        let mut bands = Bands::new(Sectors::new(1000), Sectors::new(100_000));
        for band in 0..9 {
            bands.write(Lba::new(band * 1000), Sectors::new(256));
        }
        assert_eq!((bands.unfinished(), bands.oldest_left()), (1, Some(0)));
        assert!(!bands.takes(Lba::new(256), Sectors::new(256)));
        assert!(bands.takes(Lba::new(1256), Sectors::new(256)));
    }
}
