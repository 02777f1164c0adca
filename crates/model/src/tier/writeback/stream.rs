//! Detection of long sequential streams, which bypass the cache.

use std::collections::VecDeque;

use drivelab_core::{Lba, Request};

/// `RECENT_IO`: number of remembered streams.
const STREAMS: usize = 128;
/// `sequential_cutoff`, 4 MiB in sectors.
const CUTOFF: u64 = 8192;

#[derive(Debug, Clone, Copy)]
struct Stream {
    end: Lba,
    sectors: u64,
}

/// Recent streams, the most recently used one last.
#[derive(Debug, Default)]
pub(super) struct Streams(VecDeque<Stream>);

impl Streams {
    /// Returns true if `request` brings its stream above the cutoff.
    pub(super) fn is_long(&mut self, request: &Request) -> bool {
        // A continued stream moves to the end, so that the front is the least recently used one.
        let known = self.0.iter().rposition(|stream| stream.end == request.lba);
        let before = known.and_then(|index| self.0.remove(index)).map_or(0, |found| found.sectors);
        if self.0.len() == STREAMS {
            self.0.pop_front();
        }
        let sectors = before + request.sectors.get();
        self.0.push_back(Stream { end: request.end(), sectors });
        sectors >= CUTOFF
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Sectors;

    use super::*;

    #[test]
    fn a_stream_is_long_from_four_mebibytes_on() {
        let mut streams = Streams::default();
        let mut read =
            |at: u64| streams.is_long(&Request::read(0, Lba::new(at), Sectors::new(2048)));
        // Two streams in turn, and something between.
        for step in 0..3 {
            assert!(!read(step * 2048));
            assert!(!read(1_000_000 + step * 2048));
            assert!(!read(5_000_000 + step * 4096));
        }
        assert!(read(3 * 2048));
        assert!(read(1_000_000 + 3 * 2048));
    }
}
