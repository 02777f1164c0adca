//! Whole drives behind the host's side.
#![expect(clippy::print_stdout, reason = "a test that fails names its seed")]

use drivelab_core::dispatch::Dispatch;
use drivelab_core::{Completion, Device, Rng};

use super::flash::{FlashRules, PageTimes};
use super::ftl::{Choice, Rules, Shape};
use super::*;
use crate::about::Attachment;
use crate::controller::Controller;
use crate::elevator::Scheduler;
use crate::stack::Stack;

const PER_COMMAND: Span = Span::from_us(5);
/// 4 KiB at 300 MB/s.
const DATA: u64 = 13_654;

fn parts(dies: u32, blocks_per_die: u32, units: u32) -> SsdParts {
    let page = PageTimes { read: Span::from_us(60), program: Span::from_us(900) };
    let flash = FlashRules {
        channels: dies.div_ceil(4),
        dies,
        pages: vec![page],
        slc: None,
        commit: None,
        erase: Span::from_ms(3),
        transfer: Span::from_us(20),
        channel_command: Span::ZERO,
        suspend: None,
        overtaking_reads: 8,
        retry: None,
        seed: 1,
    };
    let ftl = Rules { choice: Choice::Greedy, low_water: 2, page_slots: 1, seed: 1 };
    let shape = Shape { dies, blocks_per_die, slots_per_block: 32, units };
    SsdParts {
        backend: BackendRules {
            shape,
            ftl,
            flash,
            units_per_page: 4,
            erase_every: 1,
            planes: 1,
            slc: None,
        },
        sectors_per_unit: 8,
        read_processing: Span::from_us(20),
        write_processing: Span::from_us(15),
        flush_processing: Span::from_us(30),
        buffer_units: dies * 4 * 4,
        write_cache: true,
        protected: false,
        commit: None,
        fold_after: Span::from_ms(100),
        map_cache: None,
        throttle: None,
    }
}

fn drive(parts: SsdParts, tags: usize) -> Stack<Ssd> {
    let attached = Attachment {
        controller: Controller::Ahci,
        dispatch: if tags == 1 { Dispatch::Single } else { Dispatch::Shared },
        tags,
        queued: tags > 1,
        link: None,
        wire_bytes_per_s: 300_000_000,
        scheduler: Scheduler::None,
        nr_requests: 256,
        write_cache_bytes: None,
        reports_cache: false,
        fua: None,
        guard_ns: None,
        guard_growth: None,
        notice: None,
        queue_pairs: None,
        flash: None,
        shingles: None,
    };
    let port = Port::new(attached.wire_bytes_per_s, PER_COMMAND);
    Stack::new(&attached, true, Ssd::new(parts, port, attached.commands_at_once()).unwrap())
}

/// Lets everything happen and returns when each request was done, by id.
fn finish(drive: &mut Stack<Ssd>) -> Vec<Completion> {
    let mut completed = Vec::new();
    while let Some(next) = drive.next_event() {
        drive.advance(next, &mut completed);
    }
    completed
}

fn write(id: u64, unit: u64) -> Request {
    Request::write(id, Lba::new(unit * 8), Sectors::new(8))
}

fn read(id: u64, unit: u64) -> Request {
    Request::read(id, Lba::new(unit * 8), Sectors::new(8))
}

fn flush(id: u64) -> Request {
    Request { op: Op::Flush, lba: Lba::ZERO, sectors: Sectors::ZERO, ..read(id, 0) }
}

/// One request after the other; how long each took, in ns.
fn one_by_one(drive: &mut Stack<Ssd>, requests: &[Request]) -> Vec<u64> {
    let mut now = Time::ZERO;
    let mut took = Vec::new();
    let mut completed = Vec::new();
    for request in requests {
        drive.submit(now, *request).unwrap();
        while completed.is_empty() {
            let next = drive.next_event().unwrap();
            drive.advance(next, &mut completed);
        }
        let done = completed.remove(0).at;
        took.push(done.since(now).ns());
        now = done;
    }
    took
}

