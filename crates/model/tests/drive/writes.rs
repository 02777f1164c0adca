//! Writes, the volatile cache, and flushes.

use drivelab_core::{
    Completion, Device, Lba, Op, Request, RequestId, Sectors, ServedBy, Span, Time,
};
use drivelab_model::Drive;

use crate::load::{Load, Outcome, drive, drive_with, run};
use crate::queue::disks;

const DISK: &str = "seagate-st31000333as";

fn write(id: u64) -> Request {
    Request::write(id, Lba::new(id * 77_777_777 % 1_900_000_000), Sectors::new(8))
}

fn read(id: u64) -> Request {
    Request::read(id, Lba::new(id * 55_555_555 % 1_900_000_000), Sectors::new(8))
}

fn drain(drive: &mut Drive) -> Vec<Completion> {
    let mut completed = Vec::new();
    while let Some(next) = drive.next_event() {
        drive.advance(next, &mut completed);
    }
    completed
}

/// Submits all at time 0; gives the order of completion.
fn order(drive: &mut Drive, requests: impl IntoIterator<Item = Request>) -> Vec<u64> {
    for request in requests {
        drive.submit(Time::ZERO, request).unwrap();
    }
    drain(drive).iter().map(|done| done.id.0).collect()
}

#[test]
fn cached_random_writes_are_flat_with_depth_and_faster_than_reads() {
    for name in disks() {
        let name = &format!("{name},write-cache=on");
        let load = |depth, reads| Load { depth, reads, requests: 20_000, ..Load::default() };
        let reading = run(&mut drive(name), load(1, 100)).iops();
        let writing = [1, 4, 32].map(|depth| run(&mut drive(name), load(depth, 0)).iops());
        for iops in writing {
            assert!((iops / writing[0] - 1.0).abs() < 0.03, "{name}: {writing:?}");
            assert!((1.4..=2.1).contains(&(iops / reading)), "{name}: {iops} over {reading}");
        }
    }
}

#[test]
fn without_the_cache_a_write_costs_a_read_and_its_settling() {
    let load = |reads| Load { reads, requests: 30_000, ..Load::default() };
    let writing = run(&mut drive(&format!("{DISK},write-cache=off")), load(0));
    let reading = run(&mut drive(DISK), load(100));
    let difference = writing.mean_ms() - reading.mean_ms();
    assert!((0.9..1.1).contains(&difference), "settling is 1 ms, found {difference}");
    assert_eq!(writing.served_by(ServedBy::Medium), 30_000);
}

#[test]
fn each_write_without_cache_or_queue_misses_a_revolution() {
    let load = Load { reads: 0, sequential: true, sectors: 16, requests: 2000, ..Load::default() };
    let iops = run(&mut drive(&format!("{DISK},write-cache=off")), load).iops();
    assert!((110.0..120.0).contains(&iops), "one a revolution is 120 at most: {iops}");
    let cached = run(&mut drive(DISK), Load { sectors: 256, ..load }).iops() * 256.0 * 512.0;
    assert!((115e6..130e6).contains(&cached), "the cache streams: {cached}");
}

#[test]
fn a_flush_waits_until_all_that_was_acknowledged_is_on_the_medium() {
    let mut drive = drive(DISK);
    let mut completed = Vec::new();
    for id in 0..50 {
        drive.submit(Time::ZERO, write(id)).unwrap();
    }
    while completed.len() < 50 {
        let next = drive.next_event().unwrap();
        drive.advance(next, &mut completed);
    }
    let now = completed[49].at;
    assert!(drive.counters().destaged_runs < 3, "acknowledged out of the cache");
    assert!(completed.iter().all(|done| done.served_by == ServedBy::DriveWriteCache));
    drive.submit(now, Request::flush(99)).unwrap();
    drive.submit(now, read(100)).unwrap();
    completed.clear();
    while completed.is_empty() {
        let next = drive.next_event().unwrap();
        drive.advance(next, &mut completed);
    }
    assert_eq!((completed[0].id, completed[0].served_by), (RequestId(99), ServedBy::Medium));
    assert_eq!(drive.counters().destaged_runs, 50);
    let took = completed[0].at.since(now).ns() / 1_000_000;
    assert!((150..700).contains(&took), "50 sorted writes took {took} ms");
    assert_eq!(drain(&mut drive)[0].id, RequestId(100));
}

#[test]
fn on_ata_a_flush_lets_nothing_overtake() {
    let before = (0..8).map(read);
    let after = (10..18).map(read);
    let order = order(&mut drive(DISK), before.chain([Request::flush(9)]).chain(after));
    let place = order.iter().position(|id| *id == 9).unwrap();
    assert_eq!(place, 8, "{order:?}");
    assert!(order[..8].iter().all(|id| *id < 8), "{order:?}");
}

