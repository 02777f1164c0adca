//! Shapes of work without a recording: a desktop that boots, a defragmentation, copies
//! and a scan of files.
//!
//! They are ours. No published trace is behind them, and every number below is an estimate.
//! Only the shape is meant to be right: one request at a time, the relative position of
//! requests, and the processor time in between. The same seed gives the same requests.

use crate::choice_as_text;
use crate::config::Choice;
use crate::foreign::TraceEntry;
use crate::request::Request;
use crate::rng::Rng;
use crate::units::{Bytes, Lba, Sectors, Span};

/// Work of a known shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A desktop from its loader to its last background program.
    Boot,
    /// Files in pieces, put together one after the other.
    Defragmentation,
    /// Files of 100 KiB, copied from one partition to another of the same disk.
    CopySmall,
    /// One large file, copied in the same way.
    CopyLarge,
    /// Every file of a partition, read as a virus scanner reads it.
    Scan,
}

impl Choice for Shape {
    const WHAT: &'static str = "shape of work";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("boot", Self::Boot),
        ("defrag", Self::Defragmentation),
        ("copy-small", Self::CopySmall),
        ("copy-large", Self::CopyLarge),
        ("scan", Self::Scan),
    ];
}
choice_as_text!(Shape);

/// The system partition, at the beginning of the drive; of a smaller drive its first half.
const PARTITION: Bytes = Bytes::new(24_000_000_000);
/// Most bytes of one request, as a file system of that time sent them.
const REQUEST: u64 = 64 << 10;
/// A record of a file, a page of a log.
const RECORD: u64 = 4096;

/// Bytes that a boot loads in the order of the disk, as a prefetcher has laid them out.
const PREFETCHED: u64 = 64 << 20;
/// Drivers, services and programs that are loaded one by one, and the mean size of each.
const PROGRAMS: u64 = 250;
const PROGRAM: u64 = 256 << 10;
/// Processor time after a request, and after all of a program.
const AFTER_READ: Span = Span::from_ms(2);
const AFTER_PROGRAM: Span = Span::from_ms(60);
/// One program in this many writes to a log and to a registry.
const WRITES_ONE_IN: u64 = 5;

/// Files that are put together, the mean size of each, and the most pieces it lies in.
const FILES: u64 = 3000;
const FILE: u64 = 400 << 10;
const PIECES_MAX: u64 = 8;
/// Processor time between two requests of a copy.
const AFTER_COPY: Span = Span::from_us(100);

/// Copies: a tenth of the sets of 1 GB that were copied in the published comparison, in its files
/// of 100 KB and in one piece. A large file is read and written by turns in pieces of this size.
const COPIED: u64 = 100 << 20;
const SMALL_FILE: u64 = 100 << 10;
const COPY_PIECE: u64 = 1 << 20;

/// Files that are scanned, the mean size of each, and the processor time for it.
const SCANNED: u64 = 2000;
const SCANNED_FILE: u64 = 100 << 10;
const AFTER_SCAN: Span = Span::from_ms(5);

impl Shape {
    /// Its requests, for a drive of this size.
    pub fn requests(self, capacity: Bytes, seed: u64) -> Vec<TraceEntry> {
        let partition = PARTITION.get().min(capacity.get() / 2);
        let end = match self {
            Self::CopySmall | Self::CopyLarge => capacity.get() / RECORD * RECORD,
            Self::Boot | Self::Defragmentation | Self::Scan => partition,
        };
        let mut script = Script { entries: Vec::new(), rng: Rng::new(seed), partition, end };
        match self {
            Self::Boot => script.boot(),
            Self::Defragmentation => script.defragment(),
            Self::CopySmall => script.copy(SMALL_FILE, SMALL_FILE),
            Self::CopyLarge => script.copy(COPIED, COPY_PIECE),
            Self::Scan => script.scan(),
        }
        script.entries
    }
}

