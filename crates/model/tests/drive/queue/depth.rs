//! What queue depth buys, against measured facts and an independent simulation of
//! simple rules (docs/internals/drive-facts.md).

use super::disks;
use crate::load::{Load, drive_with, run};

/// The drive of that simulation: half square root, half line, 2:1 density,
/// 7200 rpm, 76.5 IOPS at depth 1, with an overhead of 1 %.
const TABLE: &str = "seek_track = \"1ms\"\nseek_short = \"1ms\"\nguard_growth = 0\nseek_average = \"8.74ms\"\nseek_shape = 0.5\n\
                     sectors_per_track_outer = 2200\nsectors_per_track_inner = 1100\n\
                     read_segments = 0\noverhead_read_miss = \"0.11ms\"\nage_limit = \"1h\"\n";
const DISK: &str = "seagate-st31000333as";

fn at_depth(spec: &str, profile: &str, depth: usize, load: Load) -> crate::load::Outcome {
    run(&mut drive_with(spec, profile), Load { depth, ..load })
}

/// IOPS at each depth relative to depth 1, and p99 over mean at the last.
fn gains(spec: &str, profile: &str, depths: &[usize], load: Load) -> (Vec<f64>, f64) {
    let alone = at_depth(spec, profile, 1, load).iops();
    let mut tail = 0.0;
    let gain = |&depth: &usize| {
        let outcome = at_depth(spec, profile, depth, load);
        tail = outcome.quantile_ms(0.99) / outcome.mean_ms();
        outcome.iops() / alone
    };
    (depths.iter().map(gain).collect(), tail)
}

#[test]
fn depth_one_is_the_drive_of_the_table() {
    let iops = at_depth(DISK, TABLE, 1, Load { requests: 60_000, ..Load::default() }).iops();
    assert!((iops / 76.5 - 1.0).abs() < 0.01, "{iops}");
}

#[test]
fn gains_are_those_of_the_table() {
    let load = Load { requests: 40_000, ..Load::default() };
    let check = |rule: &str, expected: [f64; 5], margin: f64| {
        let (found, tail) = gains(DISK, &format!("{TABLE}{rule}\n"), &[2, 4, 8, 16, 32], load);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < margin, "{rule}: {found} for {expected}");
        }
        tail
    };
    check("order = \"fifo\"", [1.01; 5], 0.006);
    let ideal = check("guard = \"0ms\"", [1.01, 1.39, 1.78, 2.23, 2.77], 0.03);
    let guarded = [
        check("guard = \"0.5ms\"", [1.01, 1.35, 1.67, 2.05, 2.47], 0.03),
        check("guard = \"1ms\"", [1.01, 1.31, 1.58, 1.89, 2.24], 0.03),
        check("guard = \"2ms\"", [1.01, 1.25, 1.45, 1.65, 1.89], 0.03),
    ];
    // A guard of a whole revolution knows nothing of rotation: the row SSTF.
    check("guard = \"8.333333ms\"", [1.01, 1.32, 1.59, 1.82, 2.02], 0.03);
    for tail in guarded.into_iter().chain([ideal]) {
        assert!((3.5..4.75).contains(&tail), "p99 over mean at depth 32 is {tail}");
    }
}

#[test]
fn an_elevator_that_sorts_one_batch_while_another_waits_has_short_tails() {
    // What arrives during a sweep waits for the next: nobody waits for more than two.
    let load = Load { requests: 40_000, ..Load::default() };
    let spec = format!("{DISK},controller=ide,scheduler=fscan,nr-requests=64");
    let (found, tail) = gains(&spec, TABLE, &[32], load);
    assert!((1.7..=2.1).contains(&tail), "p99 over mean at depth 32 is {tail}");
    assert!((1.7..=2.1).contains(&found[0]), "{found:?}");
}

#[test]
fn a_wide_guard_saturates() {
    let load = Load { requests: 40_000, ..Load::default() };
    let narrow = gains(DISK, &format!("{TABLE}guard = \"0.5ms\"\n"), &[16, 32], load).0;
    let wide = gains(DISK, &format!("{TABLE}guard = \"4.5ms\"\n"), &[16, 32], load).0;
    assert!(narrow[1] / narrow[0] > 1.15, "{narrow:?}");
    assert!(wide[1] / wide[0] < 1.08, "{wide:?}");
}

#[test]
fn short_spans_tell_rotation_aware_drives_from_elevators() {
    let load = Load { requests: 40_000, span: 6, ..Load::default() };
    let firmware = gains(DISK, &format!("{TABLE}guard = \"0ms\"\n"), &[32], load).0[0];
    let elevator = format!("{DISK},controller=ahci,ncq=off,scheduler=deadline,nr-requests=64");
    let elevator = gains(&elevator, TABLE, &[32], load).0[0];
    assert!((2.5..3.1).contains(&firmware), "{firmware}");
    assert!((1.1..1.4).contains(&elevator), "{elevator}");
}

