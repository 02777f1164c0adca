//! Whole tiers before drives of known service times.

use drivelab_core::{
    Completion, Destaged, Device, Lba, Op, Request, Rng, Sectors, ServedBy, Span, Time,
};

use super::*;
use crate::drive::Fixed;

const SLOW: Span = Span::from_ms(10);
const FAST: Span = Span::from_us(100);
const MEMORY: Span = Span::from_us(2);
/// 1 GiB, and 64 MiB before it.
const UNITS: u64 = 1 << 18;
const FAST_UNITS: u64 = 1 << 14;

fn fixed(units: u64, service: Span) -> Fixed {
    // Work in the background delays no request.
    Fixed::new(Sectors::new(units * UNIT), service, 64)
}

fn swapcache(pages: u32) -> Tiered<Swapcache<Fixed>> {
    Tiered(Swapcache::new(fixed(UNITS, SLOW), fixed(FAST_UNITS, FAST), pages))
}

fn writeback() -> Tiered<Writeback<Fixed>> {
    // The journal lies on the fast drive, too.
    Tiered(Writeback::new(fixed(UNITS, SLOW), fixed(FAST_UNITS + 2048, FAST)))
}

fn unit(op: Op, unit: u64) -> Request {
    Request { op, ..Request::read(0, Lba::new(unit * UNIT), Sectors::new(UNIT)) }
}

/// A drive and its time.
struct Bench<D> {
    drive: D,
    now: Time,
}

impl<D: Device> Bench<D> {
    fn new(drive: D) -> Self {
        Self { drive, now: Time::ZERO }
    }

    /// Sends a request when the one before is answered; how it ended.
    fn ask(&mut self, request: Request) -> (Span, ServedBy) {
        let mut done: Vec<Completion> = Vec::new();
        self.drive.submit(self.now, request).unwrap();
        let began = self.now;
        while done.is_empty() {
            self.now = self.drive.next_event().expect("a request is under way");
            self.drive.advance(self.now, &mut done);
        }
        assert_eq!(done[0].result, Ok(()));
        (self.now.since(began), done[0].served_by)
    }

    fn took(&mut self, request: Request) -> Span {
        self.ask(request).0
    }

    /// Lets time pass without requests.
    fn wait(&mut self, span: Span) {
        let until = self.now + span;
        let mut done = Vec::new();
        while let Some(next) = self.drive.next_event().filter(|next| *next <= until) {
            self.drive.advance(next, &mut done);
        }
        self.drive.advance(until, &mut done);
        self.now = until;
        assert_eq!(done, []);
    }

    fn destaged(&mut self) -> Vec<Destaged> {
        let mut records = Vec::new();
        self.drive.destaged(&mut records);
        records
    }
}

#[test]
fn a_page_comes_from_the_disk_once_then_from_memory_and_then_from_swap() {
    let mut bench = Bench::new(swapcache(64));
    assert_eq!(bench.took(unit(Op::Read, 0)), SLOW);
    assert_eq!(bench.took(unit(Op::Read, 0)), MEMORY);
    for page in 1..200 {
        assert_eq!(bench.took(unit(Op::Read, page)), SLOW, "page {page}");
    }
    bench.wait(Span::from_secs(1));
    assert_eq!(bench.took(unit(Op::Read, 199)), MEMORY);
    assert_eq!(bench.took(unit(Op::Read, 100)), FAST);
}

#[test]
fn a_read_of_which_a_page_is_not_in_swap_goes_to_the_disk_as_a_whole() {
    let mut bench = Bench::new(swapcache(64));
    (0..200).for_each(|page| _ = bench.took(unit(Op::Read, page)));
    bench.wait(Span::from_secs(1));
    let two = |page| Request { sectors: Sectors::new(2 * UNIT), ..unit(Op::Read, page) };
    assert_eq!(bench.took(two(100)), FAST);
    // What is rewritten has no copy until it becomes inactive again and is scanned.
    assert_eq!(bench.ask(unit(Op::Write, 50)), (SLOW, ServedBy::Medium));
    bench.took(unit(Op::Trim, 50));
    assert_eq!(bench.took(two(50)), SLOW);
}

