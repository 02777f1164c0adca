//! What controller, elevator and tag dispatch change.

use drivelab_core::{Device, Lba, Request, Sectors, Time};
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::{BuildError, Drive, build, build_bare, profile::Profile};

use crate::load::{Load, Outcome, drive, run};

const DISK: &str = "seagate-st31000333as";

fn outcome(options: &str, load: Load) -> Outcome {
    run(&mut drive(&format!("{DISK}{options}")), load)
}

fn random_at(depth: usize) -> Load {
    Load { depth, requests: 30_000, ..Load::default() }
}

#[test]
fn ahci_with_ncq_beats_ide_at_depth_32_and_the_elevator_is_told_apart() {
    let ide = outcome(",controller=ide", random_at(32)).iops();
    let sorted = outcome(",controller=ide,scheduler=deadline,nr-requests=64", random_at(32)).iops();
    let single = outcome(",ncq=off", random_at(32)).iops();
    let queued = outcome("", random_at(32)).iops();
    assert!((1.3..=2.5).contains(&(queued / ide)), "NCQ {queued}, IDE {ide}");
    assert!((1.3..=2.1).contains(&(sorted / ide)), "elevator {sorted}, IDE {ide}");
    assert!((single / sorted - 1.0).abs() < 0.03, "no NCQ {single}, IDE sorted {sorted}");
}

#[test]
fn at_depth_one_the_controller_makes_no_difference() {
    let queued = outcome("", random_at(1)).iops();
    for other in [",controller=ide", ",ncq=off", ",controller=ide,scheduler=none", ",link=1.5"] {
        let iops = outcome(other, random_at(1)).iops();
        assert!((iops / queued - 1.0).abs() < 0.03, "{other}: {iops} against {queued}");
    }
}

/// A guest whose controller has registers adds their time itself.
#[test]
fn without_its_host_side_a_drive_does_not_have_the_time_of_registers() {
    let profile = Profile::embedded(DISK).unwrap();
    let first_read = |mut drive: Drive| {
        drive.submit(Time::ZERO, Request::read(0, Lba::new(5000), Sectors::new(8))).unwrap();
        let mut completed = Vec::new();
        while completed.is_empty() {
            let now = drive.next_event().unwrap();
            drive.advance(now, &mut completed);
        }
        completed[0].at.ns()
    };
    let check = |options: &str, expected_ns: u64| {
        let spec: DriveSpec = format!("{DISK}{options}").parse().unwrap();
        let whole = first_read(build(&profile, &spec.options, 1).unwrap());
        let bare = first_read(build_bare(&profile, &spec.options, 1).unwrap());
        assert_eq!(whole - bare, expected_ns, "{options}");
    };
    check(",controller=ide", 12_000);
    check(",ncq=off", 0);
    check("", 0);
}

#[test]
fn the_wire_limits_what_comes_out_of_the_buffer() {
    for (options, wire) in [(",link=1.5", 150e6), ("", 300e6), (",controller=ide", 133e6)] {
        let mut drive = drive(&format!("{DISK}{options}"));
        let sectors = Sectors::new(1024);
        let (mut now, mut completed) = (Time::ZERO, Vec::new());
        let mut first = Time::ZERO;
        for id in 0..101 {
            drive.submit(now, Request::read(id, Lba::ZERO, sectors)).unwrap();
            while completed.len() as u64 <= id {
                now = drive.next_event().unwrap();
                drive.advance(now, &mut completed);
            }
            first = if id == 0 { now } else { first };
        }
        let rate = 100.0 * 1024.0 * 512.0 * 1e9 / now.since(first).ns() as f64;
        // 40 us of firmware and the frames around each 512 KiB cost 1 to 3 %.
        assert!((0.96..0.995).contains(&(rate / wire)), "{options}: {rate} of {wire}");
    }
}

fn flood(drive: &mut Drive, reads: u64, writes: u64) {
    for id in 0..reads + writes {
        let (lba, sectors) = (Lba::new(id * 1_000_003 % 1_900_000_000), Sectors::new(8));
        let make = if id < reads { Request::read } else { Request::write };
        drive.submit(Time::ZERO, make(id, lba, sectors)).unwrap();
    }
    let mut completed = Vec::new();
    while let Some(next) = drive.next_event() {
        drive.advance(next, &mut completed);
    }
    assert_eq!(completed.len() as u64, reads + writes);
}

#[test]
fn tags_in_use_never_exceed_what_the_wire_allows() {
    let check = |options: &str, reads, writes, most| {
        let mut drive = drive(&format!("{DISK},write-cache=off{options}"));
        flood(&mut drive, reads, writes);
        assert_eq!(drive.counters().max_tags_in_use, most, "{options}");
    };
    check("", 200, 200, 32);
    check(",tags=31", 200, 200, 31);
    check(",tags=64", 200, 200, 32);
    check(",tags=31,dispatch=split", 200, 0, 21);
    check(",tags=31,dispatch=split,nr-requests=256", 200, 200, 31);
    check(",dispatch=single", 200, 0, 1);
    check(",ncq=off", 200, 0, 1);
    check(",controller=ide", 200, 0, 1);
    check(",controller=ide,tags=32,nr-requests=64", 200, 0, 1);
    check(",controller=scsi", 200, 0, 32);
}

#[test]
fn the_elevator_never_holds_more_than_nr_requests() {
    for (options, most) in [(",controller=ide", 2), ("", 64), (",nr-requests=5", 5)] {
        let mut drive = drive(&format!("{DISK}{options}"));
        flood(&mut drive, 300, 0);
        assert_eq!(drive.counters().max_requests_held, most, "{options}");
    }
}

#[test]
fn what_cannot_be_attached_is_refused() {
    let refusal = |name: &str, key: &str, value: &str| {
        let mut options = Options::default();
        options.set(key, value).unwrap();
        build(&Profile::embedded(name).unwrap(), &options, 1).map(|_| ()).unwrap_err()
    };
    let error = refusal("generic-10k", "controller", "ide");
    assert!(matches!(error, BuildError::WrongController { .. }), "{error}");
    let error = refusal("fixed", "write-cache", "off");
    assert!(matches!(error, BuildError::NothingToSet { key: "write-cache", .. }), "{error}");
}

#[test]
fn a_report_can_say_what_was_negotiated() {
    let about =
        |options: &str| drive(&format!("{DISK}{options}")).about().attached.clone().unwrap();
    let ahci = about(",link=6");
    assert_eq!(ahci.link.map(|link| link.to_string()), Some("3".into()), "the drive knows no more");
    assert_eq!((ahci.tags, ahci.queued, ahci.nr_requests), (32, true, 64));
    let ide = about(",controller=ide");
    assert_eq!((ide.tags, ide.queued, ide.nr_requests), (1, false, 2));
    assert_eq!((ide.wire_bytes_per_s, ide.write_cache_bytes), (133_000_000, Some(16 << 20)));
}
