//! The segments of the read buffer.

use drivelab_core::{Lba, Sectors};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    start: Lba,
    end: Lba,
    /// Order of use; the least recently used segment is replaced first.
    used: u64,
}

/// A buffer cut into segments, each following one stream.
#[derive(Debug, Clone)]
pub(crate) struct ReadCache {
    segments: Vec<Segment>,
    /// Size of a segment; newer sectors of a stream replace its older ones.
    segment_size: Sectors,
    uses: u64,
}

impl ReadCache {
    /// `count` empty segments of `segment_size` each; zero segments cache nothing.
    pub(crate) fn new(count: usize, segment_size: Sectors) -> Self {
        let empty = Segment { start: Lba::ZERO, end: Lba::ZERO, used: 0 };
        Self { segments: vec![empty; count], segment_size, uses: 0 }
    }

    pub(crate) fn holds(&mut self, start: Lba, end: Lba) -> bool {
        self.uses += 1;
        let uses = self.uses;
        let mut segments = self.segments.iter_mut();
        match segments.find(|segment| segment.start <= start && end <= segment.end) {
            Some(segment) => {
                segment.used = uses;
                true
            }
            None => false,
        }
    }

    /// Adds the sectors from `start` up to `end` to the segment that overlaps or precedes them, or
    /// replaces the least recently used one. Returns the beginning of that segment.
    pub(crate) fn fill(&mut self, start: Lba, end: Lba) -> Lba {
        debug_assert!(start <= end, "a range that ends before it begins");
        self.uses += 1;
        // `used` is 0 in an empty segment, which would otherwise match at address 0.
        let same_stream = self
            .segments
            .iter()
            .position(|segment| segment.start <= start && start <= segment.end && segment.used > 0);
        let index = match same_stream {
            Some(index) => index,
            None => match (0..self.segments.len()).min_by_key(|&i| self.segments[i].used) {
                Some(index) => {
                    self.segments[index] = Segment { start, end: start, used: 0 };
                    index
                }
                None => return end,
            },
        };
        let segment = &mut self.segments[index];
        segment.used = self.uses;
        segment.end = segment.end.max(end);
        let oldest = Lba::new(segment.end.get().saturating_sub(self.segment_size.get()));
        segment.start = segment.start.max(oldest);
        segment.start
    }

    pub(crate) fn forget(&mut self, start: Lba, end: Lba) {
        for segment in &mut self.segments {
            if start < segment.end && segment.start < end {
                if start <= segment.start {
                    segment.start = end.min(segment.end);
                } else {
                    // A hole in the middle also gives up the part above it: a segment is one range.
                    segment.end = start;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lba(number: u64) -> Lba {
        Lba::new(number)
    }

    #[test]
    fn the_least_recently_used_segment_is_given_up() {
        let mut cache = ReadCache::new(2, Sectors::new(100));
        cache.fill(lba(0), lba(10));
        cache.fill(lba(1000), lba(1010));
        assert!(cache.holds(lba(0), lba(10)));
        cache.fill(lba(2000), lba(2010));
        assert!(cache.holds(lba(0), lba(10)));
        assert!(!cache.holds(lba(1000), lba(1001)));
        assert!(cache.holds(lba(2005), lba(2010)));
    }

    #[test]
    fn a_stream_keeps_its_segment_and_its_newest_sectors() {
        let mut cache = ReadCache::new(2, Sectors::new(100));
        cache.fill(lba(0), lba(80));
        assert_eq!(cache.fill(lba(80), lba(150)), lba(50));
        assert!(cache.holds(lba(50), lba(150)));
        assert!(!cache.holds(lba(49), lba(60)));
    }

    #[test]
    fn what_was_overwritten_is_forgotten() {
        let mut cache = ReadCache::new(1, Sectors::new(100));
        cache.fill(lba(0), lba(100));
        cache.forget(lba(90), lba(95));
        assert!(cache.holds(lba(0), lba(90)) && !cache.holds(lba(95), lba(96)));
        cache.forget(lba(0), lba(10));
        assert!(cache.holds(lba(10), lba(90)) && !cache.holds(lba(5), lba(20)));
    }

    #[test]
    fn no_segments_hold_nothing() {
        let mut cache = ReadCache::new(0, Sectors::new(100));
        assert_eq!(cache.fill(lba(0), lba(8)), lba(8));
        assert!(!cache.holds(lba(0), lba(8)));
    }
}