#[test]
fn a_flush_of_a_clean_drive_costs_next_to_nothing() {
    for options in ["", ",write-cache=off"] {
        let mut drive = drive(&format!("{DISK}{options}"));
        drive.submit(Time::ZERO, Request::flush(1)).unwrap();
        assert!(drain(&mut drive)[0].at < Time::from_ns(100_000), "{options}");
    }
}

#[test]
fn a_write_with_fua_is_on_the_medium_when_it_is_done() {
    let mut drive = drive(DISK);
    let request = Request { op: Op::Write, fua: true, ..write(3) };
    drive.submit(Time::ZERO, request).unwrap();
    let done = drain(&mut drive);
    assert_eq!(done[0].served_by, ServedBy::Medium);
    assert!(done[0].at > Time::from_ns(1_000_000), "{}", done[0].at);
    assert_eq!(drive.counters().cached_writes, 0);
}

#[test]
fn destage_delays_a_later_read() {
    let alone = {
        let mut drive = drive(DISK);
        drive.submit(Time::ZERO, read(7)).unwrap();
        drain(&mut drive)[0].at
    };
    let mut drive = drive(DISK);
    drive.submit(Time::ZERO, write(1)).unwrap();
    let mut completed = Vec::new();
    // The write is acknowledged, and on its way to the medium, when the read comes.
    drive.advance(Time::from_ns(500_000), &mut completed);
    assert_eq!(completed.len(), 1);
    drive.submit(Time::from_ns(500_000), read(7)).unwrap();
    let behind = drain(&mut drive)[0].at;
    assert!(behind.since(alone).ns() > 2_000_000, "{behind} against {alone}");
}

#[test]
fn reads_cannot_keep_cached_data_off_the_medium_for_ever() {
    let mut drive = drive(DISK);
    for id in 0..10 {
        drive.submit(Time::ZERO, write(id)).unwrap();
    }
    let mut completed = Vec::new();
    let mut next_id = 1000;
    while drive.next_event().is_some_and(|next| next < Time::from_ns(12_000_000_000)) {
        let next = drive.next_event().unwrap();
        drive.advance(next, &mut completed);
        for done in completed.drain(..) {
            drive.submit(done.at, read(next_id)).unwrap();
            next_id += 1;
        }
    }
    assert_eq!(drive.counters().destaged_runs, 10);
}

#[test]
fn what_is_in_the_write_cache_is_read_from_there() {
    let mut drive = drive(DISK);
    let mut completed = Vec::new();
    drive.submit(Time::ZERO, write(5)).unwrap();
    drive.advance(Time::from_ns(200_000), &mut completed);
    let request = Request { op: Op::Read, id: RequestId(6), ..write(5) };
    drive.submit(Time::from_ns(200_000), request).unwrap();
    let done = drain(&mut drive);
    assert_eq!(done[0].served_by, ServedBy::DriveWriteCache);
    assert!(done[0].at.since(Time::from_ns(200_000)).ns() < 100_000);
}

#[test]
fn a_mixed_load_lies_between_its_parts() {
    for options in ["", ",write-cache=off"] {
        let at = |reads| {
            let load = Load { depth: 32, reads, requests: 30_000, ..Load::default() };
            run(&mut drive(&format!("{DISK}{options}")), load).iops()
        };
        let (reading, writing, mixed) = (at(100), at(0), at(50));
        let (low, high) = (reading.min(writing) * 0.95, reading.max(writing) * 1.2);
        assert!((low..high).contains(&mixed), "{options}: {reading} {writing} {mixed}");
    }
}

#[test]
fn what_was_cached_is_reported_when_it_is_on_the_medium_and_before_a_flush_is_done() {
    let mut disk = drive(DISK);
    let mut records = Vec::new();
    disk.destaged(&mut records);
    for id in 0..20 {
        disk.submit(Time::ZERO, write(id)).unwrap();
    }
    disk.submit(Time::ZERO, Request::flush(20)).unwrap();
    let completed = drain(&mut disk);
    let flushed = completed.iter().find(|done| done.id == RequestId(20)).unwrap().at;
    disk.destaged(&mut records);
    let mut reported: Vec<Lba> = records.iter().map(|record| record.lba).collect();
    let mut written: Vec<Lba> = (0..20).map(|id| write(id).lba).collect();
    reported.sort_unstable();
    written.sort_unstable();
    assert_eq!(reported, written);
    for record in &records {
        assert_eq!(record.sectors, Sectors::new(8));
        assert!(record.taken < record.at && record.at <= flushed, "{record:?}, {flushed}");
    }
}

