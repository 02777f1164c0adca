//! Several queues of an `NVMe` controller: what one submitter's load does to another's.

use drivelab_core::{Completion, Device as _, Lba, Request, Rng, Sectors, Time};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_model::{BuildError, Drive, build};

use crate::load::drive_with;

/// A drive whose controller works on few commands at once, so that the others wait in their queues.
fn drive(commands_at_once: usize, options: &str) -> Drive {
    let overrides = format!("commands_at_once = {commands_at_once}\n");
    drive_with(&format!("samsung-970pro{options}"), &overrides)
}

/// Random reads of 4 KiB with `depths[s]` outstanding of each submitter `s`; all completions, and
/// of each submitter how many it got and the mean time of one in us.
fn load(drive: &mut Drive, depths: &[u64], count: usize) -> (Vec<Completion>, Vec<(u64, u64)>) {
    let places = drive.capacity().get() / 8;
    let (mut rng, mut now, mut done) = (Rng::new(7), Time::ZERO, Vec::new());
    let (mut sent, mut got) = (Vec::new(), vec![(0, 0); depths.len()]);
    let mut all = Vec::new();
    let mut due: Vec<u16> = Vec::new();
    for (submitter, depth) in (0..).zip(depths) {
        due.extend((0..*depth).map(|_| submitter));
    }
    while all.len() < count {
        for submitter in due.drain(..) {
            let (id, lba) = (sent.len() as u64, Lba::new(rng.below(places) * 8));
            let request = Request { submitter, ..Request::read(id, lba, Sectors::new(8)) };
            drive.submit(now, request).unwrap();
            sent.push((submitter, now));
        }
        now = drive.next_event().unwrap();
        drive.advance(now, &mut done);
        for completion in done.drain(..) {
            let (submitter, at) = sent[usize::try_from(completion.id.0).unwrap()];
            let (ios, took) = &mut got[usize::from(submitter)];
            (*ios, *took) = (*ios + 1, *took + completion.at.since(at).ns());
            due.push(submitter);
            all.push(completion);
        }
    }
    let got = got.into_iter().map(|(ios, took)| (ios, took / 1_000 / ios.max(1)));
    (all, got.collect())
}

#[test]
fn a_busy_submitter_delays_another_in_its_queue_and_hardly_one_in_another() {
    let alone = load(&mut drive(16, ""), &[1], 2_000).1[0].1;
    let shared = load(&mut drive(16, ""), &[400, 1], 60_000).1[1].1;
    let apart = load(&mut drive(16, ",queues=2"), &[400, 1], 60_000).1[1].1;
    // 400 requests before it are 25 rounds of the controller.
    assert!(shared > 15 * alone, "{shared} us behind 400 requests, {alone} us alone");
    assert!(apart < 4 * alone, "{apart} us in a queue of its own, {alone} us alone");
}

#[test]
fn queues_share_a_drive_evenly_or_by_weight() {
    let shares = |options: &str, depths: &[u64]| {
        let (_, got) = load(&mut drive(16, options), depths, 60_000);
        got.into_iter().map(|(ios, _)| ios).collect::<Vec<u64>>()
    };
    // In one queue the share is that of the requests outstanding.
    let one = shares("", &[300, 100]);
    assert!((28..=32).contains(&(one[0] * 10 / one[1])), "{one:?}");
    for burst in ["1", "8"] {
        let two = shares(&format!(",queues=2,queue-burst={burst}"), &[300, 100]);
        assert!(two[0].abs_diff(two[1]) < 300, "burst {burst}: {two:?}");
    }
    let by_class = ",queues=2,queue-priorities=low/high,queue-weights=5/2/1";
    let weighted = shares(by_class, &[300, 100]);
    assert!((48..=52).contains(&(weighted[1] * 10 / weighted[0])), "{weighted:?}");
    let urgent = shares(",queues=2,queue-priorities=low/urgent", &[100, 100]);
    assert!(urgent[0] < 200, "{urgent:?}");
}

#[test]
fn each_queue_has_tags_of_its_own_and_the_controller_a_limit_over_all() {
    let rate = |at_once, queues: &str| {
        let options = format!(",queues={queues},tags=1,scheduler=none");
        let (all, _) = load(&mut drive(at_once, &options), &[8; 4], 4_000);
        4_000_000_000_000 / all.last().unwrap().at.since(Time::ZERO).ns()
    };
    let (one, four) = (rate(512, "1"), rate(512, "4"));
    assert!((34..=40).contains(&(four * 10 / one)), "{four} with four queues, {one} with one");
    assert_eq!(rate(1, "4"), one);
}

#[test]
fn queues_that_nobody_uses_change_nothing_and_the_same_load_gives_the_same_answers() {
    let run = |options: &str, depths: &[u64]| load(&mut drive(64, options), depths, 9_000);
    assert_eq!(run(",queues=8", &[100]), run("", &[100]));
    assert_eq!(run(",queues=3", &[50, 9, 80]), run(",queues=3", &[50, 9, 80]));
    // More submitters than queues share them in turn.
    assert_eq!(run(",queues=2", &[5, 0, 7]), run("", &[5, 0, 7]));
}

#[test]
fn queues_that_cannot_be_are_refused() {
    let refusal = |spec: &str| {
        let spec: DriveSpec = spec.parse().unwrap();
        let profile = Profile::embedded(&spec.profile.to_string()).unwrap();
        build(&profile, &spec.options, 1).map(|_| ()).unwrap_err()
    };
    for name in ["crucial-mx200", "generic-5400"] {
        let error = refusal(&format!("{name},queues=2"));
        assert!(matches!(error, BuildError::NothingToSet { key: "queues", .. }), "{error}");
    }
    let check = |options: &str, part: &str| {
        let error = refusal(&format!("samsung-970pro,{options}")).to_string();
        assert!(error.contains(part), "{error}");
    };
    check("queue-burst=4", "add `queues=2`");
    check("queues=1,queue-burst=4", "add `queues=2`");
    check("queues=2,scheduler=deadline", "omit `scheduler`");
    check("queues=3,queue-priorities=high/low", "one name for each");
    check("queues=2,queue-weights=4/2/1", "needs `queue-priorities`");
}
