//! What must hold whatever is asked: random histories with printed seeds.

use drivelab_core::{Completion, Device, Lba, Op, Request, RequestId, Rng, Sectors, Span, Time};
use drivelab_model::Drive;
use proptest::prelude::*;

use crate::load::drive;

/// One random request out of a mix that hits every path of a drive.
fn any_request(rng: &mut Rng, id: u64, capacity: u64, recent: u64) -> Request {
    let op = match rng.below(100) {
        0 => Op::Flush,
        1 => Op::Trim,
        2..50 => Op::Read,
        _ => Op::Write,
    };
    let sectors = match rng.below(20) {
        0 => 1 + rng.below(20_000),
        1..5 => 1 + rng.below(256),
        _ => 8,
    };
    let near = rng.below(3) > 0;
    let lba = if near { recent + rng.below(64) } else { rng.below(capacity) };
    let lba = lba.min(capacity - sectors);
    if op == Op::Flush {
        return Request::flush(id);
    }
    let (lba, sectors) = (Lba::new(lba), Sectors::new(sectors));
    Request {
        id: RequestId(id),
        op,
        lba,
        sectors,
        fua: op == Op::Write && rng.below(10) == 0,
        submitter: 0,
    }
}

/// Runs a random history; gives every request with its submission, and every completion.
pub(crate) fn history(drive: &mut Drive, seed: u64, count: u64) -> (Vec<Time>, Vec<Completion>) {
    let mut rng = Rng::new(seed);
    let depth = 1 + rng.below(80);
    let think = Span::from_us(1 + rng.below(20_000));
    let capacity = drive.capacity().get();
    let (mut submitted, mut completed) = (Vec::new(), Vec::new());
    let (mut now, mut recent) = (Time::ZERO, 0);
    while submitted.len() < count as usize {
        let outstanding = (submitted.len() - completed.len()) as u64;
        if outstanding >= depth {
            now = drive.next_event().expect("requests are outstanding");
            drive.advance(now, &mut completed);
            continue;
        }
        let request = any_request(&mut rng, submitted.len() as u64, capacity, recent);
        recent = request.end().get().min(capacity - 100_000);
        drive.submit(now, request).unwrap();
        submitted.push(now);
        if rng.below(4) == 0 {
            let until = now + rng.exponential(think);
            while drive.next_event().is_some_and(|next| next <= until) {
                let next = drive.next_event().unwrap();
                drive.advance(next, &mut completed);
            }
            now = until;
        }
    }
    while let Some(next) = drive.next_event() {
        drive.advance(next, &mut completed);
    }
    (submitted, completed)
}

const SPECS: [&str; 12] = [
    "seagate-st31000333as",
    "seagate-st31000333as,controller=ide",
    "seagate-st31000333as,ncq=off,scheduler=bioq",
    "seagate-st31000333as,write-cache=off,tags=31,dispatch=split",
    "seagate-st31000333as,tags=31,dispatch=split,scheduler=deadline",
    "seagate-st31000333as,controller=scsi,nr-requests=7",
    "hitachi-hts542516k9sa00,scheduler=bioq,tags=4",
    "seagate-st2000dm006,link=1.5",
    "generic-10k,write-cache=on",
    "generic-smr",
    "generic-smr,write-cache=off,tags=8",
    "fixed",
];

/// The longest that anything may take: the age limit of cached data, then what may stand in the
/// queues before it: 80 requests of at most 200 ms and a cache that must be emptied for a flush.
const LONGEST: Span = Span::from_secs(60);

fn check(spec: &str, seed: u64) {
    let mut device = drive(spec);
    let (submitted, completed) = history(&mut device, seed, 400);
    assert_eq!(completed.len(), submitted.len(), "{spec} seed {seed}: each completes");
    let mut finished = vec![false; submitted.len()];
    let mut last = Time::ZERO;
    for done in &completed {
        let index = usize::try_from(done.id.0).unwrap();
        assert!(!finished[index], "{spec} seed {seed}: request {index} completes twice");
        finished[index] = true;
        assert!(done.at >= submitted[index], "{spec} seed {seed}: {index} before it was asked");
        assert!(done.at.since(submitted[index]) < LONGEST, "{spec} seed {seed}: {index} starved");
        assert!(done.at >= last, "{spec} seed {seed}: out of order");
        assert_eq!(done.result, Ok(()), "{spec} seed {seed}");
        last = done.at;
    }
    let counters = device.counters();
    if let Some(attached) = &device.about().attached {
        assert!(counters.max_tags_in_use <= attached.tags, "{spec} seed {seed}");
        assert!(counters.max_requests_held <= attached.nr_requests, "{spec} seed {seed}");
        // One access at a time: the medium cannot have been busy for longer than it ran, counting
        // what was still to be destaged after the last completion.
        let most = last.since(Time::ZERO) + Span::from_secs(5);
        // Shingled tracks are cleaned for much longer.
        let cleans = attached.shingles.is_some();
        assert!(cleans || counters.medium_busy <= most, "{spec} seed {seed}");
    }
    let (_, again) = history(&mut drive(spec), seed, 400);
    assert_eq!(completed, again, "{spec} seed {seed}: same seed, same events");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_history_keeps_the_rules(seed: u64) {
        for spec in SPECS {
            check(spec, seed);
        }
    }
}

#[test]
fn a_stream_does_not_starve_what_lies_elsewhere() {
    let mut device = drive("seagate-st31000333as");
    let mut completed = Vec::new();
    let block = Sectors::new(64);
    let far = Request::read(0, Lba::new(1_900_000_000), block);
    for id in 1..9 {
        device.submit(Time::ZERO, Request::read(id, Lba::new(id * 64), block)).unwrap();
    }
    device.submit(Time::ZERO, far).unwrap();
    let mut next = 9;
    loop {
        let at = device.next_event().unwrap();
        device.advance(at, &mut completed);
        for done in completed.drain(..) {
            if done.id == far.id {
                let waited = done.at.since(Time::ZERO);
                assert!(waited > Span::from_secs(1), "the stream comes first: {waited}");
                assert!(waited < Span::from_ms(2_100), "the age limit is 2 s: {waited}");
                return;
            }
            device.submit(done.at, Request::read(next, Lba::new(next * 64), block)).unwrap();
            next += 1;
        }
    }
}

#[test]
fn what_lies_beyond_the_end_fails_and_harms_nothing() {
    for spec in ["seagate-st31000333as", "fixed"] {
        let mut device = drive(spec);
        let end = Lba::ZERO + device.capacity();
        let bad = [
            Request::read(1, end, Sectors::new(1)),
            Request::write(2, Lba::new(end.get() - 1), Sectors::new(2)),
            Request::read(3, Lba::new(u64::MAX), Sectors::new(u64::MAX)),
        ];
        for request in bad {
            device.submit(Time::ZERO, request).unwrap();
        }
        let last = Request::read(4, Lba::new(end.get() - 8), Sectors::new(8));
        device.submit(Time::ZERO, last).unwrap();
        let mut completed = Vec::new();
        while let Some(next) = device.next_event() {
            device.advance(next, &mut completed);
        }
        for done in completed {
            assert_eq!(done.result.is_ok(), done.id.0 == 4, "{spec} {}", done.id.0);
        }
    }
}