#[test]
fn a_write_waits_for_the_flash_only_where_it_must_be_durable() {
    let sequence = [write(0, 7), read(1, 7), flush(2), read(3, 7)];
    let volatile = one_by_one(&mut drive(parts(4, 40, 1_000), 1), &sequence);
    // Data in, the controller, the answer; then a hit in memory.
    assert_eq!(volatile[0], DATA + 15_000 + 5_000);
    assert_eq!(volatile[1], 20_000 + DATA + 5_000);
    // A page of four units over the channel, and its program.
    assert_eq!(volatile[2], 30_000 + 80_000 + 900_000 + 5_000);
    assert_eq!(volatile[3], 20_000 + 60_000 + 20_000 + DATA + 5_000);
    let protected = SsdParts { protected: true, ..parts(4, 40, 1_000) };
    let protected = one_by_one(&mut drive(protected, 1), &sequence);
    assert_eq!(protected[2], 30_000 + 5_000);
    let uncached = SsdParts { write_cache: false, ..parts(4, 40, 1_000) };
    let uncached = one_by_one(&mut drive(uncached, 1), &sequence);
    assert_eq!(uncached[0], DATA + 15_000 + 80_000 + 900_000 + 5_000);
}

/// A flush and a durable write program the data, then the map page by page; a clean drive neither.
#[test]
fn a_commit_writes_the_map_behind_the_data() {
    let commit = Some(CommitRules { map_pages: 3 });
    let mut made = SsdParts { commit, ..parts(4, 40, 1_000) };
    made.backend.flash.commit = Some(Span::from_us(400));
    let fua = Request { fua: true, ..write(3, 9) };
    let sequence = [write(0, 7), flush(1), flush(2), fua];
    let took = one_by_one(&mut drive(made, 1), &sequence);
    // Four units over the channel and a program; then three times one unit and a program.
    let commit = 80_000 + 400_000 + 3 * (20_000 + 400_000);
    assert_eq!(took[1], 30_000 + commit + 5_000);
    assert_eq!(took[2], 30_000 + 5_000);
    assert_eq!(took[3], DATA + 15_000 + commit + 5_000);
}

/// Writers that come while a commit is in progress share the next one: two groups take turns.
#[test]
fn several_writers_share_a_commit() {
    let rates = [1, 4, 8].map(|writers: u64| {
        let commit = Some(CommitRules { map_pages: 3 });
        let uncached = SsdParts { write_cache: false, commit, ..parts(8, 40, 1_000) };
        Load::new(drive(uncached, 8)).run(writers, 400, |id| write(id, id % 1_000))
    });
    println!("{rates:?}");
    assert!((18..26).contains(&(10 * rates[1] / rates[0])), "{rates:?}");
    assert!((36..56).contains(&(10 * rates[2] / rates[0])), "{rates:?}");
}

/// Part of a unit is written: the rest is read first, unless it is in memory or was never written.
#[test]
fn the_rest_of_a_unit_is_read_before_a_part_is_written() {
    let part = |id| Request::write(id, Lba::new(7 * 8 + 1), Sectors::new(1));
    let sequence = [part(0), write(1, 7), part(2), flush(3), part(4)];
    let took = one_by_one(&mut drive(parts(4, 40, 1_000), 1), &sequence);
    let cached = took[0];
    assert_eq!(took[2], cached);
    assert_eq!(took[4], cached + 60_000 + 20_000);
}

#[test]
fn the_answer_says_whether_a_write_is_durable() {
    let check = |parts: SsdParts, fua, expected| {
        let mut drive = drive(parts, 4);
        drive.submit(Time::ZERO, Request { fua, ..write(0, 1) }).unwrap();
        assert_eq!(finish(&mut drive)[0].served_by, expected);
    };
    check(parts(4, 40, 1_000), false, ServedBy::DriveWriteCache);
    check(parts(4, 40, 1_000), true, ServedBy::Medium);
    let protected = SsdParts { protected: true, ..parts(4, 40, 1_000) };
    check(protected, false, ServedBy::Medium);
}

