//! A small drive of `DiskSim`'s files, as a profile and as a device.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

use drivelab_core::{Device as _, Lba, Request, Sectors, ServedBy, Time};
use drivelab_disksim::{is_parameter_file, profile};
use drivelab_model::Drive;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::{BaseText, Profile};

fn small() -> Profile {
    let text = |file: &str| match file {
        "small.diskspecs" => Some(include_str!("../src/parameters/tests/small.diskspecs")),
        "small.model" => Some(include_str!("../src/parameters/tests/small.model")),
        "small.seek" => Some("Seek distances measured: 3\n1, 1.0\n10, 2.0\n99, 5.0\n"),
        _ => None,
    };
    let resolve =
        |file: &str| Some(BaseText { file: file.to_owned(), text: text(file)?.to_owned() });
    let parv = include_str!("../src/parameters/tests/small.parv");
    profile("small.PARV", parv, &resolve).unwrap()
}

fn built(options: &str) -> Result<Drive, String> {
    let spec: DriveSpec = format!("small.parv{options}").parse().unwrap();
    drivelab_model::build(&small(), &spec.options, 1).map_err(|error| error.to_string())
}

#[test]
fn the_name_of_the_file_decides() {
    assert!(is_parameter_file("drives/small.parv") && is_parameter_file("small.PARV"));
    assert!(!is_parameter_file("small.toml") && !is_parameter_file("parv"));
    let profile = small();
    assert_eq!(profile.capacity(), Sectors::new(7985));
    assert_eq!(profile.sources, ["small.PARV, a parameter file of DiskSim 4.0"]);
    Profile::parse("small.toml", include_str!("../src/parameters/tests/small.parv"), &|_| None)
        .unwrap_err();
}

#[test]
fn it_is_attached_as_one_command_over_scsi_allows() {
    let check = |options: &str, part: &str| {
        let message = built(options).map(|_| ()).unwrap_err();
        assert!(message.contains(part), "{options}: {message}");
    };
    check(",controller=ide", "attach it with `controller=scsi`, not `ide`");
    check(",ncq=on", "SMALL takes one command at a time over a parallel SCSI bus: it has no `ncq`");
    check(",link=3", "it has no `link`");
    check(",dispatch=shared", "it has no `dispatch`");
    let drive = built(",scheduler=fscan,write-cache=off").unwrap();
    let attached = drive.about().attached.clone().unwrap();
    assert_eq!((attached.tags, attached.write_cache_bytes), (1, None));
    assert_eq!(drive.about().capacity_bytes, 7985 * 512);
}

#[test]
fn several_make_an_array() {
    let mut array = built(",drives=3,raid=5").unwrap();
    assert!(array.capacity() > Sectors::new(7985));
    array.submit(Time::ZERO, Request::write(1, Lba::ZERO, Sectors::new(8))).unwrap();
    let mut completed = Vec::new();
    while let Some(next) = array.next_event() {
        array.advance(next, &mut completed);
    }
    assert_eq!(completed.len(), 1);
    let counters = array.counters();
    // The other data of the row is read, data and parity are written.
    assert_eq!((counters.reads, counters.writes, counters.commands()), (1, 2, 3));
}

#[test]
fn a_disksim_disk_tells_what_a_flush_has_put_on_the_medium() {
    let mut disk = built("").unwrap();
    let (mut records, mut completed) = (Vec::new(), Vec::new());
    disk.destaged(&mut records);
    disk.submit(Time::ZERO, Request::write(1, Lba::new(64), Sectors::new(8))).unwrap();
    while let Some(next) = disk.next_event() {
        disk.advance(next, &mut completed);
    }
    assert_eq!(completed[0].served_by, ServedBy::DriveWriteCache);
    disk.destaged(&mut records);
    assert_eq!(records, [], "what was reported a moment ago is still in the buffer");
    disk.submit(completed[0].at, Request::flush(2)).unwrap();
    while let Some(next) = disk.next_event() {
        disk.advance(next, &mut completed);
    }
    disk.destaged(&mut records);
    let [record] = records[..] else { panic!("{records:?}") };
    assert_eq!((record.lba, record.sectors), (Lba::new(64), Sectors::new(8)));
    assert!(record.at <= completed[1].at, "{record:?}");
}