/// Requests while they are written down.
struct Script {
    entries: Vec<TraceEntry>,
    rng: Rng,
    partition: u64,
    /// No request lies behind it.
    end: u64,
}

impl Script {
    fn boot(&mut self) {
        // Laid out by the prefetcher: one long sequential read.
        self.read(self.part(1, 8), PREFETCHED, Span::from_us(200));
        for program in 0..PROGRAMS {
            // Its record, then its content.
            let entry = self.record();
            self.read(entry, RECORD, AFTER_READ);
            let (at, bytes) = (self.anywhere(self.partition), self.about(PROGRAM));
            self.read(at, bytes, AFTER_READ);
            if program % WRITES_ONE_IN == 0 {
                for area in [self.part(1, 3), self.part(1, 2)] {
                    self.write(area + RECORD * program, RECORD, Span::ZERO);
                }
            }
            let works = self.rng.exponential(AFTER_PROGRAM);
            self.think(works);
        }
    }

    fn defragment(&mut self) {
        let mut free = self.part(2, 3);
        for file in 0..FILES {
            let (pieces, bytes) = (1 + self.rng.below(PIECES_MAX), self.about(FILE));
            for _ in 0..pieces {
                let at = self.anywhere(self.part(2, 3));
                self.read(at, (bytes / pieces).max(RECORD), AFTER_COPY);
            }
            self.write(free, bytes, AFTER_COPY);
            free += bytes.next_multiple_of(RECORD);
            if free + bytes > self.partition {
                free = self.part(2, 3);
            }
            // Its new position: in the log first.
            let entry = self.record();
            for at in [self.part(1, 2) + RECORD * file, entry] {
                self.write(at, RECORD, AFTER_COPY);
            }
        }
    }

    /// Files from behind the partition into it, `piece` bytes of them read and then written.
    fn copy(&mut self, file: u64, piece: u64) {
        let (source, free) = (self.partition, self.part(2, 3));
        for number in 0..COPIED / file {
            for begin in (number * file..(number + 1) * file)
                .step_by(usize::try_from(piece).expect("at most 1 MiB"))
            {
                self.read(source + begin, piece, AFTER_COPY);
                self.write(free + begin, piece, AFTER_COPY);
            }
            let entry = self.record();
            for at in [self.part(1, 2) + RECORD * number, entry] {
                self.write(at, RECORD, AFTER_COPY);
            }
        }
    }

    fn scan(&mut self) {
        for _ in 0..SCANNED {
            let entry = self.record();
            self.read(entry, RECORD, Span::ZERO);
            let (at, bytes) = (self.anywhere(self.partition), self.about(SCANNED_FILE));
            self.read(at, bytes, Span::ZERO);
            let works = self.rng.exponential(AFTER_SCAN);
            self.think(works);
        }
    }

    /// The byte offset of `parts` parts of the partition, each its `of`-th.
    fn part(&self, parts: u64, of: u64) -> u64 {
        debug_assert!(parts <= of);
        self.partition / of * parts
    }

    /// A record in the table of all files, which lies in one piece of 200 MiB.
    fn record(&mut self) -> u64 {
        self.part(1, 3) + self.anywhere((200 << 20).min(self.partition / 8))
    }

    fn anywhere(&mut self, bytes: u64) -> u64 {
        self.rng.below((bytes / RECORD).max(1)) * RECORD
    }

    /// A size: a few are large, most are small.
    fn about(&mut self, mean: u64) -> u64 {
        let drawn = self.rng.exponential(Span::from_ns(mean)).ns();
        drawn.clamp(RECORD, 20 * mean).next_multiple_of(RECORD)
    }

    fn read(&mut self, at: u64, bytes: u64, think: Span) {
        self.in_requests(at, bytes, think, Request::read);
    }

    fn write(&mut self, at: u64, bytes: u64, think: Span) {
        self.in_requests(at, bytes, think, Request::write);
    }

