//! Reads of a solid-state drive in sequence, one at a time, held against a published series.
//!
//! A SATA drive, direct reads (dm-crypt list, 2017): kibibytes of a request, and thousands of them a
//! second.

use drivelab_core::{Device, Lba, Request, Sectors, Time};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Specimens, build};
use drivelab_stats::predict;

const SERIES: [(u64, f64); 11] = [
    (4, 14.5),
    (8, 12.6),
    (16, 9.6),
    (32, 6.9),
    (64, 4.4),
    (128, 2.70),
    (256, 1.42),
    (512, 0.816),
    (1024, 0.425),
    (4096, 0.116),
    (16_384, 0.0297),
];

/// Thousands of reads a second of one drive.
fn rate(profile: &Profile, kib: u64) -> f64 {
    let mut options = Options::default();
    options.set("scale", "1/256").unwrap();
    let mut drive = build(profile, &options, 1).unwrap();
    let count = (8192 / kib).clamp(8, 400);
    let (mut now, mut completed) = (Time::ZERO, Vec::new());
    for id in 0..count {
        let read = Request::read(id, Lba::new(id * kib * 2), Sectors::new(kib * 2));
        drive.submit(now, read).unwrap();
        while completed.is_empty() {
            now = drive.next_event().expect("a read is in progress");
            drive.advance(now, &mut completed);
        }
        completed.clear();
    }
    count as f64 * 1e6 / now.since(Time::ZERO).ns() as f64
}

#[test]
fn a_published_series_lies_within_the_class() {
    let profile = Profile::embedded("generic-sata-consumer").unwrap();
    let drives = Specimens::new(1, 24, std::iter::once(&profile));
    let mut outside = Vec::new();
    for (kib, measured) in SERIES {
        let rates: Vec<f64> =
            (0..24).map(|number| rate(&drives.of(0, &profile, number), kib)).collect();
        let found = predict(&rates, profile.lacks()[0]).unwrap();
        let [low, high] = found.range95;
        let middle = found.median;
        // A factor of 1.8 at most: a wide interval is no proof.
        let near = (middle / measured).ln().abs() < 0.6;
        if !(low..=high).contains(&measured) || !near {
            outside.push(format!("{kib} KiB: {low:.3} to {high:.3}, measured {measured}"));
        }
    }
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}
