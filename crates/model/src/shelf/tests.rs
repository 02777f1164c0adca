//! What drives behind one bus may and may not do, in closed forms.

use drivelab_core::{
    Completion, Device, IoError, Lba, Op, Request, Rng, Sectors, ServedBy, Span, Time,
};

use super::{Bus, Member, Rates, Sharing, Shelf, Switching};
use crate::profile::Profile;

/// A device that does everything it is asked for in the same time, all at once, and remembers it.
#[derive(Debug)]
pub(crate) struct Recorder {
    capacity: Sectors,
    service: Span,
    under_way: Vec<(Time, Request)>,
    pub(crate) log: Vec<(Time, Request)>,
    /// Whether every read fails.
    pub(crate) reads_fail: bool,
}

impl Recorder {
    pub(crate) fn new(sectors: u64, service: Span) -> Self {
        let capacity = Sectors::new(sectors);
        Self { capacity, service, under_way: Vec::new(), log: Vec::new(), reads_fail: false }
    }
}

impl Device for Recorder {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(request.end() <= Lba::ZERO + self.capacity, "beyond the end: {request:?}");
        self.log.push((now, request));
        self.under_way.push((now + self.service, request));
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.under_way.iter().map(|(at, _)| *at).min()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        self.under_way.retain(|(at, request)| {
            if *at <= now {
                let fails = self.reads_fail && request.op == Op::Read;
                let result = if fails { Err(IoError::Medium) } else { Ok(()) };
                let served_by = ServedBy::Medium;
                completed.push(Completion { id: request.id, at: *at, result, served_by });
            }
            *at > now
        });
    }
}

/// Everything that completes until the device is idle, by time and name.
pub(crate) fn drain<D: Device>(device: &mut D) -> Vec<(u64, u64)> {
    let mut completed = Vec::new();
    while let Some(next) = device.next_event() {
        device.advance(next, &mut completed);
    }
    completed.iter().map(|done| (done.at.ns() / 1000, done.id.0)).collect()
}

const DRIVE: u64 = 1 << 20;

/// A microsecond a sector, nothing besides.
fn rates(shared: bool) -> Rates {
    let rate = 512_000_000;
    Rates { reads: rate, writes: rate, shared, per_command: Span::ZERO }
}

pub(crate) fn shelf(
    drives: usize,
    service: Span,
    rates: Option<Rates>,
    host_queue: usize,
) -> Shelf<Recorder> {
    let member =
        |_| Member { device: Recorder::new(DRIVE, service), limit: 32, wire_bytes_per_s: None };
    let bus = rates.map(|rates| (Bus::Pcie { generation: 1, lanes: 1 }, rates));
    let sharing = Sharing { bus, piece: Sectors::new(1024), host_queue };
    Shelf::new((0..drives).map(member).collect(), sharing)
}

fn on(drive: u64, lba: u64) -> Lba {
    Lba::new(drive * DRIVE + lba)
}

#[test]
fn a_read_crosses_after_the_drive_and_a_write_before_it() {
    for op in [Op::Read, Op::Write] {
        let mut shelf = shelf(1, Span::from_ms(3), Some(rates(true)), usize::MAX);
        let request = Request { op, ..Request::read(7, Lba::new(8), Sectors::new(1000)) };
        shelf.submit(Time::ZERO, request).unwrap();
        assert_eq!(drain(&mut shelf), [(4000, 7)], "{op:?}");
        let sent = shelf.members().next().unwrap().log[0].0.ns();
        assert_eq!(sent, if op == Op::Read { 0 } else { 1_000_000 });
    }
}

#[test]
fn one_wire_carries_both_directions_and_two_wires_each_their_own() {
    let check = |shared, end| {
        let mut shelf = shelf(2, Span::ZERO, Some(rates(shared)), usize::MAX);
        for id in 0..10 {
            let lba = on(id % 2, 2000 * id);
            let read = Request::read(id, lba, Sectors::new(500));
            let write = Request::write(id, lba, Sectors::new(500));
            shelf.submit(Time::ZERO, if id % 2 == 0 { read } else { write }).unwrap();
        }
        let done = drain(&mut shelf);
        assert_eq!((done.len(), done.last().unwrap().0), (10, end), "shared: {shared}");
        assert_eq!(shelf.bus_time(), Span::from_us(5000));
    };
    // 10 times 500 sectors at a microsecond each: to the microsecond what the wires need.
    check(true, 5000);
    check(false, 2500);
}