#[test]
fn what_a_flush_covers_is_reported_before_its_answer() {
    let mut drive = drive(parts(4, 40, 1_000), 4);
    let mut records = Vec::new();
    drive.destaged(&mut records);
    for id in 0..3 {
        drive.submit(Time::ZERO, write(id, id * 10)).unwrap();
    }
    drive.submit(Time::ZERO, flush(3)).unwrap();
    let completed = finish(&mut drive);
    drive.destaged(&mut records);
    let mut found: Vec<u64> = records.iter().map(|record| record.lba.get()).collect();
    found.sort_unstable();
    assert_eq!(found, [0, 80, 160]);
    assert!(records.iter().all(|record| record.at <= completed[3].at));
}

/// A write that must be durable waits for its own page, not for those of others.
#[test]
fn uncached_writes_work_on_all_dies() {
    let rates = [1, 2, 4].map(|tags: usize| {
        let uncached = SsdParts { write_cache: false, ..parts(4, 40, 1_000) };
        let mut load = Load::new(drive(uncached, tags));
        load.run(tags as u64, 200, |id| write(id, id % 1_000))
    });
    println!("{rates:?}");
    // 1,013.654 us: nothing overlaps; then as many pages at once as there are writes.
    assert_eq!(rates[0], 986);
    assert!(rates[1] > 1_900 && rates[2] > 3_700, "{rates:?}");
}

#[test]
fn a_trim_forgets_whole_units_and_nothing_else() {
    let trim = |id, lba, sectors| Request {
        op: Op::Trim,
        lba: Lba::new(lba),
        sectors: Sectors::new(sectors),
        ..read(id, 0)
    };
    let requests = [
        write(0, 3),
        write(1, 4),
        write(2, 5),
        flush(3),
        trim(4, 28, 16),
        read(5, 3),
        read(6, 4),
        read(7, 5),
    ];
    let took = one_by_one(&mut drive(parts(4, 40, 1_000), 1), &requests);
    let (flash, nothing) = (20_000 + 60_000 + 20_000 + DATA + 5_000, 20_000 + DATA + 5_000);
    assert_eq!(took[5..], [flash, nothing, flash]);
}

/// A load on a drive, with its own clock.
struct Load {
    drive: Stack<Ssd>,
    now: Time,
    next: u64,
    completed: Vec<Completion>,
}

impl Load {
    fn new(drive: Stack<Ssd>) -> Self {
        Self { drive, now: Time::ZERO, next: 0, completed: Vec::new() }
    }

    /// Keeps `depth` requests outstanding until `count` are done; requests per second.
    fn run(&mut self, depth: u64, count: u64, mut make: impl FnMut(u64) -> Request) -> u64 {
        let (began, mut sent, mut done) = (self.now, 0, 0);
        while done < count {
            while sent < count && sent - done < depth {
                self.drive.submit(self.now, make(self.next)).unwrap();
                self.next += 1;
                sent += 1;
            }
            self.now = self.drive.next_event().unwrap();
            self.drive.advance(self.now, &mut self.completed);
            done += self.completed.len() as u64;
            self.completed.clear();
        }
        count * 1_000_000_000 / self.now.since(began).ns()
    }

    /// Lets the drive finish what it does on its own.
    fn settle(&mut self) {
        while let Some(next) = self.drive.next_event() {
            self.now = next;
            self.drive.advance(next, &mut self.completed);
        }
        self.completed.clear();
    }
}