#[test]
fn two_requests_are_as_slow_as_one_and_64_as_fast_as_32() {
    for name in disks() {
        let load = Load { requests: 30_000, ..Load::default() };
        let (gain, _) = gains(name, "", &[2, 32, 64], load);
        assert!((1.0..=1.04).contains(&gain[0]), "{name}: R(2) = {}", gain[0]);
        assert!((gain[2] / gain[1] - 1.0).abs() < 0.03, "{name}: {gain:?}");
    }
}

/// Two measured drives by what they do at depth 1, and their IOPS at depths 1 to 32 (fio results
/// in the history of the project fio-plot): 500 GB, p1 5.93, p50 14.22, p99 23.72 ms; and a Samsung
/// `SpinPoint` F1 with 1 TB, p1 5.28, p50 13.83, p99 22.41 ms.
const MEASURED_500_GB: &str = "seek_track = \"1.6ms\"\nseek_short = \"1.6ms\"\nguard_growth = 0\nseek_average = \"10.0ms\"\n\
                               seek_shape = 0.75\noverhead_read_miss = \"0.12ms\"\n\
                               read_segments = 0\n";
const IOPS_500_GB: [f64; 6] = [69.8, 70.3, 82.1, 93.8, 104.8, 113.6];
const MEASURED_F1: &str = "seek_track = \"1.2ms\"\nseek_short = \"1.2ms\"\nguard_growth = 0\nseek_average = \"9.55ms\"\n\
                           seek_shape = 0.75\noverhead_read_miss = \"0.12ms\"\n\
                           read_segments = 0\n";
const IOPS_F1: [f64; 6] = [72.1, 72.7, 75.4, 86.5, 111.0, 131.0];

/// Firmware that sorts a queue of 32 with a guard band, and nothing sorted in front of it.
fn by_firmware(profile: &str) -> (String, String) {
    (DISK.to_owned(), format!("{profile}guard = \"3ms\"\n"))
}

/// An elevator of the host before a drive that takes four commands and serves them as they come.
fn by_elevator(profile: &str) -> (String, String) {
    let spec = format!("{DISK},tags=4,scheduler=deadline,nr-requests=128");
    (spec, format!("{profile}order = \"fifo\"\n"))
}

/// How far the worst depth is off, and p99 over mean at every depth.
fn held_against(real: [f64; 6], (spec, profile): &(String, String)) -> (f64, Vec<f64>) {
    let load = Load { requests: 60_000, ..Load::default() };
    let (mut worst, mut tails) = (0.0_f64, Vec::new());
    for (depth, real) in [1, 2, 4, 8, 16, 32].into_iter().zip(real) {
        let outcome = at_depth(spec, profile, depth, load);
        worst = worst.max((outcome.iops() / real - 1.0).abs());
        tails.push(outcome.quantile_ms(0.99) / outcome.mean_ms());
    }
    (worst, tails)
}

#[test]
fn a_measured_drive_gains_as_a_guarded_queue_and_not_as_an_elevator() {
    let (firmware, tails) = held_against(IOPS_500_GB, &by_firmware(MEASURED_500_GB));
    assert!(firmware < 0.04, "{firmware}");
    for (found, real) in tails[1..].iter().zip([1.50, 3.46, 3.81, 3.99, 3.80]) {
        assert!((found / real - 1.0).abs() < 0.10, "{tails:?}");
    }
    // At depth 64 the host keeps 32 back, in order: nothing more is gained, and tails are shorter.
    let (spec, profile) = by_firmware(MEASURED_500_GB);
    let deep = at_depth(&spec, &profile, 64, Load { requests: 60_000, ..Load::default() });
    assert!((deep.iops() / 113.5 - 1.0).abs() < 0.04, "{}", deep.iops());
    let tail = deep.quantile_ms(0.99) / deep.mean_ms();
    assert!((tail / 2.57 - 1.0).abs() < 0.10, "{tail}");
    let (elevator, _) = held_against(IOPS_500_GB, &by_elevator(MEASURED_500_GB));
    assert!(elevator > 0.10, "{elevator}");
}

#[test]
fn another_gains_as_an_elevator_and_not_as_a_guarded_queue() {
    let (elevator, _) = held_against(IOPS_F1, &by_elevator(MEASURED_F1));
    assert!(elevator < 0.06, "{elevator}");
    let (firmware, _) = held_against(IOPS_F1, &by_firmware(MEASURED_F1));
    assert!(firmware > 0.06, "{firmware}");
}