#[test]
fn the_bus_is_never_idle_while_data_waits_and_never_faster_than_it_is() {
    let seed = 11;
    let mut rng = Rng::new(seed);
    let mut shelf = shelf(5, Span::ZERO, Some(rates(true)), usize::MAX);
    let mut sectors = 0;
    for id in 0..400 {
        let length = 1 + rng.below(3000);
        sectors += length;
        let lba = on(id % 5, rng.below(DRIVE - 4000));
        let reads = rng.below(2) == 0;
        let request = Request::read(id, lba, Sectors::new(length));
        let op = if reads { Op::Read } else { Op::Write };
        shelf.submit(Time::ZERO, Request { op, ..request }).unwrap();
    }
    let done = drain(&mut shelf);
    assert_eq!(done.len(), 400, "seed {seed}");
    assert_eq!(done.last().unwrap().0, sectors, "seed {seed}");
}

#[test]
fn ports_get_equal_shares() {
    let mut shelf = shelf(2, Span::ZERO, Some(rates(true)), usize::MAX);
    for id in 0..20 {
        let request = Request::read(id, on(0, id * 100), Sectors::new(100));
        shelf.submit(Time::ZERO, request).unwrap();
    }
    shelf.submit(Time::ZERO, Request::read(99, on(1, 0), Sectors::new(500))).unwrap();
    let done = drain(&mut shelf);
    // Both take turns until the other port's 500 sectors are through.
    assert_eq!(done.iter().find(|(_, id)| *id == 99), Some(&(1000, 99)));
    assert_eq!(done.iter().filter(|(at, id)| *id != 99 && *at <= 1000).count(), 5);
}

#[test]
fn large_requests_are_cut_and_their_pieces_overlap_with_the_bus() {
    let mut shelf = shelf(1, Span::from_us(10), Some(rates(true)), usize::MAX);
    shelf.submit(Time::ZERO, Request::read(1, Lba::ZERO, Sectors::new(4096))).unwrap();
    // The drive is done with all four pieces after 10 us; the bus needs the rest.
    assert_eq!(drain(&mut shelf), [(4106, 1)]);
    let lengths: Vec<u64> =
        shelf.members().flat_map(|d| &d.log).map(|(_, r)| r.sectors.get()).collect();
    assert_eq!(lengths, [1024; 4]);
}

#[test]
fn data_is_passed_on_while_it_comes_in() {
    // The drive's wire is as fast as the bus: a read is through one sector after the drive's end.
    let member = Member {
        device: Recorder::new(DRIVE, Span::from_ms(3)),
        limit: 32,
        wire_bytes_per_s: Some(512_000_000),
    };
    let bus = Some((Bus::Pcie { generation: 1, lanes: 1 }, rates(true)));
    let sharing = Sharing { bus, piece: Sectors::new(1024), host_queue: usize::MAX };
    let mut shelf = Shelf::new(vec![member], sharing);
    shelf.submit(Time::ZERO, Request::read(1, Lba::ZERO, Sectors::new(1000))).unwrap();
    assert_eq!(drain(&mut shelf), [(3001, 1)]);
    // A write's drive begins when its first sector is there.
    let now = Time::from_ns(10_000_000);
    shelf.submit(now, Request::write(2, Lba::ZERO, Sectors::new(1000))).unwrap();
    assert_eq!(drain(&mut shelf), [(13_001, 2)]);
}

