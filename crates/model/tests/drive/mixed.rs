//! Flushes, writers and readers next to each other.

use drivelab_core::{Device, Lba, Op, Request, RequestId, Rng, Sectors, Span, Time};
use drivelab_model::Drive;

use crate::load::drive;

const DISK: &str = "seagate-st31000333as";

/// Milliseconds of a flush after `writes` random 4 KiB writes were acknowledged.
fn flush_ms(options: &str, writes: u64) -> f64 {
    let mut drive = drive(&format!("{DISK}{options}"));
    let (mut completed, mut now) = (Vec::new(), Time::ZERO);
    let mut rng = Rng::new(writes);
    for id in 0..writes {
        let lba = Lba::new(rng.below(drive.capacity().get() / 8) * 8);
        drive.submit(Time::ZERO, Request::write(id, lba, Sectors::new(8))).unwrap();
    }
    while (completed.len() as u64) < writes {
        now = drive.next_event().unwrap();
        drive.advance(now, &mut completed);
    }
    let begun = now;
    drive.submit(now, Request::flush(writes)).unwrap();
    while completed.len() as u64 == writes {
        now = drive.next_event().unwrap();
        drive.advance(now, &mut completed);
    }
    now.since(begun).ns() as f64 / 1e6
}

#[test]
fn a_flush_takes_what_the_dirty_data_takes() {
    let times = [1, 4, 16, 64].map(|writes| flush_ms("", writes));
    for pair in times.windows(2) {
        // Sorted: four times the data, less than four times the time.
        assert!(pair[1] > 1.5 * pair[0] && pair[1] < 4.0 * pair[0], "{times:?}");
    }
    assert!((300.0..700.0).contains(&times[3]), "{times:?}");
    assert!(flush_ms("", 0) < 0.1);
    assert!(flush_ms(",write-cache=off", 64) < 0.1);
}

/// Reads and writes a second with so many of each outstanding, over 60 s.
fn side_by_side(drive: &mut Drive, readers: usize, writers: usize) -> (f64, f64) {
    let mut rng = Rng::new(3);
    let slots = drive.capacity().get() / 8;
    let end = Time::ZERO + Span::from_secs(60);
    let mut next = |drive: &mut Drive, at: Time, op: Op, id: u64| {
        let lba = Lba::new(rng.below(slots) * 8);
        let request = Request {
            id: RequestId(id),
            op,
            lba,
            sectors: Sectors::new(8),
            fua: false,
            submitter: 0,
        };
        drive.submit(at, request).unwrap();
    };
    for _ in 0..writers {
        next(drive, Time::ZERO, Op::Write, 1);
    }
    for _ in 0..readers {
        next(drive, Time::ZERO, Op::Read, 0);
    }
    let (mut counts, mut completed) = ([0_u32, 0], Vec::new());
    while let Some(now) = drive.next_event().filter(|now| *now < end) {
        drive.advance(now, &mut completed);
        for done in completed.drain(..) {
            let kind = usize::try_from(done.id.0).unwrap();
            counts[kind] += 1;
            let op = if kind == 0 { Op::Read } else { Op::Write };
            next(drive, done.at, op, done.id.0);
        }
    }
    (f64::from(counts[0]) / 60.0, f64::from(counts[1]) / 60.0)
}

#[test]
fn a_reader_next_to_writers_lives_with_split_dispatch_and_starves_in_a_shared_pool() {
    let at = |dispatch: &str| {
        let options = format!("{DISK},write-cache=off,tags=31,nr-requests=256{dispatch}");
        side_by_side(&mut drive(&options), 1, 200)
    };
    let (shared_reads, shared_writes) = at(",dispatch=shared");
    let (split_reads, split_writes) = at(",dispatch=split");
    // One of 201 in one queue, against a tag of its own at once.
    assert!(shared_reads < 1.0, "{shared_reads} reads/s");
    assert!(split_reads > 3.0 * shared_reads, "{split_reads} reads/s, shared {shared_reads}");
    assert!(split_writes > 0.8 * shared_writes, "{split_writes} writes/s of {shared_writes}");
}

#[test]
fn a_writer_next_to_readers_lives_with_split_dispatch_too() {
    let at = |dispatch: &str| {
        let options = format!("{DISK},write-cache=off,tags=31,nr-requests=256{dispatch}");
        side_by_side(&mut drive(&options), 200, 1)
    };
    let (shared, split) = (at(",dispatch=shared").1, at(",dispatch=split").1);
    assert!(shared < 1.0 && split > 3.0 * shared, "{split} writes/s, shared {shared}");
}