/// Random reads: the dies work at once, until the wire is full.
#[test]
fn depth_uncovers_the_dies_until_the_wire_is_full() {
    let rates = [1, 2, 4, 8, 16, 32].map(|tags: usize| {
        let mut load = Load::new(drive(parts(32, 40, 30_000), tags));
        load.run(1, 30_000, |id| write(id, id % 30_000));
        load.settle();
        let mut rng = Rng::new(1);
        load.run(tags as u64, 20_000, |id| read(id, rng.below(30_000)))
    });
    println!("{rates:?}");
    // 118.654 us: nothing overlaps.
    assert_eq!(rates[0], 8_427);
    assert!(rates.is_sorted(), "{rates:?}");
    assert!((15_500..17_000).contains(&rates[1]), "{rates:?}");
    // 18.654 us on the wire.
    assert!((51_000..=53_607).contains(&rates[5]), "{rates:?}");
}

/// Random writes fall from the rate of the wire to what collection leaves.
#[test]
fn random_writes_reach_the_plateau_of_their_write_amplification() {
    let units = 8 * 60 * 32 * 3 / 4;
    let mut load = Load::new(drive(parts(8, 60, units), 32));
    let units = u64::from(units);
    let fresh = load.run(32, 2_000, |id| write(id, id));
    load.run(32, units, |id| write(id, id % units));
    let mut rng = Rng::new(1);
    load.run(32, units * 4, |id| write(id, rng.below(units)));
    let before = load.drive.mechanism().backend.ftl.written();
    let erases_before = load.drive.mechanism().backend.ftl.wear().total;
    let began = load.now;
    let steady = load.run(32, units * 4, |id| write(id, rng.below(units)));
    let ftl = &load.drive.mechanism().backend.ftl;
    ftl.check().unwrap();
    let after = ftl.written();
    let (host, copied) = (after.host - before.host, after.copied - before.copied);
    // What the dies must do at least: programs of four units, a read for four copies, erases.
    let programming = Span::from_us(980) * ((host + copied) / 4);
    let reading = Span::from_us(20) * copied + Span::from_us(60) * (copied / 4);
    let erasing = Span::from_ms(3) * (ftl.wear().total - erases_before);
    let work = (programming + reading + erasing).ns() / 8;
    let took = load.now.since(began).ns();
    println!("{fresh} {steady} {host} {copied} {} %", work * 100 / took);
    assert!(fresh > steady * 2, "{fresh} then {steady}");
    assert!((85..=100).contains(&(work * 100 / took)), "{} %", work * 100 / took);
}

/// The records of four writes that fill a page, and of another write of unit 2 where one comes.
fn records_of_a_page(again: Option<Time>) -> Vec<Destaged> {
    let mut load = Load::new(drive(parts(1, 40, 700), 4));
    let mut records = Vec::new();
    load.drive.destaged(&mut records);
    load.run(1, 4, |id| write(id, id));
    if let Some(at) = again {
        while load.drive.next_event().unwrap() < at {
            let next = load.drive.next_event().unwrap();
            load.drive.advance(next, &mut load.completed);
        }
        load.drive.submit(at, write(4, 2)).unwrap();
    }
    load.settle();
    load.drive.destaged(&mut records);
    records
}

/// A page is programmed while newer data of one of its units is on its way.
#[test]
fn a_record_does_not_name_data_that_came_later() {
    let first = records_of_a_page(None)[2];
    assert_eq!(first.lba, Lba::new(16));
    let again = first.at - Span::from_us(10);
    let records = records_of_a_page(Some(again));
    assert_eq!(records[2].at, first.at);
    assert!(records[2].taken < again, "{records:?}");
}

/// A page is programmed while newer data of one of its units has a place in another page.
#[test]
fn data_that_was_replaced_while_it_was_programmed_has_no_record() {
    let first = records_of_a_page(None)[2];
    let again = first.at - Span::from_us(500);
    let records = records_of_a_page(Some(again));
    // The newer data waits for a page that nothing completes.
    assert_eq!(records.len(), 3, "{records:?}");
    assert!(records.iter().all(|record| record.lba != first.lba), "{records:?}");
}

