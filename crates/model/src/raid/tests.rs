//! Arrays against what can be counted by hand.

use std::collections::BTreeSet;

use drivelab_core::{Destaged, Device, IoError, Lba, Op, Request, Sectors, Span, Time};

use super::layout::{Extent, index};
use super::plan::{Group, plan_groups};
use super::{Array, Layout, Level, Shape};
use crate::shelf::tests::{Recorder, drain, shelf};

/// Sixteen sectors a chunk.
const CHUNK: u64 = 16;
const ROWS: u64 = 12;

fn layout(level: Level, members: u64) -> Layout {
    Layout { level, members, chunk: CHUNK, rows: ROWS }
}

fn array(level: Level, members: usize, failed: Option<usize>) -> Array<Recorder> {
    let inner = Recorder::new(members as u64 * CHUNK * ROWS, Span::from_ms(1));
    Array::new(inner, Shape { level, members, chunk: Sectors::new(CHUNK), failed })
}

fn sectors_of(groups: &[Group]) -> Vec<(usize, u64)> {
    let extents = groups.iter().flat_map(|group| &group.reads);
    let sectors = extents.flat_map(|extent| {
        let first = extent.lba.get();
        (first..first + extent.sectors.get()).map(|lba| (extent.member, lba))
    });
    sectors.collect()
}

fn members(extents: &[Extent]) -> Vec<usize> {
    let mut members: Vec<usize> = extents.iter().map(|extent| extent.member).collect();
    members.sort_unstable();
    members
}

#[test]
fn every_sector_of_an_array_has_a_place_of_its_own() {
    let shapes = [(Level::Raid0, 2), (Level::Raid0, 5), (Level::Raid5, 3), (Level::Raid5, 5)];
    for (level, n) in shapes.into_iter().chain([(Level::Raid6, 4), (Level::Raid6, 7)]) {
        let layout = layout(level, n);
        let end = layout.capacity().get();
        let mut seen = BTreeSet::new();
        for lba in 0..end {
            let read = Request::read(0, Lba::new(lba), Sectors::new(1));
            for place in sectors_of(&plan_groups(&layout, None, &read)) {
                let parity = level.has_parity() && layout.held(place.1 / CHUNK, place.0).is_none();
                assert!(seen.insert(place) && !parity, "{level} of {n}: {place:?} at {lba}");
            }
        }
        assert_eq!(seen.len() as u64, end);
        assert_eq!(end, ROWS * CHUNK * layout.data());
        // One long read finds the same sectors.
        let all = Request::read(0, Lba::ZERO, Sectors::new(end));
        assert_eq!(seen, sectors_of(&plan_groups(&layout, None, &all)).into_iter().collect());
    }
}

#[test]
fn raid_5_is_left_symmetric() {
    let layout = layout(Level::Raid5, 5);
    let mut table = Vec::new();
    for row in 0..6 {
        let mut members = [4; 5];
        for chunk in 0..4 {
            members[layout.holder(row, chunk)] = chunk;
        }
        assert_eq!(members[layout.parity(row)], 4, "the parity lies on no data");
        table.push(members);
    }
    // Data chunks by member; 4 stands for the parity.
    let expected = [
        [0, 1, 2, 3, 4],
        [1, 2, 3, 4, 0],
        [2, 3, 4, 0, 1],
        [3, 4, 0, 1, 2],
        [4, 0, 1, 2, 3],
        [0, 1, 2, 3, 4],
    ];
    assert_eq!(table, expected);
}

#[test]
fn raid_6_is_left_symmetric_with_the_second_parity_behind_the_first() {
    let layout = layout(Level::Raid6, 5);
    let mut table = Vec::new();
    for row in 0..6 {
        let mut members = [9; 5];
        for chunk in 0..3 {
            members[layout.holder(row, chunk)] = chunk;
            assert_eq!(layout.held(row, layout.holder(row, chunk)), Some(chunk));
        }
        let second = layout.second_parity(row).unwrap();
        assert_eq!([members[layout.parity(row)], members[second]], [9, 9]);
        members[second] = 8;
        table.push(members);
    }
    // Data chunks by member; 9 stands for the parity, 8 for the second one.
    let expected = [
        [8, 0, 1, 2, 9],
        [0, 1, 2, 9, 8],
        [1, 2, 9, 8, 0],
        [2, 9, 8, 0, 1],
        [9, 8, 0, 1, 2],
        [8, 0, 1, 2, 9],
    ];
    assert_eq!(table, expected);
}

