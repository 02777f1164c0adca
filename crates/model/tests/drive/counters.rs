//! What a drive counts.

use drivelab_core::{Device as _, Lba, Op, Request, RequestId, Sectors, Time};

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
            drive.submit(now, Request { id: RequestId(id), op, lba, sectors, fua: false }).unwrap();
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