/// What the rules of a volatile cache promise: when a flush is answered, every write that was
/// answered before is reported as on the flash, in its newest version.
#[test]
fn a_flush_leaves_no_answered_write_in_memory() {
    for seed in 0..12 {
        println!("seed {seed}");
        let commit =
            (seed % 3 > 0).then_some(CommitRules { map_pages: u32::try_from(seed % 3).unwrap() });
        let made = SsdParts { commit, ..parts(4, 12, 700) };
        let mut drive = drive(if seed % 2 == 0 { made } else { with_slc(made) }, 8);
        let (mut rng, mut now) = (Rng::new(seed), Time::ZERO);
        let (mut completed, mut records) = (Vec::new(), Vec::new());
        drive.destaged(&mut records);
        let mut sent: Vec<(Request, Time)> = Vec::new();
        // When the data of each unit that is only known to be in the cache was submitted.
        let mut volatile: Vec<Option<Time>> = vec![None; 700];
        let (mut done, mut flushes, mut most) = (0, 0, 0);
        while done < 8_000 {
            while sent.len() < done + 8 {
                let id = sent.len() as u64;
                // Few units, so that they are overwritten while they are under way.
                let other = write(id, if id < 700 { id } else { rng.below(60) * 10 });
                let request = if rng.below(30) == 0 { flush(id) } else { other };
                drive.submit(now, request).unwrap();
                sent.push((request, now));
            }
            now = drive.next_event().unwrap();
            drive.advance(now, &mut completed);
            drive.destaged(&mut records);
            for record in records.drain(..) {
                let unit = usize::try_from(record.lba.get() / 8).unwrap();
                if volatile[unit].is_some_and(|submitted| submitted <= record.taken) {
                    volatile[unit] = None;
                }
            }
            for completion in completed.drain(..) {
                done += 1;
                let (request, submitted) = sent[usize::try_from(completion.id.0).unwrap()];
                if request.op == Op::Flush {
                    flushes += 1;
                    let left = volatile.iter().position(Option::is_some);
                    assert_eq!(left, None, "seed {seed}: in memory after {completion:?}");
                } else if completion.served_by == ServedBy::DriveWriteCache {
                    volatile[usize::try_from(request.lba.get() / 8).unwrap()] = Some(submitted);
                }
            }
            most = most.max(volatile.iter().flatten().count());
        }
        assert!(flushes > 100 && most > 8, "{flushes} flushes, {most} units at once");
    }
}

/// Random requests of all kinds and sizes: each is answered once, a flush after what it covers, and
/// the translation layer stays whole.
#[test]
fn every_request_is_answered_once() {
    for seed in 0..24 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let made_durable = seed % 3 == 0;
        let commit = (seed % 5 > 1).then_some(CommitRules { map_pages: 2 });
        let made = SsdParts {
            protected: made_durable,
            write_cache: seed % 4 != 1,
            commit,
            ..parts(4, 12, 700)
        };
        let made = if seed % 2 == 0 { with_slc(made) } else { made };
        let mut load = Load::new(drive(made, 8));
        let mut kinds = Rng::new(seed + 100);
        load.run(8, 20_000, |id| {
            let sectors = Sectors::new(rng.between(1, 40));
            let lba = Lba::new(rng.below(700 * 8 - 40));
            let op = match kinds.below(40) {
                0 => Op::Flush,
                1..4 => Op::Trim,
                4..20 => Op::Read,
                _ => Op::Write,
            };
            let request = Request { op, lba, sectors, fua: kinds.below(20) == 0, ..write(id, 0) };
            if op == Op::Flush { flush(id) } else { request }
        });
        load.settle();
        load.drive.submit(load.now, flush(u64::MAX)).unwrap();
        load.settle();
        let ssd = load.drive.mechanism();
        // With capacitors a begun page is as good as a finished one.
        assert!(made_durable || ssd.buffer.is_clean(), "the flush left data in the buffer");
        ssd.backend.check();
        assert!(ssd.backend.ftl.wear().total > 48, "collection never worked");
    }
}

