//! Long writes in sequence to an empty drive, held against published curves: how much it writes
//! before it slows down, and the rate after that.

use std::fmt::Write as _;

use drivelab_core::{Device, Lba, Request, Sectors, Time};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Specimens, build};
use drivelab_stats::predict;

const SPECIMENS: u32 = 12;
/// The inverse of the modelled share of the drive: 1 TB is written in 3.9 GB.
const PARTS: u64 = 256;

/// The gigabytes that one drive writes before it slows down, the megabytes a second afterwards, and
/// those of its link, by long writes that fill `share` percent of it.
fn cliff(profile: &Profile, share: u64) -> [f64; 3] {
    let mut options = Options::default();
    options.set("scale", &format!("1/{PARTS}")).unwrap();
    options.set("precondition", "fresh").unwrap();
    let mut drive = build(profile, &options, 1).unwrap();
    let (sectors, depth) = (Sectors::new(1024), 8);
    let count = drive.capacity().get() / sectors.get() * share / 100;
    let (mut sent, mut completed) = (0, Vec::new());
    let mut ends: Vec<Time> = Vec::new();
    while ends.len() < count as usize {
        let now = drive.next_event().unwrap_or(Time::ZERO);
        drive.advance(now, &mut completed);
        ends.extend(completed.drain(..).map(|completion| completion.at));
        while sent < count && sent < ends.len() as u64 + depth {
            let write = Request::write(sent, Lba::new(sent * sectors.get()), sectors);
            drive.submit(now, write).unwrap();
            sent += 1;
        }
    }
    // Rates of a hundredth each.
    let window = ends.len() / 100;
    let rate = |at: usize| {
        let took = ends[at + window - 1].since(ends[at - 1]).ns();
        (window as u64 * sectors.bytes().get()) as f64 * 1e3 / took as f64
    };
    let rates: Vec<f64> = (1..ends.len() - window).step_by(window).map(rate).collect();
    let last = &rates[rates.len() * 4 / 5..];
    let lasting = last.iter().sum::<f64>() / last.len() as f64;
    // The write buffer has most of the first hundredth, which no published curve shows.
    let slow = rates.iter().skip(1).position(|rate| *rate < (rates[1] * lasting).sqrt());
    // A drive that is never faster has written its first hundredth.
    let slow = if rates[1] < 1.2 * lasting { 1 } else { slow.unwrap_or(rates.len()) + 1 };
    let after = &rates[slow.min(rates.len() - 1)..];
    let written = (slow * window) as u64 * sectors.bytes().get() * PARTS;
    let link = drive.about().attached.as_ref().map_or(f64::MAX, |it| it.wire_bytes_per_s as f64);
    [written as f64 / 1e9, after.iter().sum::<f64>() / after.len() as f64, link / 1e6]
}

/// Holds what was published, gigabytes of 1 TB and megabytes a second, against the drives of a
/// class.
fn check(class: &str, widest: f64, published: &[(&str, f64, f64)]) {
    let profile = Profile::embedded(class).unwrap();
    let drives = Specimens::new(1, SPECIMENS, std::iter::once(&profile));
    let all = (0..SPECIMENS).map(|number| cliff(&drives.of(0, &profile, number), 90));
    let all: Vec<[f64; 3]> = all.collect();
    let column = |at: usize| all.iter().map(|one| one[at]).collect::<Vec<f64>>();
    let [before, mut after] =
        [0, 1].map(|at| predict(&column(at), profile.lacks()[0]).unwrap().range95);
    let link = all.iter().map(|one| one[2]).fold(f64::MAX, f64::min);
    after[1] = after[1].min(link);
    let mut outside = String::new();
    for (name, gigabytes, rate) in published {
        for (what, value, [low, high]) in [("GB", gigabytes, before), ("MB/s", rate, after)] {
            if !(low..=high).contains(value) {
                write!(outside, "{name}: {value} {what} outside {low:.0} to {high:.0}; ").unwrap();
            }
        }
    }
    assert!(outside.is_empty(), "{outside}");
    // An interval that holds anything proves nothing: this is the class's own spread of dies and
    // program times.
    assert!(after[1] / after[0] < widest, "{class}: {after:?}");
}

#[test]
fn curves_of_drives_with_three_bits_a_cell_lie_within_the_class() {
    check(
        "generic-nvme-consumer",
        16.0,
        &[
            // Tom's Hardware and PC World; of two reviews that differ, the second.
            ("WD Blue SN550 1 TB", 15.0, 850.0),
            // TechPowerUp; of 500 GB, times two.
            ("Samsung 970 EVO 500 GB", 44.0, 1200.0),
            ("WD Blue SN580 1 TB", 341.0, 450.0),
        ],
    );
}

#[test]
fn curves_of_drives_with_four_bits_a_cell_lie_within_the_class() {
    check(
        "generic-qlc",
        50.0,
        &[
            // Intel's figures for an empty drive of 1 TB, and of Samsung for 1 and 2 TB.
            ("Intel 660p 1 TB", 140.0, 100.0),
            ("Samsung 870 QVO 1 TB", 42.0, 80.0),
            ("Samsung 870 QVO 2 TB", 39.0, 160.0),
        ],
    );
}
