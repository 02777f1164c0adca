//! What a drive counts.

use drivelab_core::{Device as _, Lba, Op, Request, RequestId, Rng, Sectors, Time};

use crate::load::drive;

#[test]
fn commands_are_counted_by_kind() {
    let check = |spec: &str, expected: [u64; 4]| {
        let mut drive = drive(spec);
        let (mut now, mut done) = (Time::ZERO, Vec::new());
        let kinds = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Write, Op::Flush, Op::Trim];
        for (id, op) in (0..).zip(kinds) {
            let (lba, sectors) = match op {
                Op::Flush => (Lba::ZERO, Sectors::ZERO),
                _ => (Lba::new(1000 * id), Sectors::new(8)),
            };
            drive
                .submit(
                    now,
                    Request { id: RequestId(id), op, lba, sectors, fua: false, submitter: 0 },
                )
                .unwrap();
            while done.len() as u64 <= id {
                now = drive.next_event().unwrap();
                drive.advance(now, &mut done);
            }
        }
        let counters = drive.counters();
        let by_kind = [counters.reads, counters.writes, counters.flushes, counters.trims];
        assert_eq!(by_kind, expected, "{spec}");
        assert_eq!(counters.commands(), by_kind.iter().sum::<u64>(), "{spec}");
    };
    check("drive:seagate-st31000333as", [3, 2, 1, 1]);
    check("drive:seagate-st31000333as,controller=ide", [3, 2, 1, 1]);
    // A flush goes to every drive, a write to both mirrors; a mirror reads alone.
    check("drive:seagate-st31000333as,drives=2,raid=1", [3, 4, 2, 2]);
}

/// Without its write amplification a drive in the steady state would be as fast as a fresh one.
#[test]
fn what_collection_moves_is_counted_beside_the_data_of_the_host() {
    let check = |spec: &str, count: u64, least: u64, most: u64| {
        let mut drive = drive(spec);
        let (places, mut rng) = (drive.capacity().get() / 8, Rng::new(1));
        let (mut now, mut done, before) = (Time::ZERO, Vec::new(), drive.counters().flash_written);
        for id in 0..count {
            let lba = Lba::new(rng.below(places) * 8);
            drive.submit(now, Request::write(id, lba, Sectors::new(8))).unwrap();
            while done.len() as u64 <= id {
                now = drive.next_event().unwrap();
                drive.advance(now, &mut done);
            }
        }
        let after = drive.counters().flash_written;
        let [host, copied, _] = [0, 1, 2].map(|kind| after[kind] - before[kind]);
        let all = count * 4096;
        // A steady drive begins with a full buffer, whose data are programmed, too.
        assert!(host < all * 101 / 100 && host > all * 9 / 10, "{spec}: {host} of {all}");
        let moved = copied * 100 / host;
        assert!((least..=most).contains(&moved), "{spec}: {moved} % moved");
    };
    check("micron-7300pro,scale=1/384,precondition=fresh", 60_000, 0, 0);
    // Utilisation 0.875 or so: three to four bytes are moved for one that is written.
    check("micron-7300pro,scale=1/384,precondition=steady", 60_000, 250, 450);
}