/// Reads and writes of a write of `chunks` chunks at the beginning of a row of RAID 5.
fn counts(members: u64, chunks: u64, failed: Option<usize>) -> (usize, usize) {
    counts_of(Level::Raid5, members, chunks, failed)
}

fn counts_of(level: Level, members: u64, chunks: u64, failed: Option<usize>) -> (usize, usize) {
    let write = Request::write(0, Lba::ZERO, Sectors::new(chunks * CHUNK));
    let groups = plan_groups(&layout(level, members), failed, &write);
    let count = |of: fn(&Group) -> &Vec<Extent>| groups.iter().map(|g| of(g).len()).sum();
    (count(|group| &group.reads), count(|group| &group.writes))
}

#[test]
fn raid_5_takes_the_way_with_fewer_reads() {
    // Read-modify-write: the old data and the old parity.
    assert_eq!(counts(5, 1, None), (2, 2));
    assert_eq!(counts(8, 2, None), (3, 3));
    // As many either way: reconstruct-write, as md prefers it then.
    assert_eq!(counts(4, 1, None), (2, 2));
    let write = Request::write(0, Lba::ZERO, Sectors::new(CHUNK));
    let tie = plan_groups(&layout(Level::Raid5, 4), None, &write);
    assert_eq!(members(&tie[0].reads), [1, 2], "the data that stays, not the parity");
    // Reconstruct-write: the data that is not written.
    assert_eq!(counts(3, 1, None), (1, 2));
    assert_eq!(counts(5, 3, None), (1, 4));
    // A whole stripe needs nothing read.
    assert_eq!(counts(5, 4, None), (0, 5));
}

#[test]
fn a_small_write_to_raid_6_reads_three_and_writes_three() {
    let counts = |members, chunks, failed| counts_of(Level::Raid6, members, chunks, failed);
    // The old data and both parities.
    assert_eq!(counts(8, 1, None), (3, 3));
    // As many either way: the data that stays.
    assert_eq!(counts(6, 1, None), (3, 3));
    assert_eq!(counts(4, 1, None), (1, 3));
    assert_eq!(counts(8, 6, None), (0, 8), "a whole stripe");
    // In row 0 of eight, member 7 holds the parity, 0 the second one, 1 to 6 the data.
    assert_eq!(counts(8, 1, Some(7)), (5, 2), "the second parity is still kept up");
    assert_eq!(counts(8, 1, Some(1)), (5, 2), "its data goes into the parities");
    assert_eq!(counts(8, 4, Some(6)), (6, 6), "only read-modify-write can do without member 6");
    let read = Request::read(0, Lba::ZERO, Sectors::new(CHUNK));
    let reads = |failed| members(&plan_groups(&layout(Level::Raid6, 5), failed, &read)[0].reads);
    assert_eq!((reads(None), reads(Some(1))), (vec![1], vec![0, 2, 3, 4]));
}

#[test]
fn raid_10_has_each_chunk_on_two_members() {
    for n in [2, 3, 4, 5, 6] {
        let layout = layout(Level::Raid10, n);
        assert_eq!(layout.capacity().get(), ROWS * n / 2 * CHUNK);
        let mut seen = BTreeSet::new();
        layout.copies(Lba::ZERO, Lba::ZERO + layout.capacity(), |copies| {
            assert_ne!(copies[0].member, copies[1].member, "{n} members");
            for (copy, it) in (0..).zip(copies) {
                assert!(seen.insert((it.member, it.lba)), "{n} members: {it:?} twice");
                let chunk = layout.copied(it.lba.get() / CHUNK, it.member);
                assert_eq!(layout.copy(chunk.0, copy), (it.member, it.lba.get() / CHUNK));
            }
        });
        assert_eq!(seen.len() as u64, ROWS * n / 2 * 2);
    }
    let write = Request::write(0, Lba::ZERO, Sectors::new(3 * CHUNK));
    let writes = array(Level::Raid10, 4, None).groups_of(&write).remove(0).writes;
    // Chunks 0 and 2 lie one behind the other on members 0 and 1, chunk 1 on members 2 and 3.
    let sizes: Vec<_> = writes.iter().map(|it| (it.member, it.sectors.get() / CHUNK)).collect();
    assert_eq!(sizes, [(0, 2), (1, 2), (2, 1), (3, 1)]);
}

