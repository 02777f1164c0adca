use std::thread;

use drivelab_core::record::{
    ClockOffset, HOST_SCHEMA, HostOutcome, HostRun, HostStart, HostsRecord, RunRecord, Tally,
};
use drivelab_core::units::{Span, Time};
use drivelab_core::{Op, Rng};

use super::threads::Thread;
use super::*;

const PATIENCE: Span = Span::from_secs(5);
/// How long each rank measures.
const WINDOW: Span = Span::from_ms(30);

/// What a rank counted: so many requests, other ones at each rank.
pub(super) fn tally(rank: u32, ios: u64) -> Tally {
    let mut draw = Rng::for_part(3, u64::from(rank));
    let mut tally = Tally { elapsed: Span::from_secs(1), ..Tally::default() };
    for _ in 0..ios {
        let latency = Span::from_ns(draw.below(40_000_000));
        let op = if draw.below(3) == 0 { Op::Write } else { Op::Read };
        let counted = tally.of_mut(op);
        counted.ios += 1;
        counted.bytes += 4096;
        counted.lat.record(latency);
        counted.service.record(latency);
        tally.late.record(Span::from_ns(draw.below(100)));
        tally.queued_ns += u128::from(latency.ns()) << 40;
    }
    tally
}

fn outcome(rank: u32, ranks: u32, agreed: Option<Agreed>, tally: Tally) -> HostOutcome {
    let run: RunRecord = serde_json::from_str(TODAY).unwrap();
    let run = RunRecord { total: Some(tally.record()), ..run };
    let clock = agreed.map(|agreed| agreed.clock).unwrap_or_default();
    let (host, start) = (format!("host-{rank}"), HostStart::default());
    let host = HostRun { rank, host, clock, start, interrupted: false, run };
    HostOutcome { schema: HOST_SCHEMA.to_owned(), ranks, host, tally }
}

pub(super) const TODAY: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/records/today.json"));

/// What came of one rank.
struct Seen {
    began_true_ns: Option<u64>,
    begun: Begun,
    plan: Option<Vec<u8>>,
    calls_in_window: usize,
    record: Option<HostsRecord>,
    may_finish: bool,
}

/// How a rank behaves.
#[derive(Clone, Copy, PartialEq)]
enum Conduct {
    Usual,
    Refuses,
    /// Is killed while it measures.
    Dies,
}

fn one(thread: &Thread, conduct: Conduct, patience: Span) -> Seen {
    let mut crew = Crew::new(thread, patience);
    let plan = crew.broadcast(format!("the plan of {}", thread.rank()).as_bytes());
    let refusal = (conduct == Conduct::Refuses).then(|| "the disk is full".to_owned());
    let host = format!("host-{}", thread.rank());
    let begun = begin(&mut crew, &host, refusal, patience);
    let mut seen = Seen {
        began_true_ns: None,
        begun: begun.clone(),
        plan,
        calls_in_window: 0,
        record: None,
        may_finish: false,
    };
    let Begun::At(agreed) = begun else { return seen };
    thread.sleep_until(agreed.start);
    let end = agreed.start + WINDOW;
    thread.sleep_until(end);
    seen.began_true_ns = Some(thread.true_ns(agreed.start));
    if conduct == Conduct::Dies {
        return seen;
    }
    let (rank, size) = (thread.rank(), thread.size());
    let own = outcome(rank, size, Some(agreed), tally(rank, 1000 + u64::from(rank)));
    let deadline = thread.clock() + patience;
    seen.calls_in_window = thread.calls_within(agreed.start, end);
    seen.record = Gathered::of(&mut crew, &own, deadline).map(together);
    seen.may_finish = crew.part();
    seen
}