#[test]
fn the_controller_takes_no_more_commands_than_it_can_and_serves_drives_in_turn() {
    let mut shelf = shelf(4, Span::from_ms(1), None, 4);
    for id in 0..40 {
        let drive = if id < 37 { 0 } else { id - 36 };
        shelf.submit(Time::ZERO, Request::read(id, on(drive, 8 * id), Sectors::new(8))).unwrap();
    }
    let mut done = drain(&mut shelf);
    for chunk in done.chunks(4) {
        assert!(chunk.iter().all(|(at, _)| *at == chunk[0].0), "four a millisecond: {done:?}");
    }
    assert_eq!(done.last().unwrap().0, 10_000);
    // The three other drives do not wait behind the long queue of the first.
    done.retain(|(_, id)| *id >= 37);
    assert!(done.iter().all(|(at, _)| *at == 2000), "{done:?}");
}

#[test]
fn command_based_switching_serves_one_drive_at_a_time_and_fis_based_all() {
    let run = |switching| {
        let member = |_| Member {
            device: Recorder::new(DRIVE, Span::from_ms(1)),
            limit: 8,
            wire_bytes_per_s: None,
        };
        let bus = Some((Bus::Multiplier { switching }, rates(true)));
        let sharing = Sharing { bus, piece: Sectors::new(1024), host_queue: usize::MAX };
        let mut shelf = Shelf::new((0..3).map(member).collect(), sharing);
        for id in 0..48 {
            let request = Request::read(id, on(id % 3, id * 8), Sectors::new(1));
            shelf.submit(Time::ZERO, request).unwrap();
        }
        let end = drain(&mut shelf).last().unwrap().0;
        let mut busy: Vec<(u64, usize)> = Vec::new();
        for (place, drive) in shelf.members().enumerate() {
            busy.extend(drive.log.iter().map(|(at, _)| (at.ns(), place)));
        }
        busy.sort_unstable();
        (end, busy)
    };
    let (one_by_one, busy) = run(Switching::Command);
    for pair in busy.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
        assert!(pair[1].0 >= pair[0].0 + 1_000_000, "two drives at once: {pair:?}");
    }
    // The first command goes alone, before the others are there; then six batches of up to eight.
    // FIS-based switching overlaps the drives: two batches.
    assert!((7000..7100).contains(&one_by_one), "{one_by_one}");
    let (together, _) = run(Switching::Fis);
    assert!((2000..2100).contains(&together), "{together}");
}

#[test]
fn a_drive_alone_behind_a_wide_bus_is_as_without() {
    let text = crate::profile::text("seagate-st31000333as").unwrap();
    let profile = Profile::parse("test", text, &|_| None).unwrap();
    let options = crate::options::Options::default();
    let seed = 5;
    let mut plain = crate::build(&profile, &options, seed).unwrap();
    let wide = Rates { reads: u64::MAX, writes: u64::MAX, shared: false, per_command: Span::ZERO };
    let member = Member {
        device: crate::build(&profile, &options, seed).unwrap(),
        limit: 32,
        wire_bytes_per_s: Some(300_000_000),
    };
    let bus = Some((Bus::Pcie { generation: 5, lanes: 16 }, wide));
    let sharing = Sharing { bus, piece: Sectors::new(1024), host_queue: usize::MAX };
    let mut shelved = Shelf::new(vec![member], sharing);
    let (one, other) = (closed_loop(&mut plain, seed), closed_loop(&mut shelved, seed));
    assert_eq!(one, other, "seed {seed}");
}

/// Four thousand mixed requests, sixteen at a time: what completed when.
fn closed_loop<D: Device>(device: &mut D, seed: u64) -> Vec<(u64, Time)> {
    let mut rng = Rng::new(seed);
    let span = device.capacity().get() - 2048;
    let mut request = |id| {
        let length = Sectors::new(8 << rng.below(8));
        let lba = Lba::new(rng.below(span));
        let op = if rng.below(2) == 0 { Op::Read } else { Op::Write };
        Request { op, ..Request::read(id, lba, length) }
    };
    let (mut done, mut completed) = (Vec::new(), Vec::new());
    for id in 0..16 {
        device.submit(Time::ZERO, request(id)).unwrap();
    }
    while let Some(next) = device.next_event() {
        device.advance(next, &mut completed);
        for completion in completed.drain(..) {
            done.push((completion.id.0, completion.at));
            if done.len() < 4000 {
                device.submit(next, request(1000 + done.len() as u64)).unwrap();
            }
        }
    }
    done
}