#[test]
fn reads_of_raid_10_are_spread_over_both_copies() {
    let reads = |failed| {
        let mut array = array(Level::Raid10, 4, failed);
        for id in 0..8 {
            let read = Request::read(id, Lba::new(id % 4 * CHUNK), Sectors::new(8));
            array.submit(Time::ZERO, read).unwrap();
        }
        assert_eq!(drain(&mut array).len(), 8);
        let members = array.inner().log.iter().map(|(_, it)| it.lba.get() / (ROWS * CHUNK));
        let members: Vec<u64> = members.collect();
        [0, 1, 2, 3].map(|member| members.iter().filter(|it| **it == member).count())
    };
    // The second of two goes to the idle copy; then the nearer head counts, of equals the first.
    assert_eq!(reads(None), [3, 1, 3, 1]);
    assert_eq!(reads(Some(2)), [3, 1, 0, 4]);
}

#[test]
fn a_failed_member_costs_what_must_be_known_instead() {
    // In row 0 of five, member 4 holds the parity, members 0 to 3 the data.
    assert_eq!(counts(5, 1, Some(4)), (0, 1), "without parity there is nothing to keep up");
    assert_eq!(counts(5, 1, Some(0)), (3, 1), "its data goes into the parity");
    assert_eq!(counts(5, 3, Some(3)), (4, 4), "only read-modify-write can do without member 3");
    let read = Request::read(0, Lba::ZERO, Sectors::new(CHUNK));
    let reads = |failed| members(&plan_groups(&layout(Level::Raid5, 5), failed, &read)[0].reads);
    assert_eq!(reads(None), [0]);
    assert_eq!(reads(Some(0)), [1, 2, 3, 4], "all others, the parity too");
    assert_eq!(reads(Some(2)), [0]);
}

#[test]
fn long_writes_go_to_every_member_in_one_run_and_the_parity_to_all_alike() {
    let layout = layout(Level::Raid5, 3);
    let write = Request::write(0, Lba::ZERO, layout.capacity());
    let groups = plan_groups(&layout, None, &write);
    assert_eq!(groups.len(), 1);
    assert!(groups[0].reads.is_empty());
    let whole: Vec<u64> = groups[0].writes.iter().map(|extent| extent.sectors.get()).collect();
    assert_eq!(whole, [ROWS * CHUNK; 3]);
    let holds = |member| (0..ROWS).filter(|row| layout.parity(*row) == member).count();
    assert_eq!([holds(0), holds(1), holds(2)], [4, 4, 4]);
}

#[test]
fn parts_of_chunks_touch_only_what_they_must() {
    // From the middle of chunk 0 to the middle of chunk 1: two bands, each of one chunk.
    let write = Request::write(0, Lba::new(12), Sectors::new(10));
    let groups = plan_groups(&layout(Level::Raid5, 5), None, &write);
    assert_eq!(groups.len(), 1, "one row goes together");
    let written: u64 = groups[0].writes.iter().map(|extent| extent.sectors.get()).sum();
    assert_eq!(written, 2 * 10, "the data, and as much parity");
    let read: u64 = groups[0].reads.iter().map(|extent| extent.sectors.get()).sum();
    assert_eq!(read, 2 * 10);
}

#[test]
fn writes_follow_their_reads_and_flushes_reach_the_members() {
    let mut array = array(Level::Raid5, 5, None);
    array.submit(Time::ZERO, Request::write(3, Lba::ZERO, Sectors::new(8))).unwrap();
    assert_eq!(drain(&mut array), [(2000, 3)]);
    let log = |array: &Array<Recorder>| -> Vec<(u64, Op)> {
        array.inner().log.iter().map(|(at, request)| (at.ns(), request.op)).collect()
    };
    let (read, write) = ((0, Op::Read), (1_000_000, Op::Write));
    assert_eq!(log(&array), [read, read, write, write]);
    let now = Time::from_ns(2_000_000);
    array.submit(now, Request::flush(4)).unwrap();
    assert_eq!(drain(&mut array), [(3000, 4)]);
    assert_eq!(log(&array).last(), Some(&(2_000_000, Op::Flush)));
}