fn all(ahead_ms: &[i64], conducts: [Conduct; 4], patience: Span) -> Vec<Seen> {
    let threads = Thread::all(ahead_ms, 300);
    thread::scope(|scope| {
        let start = |(thread, conduct)| scope.spawn(move || one(&thread, conduct, patience));
        let started: Vec<_> = threads.into_iter().zip(conducts).map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

const USUAL: [Conduct; 4] = [Conduct::Usual; 4];

#[test]
fn all_begin_at_one_instant_whatever_their_clocks_say() {
    for ahead_ms in [[0, 50, -50, 7], [50, -50, 0, 0], [0, 3_000_000, -3_000_000, 1]] {
        let seen = all(&ahead_ms, USUAL, PATIENCE);
        let began: Vec<u64> = seen.iter().map(|seen| seen.began_true_ns.unwrap()).collect();
        let skew = began.iter().max().unwrap() - began.iter().min().unwrap();
        // The bound of the issue; a round trip here is some hundred microseconds at most.
        assert!(skew < 2_000_000, "{ahead_ms:?}: {began:?}");
        for (seen, ahead) in seen.iter().zip(ahead_ms) {
            let Begun::At(agreed) = seen.begun else { panic!("{:?}", seen.begun) };
            let wrong = (agreed.clock.ns - (ahead - ahead_ms[0]) * 1_000_000).unsigned_abs();
            assert!(wrong <= agreed.clock.error_ns, "{ahead_ms:?}: {agreed:?}");
            assert_eq!(seen.plan.as_deref(), Some(&b"the plan of 0"[..]));
            assert_eq!(seen.calls_in_window, 0, "a message within the measured window");
            assert!(seen.may_finish);
        }
    }
}

#[test]
fn the_total_is_the_sum_bit_for_bit() {
    let seen = all(&[0, 50, -50, 7], USUAL, PATIENCE);
    let record = seen[0].record.clone().unwrap();
    let mut sum = Tally::default();
    for rank in 0..4 {
        sum.merge(&tally(rank, 1000 + u64::from(rank)));
    }
    assert_eq!(record.total, Some(sum.record()));
    assert_eq!(record.total.unwrap().ios, 4006);
    assert_eq!((record.hosts.len(), record.lost, record.ranks), (4, vec![], 4));
    assert!(seen[1..].iter().all(|seen| seen.record.is_none()));
}

#[test]
fn a_rank_that_dies_is_named_and_the_others_are_kept() {
    let conducts = [Conduct::Usual, Conduct::Usual, Conduct::Dies, Conduct::Usual];
    let seen = all(&[0, 50, -50, 7], conducts, Span::from_ms(700));
    let record = seen[0].record.clone().unwrap();
    assert_eq!(record.lost, [2]);
    assert_eq!(record.hosts.iter().map(|host| host.rank).collect::<Vec<_>>(), [0, 1, 3]);
    let mut sum = Tally::default();
    for rank in [0, 1, 3] {
        sum.merge(&tally(rank, 1000 + u64::from(rank)));
    }
    assert_eq!(record.total, Some(sum.record()));
    // None of them may wait for the dead one in what ends the library.
    assert!(seen.iter().all(|seen| !seen.may_finish));
}

#[test]
fn none_begins_where_one_cannot() {
    let conducts = [Conduct::Usual, Conduct::Refuses, Conduct::Usual, Conduct::Usual];
    for seen in all(&[0; 4], conducts, PATIENCE) {
        let why = "rank 1 (host-1): the disk is full".to_owned();
        assert_eq!(seen.begun, Begun::Refused(why));
    }
}

#[test]
fn kept_outcomes_say_the_same_as_gathered_ones() {
    let of = |rank| outcome(rank, 4, None, tally(rank, 10));
    let record = together(Gathered::of_kept(vec![of(3), of(0), of(3)]));
    assert_eq!((record.ranks, record.lost), (4, vec![1, 2]));
    let text = serde_json::to_string(&of(1)).unwrap();
    assert_eq!(serde_json::from_str::<HostOutcome>(&text).unwrap(), of(1));
}

#[test]
fn a_straggler_is_far_below_the_median() {
    let check = |ios: &[u64], expected: &[u32]| {
        let outcomes = (0..).zip(ios).map(|(rank, ios)| outcome(rank, 4, None, tally(rank, *ios)));
        let record = together(Gathered::of_kept(outcomes.collect()));
        assert_eq!(record.stragglers, expected, "{ios:?}");
    };
    check(&[100, 101, 99, 100], &[]);
    check(&[100, 101, 79, 100], &[2]);
    check(&[100, 20, 100, 30], &[1, 3]);
    check(&[100, 10], &[]);
}

#[test]
fn one_rank_alone_begins() {
    let thread = Thread::all(&[0], 0).pop().unwrap();
    let mut crew = Crew::new(&thread, PATIENCE);
    let begun = begin(&mut crew, "alone", None, PATIENCE);
    let Begun::At(agreed) = begun else { panic!("{begun:?}") };
    assert_eq!(agreed.clock, ClockOffset::default());
    assert!(agreed.start > Time::from_ns(0));
}