#[test]
fn without_the_cache_nothing_is_ever_reported_as_destaged() {
    let mut disk = drive(&format!("{DISK},write-cache=off"));
    let mut records = Vec::new();
    disk.destaged(&mut records);
    disk.submit(Time::ZERO, write(1)).unwrap();
    drain(&mut disk);
    disk.destaged(&mut records);
    assert_eq!(records, []);
}

#[test]
fn a_write_that_joined_an_older_run_is_not_dropped_by_a_write_before_it() {
    let mut disk = drive(DISK);
    disk.destaged(&mut Vec::new());
    let at = |us| Time::ZERO + Span::from_us(us);
    let range = |first, count| (Lba::new(first), Sectors::new(count));
    let mut submit = |us, id, (lba, sectors), fua| {
        let mut completed = Vec::new();
        disk.advance(at(us), &mut completed);
        disk.submit(at(us), Request { fua, ..Request::write(id, lba, sectors) }).unwrap();
    };
    // The forced write is on its way to the medium when newer data for its sectors is cached and
    // joined to data that is older than both.
    submit(0, 1, range(8, 2), false);
    submit(70, 2, range(4, 4), false);
    submit(140, 3, range(2, 3), true);
    submit(9_000, 4, range(3, 2), false);
    disk.advance(at(9_100), &mut Vec::new());
    disk.submit(at(9_100), Request::flush(5)).unwrap();
    drain(&mut disk);
    let mut records = Vec::new();
    disk.destaged(&mut records);
    let newest = records.iter().filter(|record| record.taken >= at(9_000));
    let covers =
        |lba: &Lba| newest.clone().any(|run| run.lba <= *lba && *lba < run.lba + run.sectors);
    for lba in [Lba::new(3), Lba::new(4)] {
        assert!(covers(&lba), "sector {lba} was acknowledged and never written: {records:?}");
    }
}

/// Mean latency of a load on a drive with sectors of 4 KiB, and writes of parts of them.
fn on_large_sectors(spec: &str, load: Load) -> (Outcome, u64) {
    let mut drive = drive_with(spec, "sector_bytes = 4096\n");
    let outcome = run(&mut drive, load);
    (outcome, drive.counters().partial_writes)
}

/// Sectors of 4 KiB: each that is written in part costs a revolution, whole ones nothing.
#[test]
fn each_physical_sector_written_in_part_costs_a_revolution() {
    let load = Load { reads: 0, requests: 4_000, ..Load::default() };
    for (name, revolution) in [("generic-5400", 60.0 / 5.4), (DISK, 60.0 / 7.2)] {
        let spec = format!("{name},write-cache=off");
        let shifted = format!("{spec},offset=32256");
        let (aligned, none) = on_large_sectors(&spec, load);
        let before = run(&mut drive(&spec), load);
        assert!(aligned.latencies == before.latencies && none == 0, "an aligned write changed");
        let (misaligned, parts) = on_large_sectors(&shifted, load);
        assert_eq!(parts, 4_000);
        let lost = (misaligned.mean_ms() - aligned.mean_ms()) / revolution;
        // A read settles sooner than a write.
        assert!((1.85..2.05).contains(&lost), "{name}: {lost} revolutions");
        let (small, parts) = on_large_sectors(&spec, Load { sectors: 1, ..load });
        let lost = (small.mean_ms() - aligned.mean_ms()) / revolution;
        assert!(parts > 3_900 && (0.8..1.05).contains(&lost), "{name}: {lost} revolutions");
        let [straight, shifted] = [&spec, &shifted]
            .map(|spec| on_large_sectors(spec, Load { reads: 100, ..load }).0.mean_ms());
        assert!((shifted / straight - 1.0).abs() < 0.01, "{name}: reads {straight}, {shifted}");
    }
}

/// The write-back cache sorts, and then every access pays the revolutions; a stream has its parts
/// at its ends alone.
#[test]
fn a_cache_pays_for_parts_of_sectors_when_it_writes_them_out() {
    for (sequential, slower) in [(false, 2.5..4.0), (true, 1.0..1.6)] {
        let load = Load { reads: 0, requests: 6_000, sequential, ..Load::default() };
        let [straight, shifted] = ["generic-5400", "generic-5400,offset=32256"]
            .map(|spec| on_large_sectors(spec, load).0.iops());
        let ratio = straight / shifted;
        assert!(slower.contains(&ratio), "x{ratio} slower, in sequence: {sequential}");
    }
}