    fn in_requests(
        &mut self,
        at: u64,
        bytes: u64,
        think: Span,
        make: impl Fn(u64, Lba, Sectors) -> Request,
    ) {
        // On a small drive the largest files exceed the whole partition.
        let bytes = bytes.min(self.partition - RECORD);
        // A range that would exceed the last byte begins earlier.
        let at = at.min(self.end - bytes) / RECORD * RECORD;
        for begin in (0..bytes).step_by(usize::try_from(REQUEST).expect("64 KiB")) {
            let length = Sectors::holding(Bytes::new(REQUEST.min(bytes - begin)));
            let lba = Lba::at_byte(Bytes::new(at + begin));
            let request = make(self.entries.len() as u64, lba, length);
            debug_assert!(at + begin < self.end);
            self.entries.push(TraceEntry { request, at: None, think: Some(think), measured: None });
        }
    }

    /// The processor works longer after the last request.
    fn think(&mut self, more: Span) {
        if let Some(think) = self.entries.last_mut().and_then(|entry| entry.think.as_mut()) {
            *think += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    #[test]
    fn shapes_follow_from_the_seed_and_fit_any_drive() {
        for (name, shape) in Shape::NAMES {
            for capacity in [Bytes::gib(149), Bytes::gib(8), Bytes::mib(1)] {
                let requests = shape.requests(capacity, 1);
                assert_eq!(requests, shape.requests(capacity, 1), "{name}");
                // In half a MiB a large copy has only one place.
                let has_choice = capacity > Bytes::mib(1) || *shape != Shape::CopyLarge;
                assert!(!has_choice || requests != shape.requests(capacity, 2), "{name}");
                let end = Lba::at_byte(capacity);
                assert!(requests.iter().all(|entry| entry.request.end() <= end), "{name}");
                assert!(requests.iter().all(|entry| entry.think.is_some()), "{name}");
            }
        }
    }

    #[test]
    fn a_boot_reads_and_waits_for_the_processor_and_a_defragmentation_copies() {
        let count = |requests: &[TraceEntry], op| {
            let of = requests.iter().filter(|entry| entry.request.op == op);
            of.map(|entry| entry.request.sectors.bytes().get()).sum::<u64>() >> 20
        };
        let thinks = |requests: &[TraceEntry]| {
            requests.iter().map(|entry| entry.think.unwrap().ns()).sum::<u64>() / 1_000_000_000
        };
        let boot = Shape::Boot.requests(Bytes::gib(149), 1);
        assert!((100..180).contains(&count(&boot, Op::Read)), "{}", count(&boot, Op::Read));
        assert_eq!(count(&boot, Op::Write), 0, "less than a MiB");
        assert!((12..24).contains(&thinks(&boot)), "{}", thinks(&boot));
        let copy = Shape::Defragmentation.requests(Bytes::gib(149), 1);
        let (reads, writes) = (count(&copy, Op::Read), count(&copy, Op::Write));
        assert!((1000..1400).contains(&reads) && writes.abs_diff(reads) < 60, "{reads} {writes}");
        assert!(thinks(&copy) < 10, "{}", thinks(&copy));
    }

    #[test]
    fn copies_move_their_bytes_between_two_partitions() {
        for shape in [Shape::CopySmall, Shape::CopyLarge] {
            let requests = shape.requests(Bytes::gib(149), 1);
            let border = Lba::at_byte(PARTITION);
            let (mut reads, mut writes) = (0, 0);
            for entry in &requests {
                let bytes = entry.request.sectors.bytes().get();
                let is_read = entry.request.op == Op::Read;
                assert_eq!(is_read, entry.request.lba >= border, "{shape}: {entry:?}");
                *(if is_read { &mut reads } else { &mut writes }) += bytes;
            }
            assert_eq!(reads >> 20, 100, "{shape}");
            assert!((100..110).contains(&(writes >> 20)), "{shape}: {writes}");
        }
    }
}