#[test]
fn mirrors_all_write_and_one_reads() {
    let mut array = array(Level::Raid1, 2, None);
    array.submit(Time::ZERO, Request::write(1, Lba::new(0), Sectors::new(8))).unwrap();
    drain(&mut array);
    let now = Time::from_ns(1_000_000);
    // The first is idle, the second is too while the first reads; then the nearer one.
    for (id, lba) in [(2, 100), (3, 50), (4, 110), (5, 58)] {
        array.submit(now, Request::read(id, Lba::new(lba), Sectors::new(8))).unwrap();
    }
    drain(&mut array);
    let of = |place: usize| -> Vec<u64> {
        let from = place as u64 * ROWS * CHUNK;
        let log = array.inner().log.iter().map(|(_, request)| request.lba.get());
        log.filter(|lba| (from..from + ROWS * CHUNK).contains(lba)).map(|lba| lba - from).collect()
    };
    assert_eq!(of(0), [0, 100, 110]);
    assert_eq!(of(1), [0, 50, 58], "a stream stays with its mirror");
}

#[test]
fn a_failed_mirror_is_left_alone() {
    let mut array = array(Level::Raid1, 3, Some(1));
    array.submit(Time::ZERO, Request::write(1, Lba::new(0), Sectors::new(8))).unwrap();
    for id in 2..8 {
        array.submit(Time::ZERO, Request::read(id, Lba::new(id * 20), Sectors::new(8))).unwrap();
    }
    assert_eq!(drain(&mut array).len(), 7);
    let second = ROWS * CHUNK..2 * ROWS * CHUNK;
    assert!(array.inner().log.iter().all(|(_, r)| !second.contains(&r.lba.get())));
}

#[test]
fn what_lies_beyond_the_end_fails_and_trims_of_raid_5_are_answered() {
    let mut array = array(Level::Raid5, 3, None);
    let end = Lba::ZERO + array.capacity();
    array.submit(Time::ZERO, Request::read(1, end, Sectors::new(1))).unwrap();
    let trim = Request { op: Op::Trim, ..Request::read(2, Lba::ZERO, Sectors::new(8)) };
    array.submit(Time::ZERO, trim).unwrap();
    let mut completed = Vec::new();
    array.advance(Time::ZERO, &mut completed);
    let results: Vec<bool> = completed.iter().map(|done| done.result.is_ok()).collect();
    assert_eq!(results, [false, true]);
    assert!(array.inner().log.is_empty());
}

proptest::proptest! {
    #[test]
    fn whatever_is_asked_completes_once(
        asked in proptest::collection::vec((0_u64..500, 1_u64..100, 0_u8..4), 1..30),
        level in 0_usize..5, gone in 0_u8..2,
    ) {
        let levels = [Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid6, Level::Raid10];
        let level = levels[level];
        let failed = (gone == 1 && level != Level::Raid0).then_some(1);
        let mut array = array(level, 3.max(level.least()), failed);
        for (id, (lba, sectors, op)) in (0_u64..).zip(&asked) {
            let op = [Op::Read, Op::Write, Op::Flush, Op::Trim][usize::from(*op)];
            let request = Request::read(id, Lba::new(*lba), Sectors::new(*sectors));
            let request = Request { op, ..request };
            let request = if op == Op::Flush { Request::flush(id) } else { request };
            array.submit(Time::ZERO, request).unwrap();
        }
        let mut done: Vec<u64> = drain(&mut array).into_iter().map(|(_, id)| id).collect();
        done.sort_unstable();
        proptest::prop_assert_eq!(done, (0..asked.len() as u64).collect::<Vec<_>>());
    }
}