/// The same with 2 blocks of 16 units of each die written as SLC, in 100 us.
fn with_slc(parts: SsdParts) -> SsdParts {
    let slc = PageTimes { read: Span::from_us(20), program: Span::from_us(100) };
    let flash = FlashRules { slc: Some(slc), ..parts.backend.flash };
    let slc = Some(SlcRules { blocks: 2, slots_per_block: 16, dynamic: None });
    SsdParts { backend: BackendRules { flash, slc, ..parts.backend }, ..parts }
}

/// Full speed while there is space, that of the other cells beyond it, and full speed again once an
/// idle drive has folded it all out.
#[test]
fn writes_go_to_slc_until_it_is_full_and_again_after_it_was_folded() {
    let small = SsdParts { buffer_units: 20, ..parts(4, 40, 1_000) };
    let mut load = Load::new(drive(with_slc(small), 32));
    let mut in_slc = Vec::new();
    let mut rate = |load: &mut Load, count, from: u64| {
        let rate = load.run(32, count, |id| write(id, (from + id * 7) % 1_000));
        in_slc.push(
            (0..1_000).filter(|unit| load.drive.mechanism().backend.is_slc(Unit(*unit))).count(),
        );
        rate
    };
    let first = rate(&mut load, 128, 0);
    let beyond = rate(&mut load, 128, 1);
    load.settle();
    load.drive.mechanism().backend.check();
    let again = rate(&mut load, 128, 2);
    println!("{first} {beyond} {again} {in_slc:?}");
    assert!(first > beyond * 2, "{first} then {beyond}");
    assert!(again * 10 > first * 9, "{first} and later {again}");
    assert_eq!((in_slc[0], in_slc[2]), (128, 128));
    load.settle();
    let backend = &load.drive.mechanism().backend;
    assert!((0..1_000).all(|unit| !backend.is_slc(Unit(unit))), "not all is folded out");
    let written = backend.ftl.written();
    // Nothing is written twice but what was written as SLC and folded out.
    assert_eq!((written.host, written.copied), (384, 0));
}

/// One request at a time, so that it is known which units were written: each lies in one place,
/// whether it was folded, collected or neither.
#[test]
fn no_unit_is_lost_between_slc_and_the_other_blocks() {
    for seed in 0..12 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let mut load = Load::new(drive(with_slc(parts(4, 12, 700)), 1));
        let mut held = vec![false; 700];
        for round in 0..600 {
            let count = rng.between(1, 40);
            load.run(1, count, |id| {
                let unit = rng.below(700);
                let op = if rng.below(8) == 0 { Op::Trim } else { Op::Write };
                held[usize::try_from(unit).unwrap()] = op == Op::Write;
                Request { op, ..write(id, unit) }
            });
            if rng.below(4) == 0 {
                load.settle();
            }
            let ssd = load.drive.mechanism();
            ssd.backend.check();
            for (unit, held) in (0..).map(Unit).zip(&held) {
                let found = ssd.buffer.holds(unit) || ssd.backend.slot_of(unit).is_some();
                assert_eq!(found, *held, "round {round}: {unit:?}");
            }
        }
        assert!(load.drive.mechanism().backend.ftl.wear().total > 10, "collection never worked");
    }
}

#[test]
fn more_commands_than_parts_of_the_map_in_memory_all_end() {
    let map_cache = Some(MapCache { units: 100, pages: 1 });
    let mut drive = drive(SsdParts { map_cache, ..parts(4, 40, 1_000) }, 32);
    for id in 0..8 {
        // Each across two parts.
        let request = Request::read(id, Lba::new((id * 100 + 99) * 8), Sectors::new(16));
        drive.submit(Time::ZERO, request).unwrap();
    }
    let mut completed = Vec::new();
    for _ in 0..1_000 {
        let Some(next) = drive.next_event() else { break };
        drive.advance(next, &mut completed);
    }
    assert_eq!(completed.len(), 8);
}
