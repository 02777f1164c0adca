//! The segments of the buffer, by order of use.

/// A run of addresses in the buffer; empty if it ends where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) in_use: bool,
    /// Its last use was a write.
    pub(super) written: bool,
    /// Limit of read-ahead for its stream.
    pub(super) limit: u64,
    for_writes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    Whole,
    Partial,
    Nothing,
}

/// The activity of the medium for the most recently used segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    None,
    Reading,
    Writing,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HitRules {
    pub(super) on_written: bool,
    pub(super) on_arriving: bool,
}

/// All segments, the most recently used one at the end: it is the one that the medium works on.
#[derive(Debug, Clone)]
pub(super) struct Segments {
    list: Vec<Segment>,
    size: u64,
    separate: bool,
}

impl Segments {
    pub(super) fn new(count: usize, size: u64, separate: bool) -> Self {
        assert!(count > usize::from(separate), "reads need a segment");
        let mut list = Vec::with_capacity(count);
        for index in 0..count {
            let for_writes = separate && index == 0;
            list.push(Segment {
                start: 0,
                end: 0,
                in_use: false,
                written: false,
                limit: 0,
                for_writes,
            });
        }
        Self { list, size, separate }
    }

    pub(super) fn last(&mut self) -> &mut Segment {
        self.list.last_mut().expect("a drive has a segment")
    }

    /// The segment that serves a read of `start..end` best, and the part of the read in it.
    pub(super) fn for_read(
        &self,
        start: u64,
        end: u64,
        activity: Activity,
        rules: HitRules,
    ) -> (usize, Lookup) {
        let mut best = (0, self.list.len() - 1, Lookup::Nothing);
        // The values only rank the candidates; their order is that of DiskSim's buffer code.
        for (index, segment) in self.list.iter().enumerate() {
            if segment.for_writes {
                continue;
            }
            let active = if index + 1 == self.list.len() { activity } else { Activity::None };
            let holds = segment.in_use && segment.start <= start && start < segment.end;
            let arriving = active == Activity::Reading && rules.on_arriving && start == segment.end;
            let (value, found) = if !segment.in_use {
                (3, Lookup::Nothing)
            } else if holds && (rules.on_written || !segment.written) {
                let value = match active {
                    Activity::Writing => 10,
                    Activity::Reading => 9,
                    Activity::None => 8,
                };
                if end <= segment.end {
                    (value, Lookup::Whole)
                } else {
                    (value - 4, Lookup::Partial)
                }
            } else if arriving {
                (5, Lookup::Partial)
            } else {
                match active {
                    Activity::Writing => (0, Lookup::Nothing),
                    Activity::Reading => (1, Lookup::Nothing),
                    Activity::None => (if holds { 0 } else { 2 }, Lookup::Nothing),
                }
            };
            if value > best.0 {
                best = (value, index, found);
            }
        }
        (best.1, best.2)
    }

    /// The segment for a write of `start..end`, if none is being written.
    pub(super) fn for_write(&self, start: u64, end: u64, reading: bool) -> usize {
        let mut best = (0, self.list.len() - 1);
        // Overlapping segments first: their data is about to become stale anyway.
        for (index, segment) in self.list.iter().enumerate() {
            if self.separate {
                if segment.for_writes {
                    return index;
                }
                continue;
            }
            let overlaps = segment.start < end && start < segment.end;
            let value = if !segment.in_use {
                3
            } else if reading && index + 1 == self.list.len() {
                1
            } else if overlaps {
                4
            } else {
                2
            };
            if value > best.0 {
                best = (value, index);
            }
        }
        best.1
    }

    pub(super) fn is_last(&self, index: usize) -> bool {
        index + 1 == self.list.len()
    }

    pub(super) fn get(&self, index: usize) -> &Segment {
        &self.list[index]
    }

    /// Makes the segment at `index` the most recently used one.
    pub(super) fn use_now(&mut self, index: usize) -> &mut Segment {
        debug_assert!(index < self.list.len(), "segment {index} of {}", self.list.len());
        self.list[index..].rotate_left(1);
        self.last()
    }

    /// Drops the data that overlaps `start..end` from all segments except the last.
    pub(super) fn forget_others(&mut self, start: u64, end: u64) {
        let others = self.list.len() - 1;
        for segment in &mut self.list[..others] {
            if segment.in_use && segment.start < end && start < segment.end {
                segment.in_use = false;
            }
        }
    }

    /// The last segment now ends at `end`: data that no longer fits is dropped from its front.
    pub(super) fn extend_last(&mut self, end: u64) {
        let size = self.size;
        let segment = self.last();
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(size));
    }
}