#[test]
fn swapcache_waits_until_an_eighth_of_memory_is_new_and_takes_256_pages_a_poll() {
    let mut bench = Bench::new(swapcache(4096));
    let many =
        |page, pages| Request { sectors: Sectors::new(pages * UNIT), ..unit(Op::Read, page) };
    // A gap of one page between the reads: no read is the neighbour of another.
    (0..31).for_each(|step| _ = bench.took(many(step * 17, 16)));
    bench.wait(Span::from_secs(5));
    assert_eq!(bench.drive.drives()[1].counters().writes, 0);
    bench.took(many(31 * 17, 16));
    let writes =
        |bench: &Bench<Tiered<Swapcache<Fixed>>>| bench.drive.drives()[1].counters().writes;
    bench.wait(Span::from_ms(150));
    let first = writes(&bench);
    bench.wait(Span::from_ms(100));
    let second = writes(&bench) - first;
    // 512 pages in windows of 16, which the reads of 17 pages each touch two of.
    assert!((10..=32).contains(&first) && second <= 32, "{first} and {second} writes");
    bench.wait(Span::from_secs(2));
    assert_eq!(bench.took(unit(Op::Read, 0)), MEMORY);
}

#[test]
fn swap_is_cleaned_from_three_quarters_down_to_seventy_percent() {
    let mut bench = Bench::new(swapcache(1024));
    // More pages than three quarters of swap hold.
    for step in 0..FAST_UNITS / 16 {
        let request = Request { sectors: Sectors::new(16 * UNIT), ..unit(Op::Read, step * 16) };
        bench.took(request);
        bench.wait(Span::from_ms(10));
    }
    bench.wait(Span::from_secs(60));
    let mut rng = Rng::new(1);
    let hits = (0..1000).filter(|_| bench.took(unit(Op::Read, rng.below(FAST_UNITS))) == FAST);
    let share = hits.count();
    assert!((600..=780).contains(&share), "{share} of 1000 pages are in swap");
}

#[test]
fn a_warm_swapcache_answers_from_the_fast_drive_at_once() {
    let mut tier = swapcache(64);
    tier.0.warm();
    let mut bench = Bench::new(tier);
    assert_eq!(bench.took(unit(Op::Read, 7)), FAST);
    assert_eq!(bench.took(unit(Op::Read, UNITS - 1)), SLOW);
}

#[test]
fn a_write_is_answered_by_the_fast_drive_and_is_durable_with_the_journal() {
    let mut bench = Bench::new(writeback());
    assert_eq!(bench.destaged(), []);
    assert_eq!(bench.ask(unit(Op::Write, 3)), (FAST, ServedBy::DriveWriteCache));
    assert_eq!(bench.took(unit(Op::Read, 3)), FAST);
    assert_eq!(bench.destaged(), []);
    // A tenth of a second after the data, the flush and the entry.
    bench.wait(Span::from_ms(101));
    let durable = bench.destaged();
    assert_eq!(durable.len(), 1);
    assert_eq!((durable[0].lba, durable[0].taken), (Lba::new(24), Time::ZERO));
    assert_eq!(durable[0].at, Time::ZERO + FAST + Span::from_ms(100) + FAST * 2);
    // The slow drive is flushed as well and takes longest.
    bench.took(unit(Op::Write, 4));
    let flush = Request::flush(0);
    assert_eq!(bench.ask(flush), (SLOW, ServedBy::Medium));
    assert_eq!(bench.destaged().len(), 1);
    let forced = Request { fua: true, ..unit(Op::Write, 5) };
    assert_eq!(bench.ask(forced), (FAST * 3, ServedBy::Medium));
}

