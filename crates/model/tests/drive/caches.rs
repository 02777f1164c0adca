//! The read buffer and read-ahead.

use drivelab_core::{Completion, Device, Lba, Request, Sectors, ServedBy, Time};
use drivelab_model::Drive;

use crate::load::{drive, drive_with};

const DISK: &str = "seagate-st31000333as";
const START: u64 = 1_000_000;

fn at_ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn read_at(drive: &mut Drive, at: Time, lba: u64, sectors: u64) -> Completion {
    let mut completed = Vec::new();
    while drive.next_event().is_some_and(|next| next <= at) {
        let next = drive.next_event().unwrap();
        drive.advance(next, &mut completed);
    }
    assert!(completed.is_empty(), "one request at a time");
    drive.submit(at, Request::read(1, Lba::new(lba), Sectors::new(sectors))).unwrap();
    while completed.is_empty() {
        let next = drive.next_event().unwrap();
        drive.advance(next, &mut completed);
    }
    completed[0]
}

#[test]
fn read_ahead_continues_while_the_drive_is_idle() {
    let mut drive = drive(DISK);
    let first = read_at(&mut drive, Time::ZERO, START, 8);
    assert_eq!(first.served_by, ServedBy::Medium);
    // 3 ms later about 790 sectors more have passed the head.
    let later = first.at + drivelab_core::Span::from_ms(3);
    let hit = read_at(&mut drive, later, START + 8, 600);
    assert_eq!(hit.served_by, ServedBy::DriveReadCache);
    assert!(hit.at.since(later).ns() < 1_200_000, "only the wire: {}", hit.at.since(later));
}

#[test]
fn a_partial_hit_waits_for_the_rest_only() {
    let mut drive = drive(DISK);
    let first = read_at(&mut drive, Time::ZERO, START, 8);
    let later = first.at + drivelab_core::Span::from_ms(1);
    // 264 sectors a millisecond at 2200 a track: 600 of them need 2.3 ms since the first read.
    let partial = read_at(&mut drive, later, START + 8, 600);
    assert_eq!(partial.served_by, ServedBy::Medium);
    let took = partial.at.since(later).ns();
    assert!((1_000_000..2_400_000).contains(&took), "no revolution is lost: {took}");
}

#[test]
fn read_ahead_ends_where_the_profile_says() {
    let mut drive = drive(DISK);
    read_at(&mut drive, Time::ZERO, START, 8);
    assert_eq!(
        read_at(&mut drive, at_ms(1000), START + 8, 1024).served_by,
        ServedBy::DriveReadCache
    );
    // 512 KiB beyond the first read and no further; but what the host takes, it replaces.
    assert_eq!(
        read_at(&mut drive, at_ms(2000), START + 1032, 1024).served_by,
        ServedBy::DriveReadCache
    );
    let mut fresh = drive_with(DISK, "read_ahead_bytes = 0\n");
    read_at(&mut fresh, Time::ZERO, START, 8);
    assert_eq!(read_at(&mut fresh, at_ms(1000), START + 8, 8).served_by, ServedBy::Medium);
}

#[test]
fn a_buffered_read_is_answered_again_and_an_overwritten_one_is_not() {
    let mut drive = drive(&format!("{DISK},write-cache=off"));
    read_at(&mut drive, Time::ZERO, START, 64);
    assert_eq!(read_at(&mut drive, at_ms(50), START, 64).served_by, ServedBy::DriveReadCache);
    let mut completed = Vec::new();
    drive.submit(at_ms(100), Request::write(2, Lba::new(START + 8), Sectors::new(8))).unwrap();
    while let Some(next) = drive.next_event() {
        drive.advance(next, &mut completed);
    }
    assert_eq!(read_at(&mut drive, at_ms(200), START, 64).served_by, ServedBy::Medium);
}

#[test]
fn an_old_stream_is_given_up_for_a_new_one() {
    let mut drive = drive_with(DISK, "read_segments = 2\nread_ahead_bytes = 0\n");
    for (step, lba) in [0, 10_000_000, 20_000_000].into_iter().enumerate() {
        read_at(&mut drive, at_ms(step as u64 * 100), lba, 8);
    }
    assert_eq!(read_at(&mut drive, at_ms(400), 20_000_000, 8).served_by, ServedBy::DriveReadCache);
    assert_eq!(read_at(&mut drive, at_ms(500), 0, 8).served_by, ServedBy::Medium);
}