/// The array's sectors that are safe once `extents` are on the media of their members.
fn safe(layout: &Layout, failed: Option<usize>, extents: &[Extent]) -> BTreeSet<u64> {
    let member = Sectors::new(ROWS * CHUNK);
    let record = |extent: &Extent| {
        let lba = extent.lba + Sectors::new(extent.member as u64 * member.get());
        Destaged { lba, sectors: extent.sectors, taken: Time::ZERO, at: Time::ZERO }
    };
    let mut records: Vec<Destaged> = extents.iter().map(record).collect();
    super::destage::translate(layout, failed, member, &mut records, 0);
    let sectors = |record: Destaged| record.lba.get()..(record.lba + record.sectors).get();
    records.into_iter().flat_map(sectors).collect()
}

#[test]
fn what_its_members_have_destaged_is_named_by_the_arrays_own_sectors() {
    let mirrored = [(Level::Raid1, 2), (Level::Raid10, 4), (Level::Raid10, 5)];
    let striped = [(Level::Raid0, 3), (Level::Raid5, 3), (Level::Raid5, 5), (Level::Raid6, 6)];
    for (level, n) in mirrored.into_iter().chain(striped) {
        let layout = layout(level, n);
        let failures = if level == Level::Raid0 { 0 } else { n };
        let failures = std::iter::once(None).chain((0..failures).map(|member| Some(index(member))));
        for failed in failures {
            for (lba, sectors) in [(0, 1), (5, 7), (CHUNK - 1, 2), (3 * CHUNK + 2, 5 * CHUNK)] {
                let mut array = array(level, index(n), failed);
                let request = Request::write(0, Lba::new(lba), Sectors::new(sectors));
                let groups = array.groups_of(&request);
                let writes: Vec<Extent> = groups.into_iter().flat_map(|it| it.writes).collect();
                let expected: BTreeSet<u64> = (lba..lba + sectors).collect();
                let found = safe(&layout, failed, &writes);
                // The parity also stands for data of the failed member that was not written.
                let more = level.has_parity() && failed.is_some();
                let right = if more { found.is_superset(&expected) } else { found == expected };
                assert!(right, "RAID {level} of {n}, {failed:?} failed, {lba}: {found:?}");
            }
        }
    }
}

#[test]
fn a_copy_on_a_later_mirror_alone_is_not_safe() {
    let layout = layout(Level::Raid1, 2);
    let on = |member| [Extent { member, lba: Lba::new(8), sectors: Sectors::new(4) }];
    assert_eq!(safe(&layout, None, &on(1)), BTreeSet::new());
    assert_eq!(safe(&layout, None, &on(0)), (8..12).collect());
    assert_eq!(safe(&layout, Some(0), &on(1)), (8..12).collect());
}

#[test]
fn an_array_that_is_looked_at_late_ends_as_one_that_is_looked_at_in_time() {
    let ends = |late: bool| {
        let shape = Shape { level: Level::Raid5, members: 3, chunk: Sectors::new(8), failed: None };
        let mut array = Array::new(shelf(3, Span::from_ms(1), None, 32), shape);
        for id in 0..6 {
            array
                .submit(Time::ZERO, Request::write(id, Lba::new(id * 5), Sectors::new(3)))
                .unwrap();
        }
        let mut completed = Vec::new();
        if late {
            array.advance(Time::ZERO + Span::from_secs(1), &mut completed);
        }
        while let Some(next) = array.next_event() {
            array.advance(next, &mut completed);
        }
        completed.iter().map(|done| (done.at, done.id)).collect::<Vec<_>>()
    };
    assert_eq!(ends(true), ends(false));
    assert_eq!(ends(true).len(), 6);
}

#[test]
fn a_write_fails_where_a_read_for_its_parity_does() {
    let result = |reads_fail: bool| {
        let mut array = array(Level::Raid5, 3, None);
        array.inner.reads_fail = reads_fail;
        array.submit(Time::ZERO, Request::write(0, Lba::ZERO, Sectors::new(1))).unwrap();
        let mut completed = Vec::new();
        while let Some(next) = array.next_event() {
            array.advance(next, &mut completed);
        }
        assert_eq!(completed.len(), 1, "{completed:?}");
        completed[0].result
    };
    assert_eq!(result(false), Ok(()));
    assert_eq!(result(true), Err(IoError::Medium));
}