#[test]
fn a_read_that_misses_is_kept_unless_it_belongs_to_a_long_stream() {
    let mut bench = Bench::new(writeback());
    assert_eq!(bench.took(unit(Op::Read, 9)), SLOW);
    bench.wait(FAST);
    assert_eq!(bench.took(unit(Op::Read, 9)), FAST);
    let long =
        |step: u64| Request { sectors: Sectors::new(2048), ..unit(Op::Read, 1024 + step * 256) };
    (0..6).for_each(|step| _ = bench.took(long(step)));
    bench.wait(FAST * 5);
    // 3 MiB were kept, and what came after them was not.
    assert_eq!(bench.took(unit(Op::Read, 1024 + 3 * 256 - 1)), FAST);
    assert_eq!(bench.took(unit(Op::Read, 1024 + 5 * 256 - 1)), SLOW);
}

#[test]
fn a_cache_of_which_seventy_percent_are_dirty_takes_writes_to_both_drives() {
    let mut bench = Bench::new(writeback());
    let mut rng = Rng::new(7);
    let units: Vec<u64> = (0..FAST_UNITS).map(|_| rng.below(UNITS)).collect();
    let kept = units.iter().take_while(|at| bench.took(unit(Op::Write, **at)) < SLOW).count();
    // Dirty data is written back meanwhile, a little.
    let share = kept as u64 * 100 / FAST_UNITS;
    assert!((68..=76).contains(&share), "{share} % were kept");
    // A dirty unit is still written where it is newest.
    assert!(bench.took(unit(Op::Write, units[kept - 1])) < SLOW);
}

#[test]
fn an_idle_tier_writes_all_back_and_comes_to_rest() {
    let mut bench = Bench::new(writeback());
    for at in 0..1000 {
        bench.took(unit(Op::Write, at * 5));
    }
    bench.wait(Span::from_secs(300));
    assert_eq!(bench.drive.drives()[0].counters().writes, 1000);
    assert_eq!(bench.drive.next_event(), None);
    assert_eq!(bench.took(unit(Op::Read, 5)), FAST);
}

/// Of uniform random reads a cache of `C` of `N` units answers the share `C / N`, whatever it
/// gives up.
#[test]
fn the_share_of_hits_is_the_share_that_fits() {
    let mut bench = Bench::new(writeback());
    let (units, mut rng) = (FAST_UNITS * 2, Rng::new(3));
    let mut read = |count: u64| {
        (0..count)
            .map(|_| u32::from(bench.took(unit(Op::Read, rng.below(units))) < SLOW))
            .sum::<u32>()
    };
    read(units * 4);
    let share = f64::from(read(20_000)) / 20_000.0;
    assert!((0.47..=0.51).contains(&share), "{share}");
}

/// Random requests, many at a time: each is answered once, and time never runs backwards.
#[test]
fn every_request_is_answered_once() {
    fn play(mut drive: impl Device, seed: u64) {
        let mut rng = Rng::new(seed);
        let (mut now, mut asked, mut done) = (Time::ZERO, 0, Vec::new());
        while done.len() < 3_000 {
            while asked < 3_000 && asked - done.len() < 16 {
                let ops = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush];
                let op = ops[usize::try_from(rng.below(6)).unwrap()];
                let (lba, sectors) = (Lba::new(rng.below(20_000)), Sectors::new(1 + rng.below(64)));
                let fua = op == Op::Write && rng.below(4) == 0;
                let id = drivelab_core::RequestId(asked as u64);
                let request = Request { id, op, lba, sectors, fua, submitter: 0 };
                let request = if op == Op::Flush { Request::flush(id.0) } else { request };
                drive.submit(now, request).unwrap();
                asked += 1;
            }
            now = drive.next_event().expect("requests are under way");
            drive.advance(now, &mut done);
        }
        let mut ids: Vec<u64> = done.iter().map(|done| done.id.0).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..3_000), "seed {seed}");
        assert!(done.is_sorted_by_key(|done| done.at), "seed {seed}");
    }
    for seed in 0..20 {
        let (slow, fast) = (fixed(4096, SLOW), fixed(512, FAST));
        play(Tiered(Swapcache::new(slow, fast, 128)), seed);
        let (slow, fast) = (fixed(4096, SLOW), fixed(512 + 2048, FAST));
        play(Tiered(Writeback::new(slow, fast)), seed);
    }
}
